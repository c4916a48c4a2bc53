/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A call for which phones are being woken, and the channels that carry it.
 *
 * The call hangs on a datastore that Dial() and Local channels inherit, so every leg
 * of a forked call finds the same one, and the last channel to go ends it. A REGISTER
 * that this Asterisk answers releases it directly; the engine's word is needed only
 * for phones that register elsewhere, and its death does not strand a call.
 */
#include "asterisk.h"

#include <sys/eventfd.h>

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"
#include "pushwake_wake.h"

#define CALL_BUCKETS 257

static struct ao2_container *calls_by_aor;
static struct ao2_container *calls_by_origin;

AO2_STRING_FIELD_HASH_FN(pushwake__call, aor)
AO2_STRING_FIELD_CMP_FN(pushwake__call, aor)

static int origin_hash(const void *obj, int flags)
{
	const struct pushwake__call *call = obj;

	return ast_str_hash(flags & OBJ_SEARCH_KEY ? obj : call->origin);
}

static int origin_cmp(void *obj, void *arg, int flags)
{
	const struct pushwake__call *call = obj;
	const char *origin = flags & OBJ_SEARCH_KEY ? arg : ((struct pushwake__call *) arg)->origin;

	return strcmp(call->origin, origin) ? 0 : CMP_MATCH;
}

static void uris_free(struct pushwake__uris *uris)
{
	AST_VECTOR_CALLBACK_VOID(uris, ast_free_ptr);
	AST_VECTOR_FREE(uris);
}

static void call_destroy(void *obj)
{
	struct pushwake__call *call = obj;

	pushwake_wait_free(call->wait);
	if (call->alert >= 0) {
		close(call->alert);
	}
	uris_free(&call->rung);
	uris_free(&call->joined);
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
	call->alert = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	call->event = event;
	call->began = ast_tvnow();
	call->aor = ast_strdup(aor);
	call->call_id = call_id;
	call->origin = ast_strdup(origin);
	AST_VECTOR_INIT(&call->rung, 0);
	AST_VECTOR_INIT(&call->joined, 0);
	if (call->alert < 0 || !call->aor || !call->call_id || !call->origin) {
		ao2_ref(call, -1);
		return NULL;
	}
	return call;
}

static void *store_duplicate(void *data)
{
	struct pushwake__call *call = ao2_bump(data);

	ao2_lock(call);
	call->carriers++;
	ao2_unlock(call);
	return call;
}

static void store_destroy(void *data)
{
	struct pushwake__call *call = data;
	int is_last;

	ao2_lock(call);
	is_last = --call->carriers == 0;
	ao2_unlock(call);
	if (is_last) {
		ao2_unlink(calls_by_aor, call);
		ao2_unlink(calls_by_origin, call);
		pushwake__call_end(call, call->timed_out ? PUSHWAKE_CALL_TIMED_OUT : PUSHWAKE_CALL_CANCELLED);
	}
	ao2_ref(call, -1);
	if (is_last) {
		ast_module_unref(AST_MODULE_SELF);
	}
}

static const struct ast_datastore_info store_info = {
	.type = "pushwake",
	.duplicate = store_duplicate,
	.destroy = store_destroy,
};

/*! Hangs the call on the channel; the store takes a reference. */
static int call_attach(struct ast_channel *chan, struct pushwake__call *call)
{
	struct ast_datastore *store = ast_datastore_alloc(&store_info, call->aor);

	if (!store) {
		return -1;
	}
	store->data = store_duplicate(call);
	store->inheritance = DATASTORE_INHERIT_FOREVER;
	/* The channel holds pointers into this module until it goes. */
	ast_module_ref(AST_MODULE_SELF);
	ao2_link(calls_by_aor, call);
	ao2_link(calls_by_origin, call);
	ast_channel_lock(chan);
	ast_channel_datastore_add(chan, store);
	ast_channel_unlock(chan);
	return 0;
}

/*! Takes a call that is over off the channel. */
static void call_detach(struct ast_channel *chan, struct ast_datastore *store)
{
	ast_channel_lock(chan);
	ast_channel_datastore_remove(chan, store);
	ast_channel_unlock(chan);
	ast_datastore_free(store);
}

/*! A call-id that the engine has not seen yet, to be freed: it pushes once for each. */
static char *next_call_id(const struct pushwake__call *earlier)
{
	char *id = NULL;

	return ast_asprintf(&id, "%.200s-again", earlier->call_id) < 0 ? NULL : id;
}

struct pushwake__call *pushwake__call_get(struct ast_channel *chan, const char *aor)
{
	struct pushwake__call *call = NULL;
	struct ast_datastore *store;
	char *id = NULL;

	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &store_info, aor);
	if (store) {
		call = ao2_bump(store->data);
	}
	ast_channel_unlock(chan);
	if (call && call->ended && pushwake__call_is_origin(call, chan)) {
		id = next_call_id(call);
		call_detach(chan, store);
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
		ao2_link(calls_by_aor, call);
	}
	return call;
}

void pushwake__call_finish_message(struct pushwake__call *call)
{
	ao2_unlink(calls_by_aor, call);
	/* Nobody hangs up a message: ending it would drop the pushes that have not left yet. */
	ao2_lock(call);
	call->ended = 1;
	ao2_unlock(call);
	ao2_ref(call, -1);
}

