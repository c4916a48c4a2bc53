/* SPDX-License-Identifier: MIT
 *
 * What tm tells of a held request goes to the engine: answers of legs, the CANCEL, the
 * final answer. The callbacks run in whatever process tm works in.
 */
#include "core/parser/parse_cseq.h"
#include "core/trim.h"
#include "core/xavp.h"
#include "modules/tm/t_hooks.h"
#include "pushwake_watch.h"

/* A 2xx counts whatever was decided about its branch meanwhile: somebody has picked up.
 * Says whether the caller has had its final answer before. */
static int on_answered(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	int is_over;

	pw.reply_lock(t);
	is_over = t->uas.status >= 200;
	hold->answered = 1;
	if(!is_over && hold->answered_leg == 0) { /* of two at once the first goes to the caller */
		hold->answered_leg = pw_leg_of(t, hold, branch);
	}
	if((hold->closed & (1u << branch)) && t->uas.status < 200 && t->uac[branch].last_received >= 300) {
		t->uac[branch].last_received = 183;
	}
	if(!is_over) {
		pw_cancel_with_first_answer(t, branch);
		pw_stream_follow(t, hold, branch);
	}
	pw.reply_unlock(t);
	return is_over;
}

/* Exactly one phone was pushed. */
static int is_only_phone(const pw_hold_t *hold)
{
	return hold->pushed != 0 && (hold->pushed & (hold->pushed - 1)) == 0;
}

/* Serial forking: when the contacts that were tried have failed, failure_route is to try
 * the next ones although phones are still waited for. Without an engine the answer of the only phone counts at once. */
static void on_failed(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	int b;

	pw.reply_lock(t);
	hold->failed |= 1u << branch;
	for(b = 0; b < t->nr_of_outgoings && (b == hold->blind || b == branch || t->uac[b].last_received >= 200); b++) {
	}
	if(b == t->nr_of_outgoings && hold->held && pw_leg_reserved(t, hold)) {
		pw_blind_close(t, hold);
		hold->yields = 1;
	} else if(b == t->nr_of_outgoings && hold->held && (hold->joined & (1u << branch)) && is_only_phone(hold)) {
		pw_blind_close(t, hold);
		hold->over = 1;
	}
	pw.reply_unlock(t);
}

/* The answer of this branch is kept from the caller while another one may still be answered; `waits`: also while phones are
 * waited for that sleep.
 * ORDER: before tm stores the answer. */
static int is_left_out(tm_cell_t *t, pw_hold_t *hold, int branch, int code, int waits)
{
	int b, is_left = 0;

	pw.reply_lock(t);
	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES && !is_left; b++) {
		is_left = b != branch && !(hold->closed & (1u << b)) && t->uac[b].last_received < 200
				  && (pw_leg_of(t, hold, b) > 0 || (waits && (b != hold->blind || hold->held)));
	}
	is_left = is_left && pw_leg_of(t, hold, branch) > 0;
	if(is_left) {
		pw_leg_drop(t, hold, branch);
		t->uac[branch].last_received = (short)code; /* tm takes what it gets for a retransmission */
	}
	pw.reply_unlock(t);
	return is_left;
}

/* RFC 3261, 8.2.2.2: the phone has the request over another branch. While a leg is out that is no answer for the caller. */
static int on_merged(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	return is_left_out(t, hold, branch, 482, 0);
}

/* A phone's app has ended the call that a push had shown for too long, and declines its late INVITE before anybody could: that
 * is the answer of this phone alone (DeviceState.isTooLate). Where nobody else is waited for it goes on to the caller. */
#define LATE_MS 15000
#define QUICK_MS 500

static int on_late_decline(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	int64_t sent = hold->sent_ms[branch];

	return sent != 0 && sent - hold->began_ms >= LATE_MS && pw_now_ms() - sent <= QUICK_MS
		   && t->uac[branch].last_received <= 100 && is_left_out(t, hold, branch, 603, 1);
}

/* The proxy's own word, as the engine sees it as well (CallContact.speaksItself). */
static int is_proxys(const tm_ua_client_t *branch, int code)
{
	return branch->path.len > 0 && branch->last_received <= 100 && pushwake_is_about_way(code);
}

/* A proxy before the phone cannot reach it. If that is the last leg, tm would end the request with it before the engine can
 * say that it waits for the phone.
 * ORDER: the engine's verbs wait for the lock. */
