/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Legs of a call: handed to the dialplan, sent, heard of, closed.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"

/*! Legs of a call that no engine has heard of are numbered from here on: one that does hear of it begins with 1. */
#define FIRST_UNHEARD 1001

/*! The call is locked. */
static struct pushwake__leg *find(struct pushwake__call *call, int number)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		if (leg->number == number || (leg->first_number && leg->first_number == number)) {
			return leg;
		}
	}
	return NULL;
}

/*! The call is not locked. */
static void report(struct pushwake__call *call, int number, int status, int from_phone)
{
	if (call->watched && !call->ended && number > 0) {
		pushwake_progressed(pushwake__client(), call->handle, number, status, from_phone);
	}
}

/*! Takes the leg over. 0: it is there already; below 0: memory is short. */
static int add(struct pushwake__call *call, struct pushwake__leg leg)
{
	int is_known;

	ao2_lock(call);
	if (leg.number == PUSHWAKE__LEG_NEXT) {
		leg.number = MAX(call->last_leg + 1, ast_tvzero(call->deadline) ? FIRST_UNHEARD : 1);
	}
	/* The answer to a wake and a verb may tell of the same leg. */
	is_known = leg.number && find(call, leg.number);
	if (is_known || AST_VECTOR_APPEND(&call->legs, leg)) {
		ao2_unlock(call);
		pushwake__contact_free(leg.contact);
		ast_free(leg.reason);
		return is_known ? 0 : -1;
	}
	call->last_leg = MAX(call->last_leg, leg.number);
	ao2_unlock(call);
	return 1;
}

int pushwake__leg_add(struct pushwake__call *call, int number, const struct pushwake__contact *contact,
	enum pushwake__leg_state state)
{
	struct pushwake__leg leg = { .number = number, .state = state };

	return !pushwake__contact_copy(&leg.contact, contact) && add(call, leg) > 0;
}

int pushwake__leg_adopt(struct pushwake__call *call, int number, const char *uri)
{
	size_t index;
	int is_found = 0, is_sent = 0, heard = 0;

	ao2_lock(call);
	for (index = 0; number > 0 && !is_found && index < AST_VECTOR_SIZE(&call->legs); index++) {
		struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		is_found = leg->number >= FIRST_UNHEARD && (leg->state != PUSHWAKE__LEG_OVER || leg->heard >= 300)
				&& !strcmp(leg->contact.uri, uri);
		if (is_found) {
			leg->first_number = leg->number;
			leg->number = number;
			is_sent = leg->state == PUSHWAKE__LEG_SENT;
			heard = leg->heard;
		}
	}
	ao2_unlock(call);
	if (is_sent) {
		pushwake_progressed(pushwake__client(), call->handle, number, 0, 0);
	}
	if (heard) {
		pushwake_progressed(pushwake__client(), call->handle, number, heard, 1);
	}
	return is_found;
}

/*! What the phone of a leg has said last; 0: nothing. */
static int heard_of(struct pushwake__call *call, int number)
{
	struct pushwake__leg *leg;
	int heard;

	ao2_lock(call);
	leg = find(call, number);
	heard = leg ? leg->heard : 0;
	ao2_unlock(call);
	return heard;
}

void pushwake__leg_refuse(struct pushwake__call *call, int number)
{
	ao2_lock(call);
	call->unsent_leg = number;
	ao2_unlock(call);
	report(call, number, 503, 0);
}

void pushwake__leg_queue(struct pushwake__call *call, int number, const struct pushwake__contact *contact,
	int replaces, const char *reason)
{
	struct pushwake__leg leg = { .number = number, .state = PUSHWAKE__LEG_QUEUED, .replaces = replaces };
	int added = -1;

	if (!pushwake__contact_copy(&leg.contact, contact)) {
		leg.reason = ast_strlen_zero(reason) ? NULL : ast_strdup(reason);
		added = add(call, leg);
	}
	if (added > 0) {
		pushwake__call_alert(call);
	} else if (added < 0) {
		pushwake__leg_refuse(call, number);
	} else {
		/* It joined while no engine answered, which does not know what its phone has said. */
		report(call, number, heard_of(call, number), 1);
	}
}

/*! The next leg whose place has been taken, or 0. */
static int next_replaced(struct pushwake__call *call)
{
	size_t index;
	int number = 0;

	ao2_lock(call);
	for (index = 0; !number && index < AST_VECTOR_SIZE(&call->legs); index++) {
		struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		if (leg->state != PUSHWAKE__LEG_QUEUED) {
			number = leg->replaces;
			leg->replaces = 0;
		}
	}
	ao2_unlock(call);
	return number;
}

