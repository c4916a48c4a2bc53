/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief One run of PushWake(): it pushes, says what is known, and waits for nobody.
 *
 * The Dial() that follows calls the place where requests wait, and its leg is the call for which the phones were pushed.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/utils.h"

#include "pushwake_early_wake.h"
#include "pushwake_caller.h"
#include "pushwake_legs.h"
#include "pushwake_wake.h"

/*! What is known of a user, from the worst to the best; the best of several users counts. */
enum outcome {
	/*! No phone that could be pushed, and no contact. */
	OUTCOME_NOBODY,
	/*! No push service takes a push. */
	OUTCOME_FAILED,
	/*! No engine answers. */
	OUTCOME_ALONE,
	/*! Phones sleep, and are pushed. */
	OUTCOME_WAKES,
	/*! One is awake. */
	OUTCOME_AWAKE,
};

static const char *const words[] = {
	[OUTCOME_NOBODY] = "NOBINDING",
	[OUTCOME_FAILED] = "FAILED",
	[OUTCOME_ALONE] = "UNAVAILABLE",
	[OUTCOME_WAKES] = "WAKING",
	[OUTCOME_AWAKE] = "AWAKE",
};

static void append(struct pushwake__wake *wake, const char *aor, const struct pushwake__contact *contact)
{
	if (!pushwake__dial_fit(&wake->contacts, PUSHWAKE__MAX_VARIABLE, contact)) {
		ast_log(LOG_WARNING, "PushWake(%s): PUSHWAKE_CONTACTS has no room for '%s'; dial fewer users at once\n", wake->aors, aor);
	}
}

/*! The place where requests wait, for all phones of the user. Not 0: no endpoint has this AoR. */
static int dial_place(struct pushwake__wake *wake, const char *aor)
{
	struct ast_sip_endpoint *endpoint = pushwake__endpoint_of(aor);
	struct pushwake__contact place = { .uri = endpoint ? pushwake__place_uri_for_all(aor) : NULL };
	int res = -1;

	if (place.uri) {
		place.endpoint = (char *) ast_sorcery_object_get_id(endpoint);
		append(wake, aor, &place);
		res = 0;
	}
	ast_free(place.uri);
	ao2_cleanup(endpoint);
	return res;
}

/*! As if there were no push: every contact that the registrar has. Where a variable has no room for them the place rings them. */
static enum outcome dial_contacts(struct pushwake__wake *wake, const char *aor, struct pushwake__contacts *contacts)
{
	size_t before = ast_str_strlen(wake->contacts);
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		if (wake->is_message) {
			pushwake__dial_append(&wake->contacts, AST_VECTOR_GET_ADDR(contacts, index));
		} else if (!pushwake__dial_fit(&wake->contacts, PUSHWAKE__MAX_VARIABLE / 2, AST_VECTOR_GET_ADDR(contacts, index))) {
			if (pushwake__legs_are_on()) {
				ast_str_truncate(wake->contacts, before);
				dial_place(wake, aor);
			}
			break;
		}
	}
	return AST_VECTOR_SIZE(contacts) ? OUTCOME_AWAKE : OUTCOME_NOBODY;
}

/*! Asks the engine, which pushes; below 0: none answers. The request names event, method, Call-ID, and handle if any. */
static int ask(struct pushwake__wake *wake, pushwake_wake_result *result, pushwake_wake_request *request,
	const char *aor, struct pushwake__caller *caller)
{
	int status;

	pushwake__caller_read(caller, wake->chan, wake->is_message, aor);
	request->aor = pushwake__str(aor);
	pushwake__caller_fill(request, caller);
	status = pushwake_wake(result, pushwake__client(), request);
	if (status < 0) {
		pushwake__engine_away("PushWake", aor, status);
	}
	return status;
}

static enum outcome push(struct pushwake__wake *wake, struct pushwake__early_wake *early, struct pushwake__contacts *contacts)
{
	pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	pushwake_contact *asked = pushwake__contacts_describe(&request.contact_count, contacts, NULL);
	enum outcome outcome = OUTCOME_ALONE;
	struct pushwake__caller caller;

	if (!asked) {
		return outcome;
	}
	request.event = PUSHWAKE_EVENT_CALL;
	request.hold_seconds = wake->timeout;
	request.call_id = pushwake__str(early->call_id);
	request.method = pushwake__str("INVITE");
	request.handle = early->handle;
	request.contacts = asked;
	if (ask(wake, &result, &request, early->aor, &caller) >= 0) {
		pushwake__early_wake_answered(early, &result, asked, request.contact_count);
		/* Without a binding a shared store may yet have to say whether there are some. */
		outcome = early->rung ? OUTCOME_AWAKE : result.hold_ms > 0 ? OUTCOME_WAKES : result.bindings ? OUTCOME_FAILED
			: OUTCOME_NOBODY;
	}
	ast_free(asked);
	return outcome;
}

