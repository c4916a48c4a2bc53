/* SPDX-License-Identifier: MIT
 *
 * Requests that wait for phones to wake: transactions with a blind branch, by user.
 */
#include "pushwake_hold.h"

#include <string.h>

#include "core/hashes.h"
#include "core/mem/shm_mem.h"
#include "core/route.h"
#include "core/timer.h"
#include "modules/tm/h_table.h"
#include "modules/tm/timer.h"

#define PW_SLOTS 1024
/* A script that takes longer between lookup and relay has lost its way. */
#define PW_BUSY_SECONDS 2

typedef struct pw_slot {
	gen_lock_t lock;
	pw_hold_t *first;
} pw_slot_t;

static pw_slot_t *slots = NULL;

/* What this process has just held; its transaction lives at least as long as the
 * script that runs for it. */
static pw_hold_t *opening = NULL;

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
	hold->busy = 1;
	hold->since = time(NULL);
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
		if(hold->busy && time(NULL) - hold->since <= PW_BUSY_SECONDS) {
			hold->missed = 1;
		} else {
			out[n].tindex = hold->tindex;
			out[n].tlabel = hold->tlabel;
			n++;
		}
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

/* 1: somebody came while it was busy. */
static int hold_open(pw_hold_t *hold)
{
	pw_slot_t *slot = &slots[hold->slot];
	int missed;

	lock_get(&slot->lock);
	missed = hold->busy && hold->missed;
	hold->busy = 0;
	lock_release(&slot->lock);
	return missed;
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

void pw_hold_close(tm_cell_t *t, int blind)
{
	if(t->uac[blind].last_received == 0 && t->uac[blind].request.buffer == NULL) {
		t->uac[blind].last_received = 500;
	}
}

/* A 6xx speaks for the user, not for one phone (RFC 3261, 16.7): nobody else is
 * waited for. Runs before tm takes the reply lock to look at the answer. */
static void on_declined(tm_cell_t *t, pw_hold_t *hold)
{
	pw.reply_lock(t);
	pw_hold_close(t, hold->blind);
	pw.reply_unlock(t);
	/* ORDER: without the lock, which the handler of the timer takes */
	stop_rb_timers(&t->uac[hold->blind].request);
}

static void on_transaction(tm_cell_t *t, int type, struct tmcb_params *params)
{
	pw_hold_t *hold = (pw_hold_t *)*params->param;

	if(type & TMCB_E2ECANCEL_IN) {
		hold->cancelled = 1;
	} else if(type & TMCB_RESPONSE_IN) {
		if(params->code >= 600) {
			on_declined(t, hold);
		}
	} else if(type & TMCB_ON_FAILURE) {
		pw_hold_unanswered(t, hold, params->req, params->code);
	} else if(type & TMCB_REQUEST_OUT) {
		/* ORDER: the script has relayed to who was awake, so tm now knows those
		 * branches and will not add them twice. Not from in here: tm is amid it. */
		if(hold->busy && hold_open(hold)) {
			pw_join_later(&hold->table, &hold->aor, hold->since);
		}
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
					   TMCB_E2ECANCEL_IN | TMCB_ON_FAILURE | TMCB_REQUEST_OUT | TMCB_RESPONSE_IN
							   | TMCB_RESPONSE_OUT | TMCB_DESTROY,
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
	opening = hold;
	return 1;
}

void pw_hold_open(void)
{
	if(opening != NULL) {
		hold_open(opening);
		opening = NULL;
	}
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
