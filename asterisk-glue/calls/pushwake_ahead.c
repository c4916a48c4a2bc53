/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Phones that PushWake() has woken before a Dial() calls them.
 *
 * What is known of them hangs on a datastore that Dial() and Local channels inherit. It ends with the channel that began
 * it, unless a Dial() has called the phones: then its leg is all that they hear of.
 */
#include "asterisk.h"

#include <time.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/utils.h"

#include "pushwake_ahead.h"
#include "pushwake_calls.h"
#include "pushwake_caller.h"

#define BUCKETS 251
#define NUMBER_BITS 20

/*! Those that wait for a Dial(). */
static struct ao2_container *aheads;

/*! What hangs on a channel. */
struct carrier {
	struct pushwake__ahead *ahead;
	/*! The channel itself when it began to wake, else NULL; no reference, since the carrier goes with it. */
	struct ast_channel *origin;
};

static int handle_hash(const void *obj, int flags)
{
	uint64_t handle = flags & OBJ_SEARCH_KEY ? *(const uint64_t *) obj : ((const struct pushwake__ahead *) obj)->handle;

	return (int) (handle & 0x7fffffff);
}

static int handle_cmp(void *obj, void *arg, int flags)
{
	uint64_t handle = flags & OBJ_SEARCH_KEY ? *(uint64_t *) arg : ((struct pushwake__ahead *) arg)->handle;

	return ((struct pushwake__ahead *) obj)->handle == handle ? CMP_MATCH | CMP_STOP : 0;
}

static void ahead_destroy(void *obj)
{
	struct pushwake__ahead *ahead = obj;

	ast_free(ahead->aor);
	ast_free(ahead->call_id);
	ast_free(ahead->origin);
	ast_free(ahead->reason);
}

/*! Whether it was still open; nobody finds it from now on. */
static int close_ahead(struct pushwake__ahead *ahead)
{
	int was_open;

	ao2_lock(ahead);
	was_open = !ahead->is_over && !ahead->is_used;
	ahead->is_over = 1;
	ao2_unlock(ahead);
	ao2_unlink(aheads, ahead);
	if (was_open) {
		pushwake__devstate_changed(ahead->aor);
	}
	return was_open;
}

/*! No Dial() has called the phones, and none will. `has_missed`: that is news for a phone that came, too. */
static void end(struct pushwake__ahead *ahead, int how, int status, const char *reason, int has_missed)
{
	int number;

	if (!close_ahead(ahead) || !ahead->is_watched) {
		return;
	}
	pushwake_request_ended(pushwake__client(), ahead->handle, how, status, 0, pushwake__str(reason));
	for (number = 0; has_missed && number < 64; number++) {
		if (ahead->rung >> number & 1) {
			pushwake_progressed(pushwake__client(), ahead->handle, number, 503, 0);
		}
	}
}

static int is_elsewhere(struct ast_channel *chan)
{
	return ast_channel_hangupcause(chan) == AST_CAUSE_ANSWERED_ELSEWHERE;
}

/*! Whether its other side has hung up: PJSIP marks every channel that goes so, but CANCEL and BYE were seen before. */
static int is_hung_up(struct ast_channel *chan)
{
	return is_elsewhere(chan) || (strcmp(ast_channel_tech(chan)->type, "PJSIP")
		&& (ast_channel_softhangup_internal_flag(chan) & AST_SOFTHANGUP_DEV));
}

/*! The channel that began it goes. */
static void end_with(struct pushwake__ahead *ahead, struct ast_channel *chan)
{
	int is_cancelled = is_hung_up(chan);

	/* Who has been answered may have talked to that phone: ARI may have called it in a way of its own. */
	end(ahead, is_cancelled ? PUSHWAKE_CALL_CANCELLED : PUSHWAKE_CALL_FAILED, is_cancelled ? 487 : 480,
		is_elsewhere(chan) ? "SIP;cause=200" : "", ast_channel_state(chan) != AST_STATE_UP);
}

