/* SPDX-License-Identifier: MIT
 *
 * A request that waits, in whatever process tm works in: how it ends, and what phones answer, which its place hears.
 */
#include <stdio.h>
#include <string.h>

#include "core/mem/shm_mem.h"
#include "core/parser/parse_cseq.h"
#include "modules/tm/t_hooks.h"
#include "modules/tm/t_reply.h"
#include "modules/tm/timer.h"
#include "pushwake_waiting.h"

/* tm prefers every answer of a phone to this one. */
#define LOSES 599

void pw_waited_free(void *waiting)
{
	shm_free(waiting);
}

/* ---- How it ends */

/* ORDER: before tm reads it, as change_reply_status() does. */
static void set_status(sip_msg_t *reply, int status)
{
	char digits[12];

	snprintf(digits, sizeof(digits), "%d", status);
	memcpy(reply->first_line.u.reply.status.s, digits, 3);
	reply->REPLY_STATUS = (unsigned int)status;
}

/* Workers overtake each other: an answer that ends the wait names again what was to be closed before. */
static void close_named(tm_cell_t *t, pw_waiting_t *waiting, sip_msg_t *reply)
{
	str closed = parse_headers(reply, HDR_EOH_F, 0) == 0 ? pw_wait_header(reply, "X-PushWake-Close") : (str)STR_NULL;
	int leg = 0, i;

	for(i = 0; i <= closed.len; i++) {
		if(i < closed.len && closed.s[i] >= '0' && closed.s[i] <= '9') {
			leg = leg * 10 + closed.s[i] - '0';
		} else {
			pw_wait_close(t, waiting, pw_wait_branch_of(t, waiting, leg));
			leg = 0;
		}
	}
}

/* Branches before its first are of somebody whom a failure_route has tried before. */
static void choose(tm_cell_t *t, pw_waiting_t *waiting, int branch, sip_msg_t *reply)
{
	int b, status = reply->REPLY_STATUS, is_found = 0;

	pw.reply_lock(t);
	if(pw_wait_is_open(t, waiting)) {
		close_named(t, waiting, reply);
	}
	for(b = waiting->first; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(b != branch && !(waiting->closed & (1u << b)) && t->uac[b].request.buffer != NULL) {
			is_found |= t->uac[b].last_received < 200
						|| (t->uac[b].reply != NULL && t->uac[b].last_received >= 300
								&& pw_place_handle(&t->uac[b].uri) == 0);
		}
	}
	if(waiting->cancelled || (t->flags & T_CANCELED) || waiting->answered) {
		status = 487;
	} else if(is_found) {
		status = LOSES;
	} else if(status == LOSES || status == 487) {
		status = 480;
	}
	waiting->last_status = status;
	if(status != 487 && status != LOSES) {
		/* for t_branch_timeout(), t_any_timeout() and t_branch_replied() */
		t->uac[branch].request.flags = (t->uac[branch].request.flags & ~F_RB_REPLIED) | F_RB_TIMEOUT;
		if(pw_failure_route() > 0) {
			t->uac[branch].on_failure = (unsigned short)pw_failure_route();
		}
	}
	pw.reply_unlock(t);
	set_status(reply, status);
}

/* Whether it is an answer of the place; another's is made one that tm does nothing with. */
static int is_from_place(sip_msg_t *reply)
{
	if(pw_place_is(&reply->rcv)) {
		return 1;
	}
	LM_WARN("somebody has answered for a request that waits: dropped\n");
	set_status(reply, 100);
	return 0;
}

static void on_place(tm_cell_t *t, pw_waiting_t *waiting, int branch, sip_msg_t *reply)
{
	t->uac[branch].on_reply = 0; /* routes for answers of phones do not run for these */
	if(!is_from_place(reply)) {
		return;
	}
	if(__sync_bool_compare_and_swap(&waiting->is_counted, 0, 1)) {
		update_stat(pw_count.held, 1);
		update_stat(pw_count.holding, 1);
		/* the place has a clock of its own, and tm's timers are for phones. ORDER: without the lock, which the timer takes */
		stop_rb_timers(&t->uac[branch].request);
	}
	if(reply->REPLY_STATUS == 100) {
		pw_wait_execute(t, waiting, reply);
	} else if(reply->REPLY_STATUS < 200) {
		/* one that is repeated for tm's timer is no news for the caller */
		if(__sync_lock_test_and_set(&waiting->told, (int)reply->REPLY_STATUS) == (int)reply->REPLY_STATUS) {
			set_status(reply, 100);
		}
	} else if(reply->REPLY_STATUS >= 300) {
		choose(t, waiting, branch, reply);
	}
}

/* ---- What phones say */

/* Nothing is sent to the place: it hears of the end as of everything else. One that has not answered yet tm would go on asking. */
static void leave_place(tm_cell_t *t, pw_waiting_t *waiting)
{
	int b;

	for(b = waiting->first; b < t->nr_of_outgoings; b++) {
		if(pw_wait_is_place(t, waiting, b) && t->uac[b].last_received >= 100 && t->uac[b].last_received < 200) {
			t->uac[b].last_received = PW_ENDED;
			waiting->is_left = 1;
		}
	}
}

