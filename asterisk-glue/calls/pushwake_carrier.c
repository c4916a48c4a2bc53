/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The channels that carry a call.
 *
 * A call hangs on a datastore that Dial() and Local channels inherit, so every leg of a
 * forked call finds the same one. It ends with the channel that began it.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"
#include "pushwake_caller.h"

/*! What hangs on a channel. */
struct carrier {
	struct pushwake__call *call;
	/*! The channel itself when it began the call, else NULL; no reference, since the carrier goes with it. */
	struct ast_channel *origin;
};

static struct carrier *carrier_new(struct pushwake__call *call, struct ast_channel *origin)
{
	struct carrier *carrier = ast_calloc(1, sizeof(*carrier));

	if (carrier) {
		carrier->call = ao2_bump(call);
		carrier->origin = origin;
		ao2_lock(call);
		call->carriers++;
		call->first = origin ? origin : call->first;
		ao2_unlock(call);
	}
	return carrier;
}

/*! Of a channel that inherited none, since memory was short, none is inherited. */
static void *store_duplicate(void *data)
{
	struct carrier *carrier = data;

	return carrier ? carrier_new(carrier->call, NULL) : NULL;
}

/*! Whether its other side has hung up: PJSIP marks every channel that goes so, but CANCEL and BYE were seen before. */
static int is_hung_up(struct ast_channel *chan)
{
	return strcmp(ast_channel_tech(chan)->type, "PJSIP")
		&& (ast_channel_softhangup_internal_flag(chan) & AST_SOFTHANGUP_DEV);
}

static int is_answered_elsewhere(struct ast_channel *chan)
{
	return ast_channel_hangupcause(chan) == AST_CAUSE_ANSWERED_ELSEWHERE;
}

/*! The channel that began the call goes. */
static void end_with(struct pushwake__call *call, struct ast_channel *chan)
{
	if (is_answered_elsewhere(chan) || is_hung_up(chan)) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED, 487, is_answered_elsewhere(chan) ? "SIP;cause=200" : "");
	} else {
		pushwake__call_end(call, PUSHWAKE_CALL_FAILED, call->answer ? call->answer : 480, "");
	}
	/* A phone that came and that no Dial() called, or could call, hears of the end as those that stayed away do. Who has been
	 * answered may have talked to that phone: ARI may have called it in a way of its own. */
	if (call->end_how != PUSHWAKE_CALL_ANSWERED && ast_channel_state(chan) != AST_STATE_UP) {
		pushwake__legs_refuse_unsent(call);
	}
}

void pushwake__call_follow(struct pushwake__call *call)
{
	int is_over, is_elsewhere;

	ao2_lock(call);
	/* It is there as long as the call is locked. What has been set of it stays. */
	is_over = call->first && is_hung_up(call->first);
	is_elsewhere = is_over && is_answered_elsewhere(call->first);
	ao2_unlock(call);
	if (is_over) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED, 487, is_elsewhere ? "SIP;cause=200" : "");
	}
}

static void store_destroy(void *data)
{
	struct carrier *carrier = data;
	struct pushwake__call *call = carrier->call;
	int is_last;

	if (carrier->origin) {
		end_with(call, carrier->origin);
	}
	/* ORDER: whoever finds no first channel any more finds the call ended. */
	ao2_lock(call);
	is_last = --call->carriers == 0;
	if (carrier->origin) {
		call->first = NULL;
	}
	ao2_unlock(call);
	if (is_last) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED, 487, "");
		pushwake__call_forget(call);
	}
	/* Whose phone has come as the call ended: Dial() ends before it has sent all, or does not begin. Of the first channel that
	 * was seen to already. */
	if (call->ended && !carrier->origin) {
		pushwake__legs_refuse_unsent(call);
	} else if (call->ended) {
		pushwake__legs_refuse_queued(call);
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
		ao2_lock(carrier->call);
		carrier->origin = carrier->call->first = to;
		ao2_unlock(carrier->call);
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
	pushwake__call_link(call);
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
		call = pushwake__call_create(aor, PUSHWAKE_EVENT_CALL, id ? id : pushwake__caller_call_id(chan), ast_channel_uniqueid(chan));
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

/*! Whether a call is for one of these users. */
static int is_among(const struct pushwake__calls *calls, const struct pushwake__call *call)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		if (!strcmp(AST_VECTOR_GET(calls, index)->aor, call->aor)) {
			return 1;
		}
	}
	return 0;
}

void pushwake__calls_leave(struct ast_channel *chan, const struct pushwake__calls *asked)
{
	struct pushwake__calls calls;
	size_t index;

	pushwake__calls_of(&calls, chan, 1);
	for (index = 0; index < AST_VECTOR_SIZE(&calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(&calls, index);
		int is_left;

		ao2_lock(call);
		is_left = pushwake__legs_were_rung(call);
		ao2_unlock(call);
		if (is_left && !is_among(asked, call)) {
			pushwake__call_end(call, PUSHWAKE_CALL_FAILED, call->answer ? call->answer : 480, "");
			pushwake__legs_refuse_unsent(call);
		}
	}
	pushwake__calls_free(&calls);
}
