/* SPDX-License-Identifier: MIT
 *
 * The caller hangs up: who rings gets a CANCEL, and nobody waits for a phone that cannot answer it.
 */
#include <string.h>

#include "core/mem/shm_mem.h"
#include "modules/tm/t_cancel.h"
#include "pushwake_legs.h"

/* Who rings has so long to answer a CANCEL. */
#define PW_CANCEL_MS 5000

/* Legs of which nothing was heard, and those of phones that are gone, would delay the 487 of a CANCEL until their timer. */
static void close_deaf_legs(tm_cell_t *t, pw_hold_t *hold)
{
	const tm_ua_client_t *branch;
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		branch = &t->uac[b];
		/* without a buffer it is blind: the one of another user's wait */
		if(b != hold->blind && branch->request.buffer != NULL
				&& (branch->last_received < 100 || (branch->last_received < 200 && pw_stream_is_gone(branch)))) {
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
		hold->cancelled_ms = pw_now_ms();
		if(cancel != NULL && hold->reason.s == NULL && parse_headers(cancel, HDR_EOH_F, 0) == 0) {
			keep_reasons(hold, cancel);
		}
		pw_blind_close(t, hold);
		t->flags |= T_CANCELED;
		close_deaf_legs(t, hold);
	}
	pw.reply_unlock(t);
}

void pw_cancel_missed(tm_cell_t *t, pw_hold_t *hold)
{
	struct cancel_info missed;

	close_deaf_legs(t, hold);
	init_cancel_info(&missed);
	pw.tm.prepare_to_cancel(t, &missed.cancel_bitmap, 0);
	if(missed.cancel_bitmap != 0) {
		pw.tm.cancel_uacs(t, &missed, 0);
	}
	if(!pw_leg_pending(t, hold)) {
		pw.reply_unsafe(t, t->uas.request, 487, "Request Terminated");
	}
}

/* A branch that rang, and whose phone does not answer its CANCEL: it is gone, or has had the time. -1: none. */
static int unheard_cancel(const tm_cell_t *t, const pw_hold_t *hold)
{
	int is_late = pw_now_ms() - hold->cancelled_ms >= PW_CANCEL_MS;
	int b;

	for(b = 0; b < t->nr_of_outgoings && t->uas.status < 200; b++) {
		if(b != hold->blind && t->uac[b].request.buffer != NULL && t->uac[b].last_received >= 100
				&& t->uac[b].last_received < 200 && (is_late || pw_stream_is_gone(&t->uac[b]))) {
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