int pushwake__legs_give(struct pushwake__call *call, struct ast_str **dial, int *has_reason)
{
	size_t index;
	int count = 0, old;

	ao2_lock(call);
	for (index = 0; !call->ended && index < AST_VECTOR_SIZE(&call->legs); index++) {
		struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		if (leg->state != PUSHWAKE__LEG_QUEUED) {
			continue;
		}
		if (ast_strlen_zero(leg->contact.endpoint)) {
			leg->state = PUSHWAKE__LEG_ELSEWHERE;
			count++;
			continue;
		}
		if (call->event == PUSHWAKE_EVENT_CHAT) {
			pushwake__text_append(dial, &leg->contact);
		} else if (!pushwake__dial_fit(dial, PUSHWAKE__MAX_VARIABLE, &leg->contact)) {
			continue; /* the next run takes it */
		}
		leg->state = PUSHWAKE__LEG_GIVEN;
		*has_reason |= leg->reason != NULL;
		count++;
	}
	ao2_unlock(call);
	/* Not before: where no run of PushWake() takes the new leg, the old one is all there is. */
	while ((old = next_replaced(call))) {
		pushwake__leg_close(call, old);
	}
	return count;
}

/*! Ends one leg in this state: whether there was one, and its number. */
static int end_one(struct pushwake__call *call, enum pushwake__leg_state state, int *number)
{
	size_t index;
	int found = 0;

	ao2_lock(call);
	for (index = 0; !found && index < AST_VECTOR_SIZE(&call->legs); index++) {
		struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		if (leg->state == state) {
			leg->state = PUSHWAKE__LEG_OVER;
			*number = leg->number;
			found = 1;
		}
	}
	ao2_unlock(call);
	return found;
}

static void refuse_all(struct pushwake__call *call, enum pushwake__leg_state state)
{
	int number;

	while (end_one(call, state, &number)) {
		if (number > 0 && call->watched) {
			pushwake_progressed(pushwake__client(), call->handle, number, 503, 0);
		}
	}
}

void pushwake__legs_refuse_queued(struct pushwake__call *call)
{
	refuse_all(call, PUSHWAKE__LEG_QUEUED);
}

void pushwake__legs_refuse_unsent(struct pushwake__call *call)
{
	refuse_all(call, PUSHWAKE__LEG_QUEUED);
	refuse_all(call, PUSHWAKE__LEG_GIVEN);
}

/*! Whether a leg is in a dial string, sent, or in this state. */
static int has_leg(struct pushwake__call *call, enum pushwake__leg_state third)
{
	size_t index;
	int has = 0;

	ao2_lock(call);
	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		enum pushwake__leg_state state = AST_VECTOR_GET_ADDR(&call->legs, index)->state;

		has |= state == PUSHWAKE__LEG_GIVEN || state == PUSHWAKE__LEG_SENT || state == third;
	}
	ao2_unlock(call);
	return has;
}

int pushwake__legs_live(struct pushwake__call *call)
{
	return has_leg(call, PUSHWAKE__LEG_ELSEWHERE);
}

int pushwake__legs_dialled(struct pushwake__call *call)
{
	return has_leg(call, PUSHWAKE__LEG_SENT);
}

int pushwake__legs_ring(struct pushwake__call *call)
{
	size_t index;
	int rings = 0, last = 0, number;

	ao2_lock(call);
	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		const struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		rings |= leg->state == PUSHWAKE__LEG_GIVEN || leg->state == PUSHWAKE__LEG_ELSEWHERE;
		last = leg->state == PUSHWAKE__LEG_SENT ? MAX(last, leg->number) : last;
	}
	ao2_unlock(call);
	for (number = 1; !rings && number <= last; number++) {
		struct ast_channel *chan = pushwake__leg_channel(call, number);

		rings = chan != NULL;
		ast_channel_cleanup(chan);
	}
	return rings;
}

int pushwake__legs_were_rung(const struct pushwake__call *call)
{
	size_t index;
	int were = 0;

	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		const struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		if (leg->state == PUSHWAKE__LEG_GIVEN || leg->state == PUSHWAKE__LEG_ELSEWHERE) {
			return 0;
		}
		were |= leg->channel != NULL;
	}
	return were;
}

