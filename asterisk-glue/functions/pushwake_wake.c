/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief One run of PushWake(): push, then wait for the first phone.
 *
 * What is rung and when a wait ends is decided by the engine; without one the calls wait to
 * their own deadline for phones that were pushed before.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/time.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"
#include "pushwake_caller.h"
#include "pushwake_target.h"
#include "pushwake_wake.h"

/*! A run that names more AoRs than these does not look at any. */
#define MAX_AORS 64

enum outcome {
	/*! There are contacts to dial now. */
	OUTCOME_RUNG,
	/*! Phones are waited for. */
	OUTCOME_WAITS,
	/*! No phone that could be pushed, and no contact. */
	OUTCOME_NOBODY,
	/*! No phone can be reached. */
	OUTCOME_FAILED,
	/*! No engine answers. */
	OUTCOME_ALONE,
};

/*! A MESSAGE is pushed, and waited for when a timeout says so. */
static int is_waiting(const struct pushwake__wake *wake)
{
	return !wake->is_message || wake->timeout;
}

static void fill_request(pushwake_wake_request *request, const struct pushwake__wake *wake,
	const struct pushwake__caller *caller, const char *aor, const char *call_id)
{
	request->event = wake->is_message ? PUSHWAKE_EVENT_CHAT : PUSHWAKE_EVENT_CALL;
	request->hold_seconds = wake->timeout;
	request->aor = pushwake__str(aor);
	request->call_id = pushwake__str(call_id);
	request->method = pushwake__str(wake->is_message ? "MESSAGE" : "INVITE");
	pushwake__caller_fill(request, caller);
}

/*! Keeps what the engine said of the call, and tells it when that has ended meanwhile. */
static void take_result(struct pushwake__call *call, const pushwake_wake_result *result, int has_legs)
{
	int has_ended;

	ao2_lock(call);
	has_ended = call->ended;
	/* A phone that is to read a text does not ring. */
	call->has_waited = call->event == PUSHWAKE_EVENT_CALL && !has_legs && result->hold_ms > 0;
	call->watched = result->watched != 0;
	call->deadline = ast_tvadd(ast_tvnow(), ast_samp2tv(result->deadline_ms, 1000));
	if (result->ticket.len) {
		ast_free(call->ticket);
		call->ticket = ast_malloc(result->ticket.len);
		call->ticket_len = call->ticket ? result->ticket.len : 0;
		if (call->ticket) {
			memcpy(call->ticket, result->ticket.ptr, result->ticket.len);
		}
	}
	if (!result->watched || (!has_legs && result->hold_ms <= 0)) {
		call->given_up = 1;
	}
	ao2_unlock(call);
	if (has_ended && result->watched) {
		pushwake__call_tell_end(call);
	}
}

/*! Adds a leg and dials its contact, unless that finds no room: the next run of PushWake() takes it then. */
static void dial(struct pushwake__wake *wake, struct pushwake__call *call, int number, const struct pushwake__contact *contact)
{
	enum pushwake__leg_state state = PUSHWAKE__LEG_GIVEN;

	if (wake->is_message) {
		pushwake__dial_append(&wake->contacts, contact);
	} else if (!pushwake__dial_fit(&wake->contacts, PUSHWAKE__MAX_VARIABLE, contact)) {
		state = PUSHWAKE__LEG_QUEUED;
	}
	pushwake__leg_add(call, number, contact, state);
}

/*! Takes the contacts over that the engine says are to be rung; how many. */
static int take_legs(struct pushwake__wake *wake, struct pushwake__call *call, struct pushwake__contacts *contacts,
	const pushwake_contact *asked)
{
	size_t index;
	int count = 0;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (asked[index].action != PUSHWAKE_RING) {
			continue;
		}
		count++;
		if (wake->is_joining) { /* whoever forked into this run dials it */
			if (!pushwake__leg_adopt(call, asked[index].leg, contact->uri)) {
				pushwake__leg_add(call, asked[index].leg, contact, PUSHWAKE__LEG_ELSEWHERE);
			}
		} else {
			dial(wake, call, asked[index].leg, contact);
		}
	}
	return wake->is_joining ? 0 : count;
}

/*! As if there were no push: every contact that the registrar has and that was not dialled yet. */
static void dial_anyway(struct pushwake__wake *wake, struct pushwake__call *call, struct pushwake__contacts *contacts)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (!pushwake__legs_have(call, contact->uri)) {
			dial(wake, call, PUSHWAKE__LEG_NEXT, contact);
		}
	}
}

