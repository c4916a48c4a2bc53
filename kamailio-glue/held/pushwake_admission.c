/* SPDX-License-Identifier: MIT
 *
 * Requests for sleeping phones that are too many are refused before anything is done about them.
 */
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>

#include "core/data_lump_rpl.h"
#include "core/globals.h"
#include "core/mem/shm_mem.h"
#include "pushwake_held.h"

static const char retry_after[] = "Retry-After: 2\r\n";

static gen_lock_t *lock = NULL;
static pushwake_admission *admission = NULL;

int pw_admission_init(void)
{
	lock = lock_alloc();
	admission = shm_malloc(sizeof(*admission));
	if(lock == NULL || admission == NULL || lock_init(lock) == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	memset(admission, 0, sizeof(*admission));
	return 0;
}

void pw_admission_ended(void)
{
	__sync_add_and_fetch(&admission->ended, 1);
}

void pw_admission_register(void)
{
	__sync_add_and_fetch(&admission->registers, 1);
}

/* Of a stream only the kernel of the other side knows what waits. */
static void measure_queues(pushwake_host_load *load, const sip_msg_t *msg)
{
	const struct socket_info *bound;
	uint32_t found[SK_MEMINFO_VARS];
	socklen_t size;

	if(msg->rcv.proto != PROTO_UDP) {
		return;
	}
	for(bound = udp_listen; bound != NULL; bound = bound->next) {
		memset(found, 0, sizeof(found));
		size = sizeof(found);
		if(getsockopt(bound->socket, SOL_SOCKET, SO_MEMINFO, found, &size) < 0 || found[SK_MEMINFO_RCVBUF] == 0) {
			continue;
		}
		load->lost += found[SK_MEMINFO_DROPS];
		if(bound == msg->rcv.bind_address) {
			load->queue_fill = (int64_t)found[SK_MEMINFO_RMEM_ALLOC] * 100 / found[SK_MEMINFO_RCVBUF];
		}
	}
}

int pw_refused(sip_msg_t *msg)
{
	pushwake_host_load load = PUSHWAKE_HOST_LOAD_INIT;
	str reason = str_init("Service Unavailable");
	pushwake_str note = {NULL, 0};
	int admits;

	measure_queues(&load, msg);
	load.memory = (int64_t)shm_mem_size;
	load.free_memory = (int64_t)shm_available();
	load.held = pw_holds_linked();
	lock_get(lock);
	admits = pushwake_admits(&note, pw_client, admission, &load);
	lock_release(lock);
	if(note.len > 0) {
		LM_WARN("%.*s\n", PW_FMT(note));
	}
	if(admits != 0) {
		return 0;
	}
	update_stat(pw_count.refused, 1);
	add_lump_rpl(msg, (char *)retry_after, (int)strlen(retry_after), LUMP_RPL_HDR);
	pw.sl.freply(msg, 503, &reason);
	return 1;
}
