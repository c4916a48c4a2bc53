/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Sessions whose INVITE waits, found by their Call-ID and by what the library calls them.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/utils.h"

#include "pushwake_early_wake.h"
#include "pushwake_caller.h"
#include "pushwake_legs.h"

#define BUCKETS 1021

static int are_on;
static int wake_all;
static struct ao2_container *by_call_id;
static struct ao2_container *by_handle;

int pushwake__legs_are_on(void)
{
	return __atomic_load_n(&are_on, __ATOMIC_ACQUIRE);
}

int pushwake__legs_wake_all(void)
{
	return __atomic_load_n(&wake_all, __ATOMIC_ACQUIRE);
}

void pushwake__legs_switch(int is_on, int is_for_all)
{
	__atomic_store_n(&wake_all, is_on && is_for_all, __ATOMIC_RELEASE);
	__atomic_store_n(&are_on, is_on, __ATOMIC_RELEASE);
}

AO2_STRING_FIELD_HASH_FN(pushwake__waiter, call_id)
AO2_STRING_FIELD_CMP_FN(pushwake__waiter, call_id)

static void destroy(void *obj)
{
	struct pushwake__waiter *waiter = obj;

	ao2_cleanup(waiter->session);
	ao2_cleanup(waiter->beside);
	ast_free(waiter->call_id);
	ast_free(waiter->aor);
	ast_free(waiter->caller);
	ast_free(waiter->push_id);
	ast_free(waiter->dialled);
	ast_free(waiter->headers);
}

struct pushwake__waiter *pushwake__waiter_named(const char *call_id)
{
	return ao2_find(by_call_id, call_id, OBJ_SEARCH_KEY);
}

struct pushwake__waiter *pushwake__waiter_of(struct ast_sip_session *session)
{
	const pj_str_t *id = &session->inv_session->dlg->call_id->id;
	char *call_id = ast_alloca(id->slen + 1);

	ast_copy_pj_str(call_id, id, id->slen + 1);
	return pushwake__waiter_named(call_id);
}

struct pushwake__waiter *pushwake__waiter_find(uint64_t handle)
{
	return ao2_find(by_handle, &handle, OBJ_SEARCH_KEY);
}

void pushwake__waiter_name(struct pushwake__waiter *waiter, uint64_t handle)
{
	int is_new;

	ao2_lock(waiter);
	is_new = !waiter->handle;
	waiter->handle = is_new ? handle : waiter->handle;
	ao2_unlock(waiter);
	if (is_new) {
		ao2_link(by_handle, waiter);
	}
}

/*! What the push says of the call: as PushWake() has said it, if that woke the phones before. */
static void read_call(struct pushwake__waiter *waiter, struct ast_channel *chan)
{
	struct pushwake__early_wake *early = pushwake__early_wake_of(chan, waiter->aor);

	if (early) {
		waiter->is_late = early->reason != NULL;
		waiter->seconds = pushwake__early_wake_continue(early);
		waiter->push_id = ast_strdup(early->call_id);
		ao2_ref(early, -1);
	} else {
		waiter->push_id = pushwake__caller_push_id(chan);
	}
}

struct pushwake__waiter *pushwake__waiter_new(struct ast_sip_session *session, const char *aor)
{
	struct pushwake__waiter *waiter = ao2_alloc(sizeof(*waiter), destroy);
	const pj_str_t *id = &session->inv_session->dlg->call_id->id;

	if (!waiter) {
		return NULL;
	}
	waiter->session = ao2_bump(session);
	waiter->aor = ast_strdup(aor);
	waiter->call_id = ast_malloc(id->slen + 1);
	waiter->caller = ast_calloc(1, sizeof(*waiter->caller));
	if (!waiter->aor || !waiter->call_id || !waiter->caller) {
		ao2_ref(waiter, -1);
		return NULL;
	}
	ast_copy_pj_str(waiter->call_id, id, id->slen + 1);
	pushwake__caller_read_dialled(waiter->caller, session->channel, aor);
	read_call(waiter, session->channel);
	ao2_link(by_call_id, waiter);
	return waiter;
}

void pushwake__waiter_end(struct pushwake__waiter *waiter, int how, int status, const char *reason)
{
	struct pushwake__told told = {
		.kind = PUSHWAKE__TOLD_END, .leg = how, .status = status, .text = pushwake__str(reason),
	};
	int is_first;

	ao2_lock(waiter);
	is_first = !waiter->has_ended;
	waiter->has_ended = 1;
	waiter->is_elsewhere |= how == PUSHWAKE_CALL_ANSWERED || strstr(reason, "cause=200") != NULL;
	told.handle = waiter->handle;
	ao2_unlock(waiter);
	ao2_unlink(by_call_id, waiter);
	ao2_unlink(by_handle, waiter);
	if (is_first && told.handle && !waiter->beside) {
		pushwake__legs_tell(&told);
	}
}

void pushwake__leg_task_free(struct pushwake__leg_task *task)
{
	ao2_ref(task->waiter, -1);
	ast_free(task);
}

void pushwake__leg_task_push(struct ast_sip_session *session, struct pushwake__waiter *waiter, int leg, const char *uri,
	int (*run)(void *task))
{
	struct pushwake__leg_task *task = ast_calloc(1, sizeof(*task) + strlen(uri) + 1);

	if (!task) {
		return;
	}
	task->waiter = ao2_bump(waiter);
	task->leg = leg;
	strcpy(task->uri, uri); /* safe: allocated for it */
	if (ast_sip_push_task(session->serializer, run, task)) {
		pushwake__leg_task_free(task);
	}
}

int pushwake__waiter_start(void)
{
	by_call_id = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, BUCKETS, pushwake__waiter_hash_fn, NULL,
		pushwake__waiter_cmp_fn);
	by_handle = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, BUCKETS, pushwake__handle_hash, NULL,
		pushwake__handle_cmp);
	return by_call_id && by_handle ? 0 : -1;
}

void pushwake__waiter_stop(void)
{
	ao2_cleanup(by_call_id);
	ao2_cleanup(by_handle);
	by_call_id = by_handle = NULL;
}
