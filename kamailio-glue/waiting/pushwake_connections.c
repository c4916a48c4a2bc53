/* SPDX-License-Identifier: MIT
 *
 * In the supervisor: a request that waits went to a phone over TCP, TLS or WebSocket, and its connection ends before any
 * answer: the system took the socket of a phone that sleeps. tm would wait for its timer.
 */
#include <stdlib.h>
#include <string.h>

#include "core/tcp_conn.h"
#include "pushwake_waiting.h"

/* A phone that is there has said something by then; others are looked at less often. */
#define YOUNG_MS 2000

typedef struct sent {
	uint64_t handle;
	int leg;
	int id; /* of the connection, as tm knows it */
	int port;
	struct ip_addr ip;
	int64_t since_ms;
} sent_t;

static sent_t *sent = NULL;
static int count = 0, room = 0;

void pw_connection_watch(const pushwake_verb *note)
{
	sent_t *more;

	if(note->contact.len != sizeof(struct ip_addr)) {
		return;
	}
	if(count == room) {
		more = realloc(sent, (size_t)(2 * room + 16) * sizeof(sent_t));
		if(more == NULL) {
			SYS_MEM_ERROR;
			return;
		}
		sent = more;
		room = 2 * room + 16;
	}
	sent[count].handle = note->handle;
	sent[count].leg = note->leg;
	sent[count].id = (int)note->milliseconds;
	sent[count].port = note->replaced_leg;
	memcpy(&sent[count].ip, note->contact.ptr, sizeof(struct ip_addr));
	sent[count++].since_ms = pw_now_ms();
}

void pw_connection_forget(uint64_t handle, int leg)
{
	int i, n = 0;

	for(i = 0; i < count; i++) {
		if(sent[i].handle != handle || (leg > 0 && sent[i].leg != leg)) {
			sent[n++] = sent[i];
		}
	}
	count = n;
}

/* Asks as the core does when it sends. */
static int is_connected(sent_t *one)
{
	struct tcp_connection *connection = tcpconn_get(one->id, &one->ip, one->port, NULL, 0);

	if(connection != NULL) {
		tcpconn_put(connection);
	}
	return connection != NULL;
}

int pw_connection_lost(uint64_t *handle, int *leg)
{
	int i;

	for(i = 0; i < count; i++) {
		if(!is_connected(&sent[i])) {
			*handle = sent[i].handle;
			*leg = sent[i].leg;
			sent[i] = sent[--count];
			return 1;
		}
	}
	return 0;
}

int pw_connections_are_young(void)
{
	return count > 0 && pw_now_ms() - sent[count - 1].since_ms < YOUNG_MS;
}
