/* SPDX-License-Identifier: MIT
 *
 * The caller hangs up, or a phone declines for all: who rings gets a CANCEL, where it is now, and nobody waits long for
 * the answer.
 */
#include <string.h>

#include "core/mem/shm_mem.h"
#include "modules/tm/t_cancel.h"
#include "pushwake_legs.h"

/* Who rings has so long to answer a CANCEL. */
#define PW_CANCEL_MS 5000

/* Legs of which nothing was heard would delay the 487 of a CANCEL until their timer. */
static void close_silent_legs(tm_cell_t *t, pw_hold_t *hold)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		/* without a buffer it is blind: the one of another user's wait */
		if(b != hold->blind && t->uac[b].last_received < 100 && t->uac[b].request.buffer != NULL) {
			pw_leg_close(t, hold, b);
		}
	}
}

static struct hdr_field *next_reason(struct hdr_field *h)
{
	while(h != NULL && (h->name.len != 6 || strncasecmp(h->name.s, "Reason", 6) != 0)) {
		h = h->next;
	}
	return h;
}

/* Several headers are one list (RFC 3261, 7.3.1): an Asterisk has one for SIP and one for Q.850. */
static void keep_reasons(pw_hold_t *hold, sip_msg_t *cancel)
{
	struct hdr_field *first = next_reason(cancel->headers), *h;
	size_t size = 0;
	char *at;

	for(h = first; h != NULL; h = next_reason(h->next)) {
		size += (size_t)h->body.len + 1;
	}
	at = size > 0 ? shm_malloc(size) : NULL;
	if(at == NULL) {
		return;
	}
	hold->reason.s = at;
	hold->reason.len = (int)size - 1;
	for(h = first; h != NULL; h = next_reason(h->next)) {
		memcpy(at, h->body.s, h->body.len);
		at[h->body.len] = ',';
		at += h->body.len + 1;
	}
}

/* ORDER: before tm marks the transaction as cancelled, so that no leg slips in. Branches
 * that ring get their CANCEL from tm. */
void pw_cancelled(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *cancel)
{
	pw.reply_lock(t);
	if(t->uas.status < 200 && !hold->answered) {
		hold->cancelled = 1;
		hold->cancels_ms = pw_now_ms();
		if(cancel != NULL && hold->reason.s == NULL && parse_headers(cancel, HDR_EOH_F, 0) == 0) {
			keep_reasons(hold, cancel);
		}
		pw_blind_close(t, hold);
		t->flags |= T_CANCELED;
		close_silent_legs(t, hold);
		pw_stream_follow(t, hold, -1);
	}
	pw.reply_unlock(t);
}

/* RFC 3261, 16.7: a 6xx speaks for the user, and nobody else is waited for. Runs
 * before tm takes the reply lock to look at the answer. */
void pw_declined(tm_cell_t *t, pw_hold_t *hold)
{
	pw.reply_lock(t);
	pw_blind_close(t, hold);
	hold->over = 1;
	hold->cancels_ms = pw_now_ms();
	pw_stream_follow(t, hold, -1);
	pw.reply_unlock(t);
}

void pw_cancel_missed(tm_cell_t *t, pw_hold_t *hold)
{
	struct cancel_info missed;

	close_silent_legs(t, hold);
	init_cancel_info(&missed);
	pw.tm.prepare_to_cancel(t, &missed.cancel_bitmap, 0);
	if(missed.cancel_bitmap != 0) {
		pw.tm.cancel_uacs(t, &missed, 0);
	}
	if(!pw_leg_pending(t, hold)) {
		pw.reply_unsafe(t, t->uas.request, 487, "Request Terminated");
	}
}

void pw_cancel_with_first_answer(tm_cell_t *t, int answered)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings; b++) {
		if(b != answered && t->uac[b].last_received < 100 && t->uac[b].request.buffer != NULL) {
			t->uac[b].request.flags |= F_RB_CANCELED;
		}
	}
}

/* A branch that rang, and whose phone has had the time to answer its CANCEL; -1: none. */
static int unheard_cancel(const tm_cell_t *t, const pw_hold_t *hold)
{
	int b;

	if(t->uas.status >= 200 || pw_now_ms() - hold->cancels_ms < PW_CANCEL_MS) {
		return -1;
	}
	for(b = 0; b < t->nr_of_outgoings; b++) {
		if(b != hold->blind && t->uac[b].request.buffer != NULL && (t->uac[b].request.flags & F_RB_CANCELED)
				&& t->uac[b].last_received < 200) {
			return b;
		}
	}
	return -1;
}

/* tm waits for the answer to an INVITE as long after its CANCEL as before. RFC 3261, 9.1: one that does not come counts as
 * if it had. A 2xx that comes all the same tm passes on. */
void pw_cancel_look_after(tm_cell_t *t, pw_hold_t *hold)
{
	struct cancel_info none;
	int b = -1, tries;

	for(tries = 0; tries < PW_MAX_BRANCHES; tries++) {
		pw.reply_lock(t);
		if(t->uas.status < 200) {
			pw_stream_follow(t, hold, -1);
		}
		b = unheard_cancel(t, hold);
		if(b < 0 || pw_executes_briefly()) {
			pw.reply_unlock(t);
			break;
		}
		init_cancel_info(&none);
		if(pw.relay_reply(t, FAKED_REPLY, b, 487, &none, 1) == RPS_COMPLETED) {
			pw.cleanup_timers(t);
		}
	}
	if(b >= 0) {
		pw_look_elsewhere(hold);
	}
}
