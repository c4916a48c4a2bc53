/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A run of PushWake() waits.
 *
 * The channel and the alerts of its calls are waited for at once, so nothing is polled: a
 * hang-up, a REGISTER and the engine's word each end the wait when they come.
 */
#include "asterisk.h"

#include <limits.h>

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/time.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"
#include "pushwake_wake.h"

/*! How long after a run joined a Dial() the legs of that Dial() may take to be sent. */
#define UNSENT_MS 500

/*! One more Dial() within those of the call; how many there are then. */
static int count_join(struct pushwake__call *call)
{
	int joins;

	ao2_lock(call);
	joins = ++call->joins;
	ao2_unlock(call);
	if (joins == PUSHWAKE__MAX_JOINS) {
		ast_log(LOG_WARNING, "%d phones have joined a call to '%s' one after the other; no more do\n", joins, call->aor);
	}
	return joins;
}

int pushwake__wake_take(struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	struct timeval began = ast_tvnow();
	int count = 0, has_reason = 0;
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(calls, index);
		int joined = pushwake__legs_give(call, &wake->contacts, &has_reason);

		if (joined && wake->is_joining) {
			wake->joins += count_join(call);
		}
		if (joined && ast_tvcmp(call->began, began) < 0) {
			began = call->began;
		}
		count += joined;
	}
	if (count) {
		wake->status = has_reason ? "FAILED" : "WOKEN";
		wake->woken_ms = has_reason ? 0 : (int) MIN(ast_tvdiff_ms(ast_tvnow(), began), INT_MAX);
	}
	return count;
}

/*! The caller may hear that a push is on its way. */
static void tell(struct pushwake__wake *wake, struct pushwake__call *call)
{
	int status;

	ao2_lock(call);
	status = call->tell;
	call->tell = 0;
	ao2_unlock(call);
	if (!status || ast_channel_state(wake->chan) == AST_STATE_UP) {
		return;
	}
	/* Asterisk has no way to send 110 and 182. */
	if (status == 180 && !wake->is_ringing) {
		ast_indicate(wake->chan, AST_CONTROL_RINGING);
	} else if (status == 183) {
		ast_indicate(wake->chan, AST_CONTROL_PROGRESS);
	}
}

/*!
 * The alerts of the calls that still wait, for ast_waitfor_nandfds(), and how many those are. What is over stays alert
 * for good; nobody looks at the channel as long as one of the others is ready.
 */
static size_t find_waiting(struct pushwake__calls *calls, int *fds)
{
	size_t index, count = 0;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(calls, index);

		ao2_lock(call);
		if (!call->ended && !call->given_up) {
			fds[count++] = call->alert;
		}
		ao2_unlock(call);
	}
	return count;
}

/*! Why nobody is waited for any more. */
static const char *verdict(struct pushwake__calls *calls)
{
	const char *status = "FAILED";
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(calls, index);

		ao2_lock(call);
		if (call->given_up && !call->reason) {
			status = "TIMEOUT";
		} else if (call->reason) {
			ast_log(LOG_WARNING, "PushWake(%s): no phone was pushed: %s\n", call->aor, call->reason);
		}
		ao2_unlock(call);
	}
	return status;
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

/*! The latest of the calls' own deadlines, or this run's. */
static struct timeval find_deadline(const struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	struct timeval deadline = { 0, 0 };
	size_t index;

	if (wake->is_joining && wake->timeout) {
		return ast_tvadd(ast_tvnow(), ast_tv(wake->timeout, 0));
	}
	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		const struct pushwake__call *call = AST_VECTOR_GET(calls, index);

		if (ast_tvcmp(deadline, call->deadline) < 0) {
			deadline = call->deadline;
		}
	}
	return deadline;
}

/*! Whether phones ring, so that others may join them after the time to wait: those wake late, or are back on a network. */
static int is_ringing(const struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	size_t index;
	int rings = 0;

	for (index = 0; wake->is_joining && !wake->timeout && index < AST_VECTOR_SIZE(calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(calls, index);

		rings |= !call->ended && !call->given_up && pushwake__legs_dialled(call);
	}
	return rings;
}

static int fail_unsent(struct pushwake__calls *calls)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
		pushwake__legs_fail_unsent(AST_VECTOR_GET(calls, index));
	}
	return 0;
}

/*! Waits for the first of: a phone, the engine's word, the deadline, a hang-up (not 0). `fds`: room for all alerts. */
static int wait_for_one(struct pushwake__wake *wake, struct pushwake__calls *calls, int *fds)
{
	struct timeval deadline = find_deadline(wake, calls);
	struct timeval began = ast_tvnow();
	int has_unsent = wake->is_joining;
	size_t index, waiting;

	for (;;) {
		int64_t left = ast_tvdiff_ms(deadline, ast_tvnow());
		struct ast_channel *ready;
		int fd = -1, pause;

		for (index = 0; index < AST_VECTOR_SIZE(calls); index++) {
			/* ORDER: heeded first, so that what comes meanwhile is an alert of its own. */
			pushwake__call_heed(AST_VECTOR_GET(calls, index));
			tell(wake, AST_VECTOR_GET(calls, index));
		}
		if (pushwake__wake_take(wake, calls)) {
			return 0;
		}
		waiting = find_waiting(calls, fds);
		if (!waiting) {
			wake->status = verdict(calls);
			return 0;
		}
		if (left <= 0 && is_ringing(wake, calls)) {
			left = INT_MAX; /* the end of each leg is an alert */
		}
		if (left <= 0) {
			wake->status = wake->is_joining ? "TIMEOUT" : "UNAVAILABLE";
			return 0;
		}
		if (has_unsent && ast_tvdiff_ms(ast_tvnow(), began) >= UNSENT_MS) {
			has_unsent = fail_unsent(calls);
		}
		pause = (int) MIN(left, has_unsent ? UNSENT_MS : INT_MAX);
		ready = ast_waitfor_nandfds(&wake->chan, 1, fds, (int) waiting, NULL, &fd, &pause);
		if (ready && take_frame(ready)) {
			wake->status = "FAILED";
			return -1;
		}
	}
}

int pushwake__wake_wait(struct pushwake__wake *wake, struct pushwake__calls *calls)
{
	int *fds = ast_calloc(AST_VECTOR_SIZE(calls) + 1, sizeof(*fds));
	int res = fds ? wait_for_one(wake, calls, fds) : 0;

	ast_free(fds);
	return res;
}
