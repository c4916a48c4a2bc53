/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Calls for which phones are woken: how they begin, are found, and end.
 */
#include "asterisk.h"

#include <sys/eventfd.h>
#include <time.h>

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"

#define CALL_BUCKETS 1021
#define NUMBER_BITS 20

static struct ao2_container *calls_by_handle;
static struct ao2_container *calls_by_aor;
static struct ao2_container *calls_by_origin;

AO2_STRING_FIELD_HASH_FN(pushwake__call, aor)
AO2_STRING_FIELD_CMP_FN(pushwake__call, aor)

static int handle_hash(const void *obj, int flags)
{
	const struct pushwake__call *call = obj;
	uint64_t handle = flags & OBJ_SEARCH_KEY ? *(const uint64_t *) obj : call->handle;

	return (int) (handle & 0x7fffffff);
}

static int handle_cmp(void *obj, void *arg, int flags)
{
	const struct pushwake__call *call = obj;
	uint64_t handle = flags & OBJ_SEARCH_KEY ? *(uint64_t *) arg : ((struct pushwake__call *) arg)->handle;

	return call->handle == handle ? CMP_MATCH | CMP_STOP : 0;
}

static int origin_hash(const void *obj, int flags)
{
	return ast_str_hash(flags & OBJ_SEARCH_KEY ? obj : ((const struct pushwake__call *) obj)->origin);
}

static int origin_cmp(void *obj, void *arg, int flags)
{
	const struct pushwake__call *call = obj;

	return strcmp(call->origin, flags & OBJ_SEARCH_KEY ? arg : ((struct pushwake__call *) arg)->origin) ? 0 : CMP_MATCH;
}

void pushwake__call_link(struct pushwake__call *call)
{
	ao2_link(calls_by_handle, call);
	ao2_link(calls_by_aor, call);
	ao2_link(calls_by_origin, call);
}

/*! REGISTERs and answers find it no longer. */
static void call_unlink(struct pushwake__call *call)
{
	ao2_unlink(calls_by_aor, call);
	ao2_unlink(calls_by_origin, call);
}

void pushwake__call_forget(struct pushwake__call *call)
{
	ao2_unlink(calls_by_handle, call);
}

/*! A name for the engine: the time comes first, so that none of an Asterisk that was before has it. */
uint64_t pushwake__next_handle(void)
{
	static uint32_t count;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (((uint64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000) << NUMBER_BITS)
		| (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) & ((1u << NUMBER_BITS) - 1));
}

static void leg_free(struct pushwake__leg leg)
{
	pushwake__contact_free(leg.contact);
	ast_free(leg.channel);
	ast_free(leg.reason);
}

static void call_destroy(void *obj)
{
	struct pushwake__call *call = obj;

	if (call->alert >= 0) {
		close(call->alert);
	}
	AST_VECTOR_CALLBACK_VOID(&call->legs, leg_free);
	AST_VECTOR_FREE(&call->legs);
	ast_free(call->ticket);
	ast_free(call->reason);
	ast_free(call->end_reason);
	ast_free(call->aor);
	ast_free(call->call_id);
	ast_free(call->origin);
}

struct pushwake__call *pushwake__call_create(const char *aor, int event, char *call_id, const char *origin)
{
	struct pushwake__call *call = ao2_alloc(sizeof(*call), call_destroy);

	if (!call) {
		ast_free(call_id);
		return NULL;
	}
	call->handle = pushwake__next_handle();
	call->alert = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	call->event = event;
	call->began = ast_tvnow();
	call->aor = ast_strdup(aor);
	call->call_id = call_id;
	call->origin = ast_strdup(origin);
	AST_VECTOR_INIT(&call->legs, 0);
	if (call->alert < 0 || !call->aor || !call->call_id || !call->origin) {
		ao2_ref(call, -1);
		return NULL;
	}
	return call;
}

/* ---- Messages, which no channel carries */

struct pushwake__call *pushwake__call_begin_message(struct ast_channel *chan, const char *aor)
{
	static int count;
	struct pushwake__call *call;
	char *id = NULL;

	/* All messages come on one channel, so its unique id names none of them. */
	if (ast_asprintf(&id, "%s-%d", ast_channel_uniqueid(chan), ast_atomic_fetchadd_int(&count, 1)) < 0) {
		return NULL;
	}
	call = pushwake__call_create(aor, PUSHWAKE_EVENT_CHAT, id, "");
	if (call) {
		pushwake__call_link(call);
	}
	return call;
}

