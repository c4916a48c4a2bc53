/* SPDX-License-Identifier: MIT
 *
 * Legs: branches that are added, replaced and closed while a request is held. All of
 * it runs under the reply lock of the transaction, so that no answer comes in between.
 */
#include <string.h>
#include <sys/param.h>

#include "core/action.h"
#include "core/dset.h"
#include "core/globals.h"
#include "core/kemi.h"
#include "core/route.h"
#include "core/script_cb.h"
#include "core/timer.h"
#include "modules/tm/t_cancel.h"
#include "modules/tm/t_funcs.h"
#include "modules/tm/t_reply.h"
#include "modules/tm/timer.h"
#include "pushwake_legs.h"

int pw_is_locked(tm_cell_t *t)
{
	int pid = atomic_get(&t->reply_locker_pid);

	return pid != 0 && pid != my_pid();
}

int pw_leg_is_last(const tm_cell_t *t)
{
	return t->nr_of_outgoings >= MIN((int)sr_dst_max_branches, PW_MAX_BRANCHES);
}

int pw_leg_allowed(const tm_cell_t *t, const pw_hold_t *hold)
{
	return t->uas.status < 200 && !(t->flags & T_CANCELED) && !hold->answered && !hold->over;
}

int pw_leg_of(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	int i;

	if(branch < 0 || branch >= t->nr_of_outgoings || branch >= PW_MAX_BRANCHES || branch == hold->blind) {
		return 0;
	}
	if(hold->legs[branch] == 0 && t->uac[branch].ruid.len > 0) {
		for(i = 0; i < hold->named_count; i++) {
			if(STR_EQ(hold->named[i].ruid, t->uac[branch].ruid)) {
				hold->legs[branch] = hold->named[i].leg;
				hold->runs[branch] = hold->named[i].run;
				break;
			}
		}
	}
	return hold->legs[branch];
}

/* The branch of a leg, -1 for none. */
static int branch_of(tm_cell_t *t, pw_hold_t *hold, int leg)
{
	int b;

	for(b = t->nr_of_outgoings - 1; b >= 0; b--) {
		if(leg > 0 && !(hold->closed & (1u << b)) && pw_leg_of(t, hold, b) == leg) {
			return b;
		}
	}
	return -1;
}

int pw_leg_goes_to(tm_cell_t *t, int branch, const pw_contact_t *contact, char flow[PW_FLOW_SIZE])
{
	struct dest_info *to = &t->uac[branch].request.dst;
	struct receive_info at = {.proto = to->proto, .src_port = su_getport(&to->to)};

	su2ip_addr(&at.src_ip, &to->to);
	pw_flow_print(flow, &at);
	if(!STR_EQ(t->uac[branch].uri, contact->uri)) {
		return 0;
	}
	return contact->received.len == 0 || contact->path.len > 0 || contact->flow[0] == '\0' || strcmp(flow, contact->flow) == 0;
}

void pw_blind_close(tm_cell_t *t, pw_hold_t *hold)
{
	pw_hold_counts(hold, 0);
	if(t->uac[hold->blind].last_received < 200 && t->uac[hold->blind].request.buffer == NULL) {
		t->uac[hold->blind].last_received = PW_ENDED;
	}
}

void pw_blind_open(tm_cell_t *t, pw_hold_t *hold)
{
	int ended = t->uac[hold->blind].last_received;

	if((ended == PW_ENDED || ended == PW_WORST) && t->uac[hold->blind].request.buffer == NULL) {
		t->uac[hold->blind].last_received = 0;
		t->uac[hold->blind].reply = NULL;
	}
	pw_hold_counts(hold, t->uac[hold->blind].last_received == 0);
}

int pw_leg_pending(const tm_cell_t *t, const pw_hold_t *hold)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings; b++) {
		if(b != hold->blind && t->uac[b].last_received < 200) {
			return 1;
		}
	}
	return 0;
}

int pw_leg_relayed(tm_cell_t *t, pw_hold_t *hold, int named)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings; b++) {
		if(pw_leg_of(t, hold, b) == hold->named[named].leg) {
			return 1;
		}
	}
	return 0;
}

int pw_leg_reserved(tm_cell_t *t, pw_hold_t *hold)
{
	int i;

	for(i = 0; i < hold->named_count; i++) {
		if(hold->named[i].later && !pw_leg_relayed(t, hold, i)) {
			return 1;
		}
	}
	return 0;
}

void pw_leg_drop(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	hold->closed |= 1u << branch;
	/* tm looks for a ruid and URI that it has already before it adds a branch */
	t->uac[branch].ruid.len = 0;
	if(t->uac[branch].last_received < 200) {
		t->uac[branch].last_received = PW_ENDED;
		t->uac[branch].reply = NULL;
	}
}