/* A 2xx counts whatever was decided about its branch meanwhile: somebody has picked up. */
static void on_answered(tm_cell_t *t, pw_waiting_t *waiting, int branch)
{
	pw.reply_lock(t);
	waiting->answered = 1;
	leave_place(t, waiting);
	if(t->uas.status < 200) {
		pw_cancel_with_first_answer(t, branch);
	}
	if((waiting->closed & (1u << branch)) && t->uas.status < 200 && t->uac[branch].last_received >= 300) {
		t->uac[branch].last_received = 183;
	}
	pw.reply_unlock(t);
}

static void on_phone(tm_cell_t *t, pw_waiting_t *waiting, int branch, int code)
{
	unsigned int bit = 1u << branch;

	if(code < 200 && t->uas.status >= 200 && t->uac[branch].last_received < 100) {
		t->uac[branch].last_received = (short)code; /* its CANCEL may go out */
	}
	if(code >= 200 && code < 300) {
		on_answered(t, waiting, branch);
		pw_place_progressed(waiting, waiting->legs[branch], code, 1);
	} else if(code < 200 && !(waiting->closed & bit)
			  && (code == 100 ? !(waiting->trying & bit) : !(waiting->ringing & bit))) {
		waiting->trying |= bit;
		waiting->ringing |= code > 100 ? bit : 0;
		pw_place_progressed(waiting, waiting->legs[branch], code, 1);
	}
}

static void on_reply(tm_cell_t *t, pw_waiting_t *waiting, sip_msg_t *reply, int code)
{
	int branch = pw.tm.t_gett_branch();

	if(branch < 0 || branch >= PW_MAX_BRANCHES || branch >= t->nr_of_outgoings || reply == NULL || reply == FAKED_REPLY
			|| (reply->cseq == NULL && parse_headers(reply, HDR_CSEQ_F, 0) < 0) || reply->cseq == NULL
			|| get_cseq(reply)->method_id == METHOD_CANCEL) {
		return;
	}
	if(pw_wait_is_place(t, waiting, branch)) {
		on_place(t, waiting, branch, reply);
	} else if(waiting->legs[branch] > 0) {
		on_phone(t, waiting, branch, code);
	}
}

/* Also of branches that timed out, or whose connection is gone. Under the reply lock. */
static void on_failed(tm_cell_t *t, pw_waiting_t *waiting, sip_msg_t *reply, int code)
{
	int branch = pw.tm.t_gett_branch();

	if(branch < 0 || branch >= t->nr_of_outgoings) {
		branch = pw.tm.t_get_picked_branch();
	}
	if(branch < 0 || branch >= PW_MAX_BRANCHES || waiting->legs[branch] == 0 || (waiting->closed & (1u << branch))
			|| (code == 487 && waiting->cancelled)) {
		return;
	}
	pw_place_progressed(waiting, waiting->legs[branch], code, reply != NULL && reply != FAKED_REPLY);
}

/* ORDER: before tm marks the transaction as cancelled, so that no branch slips in. Phones of which nothing was heard would
 * delay the 487 until their timer, and so would the place; the others get their CANCEL from tm. */
static void on_cancel(tm_cell_t *t, pw_waiting_t *waiting)
{
	int b;

	pw.reply_lock(t);
	if(t->uas.status < 200 && !waiting->answered) {
		waiting->cancelled = 1;
		t->flags |= T_CANCELED;
		for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
			if(t->uac[b].last_received < 100 && t->uac[b].request.buffer != NULL) {
				pw_wait_close(t, waiting, b);
			}
		}
	}
	pw.reply_unlock(t);
}

static int is_at_place(const tm_cell_t *t, const pw_waiting_t *waiting)
{
	int b = waiting->first;

	while(b < t->nr_of_outgoings && !pw_wait_is_place(t, waiting, b)) {
		b++;
	}
	return b < t->nr_of_outgoings;
}

static void on_final(tm_cell_t *t, pw_waiting_t *waiting, int code)
{
	int how = PUSHWAKE_CALL_FAILED;

	if((!waiting->is_counted && !is_at_place(t, waiting)) || !__sync_bool_compare_and_swap(&waiting->ended, 0, 1)) {
		return;
	}
	if(__sync_bool_compare_and_swap(&waiting->is_counted, 0, 1)) {
		update_stat(pw_count.held, 1);
	} else {
		update_stat(pw_count.holding, -1);
	}
	if(code < 300) {
		how = PUSHWAKE_CALL_ANSWERED;
		update_stat(pw_count.answered, 1);
	} else if(waiting->cancelled || code == 487) {
		how = PUSHWAKE_CALL_CANCELLED;
		update_stat(pw_count.cancelled, 1);
	} else if(code == waiting->last_status) {
		how = PUSHWAKE_CALL_FAILED;
		update_stat(pw_count.timed_out, 1);
	}
	pw_admission_ended();
	pw_place_ended(waiting, how, waiting->is_left ? 0 : code);
}

void pw_waited(tm_cell_t *t, int type, struct tmcb_params *params)
{
	pw_waiting_t *waiting = *params->param;

	if(type & TMCB_RESPONSE_IN) {
		on_reply(t, waiting, params->rpl, params->code);
	} else if(type & TMCB_ON_BRANCH_FAILURE) {
		on_failed(t, waiting, params->rpl, params->code);
	} else if(type & TMCB_E2ECANCEL_IN) {
		on_cancel(t, waiting);
	} else if(type & TMCB_RESPONSE_OUT) {
		if(params->code >= 200) {
			on_final(t, waiting, params->code);
		}
	} else if(type & TMCB_DESTROY) {
		on_final(t, waiting, t->uas.status >= 200 ? (int)t->uas.status : 408);
	}
}