void pushwake__call_finish_message(struct pushwake__call *call)
{
	/* Nobody hangs up a message: its end would drop the pushes that have not left yet. */
	call_unlink(call);
	pushwake__call_forget(call);
}

/* ---- All of them */

struct pushwake__call *pushwake__call_find(uint64_t handle)
{
	return ao2_find(calls_by_handle, &handle, OBJ_SEARCH_KEY);
}

static void visit_all(struct ao2_iterator *found, void (*visit)(struct pushwake__call *call, void *context), void *context)
{
	struct pushwake__call *call;

	if (!found) {
		return;
	}
	while ((call = ao2_iterator_next(found))) {
		visit(call, context);
		ao2_ref(call, -1);
	}
	ao2_iterator_destroy(found);
}

void pushwake__calls_each(const char *aor, void (*visit)(struct pushwake__call *call, void *context), void *context)
{
	visit_all(aor ? ao2_find(calls_by_aor, aor, OBJ_SEARCH_KEY | OBJ_MULTIPLE)
		: ao2_callback(calls_by_aor, OBJ_MULTIPLE, NULL, NULL), visit, context);
}

static void end_answered(struct pushwake__call *call, void *context)
{
	pushwake__call_end(call, PUSHWAKE_CALL_ANSWERED, 200, "");
}

void pushwake__calls_answered(const char *origin)
{
	visit_all(ao2_find(calls_by_origin, origin, OBJ_SEARCH_KEY | OBJ_MULTIPLE), end_answered, NULL);
}

static void count_waiting(struct pushwake__call *call, void *context)
{
	*(int *) context += call->has_waited && !call->ended && !call->given_up;
}

int pushwake__calls_wait_for(const char *aor)
{
	int count = 0;

	pushwake__calls_each(aor, count_waiting, &count);
	return count > 0;
}

void pushwake__call_alert(struct pushwake__call *call)
{
	if (eventfd_write(call->alert, 1)) {
		ast_debug(1, "A call to '%s' is alert already\n", call->aor);
	}
}

void pushwake__call_heed(struct pushwake__call *call)
{
	eventfd_t count;

	ao2_lock(call);
	if (!call->ended && !call->given_up && eventfd_read(call->alert, &count)) {
		ast_debug(5, "No alert for '%s'\n", call->aor);
	}
	ao2_unlock(call);
}

void pushwake__call_tell_end(struct pushwake__call *call)
{
	pushwake_request_ended(pushwake__client(), call->handle, call->end_how, call->end_status, 0,
		pushwake__str(call->end_reason));
}

void pushwake__call_end(struct pushwake__call *call, int how, int status, const char *reason)
{
	int is_first, is_watched;

	ao2_lock(call);
	is_first = !call->ended;
	is_watched = call->watched;
	call->ended = 1;
	if (is_first) {
		call->end_how = how;
		call->end_status = status;
		call->end_reason = ast_strdup(reason);
	}
	ao2_unlock(call);
	if (!is_first) {
		return;
	}
	call_unlink(call);
	pushwake__call_alert(call);
	/* While the engine is asked about it nobody knows whether it is watched: push() tells it then. */
	if (is_watched) {
		pushwake__call_tell_end(call);
	}
	if (call->has_waited) {
		pushwake__devstate_changed(call->aor);
	}
}

int pushwake__calls_start(void)
{
	calls_by_handle = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, CALL_BUCKETS, handle_hash, NULL, handle_cmp);
	calls_by_aor = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, CALL_BUCKETS,
		pushwake__call_hash_fn, NULL, pushwake__call_cmp_fn);
	calls_by_origin = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, CALL_BUCKETS, origin_hash, NULL, origin_cmp);
	return calls_by_handle && calls_by_aor && calls_by_origin ? 0 : -1;
}

void pushwake__calls_stop(void)
{
	ao2_cleanup(calls_by_handle);
	ao2_cleanup(calls_by_aor);
	ao2_cleanup(calls_by_origin);
	calls_by_handle = NULL;
	calls_by_aor = NULL;
	calls_by_origin = NULL;
}
