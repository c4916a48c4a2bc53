/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief One run of PushWake(): push, then wait for the first phone.
 *
 * The channel, the engine's descriptor and the call's own alert are waited for at
 * once, so nothing is polled: a hang-up, a REGISTER and the engine's end each end
 * the wait when they happen.
 */
#include "asterisk.h"

#include <limits.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/time.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"
#include "pushwake_wake.h"

static struct pushwake__contact *find_contact(struct pushwake__contacts *contacts, const char *uri)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (!strcmp(contact->uri, uri)) {
			return contact;
		}
	}
	return NULL;
}

/*! Hands every contact to the dialplan that has not been rung in this call. */
static void dial_all(struct pushwake__wake *wake, struct pushwake__call *call, struct pushwake__contacts *contacts)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (pushwake__call_ring(call, contact->uri)) {
			pushwake__dial_append(&wake->contacts, contact);
		}
	}
}

/*! As if there were no push: every contact that the registrar has. */
static void dial_anyway(struct pushwake__wake *wake, struct pushwake__call *call)
{
	struct pushwake__contacts contacts;

	pushwake__contacts_get(&contacts, wake->aor);
	dial_all(wake, call, &contacts);
	pushwake__contacts_free(&contacts);
}

/*! Hands a contact that has just registered to the dialplan; 0 when there is nothing to hand over. */
static int dial_joined(struct pushwake__wake *wake, struct pushwake__call *call, const char *uri)
{
	struct pushwake__contacts contacts;
	struct pushwake__contact *contact;
	int is_elsewhere;

	pushwake__contacts_get(&contacts, wake->aor);
	contact = find_contact(&contacts, uri);
	if (contact && pushwake__call_ring(call, uri)) {
		pushwake__dial_append(&wake->contacts, contact);
	}
	/* Another registrar has this AoR: awake all the same, and the dialplan knows the way. */
	is_elsewhere = !contact && !AST_VECTOR_SIZE(&contacts) && pushwake__call_ring(call, uri);
	pushwake__contacts_free(&contacts);
	return ast_str_strlen(wake->contacts) > 0 || is_elsewhere;
}

static void fill_request(pushwake_wake_request *request, const struct pushwake__wake *wake,
	const struct pushwake__call *call, const struct pushwake__caller *caller)
{
	request->event = call->event;
	request->ring_seconds = wake->timeout;
	request->aor = pushwake__str(wake->aor);
	request->call_id = pushwake__str(call->call_id);
	request->from_uri = pushwake__str(caller->uri);
	request->from_display = pushwake__str(caller->name);
	request->to_uri = pushwake__str(caller->to);
	request->content_type = pushwake__str(caller->type);
	request->text = pushwake__str(caller->text);
}

/*! Hands over the contacts that the engine says are awake. */
static void dial_awake(struct pushwake__wake *wake, struct pushwake__call *call,
	struct pushwake__contacts *contacts, const pushwake_contact *verdicts)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (verdicts[index].verdict == PUSHWAKE_RING && pushwake__call_ring(call, contact->uri)) {
			pushwake__dial_append(&wake->contacts, contact);
		}
	}
}