static int on_unreached(tm_cell_t *t, pw_hold_t *hold, int branch, int code)
{
	int leg, b, is_kept;

	if(!is_proxys(&t->uac[branch], code)) {
		return 0;
	}
	pw.reply_lock(t);
	leg = pw_leg_of(t, hold, branch);
	is_kept = leg > 0 && !hold->held && pw_leg_allowed(t, hold) && !pw_leg_reserved(t, hold);
	for(b = 0; b < t->nr_of_outgoings && is_kept; b++) {
		is_kept = b == branch || b == hold->blind || t->uac[b].last_received >= 200;
	}
	is_kept = is_kept && pushwake_progressed(pw_client, hold->handle, leg, code, 1) == PUSHWAKE_OK;
	if(is_kept) {
		pw_leg_drop(t, hold, branch);
		t->uac[branch].last_received = (short)code; /* tm takes what it gets for a retransmission */
		pw_blind_open(t, hold);
	}
	pw.reply_unlock(t);
	return is_kept;
}

static void on_reply(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *reply, int code)
{
	int branch = pw.tm.t_gett_branch();
	unsigned int bit;
	int leg;

	if(branch < 0 || branch >= PW_MAX_BRANCHES || reply == NULL || reply == FAKED_REPLY || reply->cseq == NULL
			|| get_cseq(reply)->method_id == METHOD_CANCEL) {
		return;
	}
	bit = 1u << branch;
	if(code >= 200 && code < 300) {
		if(on_answered(t, hold, branch)) {
			pw_leg_report(hold, pw_leg_of(t, hold, branch), code, 1);
		}
		return; /* on_final() tells whose answer it was */
	}
	if((hold->closed & bit) || (code == 487 && hold->cancelled) || t->uac[branch].last_received >= 200) {
		return; /* replaced; or the answer to a CANCEL, which declines nothing: of the caller, or of tm's timer */
	}
	leg = pw_leg_of(t, hold, branch);
	if(code < 200 && t->uas.status >= 200 && t->uac[branch].last_received < 100) {
		t->uac[branch].last_received = (short)code; /* its CANCEL may go out */
	}
	if(code < 200) {
		if(code == 100 ? !(hold->reported_trying & bit) : !(hold->reported_ringing & bit)) {
			hold->reported_trying |= bit;
			hold->reported_ringing |= code > 100 ? bit : 0;
			pw_leg_report(hold, leg, code, 1);
		}
		return;
	}
	if(code == 482 && on_merged(t, hold, branch)) {
		pw_leg_report(hold, leg, code, 1);
		return;
	}
	if(on_unreached(t, hold, branch, code)) {
		return;
	}
	if(code == 603 && on_late_decline(t, hold, branch)) {
		pw_leg_report(hold, leg, code, 1);
		return;
	}
	if(code >= 600 && (t->flags & T_DISABLE_6xx)) {
		code = 486; /* the configuration wants it to be one phone's answer */
	} else if(code >= 600) {
		pw_declined(t, hold);
	}
	on_failed(t, hold, branch);
	pw_leg_report(hold, leg, code, 1);
}

static void on_final(pw_hold_t *hold, int code)
{
	int how = PUSHWAKE_CALL_FAILED;

	if(!pw_hold_unlink(hold)) {
		return;
	}
	hold->over = 1;
	if(code < 300 && code != hold->failure_status) {
		how = PUSHWAKE_CALL_ANSWERED;
		update_stat(pw_count.answered, 1);
	} else if(hold->cancelled || code == 487) {
		how = PUSHWAKE_CALL_CANCELLED;
		update_stat(pw_count.cancelled, 1);
	} else if(hold->expired) {
		update_stat(pw_count.timed_out, 1);
	}
	pw_admission_ended();
	pushwake_request_ended(pw_client, hold->handle, how, code,
			how == PUSHWAKE_CALL_ANSWERED ? hold->answered_leg : 0, pw_in(&hold->reason));
}

static void on_transaction(tm_cell_t *t, int type, struct tmcb_params *params)
{
	pw_hold_t *hold = (pw_hold_t *)*params->param;

	if(type & TMCB_E2ECANCEL_IN) {
		pw_cancelled(t, hold, params->req);
	} else if(type & TMCB_RESPONSE_IN) {
		on_reply(t, hold, params->rpl, params->code);
	} else if(type & TMCB_ON_FAILURE) {
		pw_unanswered(t, hold, params->req, params->code);
	} else if(type & TMCB_REQUEST_FWDED) {
		/* A relay that fails must not end what phones may still join: replies of the
		 * script that come of it are not sent (sl_reply_error, send_reply). */
		if(pw_opened_has(hold) && params->req != NULL) {
			params->req->msg_flags |= FL_MSG_NOREPLY;
		}
		/* failure_route tries another contact, under the reply lock */
		if(hold->yields) {
			hold->yields = 0;
			if(!hold->over) {
				pw_blind_open(t, hold);
			}
		}
	} else if(type & TMCB_RESPONSE_OUT) {
		if(params->code >= 200) {
			on_final(hold, params->code);
		}
	} else if(type & TMCB_DESTROY) {
		/* tm tells of no answer that it could not send: the caller's connection is gone */
		on_final(hold, t->uas.status >= 200 ? (int)t->uas.status : 408);
	}
}

