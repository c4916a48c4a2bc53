/* SPDX-License-Identifier: MIT
 *
 * What the script that runs in this process has held: it is busy, and verbs wait, until
 * the script has ended. Scripts are those of a request, failure_routes, and routes that
 * go on after t_suspend().
 */
#include "core/route.h"
#include "core/script_cb.h"
#include "pushwake_watch.h"

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

	if(!pw_opened_is_of(one, t)) {
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

void pw_script_holds(tm_cell_t *t, pw_hold_t *hold)
{
	pw_opened_t one = {hold->handle, hold->tindex, hold->tlabel, get_route_type() == FAILURE_ROUTE};
	int i;

	for(i = pw_opened_count() - 1; i >= 0; i--) {
		if(!pw_opened_is_of(pw_opened_at(i), t) && pw_opened_at(i)->in_failure == one.in_failure) {
			close_elsewhere(pw_opened_at(i));
			pw_opened_take(i);
		}
	}
	if(pw_opened_count() == PW_MOST_OPENED) {
		close_elsewhere(pw_opened_at(0));
		pw_opened_take(0);
	}
	pw_opened_add(&one);
}

/* tm holds the reply lock for a failure_route, and for a route that goes on it does not. */
static int on_failure_route_end(sip_msg_t *msg, unsigned int flags, void *param)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold = t != NULL && t != T_UNDEFINED ? pw_hold_in(t, 0) : NULL;
	pw_opened_t one;
	int i;

	if(hold != NULL && !pw_opened_has(hold)) {
		pw.reply_lock(t);
		pw_watch_failure_route(t, hold);
		pw.reply_unlock(t);
	}
	for(i = pw_opened_count() - 1; i >= 0; i--) {
		if(pw_opened_at(i)->in_failure) {
			one = pw_opened_take(i);
			close_opened(&one, msg);
		}
	}
	return 1;
}

static int on_script_end(sip_msg_t *msg, unsigned int flags, void *param)
{
	pw_opened_t one;

	while(pw_opened_count() > 0) {
		one = pw_opened_take(0);
		close_opened(&one, msg);
	}
	return 1;
}

/* sl_send_reply() knows no transactions, and after lookup() there would be none: what it says of a request that this script
 * has held is its end. tm says it first, and the caller takes sl's for a copy. */
static void on_stateless(sl_cbp_t *reply)
{
	if(reply->code >= 200 && pw_opened_has_current() && pw.tm.t_gett()->uas.status < 200) {
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
