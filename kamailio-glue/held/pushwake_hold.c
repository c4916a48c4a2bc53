/* SPDX-License-Identifier: MIT
 *
 * The table of held requests, by user, and how a request becomes one.
 */
#include "pushwake_held.h"

#include <string.h>

#include "core/atomic_ops.h"
#include "core/hashes.h"
#include "core/mem/shm_mem.h"
#include "core/route.h"
#include "core/timer.h"
#include "modules/tm/timer.h"

#define PW_SLOTS 1024
#define PW_NUMBER_BITS 20
#define PW_NUMBER_MASK ((1u << PW_NUMBER_BITS) - 1)

typedef struct pw_slot {
	gen_lock_t lock;
	pw_hold_t *first;
	pw_hold_t *last;
	int asked; /* requests that the engine is asked about, and that are held next, if at all */
} pw_slot_t;

/* One held request, copied out of the table: no lock of the table is held while tm
 * works on it. */
typedef struct pw_hold_ref {
	uint64_t handle;
	unsigned int slot;
	unsigned int tindex;
	unsigned int tlabel;
} pw_hold_ref_t;

typedef struct pw_hold_refs {
	pw_hold_ref_t *v;
	int n;
	int room;
} pw_hold_refs_t;

static pw_slot_t *slots = NULL;
static atomic_t *handles = NULL;

int pw_holds_init(void)
{
	int i;

	slots = shm_malloc(PW_SLOTS * sizeof(pw_slot_t));
	handles = shm_malloc(sizeof(atomic_t));
	if(slots == NULL || handles == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	atomic_set(handles, 0);
	memset(slots, 0, PW_SLOTS * sizeof(pw_slot_t));
	for(i = 0; i < PW_SLOTS; i++) {
		if(lock_init(&slots[i].lock) == NULL) {
			LM_ERR("cannot init a lock\n");
			return -1;
		}
	}
	return 0;
}

uint64_t pw_hold_handle(void)
{
	/* the time comes first: a Kamailio that starts anew gives out none of those before */
	return ((uint64_t)pw_now_ms() << PW_NUMBER_BITS) | ((unsigned int)atomic_add(handles, 1) & PW_NUMBER_MASK);
}

static pw_slot_t *slot_of(const str *aor)
{
	return &slots[get_hash1_raw(aor->s, aor->len) % PW_SLOTS];
}

void pw_hold_asks(const str *aor, int change)
{
	__sync_add_and_fetch(&slot_of(aor)->asked, change);
}

int pw_hold_is_asked(const str *aor)
{
	return __sync_add_and_fetch(&slot_of(aor)->asked, 0) > 0;
}

static int is_named(const pw_hold_plan_t *plan, int i)
{
	return plan->asked[i].leg > 0 && plan->asked[i].verdict == PUSHWAKE_RING;
}

static size_t plan_size(const pw_hold_plan_t *plan, int *named)
{
	size_t size = sizeof(pw_hold_t) + plan->aor.len + plan->table.len + plan->ticket.len + 3;
	int i;

	*named = 0;
	for(i = 0; i < plan->contacts->n; i++) {
		if(is_named(plan, i)) {
			size += sizeof(pw_named_leg_t) + plan->contacts->v[i].ruid.len + 1;
			(*named)++;
		}
	}
	return size;
}

static pw_hold_t *hold_new(tm_cell_t *t, const pw_hold_plan_t *plan)
{
	pw_hold_t *hold;
	size_t size;
	char *at;
	int i, named;

	size = plan_size(plan, &named);
	hold = shm_malloc(size);
	if(hold == NULL) {
		SHM_MEM_ERROR;
		return NULL;
	}
	memset(hold, 0, size);
	hold->named = (pw_named_leg_t *)(hold + 1);
	at = (char *)(hold->named + named);
	hold->aor = pw_put(&at, pw_in(&plan->aor));
	hold->table = pw_put(&at, pw_in(&plan->table));
	hold->ticket = pw_put(&at, plan->ticket);
	for(i = 0; i < plan->contacts->n; i++) {
		if(is_named(plan, i)) {
			hold->named[hold->named_count].leg = plan->asked[i].leg;
			hold->named[hold->named_count].place = pw_place_of(&plan->contacts->v[i]);
			hold->named[hold->named_count].ruid = pw_put(&at, pw_in(&plan->contacts->v[i].ruid));
			hold->named_count++;
			if(plan->asked[i].leg > hold->last_leg) {
				hold->last_leg = plan->asked[i].leg;
			}
		}
	}
	hold->handle = plan->handle;
	hold->tindex = t->hash_index;
	hold->tlabel = t->label;
	hold->slot = get_hash1_raw(hold->aor.s, hold->aor.len) % PW_SLOTS;
	hold->busy = 1;
	hold->blind = t->nr_of_outgoings; /* add_blind() makes it; a CANCEL may come first */
	hold->keeps_uri = plan->keeps_uri;
	/* within a dialog 480 would end it (RFC 8599, 6.2.3; RFC 5057, 5.1) */
	hold->failure_status = plan->keeps_uri ? 504 : 480;
	hold->began_ms = pw_now_ms();
	return hold;
}

static void hold_link(pw_hold_t *hold, int is_held)
{
	pw_slot_t *slot = &slots[hold->slot];

	lock_get(&slot->lock);
	hold->prev = slot->last;
	if(slot->last != NULL) {
		slot->last->next = hold;
	} else {
		slot->first = hold;
	}
	slot->last = hold;
	hold->linked = 1;
	lock_release(&slot->lock);
	if(is_held) {
		update_stat(pw_count.held, 1);
		pw_hold_counts(hold, 1);
	}
}

void pw_hold_counts(pw_hold_t *hold, int held)
{
	if(__sync_lock_test_and_set(&hold->held, held) != held) {
		update_stat(pw_count.holding, held ? 1 : -1);
	}
}

int pw_hold_unlink(pw_hold_t *hold)
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
		} else {
			slot->last = hold->prev;
		}
		hold->next = hold->prev = NULL;
		hold->linked = 0;
	}
	lock_release(&slot->lock);
	if(was) {
		pw_hold_counts(hold, 0);
	}
	return was;
}

