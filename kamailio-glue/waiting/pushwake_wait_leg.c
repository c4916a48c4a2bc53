/* SPDX-License-Identifier: MIT
 *
 * The branches of a request that waits: its place says by numbered 100s which come and go, and a worker does it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/ut.h"
#include "modules/tm/t_cancel.h"
#include "modules/tm/t_funcs.h"
#include "modules/tm/timer.h"
#include "pushwake_waiting.h"

int pw_wait_branch_of(const tm_cell_t *t, const pw_waiting_t *waiting, int leg)
{
	int b;

	for(b = t->nr_of_outgoings - 1; b >= 0; b--) {
		if(leg > 0 && b < PW_MAX_BRANCHES && waiting->legs[b] == leg && !(waiting->closed & (1u << b))) {
			return b;
		}
	}
	return -1;
}

int pw_wait_is_place(const tm_cell_t *t, const pw_waiting_t *waiting, int b)
{
	return pw_place_handle(&t->uac[b].uri) == waiting->handle;
}

int pw_wait_is_open(const tm_cell_t *t, const pw_waiting_t *waiting)
{
	return t->uas.status < 200 && !(t->flags & T_CANCELED) && !waiting->answered && !waiting->cancelled;
}

void pw_wait_close(tm_cell_t *t, pw_waiting_t *waiting, int b)
{
	struct cancel_info cancel;

	if(b < 0) {
		return;
	}
	if(t->uac[b].last_received < 200 && !is_invite(t)) { /* nothing else can be cancelled (RFC 3261, 9.1) */
		stop_rb_retr(&t->uac[b].request);
	} else if(t->uac[b].last_received < 200 && prepare_cancel_branch(t, b, 1)) {
		init_cancel_info(&cancel);
		cancel.cancel_bitmap = 1u << b;
		/* also when nothing came back: a stopped phone reads INVITE and CANCEL in their order once it goes on */
		pw.tm.cancel_uacs(t, &cancel, F_CANCEL_B_FORCE_C);
	}
	waiting->closed |= 1u << b;
	t->uac[b].ruid.len = 0;
	if(t->uac[b].last_received < 200) {
		t->uac[b].last_received = PW_ENDED;
		t->uac[b].reply = NULL;
	}
}

/* tm adds no branch that has the ruid and URI of another: those that are there keep theirs to themselves meanwhile, or, where
 * they have failed, for good. */
static unsigned int hide(tm_cell_t *t, const str *ruid)
{
	unsigned int hidden = 0;
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(STR_EQ(t->uac[b].ruid, *ruid)) {
			t->uac[b].ruid.len = 0;
			hidden |= t->uac[b].last_received < 300 ? 1u << b : 0;
		}
	}
	return hidden;
}

static void show(tm_cell_t *t, unsigned int hidden, const str *ruid)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(hidden & (1u << b)) {
			t->uac[b].ruid.len = ruid->len;
		}
	}
}

/* An open branch to this very place, -1 for none. */
static int branch_at(const tm_cell_t *t, const pw_waiting_t *waiting, unsigned int place)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(waiting->places[b] == place && waiting->legs[b] > 0 && !(waiting->closed & (1u << b))
				&& t->uac[b].last_received < 200) {
			return b;
		}
	}
	return -1;
}

/* A branch of the lookup's to this contact, that the place has not named yet; -1 for none. */
static int branch_of_lookup(const tm_cell_t *t, const pw_waiting_t *waiting, const pw_contact_t *contact)
{
	int b;

	for(b = t->nr_of_outgoings - 1; b >= waiting->first; b--) {
		if(b < PW_MAX_BRANCHES && waiting->legs[b] == 0 && !(waiting->closed & (1u << b))
				&& STR_EQ(t->uac[b].ruid, contact->ruid) && STR_EQ(t->uac[b].uri, contact->uri)) {
			return b;
		}
	}
	return -1;
}

/* ---- What the place has a worker do. What it hears of a leg: a status, or 0. */

static int name(tm_cell_t *t, pw_waiting_t *waiting, int b, const pw_contact_t *contact, int leg)
{
	waiting->legs[b] = leg;
	waiting->places[b] = pw_place_of(contact);
	if(t->uac[b].last_received < 100) {
		pw_place_sent(waiting, leg, &t->uac[b].request.dst);
	}
	return t->uac[b].last_received >= 100 ? t->uac[b].last_received : 0;
}