int pushwake__call_is_origin(struct pushwake__call *call, struct ast_channel *chan)
{
	return !strcmp(call->origin, ast_channel_uniqueid(chan));
}

static int contains(struct pushwake__uris *uris, const char *uri)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(uris); index++) {
		if (!strcmp(AST_VECTOR_GET(uris, index), uri)) {
			return 1;
		}
	}
	return 0;
}

int pushwake__call_claim_wait(struct pushwake__call *call)
{
	int fd = -1;

	ao2_lock(call);
	if (call->wait && !call->polled) {
		fd = pushwake_wait_fd(call->wait);
		call->polled = fd >= 0;
	}
	ao2_unlock(call);
	return fd;
}

void pushwake__call_release_wait(struct pushwake__call *call, int is_over)
{
	pushwake_wait *wait = NULL;

	ao2_lock(call);
	call->polled = 0;
	if (is_over || call->ended) {
		wait = call->wait;
		call->wait = NULL;
	}
	/* Another leg may want to poll it now. */
	eventfd_write(call->alert, 1);
	ao2_unlock(call);
	pushwake_wait_free(wait);
}

void pushwake__call_drop_wait(struct pushwake__call *call)
{
	if (pushwake__call_claim_wait(call) >= 0) {
		pushwake__call_release_wait(call, 1);
	}
}

int pushwake__call_ring(struct pushwake__call *call, const char *uri)
{
	char *copy = NULL;
	int is_new;

	ao2_lock(call);
	is_new = !contains(&call->rung, uri);
	if (is_new && (!(copy = ast_strdup(uri)) || AST_VECTOR_APPEND(&call->rung, copy))) {
		ast_free(copy);
	}
	ao2_unlock(call);
	return is_new;
}

char *pushwake__call_joined(struct pushwake__call *call)
{
	char *uri = NULL;
	uint64_t count;

	ao2_lock(call);
	/* Emptied under the lock that guards the list, so no alert is lost. */
	if (read(call->alert, &count, sizeof(count)) < 0) {
		ast_debug(5, "No alert for '%s'\n", call->aor);
	}
	while (!uri && AST_VECTOR_SIZE(&call->joined)) {
		uri = AST_VECTOR_REMOVE_ORDERED(&call->joined, 0);
		if (contains(&call->rung, uri)) {
			ast_free(uri);
			uri = NULL;
		}
	}
	if (AST_VECTOR_SIZE(&call->joined)) {
		eventfd_write(call->alert, 1);
	}
	ao2_unlock(call);
	return uri;
}

void pushwake__call_end(struct pushwake__call *call, int how)
{
	struct pushwake__client *lease;
	pushwake_wait *wait;
	int is_first;

	ao2_lock(call);
	is_first = !call->ended;
	call->ended = 1;
	/* A channel that is polling it frees it when it comes back. */
	wait = call->polled ? NULL : call->wait;
	if (wait) {
		call->wait = NULL;
	}
	eventfd_write(call->alert, 1);
	ao2_unlock(call);

	if (is_first && (lease = pushwake__client_take())) {
		pushwake_call_ended(pushwake__client_of(lease), pushwake__str(call->aor),
			pushwake__str(call->call_id), how);
		pushwake__client_give(lease);
	}
	/* ORDER: freeing the wait first would count as cancelled. */
	pushwake_wait_free(wait);
}

void pushwake__call_join(struct pushwake__call *call, const char *uri)
{
	char *copy = NULL;

	ao2_lock(call);
	if (!contains(&call->joined, uri) && (copy = ast_strdup(uri)) && AST_VECTOR_APPEND(&call->joined, copy)) {
		ast_free(copy);
	}
	eventfd_write(call->alert, 1);
	ao2_unlock(call);
}

void pushwake__calls_registered(const char *aor, const char *uri)
{
	struct ao2_iterator *matching;
	struct pushwake__call *call;

	matching = ao2_find(calls_by_aor, aor, OBJ_SEARCH_KEY | OBJ_MULTIPLE);
	if (!matching) {
		return;
	}
	while ((call = ao2_iterator_next(matching))) {
		pushwake__call_join(call, uri);
		ao2_ref(call, -1);
	}
	ao2_iterator_destroy(matching);
}

void pushwake__calls_answered(const char *origin)
{
	struct ao2_iterator *matching;
	struct pushwake__call *call;

	matching = ao2_find(calls_by_origin, origin, OBJ_SEARCH_KEY | OBJ_MULTIPLE);
	if (!matching) {
		return;
	}
	while ((call = ao2_iterator_next(matching))) {
		pushwake__call_end(call, PUSHWAKE_CALL_ANSWERED);
		ao2_ref(call, -1);
	}
	ao2_iterator_destroy(matching);
}

int pushwake__calls_start(void)
{
	calls_by_aor = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, CALL_BUCKETS,
		pushwake__call_hash_fn, NULL, pushwake__call_cmp_fn);
	calls_by_origin = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, CALL_BUCKETS,
		origin_hash, NULL, origin_cmp);
	return calls_by_aor && calls_by_origin ? 0 : -1;
}

void pushwake__calls_stop(void)
{
	ao2_cleanup(calls_by_aor);
	ao2_cleanup(calls_by_origin);
	calls_by_aor = NULL;
	calls_by_origin = NULL;
}
