/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Wake-ups that PushWake() has begun, and that the next leg with the same Call-ID goes on with.
 *
 * What is known of them hangs on a datastore that Dial() and Local channels inherit. It ends with the channel that began
 * it, unless a Dial() has called the phones: then its leg is all that they hear of.
 */
#include "asterisk.h"

#include <time.h>

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_caller.h"
#include "pushwake_early_wake.h"
#include "pushwake_supplement.h"

#define BUCKETS 251
#define NUMBER_BITS 20

/*! Those that wait for a Dial(). */
static struct ao2_container *early_wakes;

/*! What hangs on a channel. */
struct carrier {
	struct pushwake__early_wake *early;
	/*! The channel itself when it began to wake, else NULL; no reference, since the carrier goes with it. */
	struct ast_channel *origin;
};

static void early_wake_destroy(void *obj)
{
	struct pushwake__early_wake *early = obj;

	ast_free(early->aor);
	ast_free(early->call_id);
	ast_free(early->origin);
	ast_free(early->reason);
}

/*! Whether it was still open; nobody finds it from now on. */
static int close_early_wake(struct pushwake__early_wake *early)
{
	int was_open;

	ao2_lock(early);
	was_open = !early->is_over && !early->is_used;
	early->is_over = 1;
	ao2_unlock(early);
	ao2_unlink(early_wakes, early);
	if (was_open) {
		pushwake__devstate_changed(early->aor);
	}
	return was_open;
}