static pw_hold_ref_t ref_of(const pw_hold_t *hold)
{
	pw_hold_ref_t ref = {hold->handle, hold->slot, hold->tindex, hold->tlabel};

	return ref;
}

static pw_hold_t *find_in(pw_slot_t *slot, uint64_t handle, pw_hold_ref_t *ref)
{
	pw_hold_t *hold;

	lock_get(&slot->lock);
	for(hold = slot->first; hold != NULL && hold->handle != handle; hold = hold->next) {
	}
	if(hold != NULL) {
		*ref = ref_of(hold);
	}
	lock_release(&slot->lock);
	return hold;
}

/* ORDER: the transaction is referenced first and the table asked again after that:
 * only then is it certain that neither is freed. */
static pw_hold_t *reference(tm_cell_t **t, pw_slot_t *slot, const pw_hold_ref_t *ref)
{
	pw_hold_ref_t again;
	pw_hold_t *hold;

	*t = NULL;
	if(pw.tm.t_lookup_ident(t, ref->tindex, ref->tlabel) < 0 || *t == NULL) {
		return NULL;
	}
	hold = find_in(slot, ref->handle, &again);
	if(hold == NULL) {
		pw.tm.unref_cell(*t);
		*t = NULL;
	}
	return hold;
}

pw_hold_t *pw_hold_find(tm_cell_t **t, str *aor, uint64_t handle)
{
	pw_slot_t *slot = slot_of(aor);
	pw_hold_ref_t ref;

	*t = NULL;
	return find_in(slot, handle, &ref) != NULL ? reference(t, slot, &ref) : NULL;
}

static int collect(pw_hold_refs_t *refs, pw_slot_t *slot, str *table, str *aor, enum pw_holds which)
{
	pw_hold_t *hold;
	pw_hold_ref_t *more;

	for(hold = slot->first; hold != NULL; hold = hold->next) {
		if((aor != NULL && (!STR_EQ(hold->aor, *aor) || !STR_EQ(hold->table, *table)))
				|| (which == PW_HOLDS_WAITING && (!hold->held || hold->over))
				|| (which == PW_HOLDS_OVER_STREAMS && (hold->stream_ms == 0 || hold->over))) {
			continue;
		}
		if(refs->n == refs->room) {
			more = realloc(refs->v, (refs->room * 2 + 16) * sizeof(pw_hold_ref_t));
			if(more == NULL) {
				SYS_MEM_ERROR;
				return -1;
			}
			refs->v = more;
			refs->room = refs->room * 2 + 16;
		}
		refs->v[refs->n++] = ref_of(hold);
	}
	return 0;
}

