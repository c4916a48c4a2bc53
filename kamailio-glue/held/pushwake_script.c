/* SPDX-License-Identifier: MIT
 *
 * What the script that runs in this process has held: it is busy, and verbs wait, until
 * the script has ended. Scripts are those of a request, failure_routes, and routes that
 * go on after t_suspend().
 */
#include <string.h>

#include "core/dset.h"
#include "core/route.h"
#include "core/script_cb.h"
#include "pushwake_held.h"

/* A script rarely looks more than one user up. */
#define PW_MOST_OPENED 8

/* Known by name and not by place: a script that ends in a way of its own leaves its requests behind here. */
typedef struct pw_opened {
	uint64_t handle;
	unsigned int tindex;
	unsigned int tlabel;
	int in_failure; /* by a failure_route, which may run while a request_route does */
} pw_opened_t;

static pw_opened_t opened[PW_MOST_OPENED];
static int opened_count = 0;
static int is_of(const pw_opened_t *one, const tm_cell_t *t)
{
	return t != NULL && t != T_UNDEFINED && t->hash_index == one->tindex && t->label == one->tlabel;
}

int pw_script_has(const pw_hold_t *hold)
{
	int i;

	for(i = 0; i < opened_count && opened[i].handle != hold->handle; i++) {
	}
	return i < opened_count;
}

int pw_script_holds_current(void)
{
	tm_cell_t *t = pw.tm.t_gett();
	int i;

	for(i = 0; i < opened_count && !is_of(&opened[i], t); i++) {
	}
	return i < opened_count;
}

/* What of a transaction is quiet: the script that has held it may be another process's. */
static pw_hold_t *quiet_of(tm_cell_t *t)
{
	pw_hold_t *hold;

	for(hold = pw_hold_next(t, NULL); hold != NULL && !hold->quiet; hold = pw_hold_next(t, hold)) {
	}
	return hold;
}

/* A CANCEL has come: T_CANCELED, which pw_quiet() borrows. */
static int is_cancelled(tm_cell_t *t)
{
	const pw_hold_t *hold = quiet_of(t);

	return (hold == NULL || hold->cancelled) && (t->flags & T_CANCELED) != 0;
}

int pw_script_is_late(sip_msg_t *msg)
{
	tm_cell_t *t = pw.tm.t_gett();

	if(t == NULL || t == T_UNDEFINED) {
		return pw.xtm.t_check_trans(msg) == 0;
	}
	return t->uas.status >= 200 || is_cancelled(t);
}

/* FNV-1a: the core's hashes give the same for many numbers that differ in two digits. */
static uint64_t hash_of(const char *text, int len)
{
	uint64_t hash = 0xcbf29ce484222325u;
	int i;

	for(i = 0; i < len; i++) {
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	}
	return hash;
}

/* tm forwards nothing of a cancelled request, without a word in the log. A real CANCEL is known by hold->cancelled. */
void pw_quiet(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *msg)
{
	pw.reply_lock(t);
	hold->quiet = !(t->flags & T_CANCELED); /* its CANCEL may have come first */
	hold->quiet_uri = hash_of(GET_RURI(msg)->s, GET_RURI(msg)->len);
	t->flags |= T_CANCELED;
	pw.reply_unlock(t);
	msg->msg_flags |= FL_MSG_NOREPLY;
}

int pw_quiet_begin(sip_msg_t *msg)
{
	const pw_opened_t *last = opened_count > 0 ? &opened[opened_count - 1] : NULL;
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold = last != NULL && is_of(last, t) ? pw_hold_in(t, last->handle) : NULL;

	if(hold == NULL) {
		return -1;
	}
	pw_quiet(t, hold, msg);
	return 0;
}

void pw_quiet_end(tm_cell_t *t, pw_hold_t *hold)
{
	if(hold->quiet && !hold->cancelled) {
		t->flags &= ~T_CANCELED;
	}
	hold->quiet = 0;
}

/* append_branch() after a lookup that has left the Request-URI as it was: that one leads back here. */
static void drop_unresolved(uint64_t uri)
{
	unsigned int i;
	branch_t *b;

	for(i = 0; i < nr_branches;) {
		b = get_sip_branch((int)i);
		if(b != NULL && b->ruid_len == 0 && b->dst_uri_len == 0 && b->path_len == 0
				&& hash_of(b->uri, (int)b->len) == uri) {
			drop_sip_branch((int)i);
		} else {
			i++;
		}
	}
}