void pw_leg_close(tm_cell_t *t, pw_hold_t *hold, int branch)
{
	struct cancel_info cancel;

	if(branch < 0 || branch == hold->blind) {
		return;
	}
	if(t->uac[branch].last_received >= 200) {
		pw_leg_drop(t, hold, branch);
		return;
	}
	if(!is_invite(t)) { /* nothing else can be cancelled (RFC 3261, 9.1) */
		stop_rb_retr(&t->uac[branch].request);
	} else if(prepare_cancel_branch(t, branch, 1)) {
		init_cancel_info(&cancel);
		cancel.cancel_bitmap = 1u << branch;
		/* Also when nothing came back, which RFC 3261, 9.1 would have wait: a stopped phone reads INVITE and CANCEL
		 * in their order once it goes on, and one whose first answer was lost would ring for ever. */
		pw.tm.cancel_uacs(t, &cancel, F_CANCEL_B_FORCE_C);
	}
	pw_leg_drop(t, hold, branch);
}

void pw_leg_end(tm_cell_t *t, pw_hold_t *hold, int leg)
{
	int branch = branch_of(t, hold, leg);

	if(branch >= 0) {
		pw_leg_close(t, hold, branch);
	} else if(leg > 0 && leg < 64) {
		hold->overtaken |= (uint64_t)1 << leg;
		hold->last_leg = MAX(hold->last_leg, leg); /* nobody gives its number out again */
	}
}

/* A branch that failed must not keep its contact from being tried again. */
static void forget_failed(tm_cell_t *t, pw_hold_t *hold, const pw_contact_t *contact)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings; b++) {
		if(b != hold->blind && t->uac[b].last_received >= 300 && STR_EQ(t->uac[b].ruid, contact->ruid)) {
			pw_leg_of(t, hold, b);
			t->uac[b].ruid.len = 0;
		}
	}
}

int pw_leg_is_answered(const tm_cell_t *t, int branch)
{
	const tm_ua_client_t *uac = &t->uac[branch];

	return uac->last_received >= 300 && uac->reply != NULL && uac->reply != FAKED_REPLY;
}

/* Our branch that was sent to this very place and is open, or was answered there while no engine was; -1 for none: save() is
 * done before the engine hears of a REGISTER, so that a leg to the contact that it knew may have gone to where the phone is
 * now. */
static int branch_at(tm_cell_t *t, pw_hold_t *hold, unsigned int place)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(place != 0 && hold->places[b] == place && !(hold->closed & (1u << b)) && pw_leg_of(t, hold, b) > 0
				&& (t->uac[b].last_received < 200 || ((hold->joined & (1u << b)) && pw_leg_is_answered(t, b)))) {
			return b;
		}
	}
	return -1;
}

/* tm adds no branch that has the ruid and URI of another. Legs that are out keep theirs to themselves meanwhile. */
static unsigned int hide_legs(tm_cell_t *t, pw_hold_t *hold, const pw_contact_t *contact)
{
	unsigned int hidden = 0;
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(pw_leg_of(t, hold, b) > 0 && STR_EQ(t->uac[b].ruid, contact->ruid)) {
			hidden |= 1u << b;
			t->uac[b].ruid.len = 0;
		}
	}
	return hidden;
}

static void show_legs(tm_cell_t *t, unsigned int hidden, const pw_contact_t *contact)
{
	int b;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(hidden & (1u << b)) {
			t->uac[b].ruid.len = contact->ruid.len;
		}
	}
}

/* The message whose script this process runs, NULL in the supervisor's. */
static sip_msg_t *in_hand = NULL;
static int is_appending = 0;

/* What a branch route logs bears the prefix (log_prefix) of its request. One that drops the only branch
 * makes t_relay() fail before tm has told anybody that it forwards. */
static int on_branch_route(sip_msg_t *msg, unsigned int flags, void *param)
{
	if(is_appending) {
		log_prefix_set(msg);
	} else if(pw_opened_has_current()) {
		msg->msg_flags |= FL_MSG_NOREPLY;
	}
	return 1;
}

int pw_leg_init(void)
{
	return register_script_cb(on_branch_route, PRE_SCRIPT_CB | BRANCH_CB, NULL);
}

void pw_leg_in_hand(sip_msg_t *msg)
{
	in_hand = msg;
}

/* Whether somebody wants to hear that a leg goes out: another module, or we ourselves (on_transaction()). */
static int is_forwarding_watched(tm_cell_t *t)
{
	struct tm_callback volatile *callback;
	const pw_hold_t *hold;

	for(callback = t->tmcb_hl.first; callback != NULL; callback = callback->next) {
		if((callback->types & TMCB_REQUEST_FWDED) == 0) {
			continue;
		}
		hold = callback->param;
		if(callback->release != pw_hold_free || hold->yields || pw_opened_has(hold)) {
			return 1;
		}
	}
	return 0;
}

/* Where nobody wants to hear that a leg goes out, tm is not asked to tell, and copies no URI and instance for it. 1: tell_on()
 * has to follow. */