static int add(tm_cell_t *t, pw_waiting_t *waiting, pw_contact_t *contact, const pushwake_verb *verb)
{
	unsigned int place = pw_place_of(contact), hidden;
	int b = t->nr_of_outgoings, there = branch_of_lookup(t, waiting, contact), added;

	if(there >= 0) {
		return name(t, waiting, there, contact, verb->leg);
	}
	there = branch_at(t, waiting, place);

	if(there >= 0 && waiting->legs[there] == verb->replaced_leg) { /* it is there already */
		waiting->legs[there] = verb->leg;
		return 0;
	}
	if(there >= 0) {
		pw_wait_close(t, waiting, pw_wait_branch_of(t, waiting, verb->replaced_leg));
		return 482; /* what the phone would say to a second copy */
	}
	if(b >= PW_MAX_BRANCHES || pw_leg_is_last(t)) {
		return 503;
	}
	hidden = hide(t, &contact->ruid);
	/* ORDER: before it is sent: another process may have its answer at once */
	waiting->legs[b] = verb->leg;
	waiting->places[b] = place;
	pw_leg_keep_route(t);
	added = pw_leg_append(t, contact, 0);
	show(t, hidden, &contact->ruid);
	if(t->nr_of_outgoings == b) {
		waiting->legs[b] = 0;
		waiting->places[b] = 0;
	}
	/* ORDER: the new branch first */
	pw_wait_close(t, waiting, pw_wait_branch_of(t, waiting, verb->replaced_leg));
	if(added > 0) {
		pw_place_sent(waiting, verb->leg, &t->uac[b].request.dst);
	}
	return added > 0 ? 0 : 503;
}

static void ring(tm_cell_t *t, pw_waiting_t *waiting, const pushwake_verb *verb)
{
	pw_contacts_t known = {.n = 0};
	str ruid = pw_out(verb->contact);
	pw_contact_t *contact = NULL, elsewhere;
	int status = 503, open;

	if(pw_contacts_get(&known, &waiting->table, &waiting->aor) == 0) {
		contact = pw_contact_find(&known, &ruid);
	}
	if(contact == NULL) {
		contact = pw_contact_elsewhere(&elsewhere, verb);
	}
	if(contact != NULL && pw_contact_resolve(contact) < 0) {
		contact = NULL;
	}
	pw.reply_lock(t);
	open = pw_wait_is_open(t, waiting);
	if(open && contact != NULL && pw_contact_takes(contact, t->uas.request->REQ_METHOD)) {
		status = add(t, waiting, contact, verb);
	}
	pw.reply_unlock(t);
	pw_contacts_free(&known);
	if(status == 0) {
		update_stat(pw_count.joined, 1);
	} else if(open) {
		pw_place_progressed(waiting, verb->leg, status, status != 503);
	}
}

static void resend(tm_cell_t *t, pw_waiting_t *waiting, int leg)
{
	int b = pw_wait_branch_of(t, waiting, leg);

	if(b >= 0 && t->uac[b].last_received < 100 && t->uac[b].request.buffer != NULL
			&& t->uac[b].request.dst.proto == PROTO_UDP) {
		pw.send_buffer(&t->uac[b].request, t->uac[b].request.buffer, t->uac[b].request.buffer_len);
	}
}

str pw_wait_header(sip_msg_t *msg, const char *name)
{
	int len = (int)strlen(name);
	struct hdr_field *h;

	for(h = msg->headers; h != NULL; h = h->next) {
		if(h->name.len == len && strncasecmp(h->name.s, name, len) == 0) {
			return h->body;
		}
	}
	return (str)STR_NULL;
}

static int number(sip_msg_t *msg, const char *name)
{
	unsigned int value = 0;
	str text = pw_wait_header(msg, name);

	return text.len > 0 && str2int(&text, &value) == 0 ? (int)value : 0;
}

/* Workers overtake each other, and answers are repeated: each number is for one of them. */
static int is_mine(pw_waiting_t *waiting, int n)
{
	uint64_t bit = (uint64_t)1 << (n & 63);

	return n > 0 && n < 64 && !(__sync_fetch_and_or(&waiting->numbers, bit) & bit);
}

void pw_wait_execute(tm_cell_t *t, pw_waiting_t *waiting, sip_msg_t *reply)
{
	pushwake_verb verb = {.kind = PUSHWAKE_VERB_RING};
	pw_ruri_state_t ruri;
	int branch = pw.tm.t_gett_branch();
	int closed, resent;

	if(parse_headers(reply, HDR_EOH_F, 0) < 0 || !is_mine(waiting, number(reply, "X-PushWake-Number"))) {
		return;
	}
	verb.leg = number(reply, "X-PushWake-Leg");
	verb.replaced_leg = number(reply, "X-PushWake-Replaces");
	closed = number(reply, "X-PushWake-Close");
	resent = number(reply, "X-PushWake-Resend");
	if(verb.leg > 0) {
		str key = pw_wait_header(reply, "X-PushWake-Key"), uri = pw_wait_header(reply, "X-PushWake-Contact");
		str path = pw_wait_header(reply, "X-PushWake-Path"), flow = pw_wait_header(reply, "X-PushWake-Flow");

		verb.contact = pw_in(&key);
		verb.contact_uri = pw_in(&uri);
		verb.contact_path = pw_in(&path);
		verb.contact_flow = pw_in(&flow);
		ruri = pw_ruri_keep();
		ring(t, waiting, &verb);
		pw.tm.t_sett(t, branch);
		pw_ruri_put_back(&ruri);
	} else if(closed > 0 || resent > 0) {
		pw.reply_lock(t);
		if(pw_wait_is_open(t, waiting) && t->uac[branch].last_received < 200) {
			pw_wait_close(t, waiting, pw_wait_branch_of(t, waiting, closed));
			resend(t, waiting, resent);
		}
		pw.reply_unlock(t);
	}
}