/*! Pushes, and begins the wait unless a message is not to wait; the library's status. */
static int push(struct pushwake__wake *wake, struct pushwake__call *call, pushwake_wake_result *result)
{
	pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
	struct pushwake__client *lease = pushwake__client_take();
	struct pushwake__contacts contacts;
	pushwake_contact *verdicts;
	struct pushwake__caller caller;
	pushwake_wait *wait = NULL;
	int status = PUSHWAKE_ERR_UNAVAILABLE;
	size_t index;

	pushwake__contacts_get(&contacts, wake->aor);
	verdicts = ast_calloc(AST_VECTOR_SIZE(&contacts) + 1, sizeof(*verdicts));
	if (lease && verdicts) {
		for (index = 0; index < AST_VECTOR_SIZE(&contacts); index++) {
			const struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(&contacts, index);

			verdicts[index].uri = pushwake__str(contact->uri);
			verdicts[index].registered_ago = contact->registered_ago;
			verdicts[index].reachable = contact->reachable;
		}
		pushwake__caller_read(&caller, wake);
		fill_request(&request, wake, call, &caller);
		request.contacts = verdicts;
		request.contact_count = AST_VECTOR_SIZE(&contacts);
		status = wake->is_message && !wake->timeout
			? pushwake_wake(result, pushwake__client_of(lease), &request)
			: pushwake_wait_new(&wait, result, pushwake__client_of(lease), &request);
		if (status < 0) {
			ast_log(LOG_WARNING, "PushWake(%s): no push: %.*s\n", wake->aor,
				PUSHWAKE__PRINT(pushwake_client_error(pushwake__client_of(lease))));
		} else if (!wake->is_joining) {
			dial_awake(wake, call, &contacts, verdicts);
		}
	}
	pushwake__client_give(lease);
	ast_free(verdicts);
	pushwake__contacts_free(&contacts);
	/* An earlier run on this channel may have left one. */
	pushwake__call_drop_wait(call);
	ao2_lock(call);
	call->wait = wait;
	call->pushed = result->pushed;
	call->deadline = ast_tvadd(ast_tvnow(), ast_tv(wake->timeout ? wake->timeout
		: pushwake__clients_integer("wake_timeout"), 0));
	ao2_unlock(call);
	return status;
}

enum wait_end {
	WAIT_GOES_ON,
	WAIT_OVER,
	/*! The engine is gone; the phones that it has pushed may still come. */
	WAIT_ALONE,
};

/*! Takes what the engine has to say. */
static enum wait_end take_events(struct pushwake__wake *wake, struct pushwake__call *call)
{
	pushwake_wait_event event = PUSHWAKE_WAIT_EVENT_INIT;
	char uri[8192];

	while (pushwake_wait_next(&event, call->wait) >= 0) {
		switch (event.kind) {
		case PUSHWAKE_WAIT_NOTHING:
			return WAIT_GOES_ON;
		case PUSHWAKE_WAIT_REGISTERED:
			pushwake__copy(uri, sizeof(uri), event.contact);
			pushwake__uri_strip(uri);
			pushwake__call_join(call, uri);
			break;
		case PUSHWAKE_WAIT_TIMED_OUT:
			wake->status = "TIMEOUT";
			call->timed_out = 1;
			return WAIT_OVER;
		case PUSHWAKE_WAIT_FAILED:
			ast_log(LOG_WARNING, "PushWake(%s): no phone was pushed: %.*s\n", wake->aor,
				PUSHWAKE__PRINT(event.reason));
			wake->status = "FAILED";
			return WAIT_OVER;
		default:
			ast_log(LOG_WARNING, "PushWake(%s): the engine is gone; waiting for the phones "
				"that were pushed before\n", wake->aor);
			wake->status = "UNAVAILABLE";
			return WAIT_ALONE;
		}
	}
	wake->status = "UNAVAILABLE";
	return WAIT_ALONE;
}

/*! Whether a phone has registered that this run can hand over. */
static int take_joined(struct pushwake__wake *wake, struct pushwake__call *call)
{
	int is_woken = 0;
	char *uri;

	while ((uri = pushwake__call_joined(call))) {
		if (dial_joined(wake, call, uri)) {
			is_woken = 1;
			ast_atomic_fetchadd_int(&call->woken, 1);
		}
		ast_free(uri);
	}
	if (is_woken) {
		wake->status = "WOKEN";
		wake->woken_ms = (int) MIN(ast_tvdiff_ms(ast_tvnow(), call->began), INT_MAX);
	}
	return is_woken;
}

/*! Reads what came on the channel; not 0 when it has hung up. */
static int take_frame(struct ast_channel *chan)
{
	struct ast_frame *frame = ast_read(chan);

	if (!frame) {
		return -1;
	}
	ast_frfree(frame);
	return 0;
}

