/* SPDX-License-Identifier: MIT */
#include "pushwake_hold.h"

#include <string.h>

#include "core/error.h"
#include "core/hashes.h"
#include "core/kemi.h"
#include "core/mem/shm_mem.h"
#include "core/route.h"
#include "core/script_cb.h"
#include "core/timer.h"
#include "modules/tm/h_table.h"

#define PW_SLOTS 1024

typedef struct pw_slot {
	gen_lock_t lock;
	pw_hold_t *first;
} pw_slot_t;

static pw_slot_t *slots = NULL;

int pw_holds_init(void)
{
	int i;

	slots = shm_malloc(PW_SLOTS * sizeof(pw_slot_t));
	if(slots == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	memset(slots, 0, PW_SLOTS * sizeof(pw_slot_t));
	for(i = 0; i < PW_SLOTS; i++) {
		if(lock_init(&slots[i].lock) == NULL) {
			LM_ERR("cannot init a lock\n");
			return -1;
		}
	}
	return 0;
}

static pw_hold_t *hold_new(tm_cell_t *t, str *table, str *aor, str *callid)
{
	pw_hold_t *hold;
	char *at;

	hold = shm_malloc(sizeof(*hold) + aor->len + table->len + callid->len);
	if(hold == NULL) {
		SHM_MEM_ERROR;
		return NULL;
	}
	memset(hold, 0, sizeof(*hold));
	at = (char *)(hold + 1);
	hold->aor.s = at;
	hold->aor.len = aor->len;
	memcpy(at, aor->s, aor->len);
	at += aor->len;
	hold->table.s = at;
	hold->table.len = table->len;
	memcpy(at, table->s, table->len);
	at += table->len;
	hold->callid.s = at;
	hold->callid.len = callid->len;
	memcpy(at, callid->s, callid->len);
	hold->tindex = t->hash_index;
	hold->tlabel = t->label;
	hold->slot = get_hash1_raw(aor->s, aor->len) % PW_SLOTS;
	return hold;
}

static void hold_link(pw_hold_t *hold)
{
	pw_slot_t *slot = &slots[hold->slot];

	lock_get(&slot->lock);
	hold->next = slot->first;
	if(slot->first != NULL) {
		slot->first->prev = hold;
	}
	slot->first = hold;
	hold->linked = 1;
	lock_release(&slot->lock);
	update_stat(pw_count.held, 1);
	update_stat(pw_count.holding, 1);
}

/* 1 the first time. */
static int hold_unlink(pw_hold_t *hold)
{
	pw_slot_t *slot = &slots[hold->slot];
	int was;

	lock_get(&slot->lock);
	was = hold->linked;
	if(was) {
		if(hold->prev != NULL) {
			hold->prev->next = hold->next;
		} else {
			slot->first = hold->next;
		}
		if(hold->next != NULL) {
			hold->next->prev = hold->prev;
		}
		hold->next = hold->prev = NULL;
		hold->linked = 0;
	}
	lock_release(&slot->lock);
	if(was) {
		update_stat(pw_count.holding, -1);
	}
	return was;
}

static void hold_free(void *param)
{
	hold_unlink((pw_hold_t *)param);
	shm_free(param);
}

static pw_hold_t *find(pw_slot_t *slot, pw_hold_t *from, str *table, str *aor)
{
	pw_hold_t *hold;

	for(hold = from; hold != NULL; hold = hold->next) {
		if(STR_EQ(hold->aor, *aor) && STR_EQ(hold->table, *table)) {
			return hold;
		}
	}
	return NULL;
}

int pw_holds_find(pw_hold_ref_t *out, int max, str *table, str *aor)
{
	pw_slot_t *slot = &slots[get_hash1_raw(aor->s, aor->len) % PW_SLOTS];
	pw_hold_t *hold;
	int n = 0;

	lock_get(&slot->lock);
	hold = find(slot, slot->first, table, aor);
	while(hold != NULL && n < max) {
		out[n].tindex = hold->tindex;
		out[n].tlabel = hold->tlabel;
		n++;
		hold = find(slot, hold->next, table, aor);
	}
	lock_release(&slot->lock);
	return n;
}

int pw_hold_arrived(pw_hold_ref_t *ref, str *table, str *aor, unsigned int device, int *blind)
{
	pw_slot_t *slot = &slots[get_hash1_raw(aor->s, aor->len) % PW_SLOTS];
	pw_hold_t *hold;
	int i, all = 0;

	lock_get(&slot->lock);
	hold = find(slot, slot->first, table, aor);
	while(hold != NULL && (hold->tindex != ref->tindex || hold->tlabel != ref->tlabel)) {
		hold = find(slot, hold->next, table, aor);
	}
	if(hold != NULL) {
		for(i = 0; i < hold->device_count && hold->devices[i] != device; i++) {
		}
		if(i == hold->device_count && i < PW_MAX_DEVICES) {
			hold->devices[hold->device_count++] = device;
		}
		all = hold->device_count >= hold->awaited;
		*blind = hold->blind;
	}
	lock_release(&slot->lock);
	return all;
}

static void run_failure_route(tm_cell_t *t, sip_msg_t *req, int route)
{
	sr_kemi_eng_t *keng = sr_kemi_eng_get();
	str event = str_init("pushwake:timeout");
	int before = get_route_type();

	t->on_failure = 0;
	set_route_type(FAILURE_ROUTE);
	if(exec_pre_script_cb(req, FAILURE_CB_TYPE) > 0) {
		if(keng != NULL) {
			if(route > 0) {
				sr_kemi_route(keng, req, FAILURE_ROUTE, sr_kemi_cbname_lookup_idx(route), NULL);
			} else if(pw_failure_callback.len > 0) {
				sr_kemi_route(keng, req, FAILURE_ROUTE, &pw_failure_callback, &event);
			}
		} else if(run_top_route(failure_rt.rlist[route], req, 0) < 0) {
			LM_ERR("failure_route for a held request failed\n");
		}
		exec_post_script_cb(req, FAILURE_CB_TYPE);
	}
	set_route_type(before);
	t->uas.request->flags = req->flags;
}

/* The blind branch counts as 408, and tm prefers that to what a device answered. */
static int best_answer(tm_cell_t *t, int blind)
{
	int i, best = -1;

	for(i = 0; i < t->nr_of_outgoings; i++) {
		if(i == blind || t->uac[i].request.buffer == NULL || t->uac[i].last_received < 300) {
			continue;
		}
		if(best < 0 || t->uac[i].last_received / 100 == 6
				|| t->uac[best].last_received == 408) {
			best = i;
		}
	}
	return best;
}

/* All branches are over and the last to end was the blind one: nobody woke in
 * time, or those who did could not take the call. Runs under the reply lock. */
static void on_failure(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *req, int code)
{
	int best, route, i, branches = t->nr_of_outgoings;

	if(code != 408 || hold->cancelled || (t->flags & T_CANCELED)
			|| pw.tm.t_get_picked_branch() != hold->blind) {
		return;
	}
	best = best_answer(t, hold->blind);
	if(best >= 0 && t->uac[best].last_received == 408) {
		best = -1;
	}
	hold->expired = best < 0;
	route = best >= 0 ? t->uac[best].on_failure : 0;
	if(route == 0 && best < 0) {
		route = route_lookup(&failure_rt, "PUSHWAKE");
		if(route < 0 || (route > 0 && failure_rt.rlist[route] == NULL)) {
			route = 0;
		}
	}
	if(route > 0 || (best < 0 && pw_failure_callback.len > 0)) {
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
	if(best >= 0) {
		code = t->uac[best].last_received;
		pw.reply_unsafe(t, req, code, error_text(code));
	} else {
		pw.reply_unsafe(t, req, 480, "Temporarily Unavailable");
	}
}

static void on_final(tm_cell_t *t, pw_hold_t *hold, int code)
{
	int how = PUSHWAKE_CALL_FAILED;

	if(!hold_unlink(hold)) {
		return;
	}
	if(code < 300) {
		how = PUSHWAKE_CALL_ANSWERED;
		update_stat(pw_count.answered, 1);
	} else if(hold->cancelled || code == 487) {
		how = PUSHWAKE_CALL_CANCELLED;
		update_stat(pw_count.cancelled, 1);
	} else if(hold->expired) {
		how = PUSHWAKE_CALL_TIMED_OUT;
		update_stat(pw_count.timed_out, 1);
	}
	pw_call_ended(&hold->aor, &hold->callid, how);
}

static void on_transaction(tm_cell_t *t, int type, struct tmcb_params *params)
{
	pw_hold_t *hold = (pw_hold_t *)*params->param;

	if(type & TMCB_E2ECANCEL_IN) {
		hold->cancelled = 1;
	} else if(type & TMCB_ON_FAILURE) {
		on_failure(t, hold, params->req, params->code);
	} else if(type & TMCB_RESPONSE_OUT) {
		if(params->code >= 200) {
			on_final(t, hold, params->code);
		}
	} else if(type & TMCB_DESTROY) {
		hold_unlink(hold);
	}
}

/* The blind branch lives as long as the call is held; what is added later keeps
 * the timers of the configuration. */
static int add_blind(tm_cell_t *t, pw_hold_t *hold, int seconds)
{
	ticks_t before = t->fr_timeout;
	ticks_t end = get_ticks_raw() + S_TO_TICKS(seconds + 120);
	int added;

	if(t->end_of_life != 0 && (s_ticks_t)(end - t->end_of_life) > 0 && is_invite(t)) {
		t->end_of_life = end;
	}
	t->fr_timeout = S_TO_TICKS(seconds);
	added = pw.tm.t_addblind();
	t->fr_timeout = before;
	hold->blind = t->nr_of_outgoings - 1;
	return added;
}

static tm_cell_t *transaction(sip_msg_t *msg, int *status)
{
	tm_cell_t *t = pw.tm.t_gett();

	*status = 1;
	if(t == NULL || t == T_UNDEFINED) {
		*status = pw.tm.t_newtran(msg);
		t = *status > 0 ? pw.tm.t_gett() : NULL;
	}
	return t == T_UNDEFINED ? NULL : t;
}

int pw_hold(sip_msg_t *msg, str *table, str *aor, int awaited, int seconds)
{
	pw_hold_t *hold;
	tm_cell_t *t;
	int status, route;

	t = transaction(msg, &status);
	if(t == NULL) {
		return status == 0 ? 0 : -1;
	}
	hold = hold_new(t, table, aor, &msg->callid->body);
	if(hold == NULL) {
		return -1;
	}
	hold->awaited = awaited;
	if(pw.save_lumps(msg, NULL, NULL) < 0
			|| pw.tm.register_tmcb(msg, t,
					   TMCB_E2ECANCEL_IN | TMCB_ON_FAILURE | TMCB_RESPONSE_OUT | TMCB_DESTROY,
					   on_transaction, hold, hold_free)
					   <= 0) {
		shm_free(hold);
		return -1;
	}
	if(add_blind(t, hold, seconds) < 0) {
		return -1;
	}
	if(t->on_branch_delayed == 0) {
		route = t->on_branch != 0 ? t->on_branch : route_lookup(&branch_rt, "PUSHWAKE");
		t->on_branch_delayed = route > 0 && branch_rt.rlist[route] != NULL ? route : 0;
	}
	hold_link(hold);
	return 1;
}

int pw_hold_tell(sip_msg_t *msg)
{
	tm_cell_t *t = pw.tm.t_gett();

	if(t == NULL || t == T_UNDEFINED || msg->REQ_METHOD != METHOD_INVITE) {
		return 0;
	}
	if(t->uas.status < 100) {
		pw.tm.t_reply(msg, 100, "Trying");
	}
	return pw.tm.t_reply(msg, 110, "Push Sent");
}
