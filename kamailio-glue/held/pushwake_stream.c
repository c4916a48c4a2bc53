/* SPDX-License-Identifier: MIT
 *
 * A request went over TCP, TLS or WebSocket, and its connection ends before any answer:
 * the system took the socket of a phone that sleeps. tm would wait for its timer. The
 * core has one place for a function that hears of closed connections, which tcpops
 * takes, so the supervisor looks after them while such a request is young.
 */
#include "core/mem/shm_mem.h"
#include "core/tcp_conn.h"
#include "modules/tm/t_cancel.h"
#include "modules/tm/t_reply.h"
#include "pushwake_legs.h"

/* A phone that is there has said something by then; others are looked at as often as
 * everything else that is held. */
#define PW_YOUNG_MS 2000

/* The supervisor looks often: nobody has to wake it. */
static volatile int *is_watching = NULL;

int pw_stream_init(void)
{
	is_watching = shm_malloc(sizeof(*is_watching));
	if(is_watching == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	*is_watching = 0;
	return 0;
}

static int is_over_stream(const tm_ua_client_t *branch)
{
	int proto = branch->request.dst.proto;

	return branch->request.buffer != NULL
		   && (proto == PROTO_TCP || proto == PROTO_TLS || proto == PROTO_WS || proto == PROTO_WSS);
}

/* A leg that is out over a connection and of which nothing was heard. */
static int is_silent_stream(tm_cell_t *t, pw_hold_t *hold, int b)
{
	return b != hold->blind && !(hold->closed & (1u << b)) && t->uac[b].last_received < 100
		   && is_over_stream(&t->uac[b]) && pw_leg_of(t, hold, b) > 0;
}

static int first_silent_stream(tm_cell_t *t, pw_hold_t *hold, int from)
{
	int b;

	for(b = from; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(is_silent_stream(t, hold, b)) {
			return b;
		}
	}
	return -1;
}

void pw_stream_watch(tm_cell_t *t, pw_hold_t *hold)
{
	if(first_silent_stream(t, hold, 0) < 0) {
		return;
	}
	hold->stream_ms = pw_now_ms();
	__sync_synchronize();
	if(!*is_watching) {
		pw_supervisor_wake();
	}
}

/* Asks as the core does when it sends. */
static int is_connected(const tm_ua_client_t *branch)
{
	const struct dest_info *to = &branch->request.dst;
	struct tcp_connection *connection;
	struct ip_addr ip;

	su2ip_addr(&ip, (union sockaddr_union *)&to->to);
	connection = tcpconn_get(to->id, &ip, su_getport(&to->to), NULL, 0);
	if(connection == NULL) {
		return 0;
	}
	tcpconn_put(connection);
	return 1;
}

/* PJSIP leaves its instance out where it says that it has another address. */
static int is_same_phone(const tm_ua_client_t *branch, unsigned int run, const pw_contact_t *c)
{
	return STR_EQ(c->ruid, branch->ruid) || (run != 0 && run == pw_run_of(c))
		   || (c->instance.len > 0 && STR_EQ(c->instance, branch->instance));
}

/* Where the phone of a branch has registered since over a connection that is open; 0: nowhere. */
static int has_come_back(const tm_ua_client_t *branch, unsigned int run, const pw_contacts_t *contacts,
		struct receive_info *over)
{
	const pw_contact_t *c, *last = NULL;
	int i;

	for(i = 0; i < contacts->n; i++) {
		c = &contacts->v[i];
		if(is_same_phone(branch, run, c) && c->path.len == 0 && (last == NULL || c->modified >= last->modified)
				&& pw_contact_connection(c, NULL)) {
			last = c;
		}
	}
	return last != NULL && pw_contact_connection(last, over);
}

/* Where datagrams to a contact go; 0: another way. */
static int datagram_place(pw_contact_t *c, union sockaddr_union *to)
{
	char flow[PW_FLOW_SIZE];
	str target = c->path.len > 0 ? c->path : pw_contact_target(c, flow);
	struct ip_addr *ip;
	sip_uri_t uri;

	if(target.len == 0) {
		target = c->uri;
	}
	return c->path.len == 0 && parse_uri(target.s, target.len, &uri) == 0
		   && (uri.proto == PROTO_NONE || uri.proto == PROTO_UDP) && (ip = str2ipx(&uri.host)) != NULL
		   && init_su(to, ip, uri.port_no != 0 ? uri.port_no : SIP_PORT) == 0;
}

/* The run of an app that was sent a datagram has registered from another address last, which is `out`. */
static int has_moved(const tm_ua_client_t *branch, unsigned int run, pw_contacts_t *contacts, union sockaddr_union *out)
{
	const union sockaddr_union *sent = &branch->request.dst.to;
	union sockaddr_union to;
	int64_t newest = -1, order;
	int i;

	for(i = 0; i < contacts->n; i++) {
		pw_contact_t *c = &contacts->v[i];

		if((run == 0 ? STR_EQ(c->ruid, branch->ruid) : run == pw_run_of(c)) && datagram_place(c, &to)
				&& to.s.sa_family == sent->s.sa_family) {
			order = (int64_t)c->cseq * 2 + su_cmp(&to, sent);
			if(order > newest) {
				newest = order;
				*out = to;
			}
		}
	}
	return newest >= 0 && !su_cmp(out, sent);
}

static void send_where_it_is(tm_ua_client_t *branch)
{
	struct retr_buf *cancel = &branch->local_cancel;

	if(cancel->buffer != NULL && cancel->buffer != BUSY_BUFFER && cancel->buffer_len > 0) {
		/* nobody has read it */
		cancel->dst = branch->request.dst;
		pw.send_buffer(cancel, cancel->buffer, cancel->buffer_len);
	}
}

/* A phone that changes its network while it rings goes on ringing, and may answer from its next address (RFC 3261,
 * 18.2.2). It would ring on when the call is over: tm sends a CANCEL where the INVITE went. */
void pw_stream_follow(tm_cell_t *t, pw_hold_t *hold, int except)
{
	pw_contacts_t contacts = {.n = -1};
	union sockaddr_union to;
	struct receive_info over;
	struct dest_info *dst;
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		dst = &t->uac[b].request.dst;
		if(b == except || b == hold->blind || t->uac[b].last_received < 100 || t->uac[b].last_received >= 200
				|| (is_over_stream(&t->uac[b]) ? is_connected(&t->uac[b]) : dst->proto != PROTO_UDP)
				|| pw_leg_of(t, hold, b) == 0) {
			continue;
		}
		if(contacts.n < 0 && pw_contacts_get(&contacts, &hold->table, &hold->aor) < 0) {
			return;
		}
		if(dst->proto == PROTO_UDP && has_moved(&t->uac[b], hold->runs[b], &contacts, &to)) {
			dst->to = to;
			send_where_it_is(&t->uac[b]);
		} else if(dst->proto != PROTO_UDP && has_come_back(&t->uac[b], hold->runs[b], &contacts, &over)) {
			init_dst_from_rcv(dst, &over);
			send_where_it_is(&t->uac[b]);
		}
	}
	pw_contacts_free(&contacts);
}

