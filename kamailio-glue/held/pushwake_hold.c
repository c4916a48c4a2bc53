/* SPDX-License-Identifier: MIT
 *
 * The table of held requests, by user.
 */
#include <string.h>
#include <unistd.h>

#include "core/atomic_ops.h"
#include "core/hashes.h"
#include "core/mem/shm_mem.h"
#include "core/timer.h"
#include "pushwake_held.h"

#define PW_SLOTS 1024
#define PW_ASKED_MS 250 /* a process on a busy host has its turn by then, or the engine does not answer */
#define PW_ASKED_PAUSE_US 200
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
/* Holds in the table: with none, which is most of the time, nobody looks into each slot. */
static int *linked = NULL;

int pw_holds_init(void)
{
	int i;

	slots = shm_malloc(PW_SLOTS * sizeof(pw_slot_t));
	handles = shm_malloc(sizeof(atomic_t));
	linked = shm_malloc(sizeof(*linked));
	if(slots == NULL || handles == NULL || linked == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	atomic_set(handles, 0);
	*linked = 0;
	memset(slots, 0, PW_SLOTS * sizeof(pw_slot_t));
	for(i = 0; i < PW_SLOTS; i++) {
		if(lock_init(&slots[i].lock) == NULL) {
			LM_ERR("cannot init a lock\n");
			return -1;
		}
	}
	return 0;
}

int pw_holds_linked(void)
{
	return __sync_add_and_fetch(linked, 0);
}

uint64_t pw_hold_handle(void)
{
	/* the time comes first: a Kamailio that starts anew gives out none of those before */
	return ((uint64_t)pw_now_ms() << PW_NUMBER_BITS) | ((unsigned int)atomic_add(handles, 1) & PW_NUMBER_MASK);
}

unsigned int pw_hold_slot(const str *aor)
{
	return get_hash1_raw(aor->s, aor->len) % PW_SLOTS;
}

static pw_slot_t *slot_of(const str *aor)
{
	return &slots[pw_hold_slot(aor)];
}

void pw_hold_asks(const str *aor, int change)
{
	__sync_add_and_fetch(&slot_of(aor)->asked, change);
}

int pw_hold_is_asked(const str *aor)
{
	return __sync_add_and_fetch(&slot_of(aor)->asked, 0) > 0;
}

void pw_hold_await_asked(const str *aor)
{
	int64_t until = 0;

	while(pw_hold_is_asked(aor)) {
		until = until == 0 ? pw_now_ms() + PW_ASKED_MS : until;
		if(pw_now_ms() >= until) {
			return;
		}
		usleep(PW_ASKED_PAUSE_US);
	}
}

void pw_hold_link(pw_hold_t *hold, int is_held)
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
	__sync_add_and_fetch(linked, 1);
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
		__sync_sub_and_fetch(linked, 1);
	}
	lock_release(&slot->lock);
	if(was) {
		pw_hold_counts(hold, 0);
	}
	return was;
}

void pw_hold_free(void *param)
{
	pw_hold_t *hold = param;

	pw_hold_unlink(hold);
	if(hold->reason.s != NULL) {
		shm_free(hold->reason.s);
	}
	shm_free(hold);
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
				|| (which == PW_HOLDS_WAITING && (!hold->held || hold->over) && hold->cancels_ms == 0)
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
	int i = aor != NULL ? (int)pw_hold_slot(aor) : 0;
	int end = aor != NULL ? i + 1 : PW_SLOTS, failed = 0;
	tm_cell_t *before = pw.tm.t_gett(), *t;
	int branch = pw.tm.t_gett_branch();
	pw_hold_refs_t refs = {NULL, 0, 0};
	pw_hold_t *hold;

	if(pw_holds_linked() == 0) {
		return 0;
	}
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

static int is_watched(const struct tm_callback volatile *callback, uint64_t handle)
{
	return callback->release == pw_hold_free && (handle == 0 || ((const pw_hold_t *)callback->param)->handle == handle);
}

pw_hold_t *pw_hold_in(tm_cell_t *t, uint64_t handle)
{
	struct tm_callback volatile *callback = t->tmcb_hl.first;

	while(callback != NULL && !is_watched(callback, handle)) {
		callback = callback->next;
	}
	return callback != NULL ? callback->param : NULL;
}

pw_hold_t *pw_hold_next(tm_cell_t *t, const pw_hold_t *hold)
{
	struct tm_callback volatile *callback = t->tmcb_hl.first;
	int is_after = hold == NULL;

	for(; callback != NULL; callback = callback->next) {
		if(is_after && callback->release == pw_hold_free) {
			return callback->param;
		}
		is_after = is_after || callback->param == (void *)hold;
	}
	return NULL;
}