/*! No Dial() has called the phones, and none will. `has_missed`: that is news for a phone that came, too. */
static void end(struct pushwake__early_wake *early, int how, int status, const char *reason, int has_missed)
{
	int number;

	if (!close_early_wake(early) || !early->is_watched) {
		return;
	}
	pushwake_request_ended(pushwake__client(), early->handle, how, status, 0, pushwake__str(reason));
	for (number = 0; has_missed && number < 64; number++) {
		if (early->rung >> number & 1) {
			pushwake_progressed(pushwake__client(), early->handle, number, 503, 0);
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
static void end_with(struct pushwake__early_wake *early, struct ast_channel *chan)
{
	int is_cancelled = is_hung_up(chan);

	/* Who has been answered may have talked to that phone: ARI may have called it in a way of its own. */
	end(early, is_cancelled ? PUSHWAKE_CALL_CANCELLED : PUSHWAKE_CALL_FAILED, is_cancelled ? 487 : 480,
		is_elsewhere(chan) ? "SIP;cause=200" : "", ast_channel_state(chan) != AST_STATE_UP);
}

int pushwake__early_wake_leg_end(struct pushwake__early_wake *early, char **reason)
{
	struct ast_channel *chan;
	int how = PUSHWAKE_CALL_CANCELLED;

	ao2_lock(early);
	*reason = early->reason ? ast_strdup(early->reason) : NULL;
	ao2_unlock(early);
	if (*reason) {
		return how;
	}
	chan = ast_channel_get_by_name(early->origin);
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

static struct carrier *carrier_new(struct pushwake__early_wake *early, struct ast_channel *origin)
{
	struct carrier *carrier = ast_calloc(1, sizeof(*carrier));

	if (carrier) {
		carrier->early = ao2_bump(early);
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

	return carrier ? carrier_new(carrier->early, NULL) : NULL;
}

static void store_destroy(void *data)
{
	struct carrier *carrier = data;

	if (carrier->origin) {
		end_with(carrier->early, carrier->origin);
	}
	ao2_ref(carrier->early, -1);
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
	.type = "pushwake early wake",
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

static struct ast_datastore *store_new(struct ast_channel *chan, struct pushwake__early_wake *early)
{
	struct ast_datastore *store = ast_datastore_alloc(&store_info, early->aor);

	if (!store || !(store->data = carrier_new(early, chan))) {
		ast_datastore_free(store);
		return NULL;
	}
	store->inheritance = DATASTORE_INHERIT_FOREVER;
	return store;
}

/*! Takes `call_id` over. */
static struct pushwake__early_wake *early_wake_new(struct ast_channel *chan, const char *aor, char *call_id)
{
	struct pushwake__early_wake *early = ao2_alloc(sizeof(*early), early_wake_destroy);
	struct ast_datastore *store, *earlier;

	if (!early) {
		ast_free(call_id);
		return NULL;
	}
	early->handle = next_handle();
	early->call_id = call_id;
	early->aor = ast_strdup(aor);
	early->origin = ast_strdup(ast_channel_uniqueid(chan));
	store = early->aor && early->call_id && early->origin ? store_new(chan, early) : NULL;
	if (!store) {
		ao2_ref(early, -1);
		return NULL;
	}
	ao2_link(early_wakes, early);
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
	return early;
}

struct pushwake__early_wake *pushwake__early_wake_of(struct ast_channel *chan, const char *aor)
{
	struct pushwake__early_wake *early;
	struct ast_datastore *store;

	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &store_info, aor);
	early = store && store->data ? ao2_bump(((struct carrier *) store->data)->early) : NULL;
	ast_channel_unlock(chan);
	return early;
}

struct pushwake__early_wake *pushwake__early_wake_begin(struct ast_channel *chan, const char *aor, int seconds)
{
	struct pushwake__early_wake *early = pushwake__early_wake_of(chan, aor);
	char *id = NULL;

	if (early && (early->is_used || early->is_over)) {
		/* The engine pushes once for each Call-ID. */
		if (ast_asprintf(&id, "%.200s-again", early->call_id) < 0) {
			id = NULL;
		}
		ao2_ref(early, -1);
		early = NULL;
	}
	if (!early) {
		early = early_wake_new(chan, aor, id ? id : pushwake__caller_call_id(chan));
		if (early && seconds) {
			early->ends = ast_tvadd(ast_tvnow(), ast_tv(seconds, 0));
		}
	}
	return early;
}

void pushwake__early_wake_answered(struct pushwake__early_wake *early, const pushwake_wake_result *result,
	const pushwake_contact *contacts, size_t count)
{
	uint64_t rung = 0;
	int was_over;

	while (count--) {
		if (contacts[count].action == PUSHWAKE_RING && contacts[count].leg > 0 && contacts[count].leg < 64) {
			rung |= (uint64_t) 1 << contacts[count].leg;
		}
	}
	ao2_lock(early);
	early->is_watched = result->watched != 0;
	early->rung |= rung;
	was_over = early->is_over;
	ao2_unlock(early);
	pushwake__devstate_changed(early->aor);
	if (was_over && result->watched) {
		pushwake_request_ended(pushwake__client(), early->handle, PUSHWAKE_CALL_CANCELLED, 487, 0, pushwake__str(""));
	}
}

int pushwake__early_wake_continue(struct pushwake__early_wake *early)
{
	int is_first, left = 0;

	ao2_lock(early);
	is_first = !early->is_used;
	early->is_used = 1;
	ao2_unlock(early);
	if (is_first && !ast_tvzero(early->ends)) {
		left = (int) MAX(1, (ast_tvdiff_ms(early->ends, ast_tvnow()) + 500) / 1000);
	}
	return left;
}

/*! The caller has hung up, with the value of a Reason header. */
static void hung_up(struct ast_channel *chan, const char *reason)
{
	struct ast_datastore *store;

	ast_channel_lock(chan);
	AST_LIST_TRAVERSE(ast_channel_datastores(chan), store, entry) {
		struct carrier *carrier = store->info == &store_info ? store->data : NULL;

		if (carrier && carrier->origin == chan) {
			ao2_lock(carrier->early);
			carrier->early->reason = carrier->early->reason ? carrier->early->reason : ast_strdup(reason);
			ao2_unlock(carrier->early);
			end(carrier->early, PUSHWAKE_CALL_CANCELLED, 487, reason, ast_channel_state(chan) != AST_STATE_UP);
		}
	}
	ast_channel_unlock(chan);
}

/*! The values of all Reason headers of a request, to be freed. */
static struct ast_str *read_reason(pjsip_rx_data *rdata)
{
	static const pj_str_t name = { "Reason", 6 };
	struct ast_str *reason = ast_str_create(64);
	pjsip_generic_string_hdr *header = pjsip_msg_find_hdr_by_name(rdata->msg_info.msg, &name, NULL);

	for (; reason && header; header = pjsip_msg_find_hdr_by_name(rdata->msg_info.msg, &name, header->next)) {
		ast_str_append(&reason, 0, "%s%.*s", ast_str_strlen(reason) ? ", " : "",
			(int) header->hvalue.slen, header->hvalue.ptr);
	}
	return reason;
}

/*! The caller hangs up: the engine hears of it before Asterisk takes the legs down. */
static int incoming_hangup(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	struct ast_str *reason = session->channel ? read_reason(rdata) : NULL;

	if (session->channel) {
		hung_up(session->channel, reason ? ast_str_buffer(reason) : "");
	}
	ast_free(reason);
	return 0;
}

static union pushwake__supplement hangups = { .known = {
	.method = "CANCEL,BYE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.incoming_request = incoming_hangup,
} };

void pushwake__early_wake_execute(const pushwake_verb *verb)
{
	struct pushwake__early_wake *early = ao2_find(early_wakes, &verb->handle, OBJ_SEARCH_KEY);

	if (!early) {
		return;
	}
	if (verb->kind == PUSHWAKE_VERB_RING && verb->leg > 0 && verb->leg < 64) {
		ao2_lock(early);
		early->rung |= (uint64_t) 1 << verb->leg;
		ao2_unlock(early);
	} else if (verb->kind == PUSHWAKE_VERB_GIVE_UP) {
		/* A leg that has gone out for it has not reached the engine. */
		ao2_lock(early);
		early->is_used = 0;
		ao2_unlock(early);
		end(early, PUSHWAKE_CALL_TIMED_OUT, 480, "", 0);
	}
	ao2_ref(early, -1);
}

static int waits_for(void *obj, void *arg, int flags)
{
	const struct pushwake__early_wake *early = obj;

	return early->is_watched && !early->is_used && !early->rung && !strcmp(early->aor, arg) ? CMP_MATCH | CMP_STOP : 0;
}

int pushwake__early_wakes_wait_for(const char *aor)
{
	struct pushwake__early_wake *early = ao2_callback(early_wakes, 0, waits_for, (void *) aor);

	ao2_cleanup(early);
	return early != NULL;
}

int pushwake__early_wake_start(void)
{
	early_wakes = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, BUCKETS, pushwake__handle_hash, NULL,
		pushwake__handle_cmp);
	ast_sip_session_register_supplement(&hangups.known);
	return early_wakes ? 0 : -1;
}

void pushwake__early_wake_stop(void)
{
	ast_sip_session_unregister_supplement(&hangups.known);
	ao2_cleanup(early_wakes);
	early_wakes = NULL;
}
