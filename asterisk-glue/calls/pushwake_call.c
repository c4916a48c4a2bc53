/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Calls for which phones are woken, and the channels that carry them.
 *
 * A call hangs on a datastore that Dial() and Local channels inherit, so every leg of a
 * forked call finds the same one. It ends with the channel that began it.
 */
#include "asterisk.h"

#include <sys/eventfd.h>
#include <time.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"
#include "pushwake_caller.h"

#define CALL_BUCKETS 1021
#define NUMBER_BITS 20

/*! What hangs on a channel. */
struct carrier {
	struct pushwake__call *call;
	/*! The channel itself when it began the call, else NULL; no reference, since the carrier goes with it. */
	struct ast_channel *origin;
};

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

/*! Until it ends it is found by what the engine, a REGISTER and an answer know of it. */
static void call_link(struct pushwake__call *call)
{
	ao2_link(calls_by_handle, call);
	ao2_link(calls_by_aor, call);
	ao2_link(calls_by_origin, call);
}

static void call_unlink(struct pushwake__call *call)
{
	ao2_unlink(calls_by_handle, call);
	ao2_unlink(calls_by_aor, call);
	ao2_unlink(calls_by_origin, call);
}

/*! A name for the engine: the time comes first, so that none of an Asterisk that was before has it. */
static uint64_t next_handle(void)
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

/*! Takes `call_id` over. */
static struct pushwake__call *call_create(const char *aor, int event, char *call_id, const char *origin)
{
	struct pushwake__call *call = ao2_alloc(sizeof(*call), call_destroy);

	if (!call) {
		ast_free(call_id);
		return NULL;
	}
	call->handle = next_handle();
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

/* ---- Carriers */

static struct carrier *carrier_new(struct pushwake__call *call, struct ast_channel *origin)
{
	struct carrier *carrier = ast_calloc(1, sizeof(*carrier));

	if (carrier) {
		carrier->call = ao2_bump(call);
		carrier->origin = origin;
		ao2_lock(call);
		call->carriers++;
		ao2_unlock(call);
	}
	return carrier;
}

static void *store_duplicate(void *data)
{
	struct carrier *carrier = data;

	return carrier_new(carrier->call, NULL);
}

/*! Whether its other side has hung up: PJSIP marks every channel that goes so, but CANCEL and BYE were seen before. */
static int is_hung_up(struct ast_channel *chan)
{
	return strcmp(ast_channel_tech(chan)->type, "PJSIP")
		&& (ast_channel_softhangup_internal_flag(chan) & AST_SOFTHANGUP_DEV);
}

/*! The channel that began the call goes. */
static void end_with(struct pushwake__call *call, struct ast_channel *chan)
{
	if (ast_channel_hangupcause(chan) == AST_CAUSE_ANSWERED_ELSEWHERE) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED, 487, "SIP;cause=200");
	} else if (is_hung_up(chan)) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED, 487, "");
	} else {
		pushwake__call_end(call, PUSHWAKE_CALL_FAILED, call->answer ? call->answer : 480, "");
	}
}

static void store_destroy(void *data)
{
	struct carrier *carrier = data;
	struct pushwake__call *call = carrier->call;
	int is_last;

	ao2_lock(call);
	is_last = --call->carriers == 0;
	ao2_unlock(call);
	if (carrier->origin) {
		end_with(call, carrier->origin);
	} else if (is_last) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED, 487, "");
	}
	ao2_ref(call, -1);
	ast_free(carrier);
	if (is_last) {
		ast_module_unref(AST_MODULE_SELF);
	}
}

static void store_moved(void *data, struct ast_channel *from, struct ast_channel *to)
{
	struct carrier *carrier = data;

	if (carrier && carrier->origin == from) {
		carrier->origin = to;
	}
}

static const struct ast_datastore_info store_info = {
	.type = "pushwake",
	.duplicate = store_duplicate,
	.destroy = store_destroy,
	.chan_fixup = store_moved,
};