void pw_quiet_over(sip_msg_t *msg)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold;

	if(t == NULL || t == T_UNDEFINED) {
		return;
	}
	while((hold = quiet_of(t)) != NULL) {
		pw.reply_lock(t);
		pw_quiet_end(t, hold);
		pw.reply_unlock(t);
		drop_unresolved(hold->quiet_uri);
	}
}

/* The script ended, or went on, with another transaction in hand. */
static void close_elsewhere(const pw_opened_t *one)
{
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	tm_cell_t *t = NULL;
	pw_hold_t *hold;

	if(pw.tm.t_lookup_ident(&t, one->tindex, one->tlabel) >= 0 && t != NULL) {
		hold = pw_hold_in(t, one->handle);
		if(hold != NULL) {
			pw.reply_lock(t);
			pw_quiet_end(t, hold);
			pw_watch_missed(t, hold);
			hold->busy = 0;
			pw_join_late(t, hold);
			pw.reply_unlock(t);
		}
		pw.tm.unref_cell(t);
	}
	pw.tm.t_sett(before, branch);
}

static void close_opened(const pw_opened_t *one, sip_msg_t *msg)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold;
	int must_yield;

	if(!is_of(one, t)) {
		close_elsewhere(one);
		return;
	}
	hold = pw_hold_in(t, one->handle);
	if(hold == NULL) {
		return;
	}
	pw.reply_lock(t);
	/* flags set after the lookup count for what is logged of the request; a failure_route's are taken over by tm */
	if(!one->in_failure && t->uas.request != NULL) {
		t->uas.request->flags = msg->flags;
	}
	if(pw_suspended(t, hold)) {
		pw_quiet_end(t, hold);
		pw.reply_unlock(t);
		return;
	}
	must_yield = pw_watch_close(t, hold);
	if(!one->in_failure) {
		pw_join_late(t, hold);
	}
	pw.reply_unlock(t);
	/* who was tried has failed already, when nobody knew that others are left to try. tm is at work on a branch's end
	 * while a failure_route runs: pw_watch_scan() does it then */
	if(must_yield && !one->in_failure) {
		pw_yield(t, hold);
	}
}

static void forget(int i)
{
	opened_count--;
	memmove(&opened[i], &opened[i + 1], (opened_count - i) * sizeof(opened[0]));
}

void pw_script_holds(tm_cell_t *t, pw_hold_t *hold)
{
	pw_opened_t one = {hold->handle, hold->tindex, hold->tlabel, get_route_type() == FAILURE_ROUTE};
	int i;

	for(i = opened_count - 1; i >= 0; i--) {
		if(!is_of(&opened[i], t) && opened[i].in_failure == one.in_failure) {
			close_elsewhere(&opened[i]);
			forget(i);
		}
	}
	if(opened_count == PW_MOST_OPENED) {
		close_elsewhere(&opened[0]);
		forget(0);
	}
	opened[opened_count++] = one;
}

/* tm holds the reply lock for a failure_route, and for a route that goes on it does not. */
static int on_failure_route_end(sip_msg_t *msg, unsigned int flags, void *param)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold = t != NULL && t != T_UNDEFINED ? pw_hold_in(t, 0) : NULL;
	pw_opened_t one;
	int i;

	if(hold != NULL && !pw_script_has(hold)) {
		pw.reply_lock(t);
		pw_watch_failure_route(t, hold);
		pw.reply_unlock(t);
	}
	for(i = opened_count - 1; i >= 0; i--) {
		if(opened[i].in_failure) {
			one = opened[i];
			forget(i);
			close_opened(&one, msg);
		}
	}
	return 1;
}

static int on_script_end(sip_msg_t *msg, unsigned int flags, void *param)
{
	pw_opened_t one;

	while(opened_count > 0) {
		one = opened[0];
		forget(0);
		close_opened(&one, msg);
	}
	return 1;
}

/* sl_send_reply() knows no transactions, and after lookup() there would be none: what it says of a request that this script
 * has held is its end. tm says it first, and the caller takes sl's for a copy. */
static void on_stateless(sl_cbp_t *reply)
{
	if(reply->code >= 200 && pw_script_holds_current() && pw.tm.t_gett()->uas.status < 200) {
		pw.tm.t_reply(reply->req, (unsigned int)reply->code, reply->reason->s);
	}
}

static sl_cbelem_t stateless = {.type = SLCB_REPLY_READY, .cbf = on_stateless};

int pw_script_init(void)
{
	return pw.sl.register_cb(&stateless) == 0 && register_script_cb(on_script_end, POST_SCRIPT_CB | REQUEST_CB, NULL) == 0
				   && register_script_cb(on_failure_route_end, POST_SCRIPT_CB | FAILURE_CB, NULL) == 0
				   ? 0
				   : -1;
}