int pw_watch(sip_msg_t *msg, tm_cell_t *t, pw_hold_t *hold)
{
	return pw.tm.register_tmcb(msg, t,
				   TMCB_E2ECANCEL_IN | TMCB_ON_FAILURE | TMCB_REQUEST_FWDED | TMCB_RESPONSE_IN
						   | TMCB_RESPONSE_OUT | TMCB_DESTROY,
				   on_transaction, hold, pw_hold_free)
					   > 0
				   ? 0
				   : -1;
}

/* Legs whose request could not be sent, or that timed out: tm has ended them without
 * asking anybody. */
static void report_failed(tm_cell_t *t, pw_hold_t *hold)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(b == hold->blind || (hold->closed & (1u << b)) || (hold->failed & (1u << b))
				|| t->uac[b].last_received < 300) {
			continue;
		}
		pw_leg_failed(t, hold, b, t->uac[b].last_received);
	}
}

static int is_kept(str *xavp)
{
	return xavp != NULL && xavp->len > 0 && xavp_get(xavp, NULL) != NULL;
}

/* Serial forking: t_load_contacts() has put contacts aside, for failure_route to try later. */
static int keeps_contacts(void)
{
	return is_kept(pw.contacts_avp) || is_kept(pw.contact_flows_avp);
}

/* Legs that the script has not relayed to: it could not, or will later. For whom no branch was left no push makes one. */
static void report_unsent(tm_cell_t *t, pw_hold_t *hold)
{
	int i, is_later = keeps_contacts(), is_full = pw_leg_is_last(t);

	for(i = 0; i < hold->named_count; i++) {
		if(!pw_leg_relayed(t, hold, i)) {
			hold->named[i].later = is_later;
			pw_leg_report(hold, hold->named[i].leg, is_later || is_full ? -1 : 503, 0);
		}
	}
}

/* Legs that the script's failure_route has relayed to. */
static void report_sent(tm_cell_t *t, pw_hold_t *hold)
{
	int i;

	for(i = 0; i < hold->named_count; i++) {
		if(hold->named[i].later && pw_leg_relayed(t, hold, i)) {
			hold->named[i].later = 0;
			pw_leg_report(hold, hold->named[i].leg, 0, 0);
		}
	}
}

void pw_watch_missed(tm_cell_t *t, pw_hold_t *hold)
{
	if(t->uas.status >= 200) {
		on_final(hold, t->uas.status);
	}
}

int pw_watch_close(tm_cell_t *t, pw_hold_t *hold)
{
	int must_yield = 0;

	pw_quiet_end(t, hold);
	pw_watch_missed(t, hold);
	pw_leg_keep_route(t);
	if(is_invite(t) && t->end_of_life != 0 && (s_ticks_t)(t->end_of_life - get_ticks_raw()) > 0) {
		hold->lifetime = t->end_of_life - get_ticks_raw();
	}
	if(hold->cancelled && t->uas.status < 200) {
		pw_cancel_missed(t, hold);
	} else if(pw_leg_allowed(t, hold)) {
		if(!hold->held && !pw_leg_pending(t, hold) && hold->named_count > 0) {
			/* nothing went out: the engine says what now */
			pw_blind_open(t, hold);
		}
		report_failed(t, hold);
		report_unsent(t, hold);
		pw_stream_watch(t, hold);
		must_yield = !pw_leg_pending(t, hold) && pw_leg_reserved(t, hold);
	}
	hold->busy = 0;
	return must_yield;
}

void pw_watch_failure_route(tm_cell_t *t, pw_hold_t *hold)
{
	if(pw_leg_allowed(t, hold)) {
		report_sent(t, hold);
		report_failed(t, hold);
		pw_stream_watch(t, hold);
	}
}

void pw_watch_look_after(tm_cell_t *t, pw_hold_t *hold)
{
	int must_yield;

	if(hold->busy || pw_is_locked(t)) {
		return;
	}
	if(hold->cancels_ms != 0) {
		pw_cancel_look_after(t, hold);
	}
	if(hold->cancelled) {
		return;
	}
	pw.reply_lock(t);
	report_failed(t, hold);
	must_yield = !pw_leg_pending(t, hold) && pw_leg_reserved(t, hold);
	pw.reply_unlock(t);
	if(must_yield && pw_executes_briefly()) {
		pw_look_elsewhere(hold);
	} else if(must_yield) {
		pw_yield(t, hold);
	}
}

static void look_after(tm_cell_t *t, pw_hold_t *hold, void *context)
{
	pw_watch_look_after(t, hold);
}

void pw_watch_scan(void)
{
	pw_holds_each(NULL, NULL, PW_HOLDS_WAITING, look_after, NULL);
}