int pushwake__ahead_leg_end(struct pushwake__ahead *ahead, char **reason)
{
	struct ast_channel *chan;
	int how = PUSHWAKE_CALL_CANCELLED;

	ao2_lock(ahead);
	*reason = ahead->reason ? ast_strdup(ahead->reason) : NULL;
	ao2_unlock(ahead);
	if (*reason) {
		return how;
	}
	chan = ast_channel_get_by_name(ahead->origin);
	if (chan) {
		ast_channel_lock(chan);
		/* The dialplan goes on, with a mailbox or another user. */
		how = is_hung_up(chan) ? PUSHWAKE_CALL_CANCELLED : PUSHWAKE_CALL_FAILED;
		*reason = is_elsewhere(chan) ? ast_strdup("SIP;cause=200") : NULL;
		ast_channel_unlock(chan);
		ast_channel_unref(chan);
	}
	return how;
}

static struct carrier *carrier_new(struct pushwake__ahead *ahead, struct ast_channel *origin)
{
	struct carrier *carrier = ast_calloc(1, sizeof(*carrier));

	if (carrier) {
		carrier->ahead = ao2_bump(ahead);
		carrier->origin = origin;
		/* The channel holds pointers into this module until it goes. */
		ast_module_ref(AST_MODULE_SELF);
	}
	return carrier;
}

/*! Of a channel that inherited none, since memory was short, none is inherited. */
static void *store_duplicate(void *data)
{
	struct carrier *carrier = data;

	return carrier ? carrier_new(carrier->ahead, NULL) : NULL;
}

static void store_destroy(void *data)
{
	struct carrier *carrier = data;

	if (carrier->origin) {
		end_with(carrier->ahead, carrier->origin);
	}
	ao2_ref(carrier->ahead, -1);
	ast_free(carrier);
	ast_module_unref(AST_MODULE_SELF);
}

static void store_moved(void *data, struct ast_channel *from, struct ast_channel *to)
{
	struct carrier *carrier = data;

	if (carrier && carrier->origin == from) {
		carrier->origin = to;
	}
}

static const struct ast_datastore_info store_info = {
	.type = "pushwake ahead",
	.duplicate = store_duplicate,
	.destroy = store_destroy,
	.chan_fixup = store_moved,
};

/*! A name for the engine: the time comes first, so that none of an Asterisk that was before has it. */
static uint64_t next_handle(void)
{
	static uint32_t count;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (((uint64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000) << NUMBER_BITS)
		| (__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) & ((1u << NUMBER_BITS) - 1));
}

static struct ast_datastore *store_new(struct ast_channel *chan, struct pushwake__ahead *ahead)
{
	struct ast_datastore *store = ast_datastore_alloc(&store_info, ahead->aor);

	if (!store || !(store->data = carrier_new(ahead, chan))) {
		ast_datastore_free(store);
		return NULL;
	}
	store->inheritance = DATASTORE_INHERIT_FOREVER;
	return store;
}

/*! Takes `call_id` over. */
static struct pushwake__ahead *ahead_new(struct ast_channel *chan, const char *aor, char *call_id)
{
	struct pushwake__ahead *ahead = ao2_alloc(sizeof(*ahead), ahead_destroy);
	struct ast_datastore *store, *earlier;

	if (!ahead) {
		ast_free(call_id);
		return NULL;
	}
	ahead->handle = next_handle();
	ahead->call_id = call_id;
	ahead->aor = ast_strdup(aor);
	ahead->origin = ast_strdup(ast_channel_uniqueid(chan));
	store = ahead->aor && ahead->call_id && ahead->origin ? store_new(chan, ahead) : NULL;
	if (!store) {
		ao2_ref(ahead, -1);
		return NULL;
	}
	ao2_link(aheads, ahead);
	ast_channel_lock(chan);
	earlier = ast_channel_datastore_find(chan, &store_info, aor);
	if (earlier) {
		ast_channel_datastore_remove(chan, earlier);
	}
	ast_channel_datastore_add(chan, store);
	ast_channel_unlock(chan);
	if (earlier) {
		ast_datastore_free(earlier);
	}
	return ahead;
}

struct pushwake__ahead *pushwake__ahead_of(struct ast_channel *chan, const char *aor)
{
	struct pushwake__ahead *ahead;
	struct ast_datastore *store;

	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &store_info, aor);
	ahead = store && store->data ? ao2_bump(((struct carrier *) store->data)->ahead) : NULL;
	ast_channel_unlock(chan);
	return ahead;
}

struct pushwake__ahead *pushwake__ahead_get(struct ast_channel *chan, const char *aor, int seconds)
{
	struct pushwake__ahead *ahead = pushwake__ahead_of(chan, aor);
	char *id = NULL;