/*! Hangs the call on the channel that begins it. */
static int call_attach(struct ast_channel *chan, struct pushwake__call *call)
{
	struct ast_datastore *store = ast_datastore_alloc(&store_info, call->aor);

	if (!store || !(store->data = carrier_new(call, chan))) {
		ast_datastore_free(store);
		return -1;
	}
	store->inheritance = DATASTORE_INHERIT_FOREVER;
	/* The channel holds pointers into this module until it goes. */
	ast_module_ref(AST_MODULE_SELF);
	call_link(call);
	ast_channel_lock(chan);
	ast_channel_datastore_add(chan, store);
	ast_channel_unlock(chan);
	return 0;
}

/*! Takes a call that is over off the channel. */
static void call_detach(struct ast_channel *chan, struct pushwake__call *call)
{
	struct ast_datastore *store;

	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &store_info, call->aor);
	if (store) {
		ast_channel_datastore_remove(chan, store);
	}
	ast_channel_unlock(chan);
	if (store) {
		ast_datastore_free(store);
	}
}

/*! The call that the channel carries for the AoR, a reference, and whether it began it: its unique id may have become another's. */
static struct pushwake__call *call_of(struct ast_channel *chan, const char *aor, int *is_origin)
{
	struct pushwake__call *call = NULL;
	struct ast_datastore *store;
	struct carrier *carrier;

	*is_origin = 0;
	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &store_info, aor);
	carrier = store ? store->data : NULL;
	if (carrier) {
		call = ao2_bump(carrier->call);
		*is_origin = carrier->origin == chan;
	}
	ast_channel_unlock(chan);
	return call;
}

/*!
 * Whether the dialplan is through with the call and asks for the user anew: it is over, or it was asked for, and neither
 * is a phone there to be dialled nor is one rung. While the channel that began it runs PushWake(), its own Dial() is
 * over, whatever legs say that have not heard of it yet.
 */
static int is_left(struct pushwake__call *call, int is_origin)
{
	int is_over, is_idle;

	ao2_lock(call);
	is_over = call->ended || call->given_up;
	is_idle = !pushwake__legs_queued(call) && (!ast_tvzero(call->deadline) || AST_VECTOR_SIZE(&call->legs));
	ao2_unlock(call);
	return is_over || (is_idle && (is_origin || !pushwake__legs_ring(call)));
}

struct pushwake__call *pushwake__call_get(struct ast_channel *chan, const char *aor, int is_joining)
{
	int is_origin;
	struct pushwake__call *call = call_of(chan, aor, &is_origin);
	char *id = NULL;

	if (call && !is_joining && is_left(call, is_origin)) {
		/* The engine pushes once for each Call-ID. */
		if (ast_asprintf(&id, "%.200s-again", call->call_id) < 0) {
			id = NULL;
		}
		pushwake__call_end(call, PUSHWAKE_CALL_FAILED, 480, "");
		if (is_origin) {
			call_detach(chan, call);
		}
		ao2_ref(call, -1);
		call = NULL;
	}
	if (!call) {
		call = call_create(aor, PUSHWAKE_EVENT_CALL, id ? id : pushwake__caller_call_id(chan), ast_channel_uniqueid(chan));
		if (call && call_attach(chan, call)) {
			ao2_ref(call, -1);
			call = NULL;
		}
	}
	return call;
}

void pushwake__calls_of(struct pushwake__calls *calls, struct ast_channel *chan, int is_own)
{
	struct ast_datastore *store;

	AST_VECTOR_INIT(calls, 0);
	ast_channel_lock(chan);
	AST_LIST_TRAVERSE(ast_channel_datastores(chan), store, entry) {
		struct carrier *carrier = store->info == &store_info ? store->data : NULL;

		if (carrier && (!is_own || carrier->origin == chan) && !AST_VECTOR_APPEND(calls, carrier->call)) {
			ao2_ref(carrier->call, +1);
		}
	}
	ast_channel_unlock(chan);
}

static void call_unref(struct pushwake__call *call)
{
	ao2_ref(call, -1);
}

void pushwake__calls_free(struct pushwake__calls *calls)
{
	AST_VECTOR_CALLBACK_VOID(calls, call_unref);
	AST_VECTOR_FREE(calls);
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
	call = call_create(aor, PUSHWAKE_EVENT_CHAT, id, "");
	if (call) {
		call_link(call);
	}
	return call;
}

void pushwake__call_finish_message(struct pushwake__call *call)
{
	/* Nobody hangs up a message: its end would drop the pushes that have not left yet. */
	call_unlink(call);
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