/*! The user has no binding, so the engine need not be asked: what the registrar has is all there is. */
static enum outcome ring_all(struct pushwake__wake *wake, struct pushwake__call *call, struct pushwake__contacts *contacts)
{
	pushwake_wake_result nothing = PUSHWAKE_WAKE_RESULT_INIT;

	take_result(call, &nothing, 0);
	if (wake->is_joining || !AST_VECTOR_SIZE(contacts)) {
		return OUTCOME_NOBODY;
	}
	dial_anyway(wake, call, contacts);
	return OUTCOME_RUNG;
}

/*! Asks the engine, which pushes. */
static enum outcome ask(struct pushwake__wake *wake, struct pushwake__call *call, pushwake_client *client,
	const struct pushwake__caller *caller, struct pushwake__contacts *contacts)
{
	pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	pushwake_contact *asked = ast_calloc(AST_VECTOR_SIZE(contacts) + 1, sizeof(*asked));
	enum outcome outcome = OUTCOME_ALONE;
	size_t index;
	int rung, status;

	if (!asked) {
		return outcome;
	}
	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		pushwake__contact_describe(&asked[index], AST_VECTOR_GET_ADDR(contacts, index));
	}
	fill_request(&request, wake, caller, call->aor, call->call_id);
	request.handle = is_waiting(wake) ? call->handle : 0;
	request.contacts = asked;
	request.contact_count = AST_VECTOR_SIZE(contacts);
	status = pushwake_wake(&result, client, &request);
	if (status >= 0) {
		rung = take_legs(wake, call, contacts, asked);
		take_result(call, &result, rung);
		outcome = rung ? OUTCOME_RUNG : result.hold_ms > 0 ? OUTCOME_WAITS : !result.bindings ? OUTCOME_NOBODY
			: is_waiting(wake) ? OUTCOME_FAILED : OUTCOME_WAITS;
	} else {
		pushwake__engine_away("PushWake", call->aor, status);
	}
	ast_free(asked);
	return outcome;
}

/*! Pushes for a call that is new. */
static enum outcome push(struct pushwake__wake *wake, struct pushwake__call *call)
{
	pushwake_client *client = pushwake__client();
	enum outcome outcome = OUTCOME_ALONE;
	struct pushwake__contacts contacts;
	struct pushwake__caller caller;

	if (client && !pushwake_may_wake(client, pushwake__str(call->aor))) {
		client = NULL;
		pushwake__contacts_get(&contacts, call->aor);
		outcome = ring_all(wake, call, &contacts);
	} else {
		/* ORDER: before a REGISTER has to wait, since it takes a thread of PJSIP. */
		pushwake__caller_read(&caller, wake->chan, wake->is_message, call->aor);
		pushwake__question_begin(call);
		pushwake__contacts_get(&contacts, call->aor);
		if (client) {
			outcome = ask(wake, call, client, &caller, &contacts);
		}
		pushwake__question_end(call);
	}
	if (outcome == OUTCOME_ALONE) {
		dial_anyway(wake, call, &contacts);
	}
	if (client && wake->is_message) {
		pushwake__text_watch(call, &caller, outcome != OUTCOME_ALONE);
	}
	pushwake__contacts_free(&contacts);
	if (call->has_waited) {
		pushwake__devstate_changed(call->aor);
	}
	return outcome;
}

/*! The deadline came without a word from an engine. */
static void go_on_alone(struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	struct pushwake__contacts contacts;
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(calls, index);

		pushwake__contacts_get(&contacts, call->aor);
		dial_anyway(wake, call, &contacts);
		pushwake__contacts_free(&contacts);
	}
}

/*! Pushes for each call that is new; the best of what came of it. */
static enum outcome push_all(struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	enum outcome best = OUTCOME_NOBODY;
	int is_alone = 0;
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(calls, index);
		enum outcome outcome = call->ended || call->given_up ? OUTCOME_FAILED
			: ast_tvzero(call->deadline) ? push(wake, call) : OUTCOME_WAITS;

		is_alone |= outcome == OUTCOME_ALONE;
		if (outcome == OUTCOME_RUNG || best == OUTCOME_NOBODY
			|| (outcome == OUTCOME_WAITS && best != OUTCOME_RUNG)) {
			best = outcome;
		}
	}
	/* Contacts that are known now are not kept back until somebody else's phone has come. */
	return best == OUTCOME_WAITS && is_alone && ast_str_strlen(wake->contacts) ? OUTCOME_ALONE : best;
}

