/* SPDX-License-Identifier: MIT
 *
 * The end of a wait: the best answer, failure_route, 480. And what the caller hears
 * before it.
 */
#include <string.h>

#include "core/action.h"
#include "core/error.h"
#include "core/kemi.h"
#include "core/route.h"
#include "core/script_cb.h"
#include "core/timer.h"
#include "modules/tm/t_reply.h"
#include "modules/tm/timer.h"
#include "pushwake_legs.h"

/* Seconds for which phones may join what the script has sent elsewhere, and what such a phone has to answer after that. */
#define PW_LONGEST_WAIT 120
#define PW_AFTER_WAIT 120

int pw_failure_route(void)
{
	int route;

	if(sr_kemi_eng_get() != NULL) {
		return pw_failure_callback.len > 0 ? sr_kemi_cbname_lookup_name(&pw_failure_callback) : 0;
	}
	route = route_lookup(&failure_rt, "PUSHWAKE");
	return route > 0 && failure_rt.rlist[route] != NULL ? route : 0;
}

/* The route for a request that nobody woke for: the one made for it, or what the script has for "no answer". */
static int last_route(const tm_cell_t *t)
{
	int route = pw_failure_route();

	return route > 0 ? route : t->on_failure;
}

/* A phone, or tm's timer for one that rang, has said something that can be sent on. Branches before the blind one are
 * of somebody whom a failure_route has tried before. */
int pw_has_answer(const tm_cell_t *t, const pw_hold_t *hold)
{
	int b;

	for(b = hold->blind + 1; b < t->nr_of_outgoings; b++) {
		/* Without a request it is what t_suspend() left, which nobody answered. */
		if(t->uac[b].request.buffer != NULL && t->uac[b].reply != NULL && t->uac[b].last_received >= 300) {
			return 1;
		}
	}
	return 0;
}

/* Within a dialog tm's 408 for a leg that nobody has heard would end the dialog (RFC 5057, 5.1), and tm prefers it to 504. */
static void drop_timed_out(tm_cell_t *t, pw_hold_t *hold)
{
	int b;

	for(b = hold->blind + 1; hold->keeps_uri && b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(t->uac[b].last_received == 408 && t->uac[b].reply == FAKED_REPLY && pw_leg_of(t, hold, b) > 0) {
			pw_leg_drop(t, hold, b);
			t->uac[b].last_received = PW_ENDED;
			t->uac[b].reply = NULL;
		}
	}
}

/* Takes the reply lock when nobody may answer any more; else the legs that are out end the wait. */
static int lock_silent(tm_cell_t *t, pw_hold_t *hold)
{
	pw.reply_lock(t);
	if(pw_leg_allowed(t, hold)) {
		if(!pw_leg_pending(t, hold)) {
			return 1;
		}
		pw_blind_close(t, hold);
	}
	pw.reply_unlock(t);
	return 0;
}

/* ORDER: the timer is stopped without the lock, which its handler takes. A stopped one
 * cannot be started again, so it is only stopped when nothing is out. */
void pw_give_up(tm_cell_t *t, pw_hold_t *hold, int status)
{
	struct cancel_info cancel;
	enum rps result;
	int is_answered, code;

	if(!lock_silent(t, hold)) {
		return;
	}
	pw.reply_unlock(t);
	stop_rb_timers(&t->uac[hold->blind].request);
	if(!lock_silent(t, hold)) {
		return;
	}
	pw_blind_open(t, hold);
	drop_timed_out(t, hold);
	is_answered = pw_has_answer(t, hold);
	hold->over = 1;
	hold->expired = !is_answered;
	hold->failure_status = status;
	pw_hold_prolong(t, hold);
	t->uac[hold->blind].on_failure = !is_answered && status >= 300 ? pw_failure_route() : 0;
	code = is_answered ? PW_WORST : status >= 300 ? status : 480;
	if(!is_answered && status >= 300 && t->uac[hold->blind].on_failure == 0 && t->on_failure > 0) {
		/* what the script does about no answer it does by this code; pw_unanswered() runs its route */
		code = 408;
	}
	if(!is_answered) {
		t->uac[hold->blind].request.flags |= F_RB_TIMEOUT; /* for t_branch_timeout() and t_any_timeout() */
	}
	init_cancel_info(&cancel);
	result = pw.relay_reply(t, FAKED_REPLY, hold->blind, (unsigned int)code, &cancel, 1);
	if(result == RPS_TGONE) {
		return;
	}
	if(result == RPS_COMPLETED) {
		pw.cleanup_timers(t);
	}
}

/* The blind branch ends with a code that loses against every other, and tm chooses. It is
 * open again once failure_route has tried another contact. */
void pw_yield(tm_cell_t *t, pw_hold_t *hold)
{
	struct cancel_info cancel;

	pw.reply_lock(t);
	if(!hold->held || !pw_leg_allowed(t, hold) || pw_leg_pending(t, hold) || !pw_has_answer(t, hold)) {
		pw.reply_unlock(t);
		return;
	}
	pw_hold_counts(hold, 0);
	hold->yields = 1;
	init_cancel_info(&cancel);
	if(pw.relay_reply(t, FAKED_REPLY, hold->blind, PW_WORST, &cancel, 1) == RPS_COMPLETED) {
		pw.cleanup_timers(t);
	}
}

/* Module acc clears its flag when it has recorded a missed call: in the request of the transaction when an answer
 * goes out, in its copy when a branch has failed. Both are looked at, one after the other. */
static void share_flags(tm_cell_t *t, sip_msg_t *req, flag_t before)
{
	req->flags &= ~(before & ~t->uas.request->flags);
	t->uas.request->flags = req->flags;
}