	if (ahead && (ahead->is_used || ahead->is_over)) {
		/* The engine pushes once for each Call-ID. */
		if (ast_asprintf(&id, "%.200s-again", ahead->call_id) < 0) {
			id = NULL;
		}
		ao2_ref(ahead, -1);
		ahead = NULL;
	}
	if (!ahead) {
		ahead = ahead_new(chan, aor, id ? id : pushwake__caller_call_id(chan));
		if (ahead && seconds) {
			ahead->ends = ast_tvadd(ast_tvnow(), ast_tv(seconds, 0));
		}
	}
	return ahead;
}

void pushwake__ahead_answered(struct pushwake__ahead *ahead, const pushwake_wake_result *result,
	const pushwake_contact *contacts, size_t count)
{
	uint64_t rung = 0;
	int was_over;

	while (count--) {
		if (contacts[count].action == PUSHWAKE_RING && contacts[count].leg > 0 && contacts[count].leg < 64) {
			rung |= (uint64_t) 1 << contacts[count].leg;
		}
	}
	ao2_lock(ahead);
	ahead->is_watched = result->watched != 0;
	ahead->rung |= rung;
	was_over = ahead->is_over;
	ao2_unlock(ahead);
	pushwake__devstate_changed(ahead->aor);
	if (was_over && result->watched) {
		pushwake_request_ended(pushwake__client(), ahead->handle, PUSHWAKE_CALL_CANCELLED, 487, 0, pushwake__str(""));
	}
}

int pushwake__ahead_use(struct pushwake__ahead *ahead)
{
	int is_first, left = 0;

	ao2_lock(ahead);
	is_first = !ahead->is_used;
	ahead->is_used = 1;
	ao2_unlock(ahead);
	if (is_first && !ast_tvzero(ahead->ends)) {
		left = (int) MAX(1, (ast_tvdiff_ms(ahead->ends, ast_tvnow()) + 500) / 1000);
	}
	return left;
}

void pushwake__aheads_hung_up(struct ast_channel *chan, const char *reason)
{
	struct ast_datastore *store;

	ast_channel_lock(chan);
	AST_LIST_TRAVERSE(ast_channel_datastores(chan), store, entry) {
		struct carrier *carrier = store->info == &store_info ? store->data : NULL;

		if (carrier && carrier->origin == chan) {
			ao2_lock(carrier->ahead);
			carrier->ahead->reason = carrier->ahead->reason ? carrier->ahead->reason : ast_strdup(reason);
			ao2_unlock(carrier->ahead);
			end(carrier->ahead, PUSHWAKE_CALL_CANCELLED, 487, reason, ast_channel_state(chan) != AST_STATE_UP);
		}
	}
	ast_channel_unlock(chan);
}

void pushwake__ahead_execute(const pushwake_verb *verb)
{
	struct pushwake__ahead *ahead = ao2_find(aheads, &verb->handle, OBJ_SEARCH_KEY);

	if (!ahead) {
		return;
	}
	if (verb->kind == PUSHWAKE_VERB_RING && verb->leg > 0 && verb->leg < 64) {
		ao2_lock(ahead);
		ahead->rung |= (uint64_t) 1 << verb->leg;
		ao2_unlock(ahead);
	} else if (verb->kind == PUSHWAKE_VERB_GIVE_UP) {
		/* A leg that has gone out for it has not reached the engine. */
		ao2_lock(ahead);
		ahead->is_used = 0;
		ao2_unlock(ahead);
		end(ahead, PUSHWAKE_CALL_TIMED_OUT, 480, "", 0);
	}
	ao2_ref(ahead, -1);
}

static int waits_for(void *obj, void *arg, int flags)
{
	const struct pushwake__ahead *ahead = obj;

	return ahead->is_watched && !ahead->is_used && !ahead->rung && !strcmp(ahead->aor, arg) ? CMP_MATCH | CMP_STOP : 0;
}

int pushwake__aheads_wait_for(const char *aor)
{
	struct pushwake__ahead *ahead = ao2_callback(aheads, 0, waits_for, (void *) aor);

	ao2_cleanup(ahead);
	return ahead != NULL;
}

int pushwake__ahead_start(void)
{
	aheads = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, BUCKETS, handle_hash, NULL, handle_cmp);
	return aheads ? 0 : -1;
}

void pushwake__ahead_stop(void)
{
	ao2_cleanup(aheads);
	aheads = NULL;
}