static int run(struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	switch (push_all(wake, calls)) {
	case OUTCOME_RUNG:
		wake->status = "AWAKE";
		return 0;
	case OUTCOME_ALONE:
		wake->status = "UNAVAILABLE";
		return 0;
	case OUTCOME_NOBODY:
		wake->status = "NOBINDING";
		return 0;
	case OUTCOME_FAILED:
		/* Something may have come since the last run. */
		if (!pushwake__wake_take(wake, calls)) {
			wake->status = "FAILED";
		}
		return 0;
	case OUTCOME_WAITS:
		break;
	}
	if (!is_waiting(wake)) {
		wake->status = "TIMEOUT";
		return 0;
	}
	if (wake->is_ringing) { /* who has been answered already, by a menu, hears the tone */
		ast_indicate(wake->chan, AST_CONTROL_RINGING);
	}
	if (pushwake__wake_wait(wake, calls)) {
		return -1;
	}
	if (wake->is_ringing && ast_channel_state(wake->chan) == AST_STATE_UP) {
		ast_indicate(wake->chan, -1);
	}
	if (!strcmp(wake->status, "UNAVAILABLE")) {
		go_on_alone(wake, calls);
	}
	return 0;
}

/*! The calls of the AoRs that are asked for by name; not 0 when there is none to be had. */
static int collect_named(struct pushwake__calls *calls, struct pushwake__wake *wake, const struct pushwake__aors *aors)
{
	size_t index;

	if (AST_VECTOR_SIZE(aors) > MAX_AORS) {
		ast_log(LOG_WARNING, "PushWake(%s): more than %d AoRs\n", wake->aors, MAX_AORS);
		return -1;
	}
	for (index = 0; index < AST_VECTOR_SIZE(aors); index++) {
		const char *aor = AST_VECTOR_GET(aors, index);
		struct pushwake__call *call = wake->is_message ? pushwake__call_begin_message(wake->chan, aor)
			: pushwake__call_get(wake->chan, aor, wake->is_joining);

		if (!call || AST_VECTOR_APPEND(calls, call)) {
			ast_log(LOG_WARNING, "PushWake(%s): out of memory\n", wake->aors);
			ao2_cleanup(call);
			return -1;
		}
	}
	if (!wake->is_joining && !wake->is_message) {
		pushwake__calls_leave(wake->chan, calls);
	}
	/* What was wrong with them has been said. */
	return AST_VECTOR_SIZE(aors) ? 0 : -1;
}

/*! A run for one call or several: what is asked for by name, or all that the channel carries. */
static int collect(struct pushwake__calls *calls, struct pushwake__wake *wake)
{
	struct pushwake__aors aors;
	int res;

	if (ast_strlen_zero(wake->aors)) {
		pushwake__calls_of(calls, wake->chan, 0);
		return 0;
	}
	AST_VECTOR_INIT(calls, 0);
	if (!wake->aors[strspn(wake->aors, "& ")]) {
		ast_log(LOG_WARNING, "PushWake(%s): no AoR is named; write PushWake(aor&aor)\n", wake->aors);
	}
	res = pushwake__aors_read(&aors, wake->aors) ? -1 : collect_named(calls, wake, &aors);
	pushwake__aors_free(&aors);
	return res;
}

static void note_answer(struct pushwake__wake *wake, struct pushwake__call *call)
{
	ao2_lock(call);
	wake->answer = pushwake_better_answer(wake->answer, call->answer);
	ao2_unlock(call);
}

int pushwake__wake_run(struct pushwake__wake *wake)
{
	struct pushwake__calls calls;
	int is_gone = 0;
	size_t index;

	wake->status = "FAILED";
	if (!collect(&calls, wake)) {
		AST_VECTOR_CALLBACK_VOID(&calls, pushwake__call_awaited);
		is_gone = run(wake, &calls);
		AST_VECTOR_CALLBACK_VOID(&calls, pushwake__call_left);
	}
	for (index = 0; index < AST_VECTOR_SIZE(&calls); index++) {
		note_answer(wake, AST_VECTOR_GET(&calls, index));
		if (wake->is_message) {
			pushwake__call_finish_message(AST_VECTOR_GET(&calls, index));
		}
	}
	pushwake__calls_free(&calls);
	return is_gone;
}