static int tell_nobody(tm_cell_t *t)
{
	if((t->tmcb_hl.reg_types & TMCB_REQUEST_FWDED) == 0 || is_forwarding_watched(t)) {
		return 0;
	}
	__sync_and_and_fetch(&t->tmcb_hl.reg_types, ~TMCB_REQUEST_FWDED);
	return 1;
}

static void tell_on(tm_cell_t *t)
{
	__sync_or_and_fetch(&t->tmcb_hl.reg_types, TMCB_REQUEST_FWDED);
}

void pw_leg_keep_route(tm_cell_t *t)
{
	int route;

	if(t->on_branch != 0) {
		t->on_branch_delayed = t->on_branch;
	}
	if(t->on_branch_delayed == 0 && sr_kemi_eng_get() == NULL) {
		route = route_lookup(&branch_rt, "PUSHWAKE");
		t->on_branch_delayed = route > 0 && branch_rt.rlist[route] != NULL ? route : 0;
	}
}

/* ORDER: the branch route is tm's, of one process: what another request left there
 * must not run for this one, nor this one's for the next. The lock's depth is put
 * back because t_append_branches() forgets its own when memory is short. */
int pw_leg_append(tm_cell_t *t, pw_contact_t *contact, int keeps_uri)
{
	int depth = t->reply_rec_lock_level;
	str any = STR_NULL;
	int added = -1, is_paused;

	clear_branches();
	pw.set_branch_route(0);
	is_appending = 1;
	if(pw_contact_append(t->uas.request, contact, keeps_uri ? GET_RURI(t->uas.request) : NULL) == 0) {
		is_paused = tell_nobody(t);
		added = pw.tm.t_append_branches(&any);
		if(is_paused) {
			tell_on(t);
		}
	}
	is_appending = 0;
	log_prefix_set(in_hand);
	t->reply_rec_lock_level = depth;
	pw.set_branch_route(0);
	clear_branches();
	return added;
}

int pw_leg_add(tm_cell_t *t, pw_hold_t *hold, pw_contact_t *contact, int leg, int replaces)
{
	unsigned int place = pw_place_of(contact), hidden;
	int before = t->nr_of_outgoings;
	int there, added;

	hold->last_leg = MAX(hold->last_leg, leg);
	if(leg < 64 && (hold->overtaken & ((uint64_t)1 << leg))) {
		pw_leg_end(t, hold, replaces);
		return 1;
	}
	there = branch_at(t, hold, place);
	if(there >= 0 && (hold->joined & (1u << there))) {
		/* the engine hears of it now */
		hold->joined &= ~(1u << there);
		pw_leg_end(t, hold, replaces == hold->legs[there] ? 0 : replaces);
		hold->legs[there] = leg;
		if(t->uac[there].last_received >= 100) {
			pw_leg_report(hold, leg, t->uac[there].last_received, 1);
		}
		return 0;
	}
	if(there >= 0 && hold->legs[there] == replaces) {
		hold->legs[there] = leg;
		return 0;
	}
	if(there >= 0) {
		pw_leg_end(t, hold, replaces);
		return 2;
	}
	forget_failed(t, hold, contact);
	hidden = hide_legs(t, hold, contact);
	pw_hold_prolong(t, hold);
	/* ORDER: before it is sent: another process may have its answer at once, and on_reply() looks without the lock */
	if(before < PW_MAX_BRANCHES) {
		hold->legs[before] = leg;
		hold->places[before] = place;
		hold->runs[before] = pw_run_of(contact);
		hold->sent_ms[before] = pw_now_ms();
	}
	added = pw_leg_append(t, contact, hold->keeps_uri);
	show_legs(t, hidden, contact);
	if(t->nr_of_outgoings == before && before < PW_MAX_BRANCHES) {
		hold->legs[before] = 0;
		hold->places[before] = 0;
	}
	/* ORDER: the new branch first: closing the last open one would leave tm without any */
	if(added > 0) {
		pw_leg_end(t, hold, replaces);
		return 0;
	}
	if(t->nr_of_outgoings > before) {
		hold->failed |= 1u << (t->nr_of_outgoings - 1); /* known, and reported by who asked for it */
	}
	return -1;
}

void pw_leg_report(pw_hold_t *hold, int leg, int status, int from_phone)
{
	if(leg > 0) {
		pushwake_progressed(pw_client, hold->handle, leg, status, from_phone);
	}
}

void pw_leg_failed(tm_cell_t *t, pw_hold_t *hold, int branch, int status)
{
	hold->failed |= 1u << branch;
	pw_leg_report(hold, pw_leg_of(t, hold, branch), status, 0);
}

void pw_leg_resend(tm_cell_t *t, pw_hold_t *hold, int leg)
{
	int b = branch_of(t, hold, leg);

	if(b < 0 || t->uac[b].last_received >= 100 || t->uac[b].request.buffer == NULL
			|| t->uac[b].request.dst.proto != PROTO_UDP) {
		return;
	}
	pw.send_buffer(&t->uac[b].request, t->uac[b].request.buffer, t->uac[b].request.buffer_len);
}