/*! All messages come on one channel, so its unique id names none of them. To be freed. */
static char *message_id(struct ast_channel *chan)
{
	static int count;
	char *id = NULL;

	return ast_asprintf(&id, "%s-%d", ast_channel_uniqueid(chan), ast_atomic_fetchadd_int(&count, 1)) < 0 ? NULL : id;
}

/*! Pushes the MESSAGE in hand; who is awake gets it from the dialplan. */
static enum outcome push_text(struct pushwake__wake *wake, const char *aor, struct pushwake__contacts *contacts)
{
	pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	pushwake_contact *asked = pushwake__contacts_describe(&request.contact_count, contacts, NULL);
	enum outcome outcome = OUTCOME_ALONE;
	struct pushwake__caller caller;
	char *id = message_id(wake->chan);
	size_t index, rung = 0;
	int status;

	if (!asked || !id) {
		ast_free(asked);
		ast_free(id);
		return outcome;
	}
	request.event = PUSHWAKE_EVENT_CHAT;
	request.call_id = pushwake__str(id);
	request.method = pushwake__str("MESSAGE");
	request.contacts = asked;
	status = ask(wake, &result, &request, aor, &caller);
	for (index = 0; index < request.contact_count; index++) {
		if (status < 0 || asked[index].action == PUSHWAKE_RING) {
			pushwake__dial_append(&wake->contacts, AST_VECTOR_GET_ADDR(contacts, index));
			rung++;
		}
	}
	if (status >= 0) {
		outcome = rung ? OUTCOME_AWAKE : result.bindings ? OUTCOME_WAKES : OUTCOME_NOBODY;
	}
	pushwake__text_watch(aor, id, contacts, asked, &caller, status >= 0);
	ast_free(asked);
	ast_free(id);
	return outcome;
}

/*! Wakes the phones of a user who may have some that sleep. */
static enum outcome wake_user(struct pushwake__wake *wake, const char *aor, struct pushwake__contacts *contacts)
{
	struct pushwake__early_wake *early = pushwake__early_wake_begin(wake->chan, aor, wake->timeout);
	enum outcome outcome = OUTCOME_ALONE;

	if (early) {
		outcome = !early->is_watched ? push(wake, early, contacts) : early->rung ? OUTCOME_AWAKE : OUTCOME_WAKES;
		ao2_ref(early, -1);
	}
	return outcome;
}

/*! Whether what the dialplan sends next waits for phones: a call does, and a text with a time. */
static int waits(const struct pushwake__wake *wake)
{
	return !wake->is_message || wake->timeout;
}

static enum outcome run_one(struct pushwake__wake *wake, const char *aor)
{
	pushwake_client *client = pushwake__client();
	struct pushwake__contacts contacts;
	enum outcome outcome = OUTCOME_NOBODY;

	pushwake__contacts_get(&contacts, aor);
	if (!client) {
		outcome = OUTCOME_ALONE;
	} else if (pushwake_may_wake(client, pushwake__str(aor))) {
		outcome = wake->is_message && !waits(wake) ? push_text(wake, aor, &contacts)
			: !pushwake__legs_are_on() ? OUTCOME_NOBODY
			/* The text is pushed when it is sent there. */
			: wake->is_message ? OUTCOME_WAKES : wake_user(wake, aor, &contacts);
	}
	if (outcome == OUTCOME_NOBODY || !client || (outcome != OUTCOME_FAILED && waits(wake) && dial_place(wake, aor))) {
		outcome = MAX(outcome, dial_contacts(wake, aor, &contacts));
	}
	pushwake__contacts_free(&contacts);
	return outcome;
}

void pushwake__wake_run(struct pushwake__wake *wake)
{
	enum outcome best = OUTCOME_NOBODY;
	struct pushwake__aors aors;
	size_t index;

	if (wake->is_joining) {
		/* Whoever wakes rings by the leg that is dialled beside this one. */
		wake->status = "TIMEOUT";
		return;
	}
	if (!wake->aors[strspn(wake->aors, "& ")]) {
		ast_log(LOG_WARNING, "PushWake(%s): no AoR is named; write PushWake(aor&aor)\n", wake->aors);
	}
	if (!pushwake__aors_read(&aors, wake->aors) && AST_VECTOR_SIZE(&aors)) {
		for (index = 0; index < AST_VECTOR_SIZE(&aors); index++) {
			best = MAX(best, run_one(wake, AST_VECTOR_GET(&aors, index)));
		}
		wake->status = words[best];
		if (best == OUTCOME_WAKES && wake->is_ringing && !wake->is_message && ast_channel_state(wake->chan) != AST_STATE_UP) {
			ast_indicate(wake->chan, AST_CONTROL_RINGING);
		}
	}
	pushwake__aors_free(&aors);
}