int pushwake__legs_queued(const struct pushwake__call *call)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		if (AST_VECTOR_GET_ADDR(&call->legs, index)->state == PUSHWAKE__LEG_QUEUED) {
			return 1;
		}
	}
	return 0;
}

int pushwake__legs_have(struct pushwake__call *call, const char *uri)
{
	size_t index;
	int has = 0;

	ao2_lock(call);
	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		has |= !strcmp(AST_VECTOR_GET_ADDR(&call->legs, index)->contact.uri, uri);
	}
	ao2_unlock(call);
	return has;
}

void pushwake__legs_fail_unsent(struct pushwake__call *call)
{
	int number;

	while (end_one(call, PUSHWAKE__LEG_GIVEN, &number)) {
		pushwake__leg_refuse(call, number);
	}
}

int pushwake__leg_sent(struct pushwake__call *call, struct ast_channel *chan,
	int (*matches)(const char *uri, void *context), void *context)
{
	size_t index;
	int number = 0;

	ao2_lock(call);
	for (index = AST_VECTOR_SIZE(&call->legs); !number && index > 0; index--) {
		struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index - 1);

		if (leg->state == PUSHWAKE__LEG_GIVEN && matches(leg->contact.uri, context)) {
			leg->state = PUSHWAKE__LEG_SENT;
			leg->channel = ast_strdup(ast_channel_uniqueid(chan));
			number = leg->number;
		}
	}
	ao2_unlock(call);
	report(call, number, 0, 0);
	return number;
}

char *pushwake__leg_path(struct pushwake__call *call, int number)
{
	struct pushwake__leg *leg;
	char *path;

	ao2_lock(call);
	leg = find(call, number);
	path = leg && leg->contact.path ? ast_strdup(leg->contact.path) : NULL;
	ao2_unlock(call);
	return path;
}

void pushwake__leg_responded(struct pushwake__call *call, int number, int status)
{
	struct pushwake__leg *leg;
	int known_as = 0;

	ao2_lock(call);
	leg = find(call, number);
	if (leg && leg->state == PUSHWAKE__LEG_SENT) {
		if (status >= 200) {
			known_as = leg->number;
			leg->state = PUSHWAKE__LEG_OVER;
			leg->heard = status;
			/* Where a 3xx leads to, Dial() calls. */
			call->answer = status >= 400 ? pushwake_better_answer(call->answer, status) : call->answer;
		} else if (status == 100 ? !leg->heard : leg->heard <= 100) {
			known_as = leg->number;
			leg->heard = status;
		}
	}
	ao2_unlock(call);
	if (known_as) {
		report(call, known_as, status, 1);
	}
}

int pushwake__leg_failed(struct pushwake__call *call, int number, int status)
{
	struct pushwake__leg *leg;
	int is_new;

	ao2_lock(call);
	leg = find(call, number);
	is_new = leg && leg->state == PUSHWAKE__LEG_SENT;
	if (is_new) {
		leg->state = PUSHWAKE__LEG_OVER;
		number = leg->number;
	}
	ao2_unlock(call);
	if (is_new) {
		report(call, number, status, 0);
	}
	return is_new;
}

struct ast_channel *pushwake__leg_channel(struct pushwake__call *call, int number)
{
	struct pushwake__leg *leg;
	char id[AST_MAX_UNIQUEID] = "";

	ao2_lock(call);
	leg = find(call, number);
	if (leg && leg->channel) {
		ast_copy_string(id, leg->channel, sizeof(id));
	}
	ao2_unlock(call);
	return ast_strlen_zero(id) ? NULL : ast_channel_get_by_name(id);
}

void pushwake__leg_close(struct pushwake__call *call, int number)
{
	struct pushwake__leg *leg;
	struct ast_channel *chan;
	int is_sent;

	ao2_lock(call);
	leg = find(call, number);
	is_sent = leg && leg->state == PUSHWAKE__LEG_SENT;
	if (leg) {
		leg->state = PUSHWAKE__LEG_OVER;
	}
	ao2_unlock(call);
	chan = is_sent ? pushwake__leg_channel(call, number) : NULL;
	if (chan) {
		/* Dial() takes this for a phone that is not there, which hides no other's answer. */
		ast_channel_lock(chan);
		ast_channel_hangupcause_set(chan, AST_CAUSE_SUBSCRIBER_ABSENT);
		ast_channel_unlock(chan);
		ast_softhangup(chan, AST_SOFTHANGUP_EXPLICIT);
		ast_channel_unref(chan);
	}
}