int ki_pushwake_keep_waiting(sip_msg_t *msg, int seconds)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold = t != NULL && t != T_UNDEFINED ? pw_hold_in(t, 0) : NULL;
	ticks_t end;
	int done = -1;

	if(seconds < 1 || seconds > PW_LONGEST_WAIT) {
		LM_ERR("pushwake_keep_waiting(%d): write 1 to %d seconds\n", seconds, PW_LONGEST_WAIT);
		return -1;
	}
	/* a route of its own may be called from a failure_route: the parser cannot tell */
	if(hold == NULL || !is_invite(t) || get_route_type() != FAILURE_ROUTE) {
		return -1;
	}
	pw.reply_lock(t);
	if(t->uas.status < 200 && !(t->flags & T_CANCELED) && !hold->answered) {
		/* the branch that the script adds keeps it open now */
		hold->yields = 0;
		pw_blind_close(t, hold);
		hold->over = 0;
		hold->joins_until = pw_now_ms() + (int64_t)seconds * 1000;
		end = get_ticks_raw() + S_TO_TICKS(seconds + PW_AFTER_WAIT);
		if(t->end_of_life != 0 && (s_ticks_t)(end - t->end_of_life) > 0) {
			t->end_of_life = end;
		}
		pushwake_request_continues(pw_client, hold->handle, (int64_t)seconds * 1000);
		done = 1;
	}
	pw.reply_unlock(t);
	return done;
}

static void run_failure_route(tm_cell_t *t, sip_msg_t *req, int route)
{
	flag_t flags = t->uas.request->flags;
	sr_kemi_eng_t *keng = sr_kemi_eng_get();
	str event = str_init("pushwake:timeout");
	int before = get_route_type();

	t->on_failure = 0;
	set_route_type(FAILURE_ROUTE);
	log_prefix_set(req);
	if(exec_pre_script_cb(req, FAILURE_CB_TYPE) > 0) {
		if(keng != NULL) {
			sr_kemi_route(keng, req, FAILURE_ROUTE, sr_kemi_cbname_lookup_idx(route), &event);
		} else if(run_top_route(failure_rt.rlist[route], req, 0) < 0) {
			LM_ERR("failure_route for a held request failed\n");
		}
		exec_post_script_cb(req, FAILURE_CB_TYPE);
	}
	log_prefix_set(NULL);
	set_route_type(before);
	share_flags(t, req, flags);
}

/* The blind branch counts as 408, which tm may prefer to what a device answered. */
static int best_answer(tm_cell_t *t, int blind)
{
	int i, best = -1;

	for(i = blind + 1; i < t->nr_of_outgoings; i++) {
		if(t->uac[i].request.buffer == NULL || t->uac[i].last_received < 300
				|| t->uac[i].reply == NULL) {
			continue;
		}
		if(best < 0
				|| pushwake_better_answer(t->uac[best].last_received, t->uac[i].last_received)
						   != t->uac[best].last_received) {
			best = i;
		}
	}
	return best;
}

/* tm's failure_reply_mode 1 and 2 drop the answers when a failure_route has run, and a callback of ours counts as one to tm.
 * Where the script has none of its own for the chosen branch, they are dropped only if a branch was added. */
static void keep_answers(const tm_cell_t *t, const pw_hold_t *hold)
{
	int picked = pw.tm.t_get_picked_branch();

	if(pw.failure_reply_mode != NULL && pw.drop_replies != NULL
			&& (*pw.failure_reply_mode == 1 || *pw.failure_reply_mode == 2) && picked >= 0
			&& (picked == hold->blind || t->uac[picked].on_failure == 0)) {
		pw.drop_replies(3);
	}
}

/* Runs under the reply lock, when the blind branch was the last to end: its timer fired
 * because no engine said anything, or a message shall be accepted although nobody came. */
void pw_unanswered(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *req, int code)
{
	int best, route, i, branches = t->nr_of_outgoings;
	flag_t flags;

	keep_answers(t, hold);
	if(hold->cancelled || (t->flags & T_CANCELED) || pw.tm.t_get_picked_branch() != hold->blind
			|| (code != 408 && hold->failure_status >= 300)) {
		return;
	}
	drop_timed_out(t, hold);
	best = best_answer(t, hold->blind);
	hold->over = 1;
	hold->expired = best < 0;
	route = best >= 0 ? t->uac[best].on_failure : last_route(t);
	pw_hold_prolong(t, hold);
	if(route > 0) {
		run_failure_route(t, req, route);
	}
	if(t->uas.status >= 200) {
		return;
	}
	for(i = branches; i < t->nr_of_outgoings; i++) {
		if(t->uac[i].last_received < 200) {
			return; /* the failure route sent it elsewhere */
		}
	}
	code = best >= 0 ? t->uac[best].last_received : hold->failure_status;
	flags = t->uas.request->flags;
	pw.reply_unsafe(t, req, code, best >= 0 || code >= 300 ? error_text(code) : "Accepted");
	share_flags(t, req, flags);
}

void pw_tell(tm_cell_t *t, pw_hold_t *hold, int status)
{
	str text, tag = STR_NULL, none = STR_NULL;

	if(!is_invite(t) || t->uas.status >= 101 || !pw_leg_allowed(t, hold)) {
		return;
	}
	text.s = status == 110 ? "Push Sent" : status == 180 ? "Ringing" : status == 182 ? "Queued" : "Session Progress";
	text.len = (int)strlen(text.s);
	/* RFC 3261, 8.2.6.2: a To tag from 101 on, and the one that tm's own answers carry */
	pw.tm.t_get_reply_totag(t->uas.request, &tag);
	atomic_inc(&t->ref_count); /* it gives one back */
	pw.tm.t_reply_with_body(t, (unsigned int)status, &text, &none, &none, &tag);
}