int pw_holds_each(str *table, str *aor, enum pw_holds which, pw_hold_fn visit, void *context)
{
	int i = aor != NULL ? (int)(get_hash1_raw(aor->s, aor->len) % PW_SLOTS) : 0;
	int end = aor != NULL ? i + 1 : PW_SLOTS, failed = 0;
	tm_cell_t *before = pw.tm.t_gett(), *t;
	int branch = pw.tm.t_gett_branch();
	pw_hold_refs_t refs = {NULL, 0, 0};
	pw_hold_t *hold;

	for(; i < end && !failed; i++) {
		if(slots[i].first == NULL) { /* most are; what is added at this moment is too young to matter */
			continue;
		}
		lock_get(&slots[i].lock);
		failed = collect(&refs, &slots[i], table, aor, which) < 0;
		lock_release(&slots[i].lock);
	}
	for(i = 0; i < refs.n; i++) {
		hold = reference(&t, &slots[refs.v[i].slot], &refs.v[i]);
		if(hold != NULL) {
			visit(t, hold, context);
			pw.tm.unref_cell(t);
		}
		/* t_lookup_ident() makes the one it finds the current transaction */
		pw.tm.t_sett(before, branch);
	}
	free(refs.v);
	return refs.n;
}

void pw_hold_prolong(tm_cell_t *t, const pw_hold_t *hold)
{
	ticks_t end = get_ticks_raw() + hold->lifetime;

	if(hold->lifetime > 0 && (s_ticks_t)(end - t->end_of_life) > 0) {
		t->end_of_life = end;
	}
}

/* Its timer counts only when no engine is there. What is added later keeps the timers of the configuration. */
static int add_blind(tm_cell_t *t, pw_hold_t *hold, int64_t deadline_ms)
{
	ticks_t before = t->fr_timeout, end_before = t->end_of_life;
	ticks_t end = get_ticks_raw() + MS_TO_TICKS(deadline_ms);
	int suspended = t->async_backup.blind_uac;
	int added;

	if(t->end_of_life != 0 && (s_ticks_t)(end - t->end_of_life) > 0 && is_invite(t)) {
		t->end_of_life = end;
	}
	t->fr_timeout = MS_TO_TICKS(deadline_ms);
	added = pw.tm.t_addblind();
	t->fr_timeout = before;
	t->end_of_life = end_before; /* t_set_max_lifetime() is for those that ring */
	/* in a route that goes on after t_suspend() tm does not wait for the branch that this names */
	t->async_backup.blind_uac = suspended;
	/* t_relay() marks where its branches begin, and get_redirects() and t_drop_replies() look for that mark: what comes
	 * late, without t_relay(), begins here */
	if(added >= 0) {
		t->uac[hold->blind].flags |= TM_UAC_FLAG_FB;
	}
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

int pw_hold(sip_msg_t *msg, const pw_hold_plan_t *plan)
{
	pw_hold_t *hold;
	tm_cell_t *t;
	int status;

	t = transaction(msg, &status);
	if(t == NULL) {
		return status == 0 ? 0 : -1;
	}
	/* what tm would refuse once it is watched */
	if(pw_leg_is_last(t)) {
		LM_ERR("%d branches are as many as max_branches allows\n", t->nr_of_outgoings);
		return -1;
	}
	hold = hold_new(t, plan);
	if(hold == NULL) {
		return -1;
	}
	if(pw.save_lumps(msg, NULL, NULL) < 0 || pw_watch(msg, t, hold) < 0) {
		shm_free(hold);
		return -1;
	}
	if(add_blind(t, hold, plan->deadline_ms) < 0) {
		return -1; /* the transaction frees it */
	}
	if(!plan->is_held) {
		t->uac[hold->blind].last_received = PW_ENDED;
	}
	hold_link(hold, plan->is_held);
	pw_script_holds(t, hold);
	return 1;
}