/* The leg is over as if it could not have been sent. The lock is given back. */
static void lose(tm_cell_t *t, pw_hold_t *hold, int b)
{
	struct cancel_info cancel;

	if(pw_leg_reserved(t, hold) && pw_executes_briefly()) {
		pw.reply_unlock(t);
		pw_look_elsewhere(hold);
		return;
	}
	if(pw_leg_reserved(t, hold)) {
		/* serial forking: the script's failure_route has its turn */
		pw_leg_failed(t, hold, b, 408);
		hold->yields = hold->held;
		pw_blind_close(t, hold);
		init_cancel_info(&cancel);
		if(pw.relay_reply(t, FAKED_REPLY, b, 408, &cancel, 1) == RPS_COMPLETED) {
			pw.cleanup_timers(t);
		}
		return;
	}
	pw_leg_failed(t, hold, b, 503);
	pw_leg_drop(t, hold, b);
	if(!hold->held && !pw_leg_pending(t, hold)) {
		pw_blind_open(t, hold); /* the engine says what now */
	}
	pw.reply_unlock(t);
}

int pw_stream_look_after(tm_cell_t *t, pw_hold_t *hold)
{
	int64_t since = hold->stream_ms;
	int b = 0;

	if(hold->busy || pw_is_locked(t)) {
		return 1;
	}
	for(;;) {
		pw.reply_lock(t);
		if(!pw_leg_allowed(t, hold)) {
			pw.reply_unlock(t);
			return 0;
		}
		b = first_silent_stream(t, hold, b);
		while(b >= 0 && is_connected(&t->uac[b])) {
			b = first_silent_stream(t, hold, b + 1);
		}
		if(b < 0) {
			break;
		}
		lose(t, hold, b++);
	}
	if(first_silent_stream(t, hold, 0) < 0) {
		hold->stream_ms = 0;
	}
	pw.reply_unlock(t);
	return hold->stream_ms != 0 && pw_now_ms() - since < PW_YOUNG_MS;
}

static void look_after(tm_cell_t *t, pw_hold_t *hold, void *again)
{
	*(int *)again |= pw_stream_look_after(t, hold);
}

int pw_stream_scan(void)
{
	int again = 0;

	/* ORDER: before the table is read: what comes later wakes the supervisor */
	*is_watching = 0;
	__sync_synchronize();
	pw_holds_each(NULL, NULL, PW_HOLDS_OVER_STREAMS, look_after, &again);
	*is_watching = again;
	return again;
}