/*! Waits for the first of: a phone, the deadline, the engine's verdict, a hang-up (not 0). */
static int wait_for_phone(struct pushwake__wake *wake, struct pushwake__call *call, struct timeval deadline)
{
	enum wait_end end = WAIT_GOES_ON;
	int fds[2] = { call->alert, -1 };
	int is_gone = 0;

	wake->status = "TIMEOUT";
	while (!is_gone && end != WAIT_OVER && !take_joined(wake, call) && !call->ended) {
		int left = (int) MIN(ast_tvdiff_ms(deadline, ast_tvnow()), INT_MAX);
		struct ast_channel *ready;
		int fd = -1;

		if (left <= 0) {
			call->timed_out = 1;
			break;
		}
		if (fds[1] < 0) {
			fds[1] = pushwake__call_claim_wait(call);
		}
		ready = ast_waitfor_nandfds(&wake->chan, 1, fds, fds[1] < 0 ? 1 : 2, NULL, &fd, &left);
		if (ready) {
			is_gone = take_frame(wake->chan);
		} else if (fd >= 0 && fd == fds[1] && (end = take_events(wake, call)) != WAIT_GOES_ON) {
			pushwake__call_release_wait(call, 1);
			fds[1] = -1;
		}
	}
	if (fds[1] >= 0) {
		pushwake__call_release_wait(call, call->timed_out);
	}
	return is_gone;
}

/*! The caller is gone: the phones must hear of it now. */
static void hang_up(struct pushwake__wake *wake, struct pushwake__call *call)
{
	int is_answered = ast_channel_hangupcause(wake->chan) == AST_CAUSE_ANSWERED_ELSEWHERE;

	wake->status = "FAILED";
	if (is_answered) {
		pushwake__call_end(call, PUSHWAKE_CALL_ANSWERED);
	} else if (pushwake__call_is_origin(call, wake->chan)) {
		pushwake__call_end(call, PUSHWAKE_CALL_CANCELLED);
	}
	/* Another leg of a forked call: the caller's own channel says how it ended. */
}

/*! The deadline of this run. */
static struct timeval find_deadline(const struct pushwake__wake *wake, const struct pushwake__call *call)
{
	if (wake->is_joining && wake->timeout) {
		return ast_tvadd(ast_tvnow(), ast_tv(wake->timeout, 0));
	}
	return call->deadline;
}

static int run(struct pushwake__wake *wake, struct pushwake__call *call)
{
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	int status = PUSHWAKE_OK;

	if (!wake->is_joining || ast_tvzero(call->deadline)) {
		status = push(wake, call, &result);
	}
	if (ast_str_strlen(wake->contacts)) {
		wake->status = "AWAKE";
		return 0;
	}
	if (status < 0) {
		wake->status = "UNAVAILABLE";
		dial_anyway(wake, call);
		return 0;
	}
	/* When every phone that was pushed has come, a busy signal need not wait for more. */
	if (wake->is_joining ? call->woken >= call->pushed : !result.bindings) {
		wake->status = take_joined(wake, call) ? "WOKEN" : "NOBINDING";
		if (!wake->is_joining) {
			pushwake__call_drop_wait(call);
		}
		return 0;
	}
	if (wake->is_message && !wake->timeout) {
		wake->status = "TIMEOUT";
		return 0;
	}
	if (wake->is_ringing && ast_channel_state(wake->chan) != AST_STATE_UP) {
		ast_indicate(wake->chan, AST_CONTROL_RINGING);
	}
	if (wait_for_phone(wake, call, find_deadline(wake, call))) {
		hang_up(wake, call);
		return -1;
	}
	if (!strcmp(wake->status, "FAILED") || !strcmp(wake->status, "UNAVAILABLE")) {
		dial_anyway(wake, call);
	}
	return 0;
}

int pushwake__wake_run(struct pushwake__wake *wake)
{
	struct pushwake__call *call;
	int is_gone;

	call = wake->is_message ? pushwake__call_begin_message(wake->chan, wake->aor)
		: pushwake__call_get(wake->chan, wake->aor);
	if (!call) {
		return 0;
	}
	is_gone = run(wake, call);
	if (wake->is_message) {
		pushwake__call_finish_message(call);
	} else {
		ao2_ref(call, -1);
	}
	return is_gone;
}
