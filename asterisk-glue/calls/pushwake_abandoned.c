/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Calls whose dialplan has gone elsewhere, into a mailbox say, while phones were still awaited.
 *
 * A phone that wakes is handed to a run of PushWake(), and the caller's channel ends the call. A dialplan may leave
 * both behind: its Dial() is over, and nobody asks for phones any more. Then a phone that comes has to hear that the
 * call is over, and one that stays away as well, once its time is up.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/sched.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"

/*! Milliseconds that a dialplan may take from one run to the next, or to Dial(). */
#define SOON_MS 1000
/*! How often it is looked whether a mailbox has answered the caller of a call that was given up. */
#define AGAIN_MS 2000

static struct ast_sched_context *looks;

/*! Whether the dialplan has answered the caller's channel itself, or it is gone. */
static int is_taken(const struct pushwake__call *call)
{
	struct ast_channel *chan = ast_channel_get_by_name(call->origin);
	int is_up;

	if (!chan) {
		return 1;
	}
	is_up = ast_channel_state(chan) == AST_STATE_UP;
	ast_channel_unref(chan);
	return is_up;
}

/*! Looks at a call; the time after which to look again, 0 for never. */
static int look(const void *data)
{
	struct pushwake__call *call = (struct pushwake__call *) data;
	int is_alone, is_needed, is_given_up, is_last;

	ao2_lock(call);
	/* ORDER: whoever asks for a look from now on gets one of its own. */
	call->is_looked_at = 0;
	is_alone = !call->ended && !call->runs;
	is_needed = pushwake__legs_queued(call);
	is_given_up = call->given_up;
	ao2_unlock(call);
	if (is_alone && (is_needed || is_given_up) && !pushwake__legs_live(call)) {
		if (!is_needed && !is_taken(call)) {
			/* it may ring somebody else meanwhile, who decides what phones hear */
			ao2_lock(call);
			is_last = !call->is_looked_at;
			call->is_looked_at = 1;
			ao2_unlock(call);
			if (is_last) {
				return AGAIN_MS;
			}
			ao2_ref(call, -1);
			return 0;
		}
		ast_debug(1, "The dialplan waits no more for phones of '%s'\n", call->aor);
		pushwake__call_end(call, PUSHWAKE_CALL_FAILED, call->answer ? call->answer : 480, "");
		pushwake__legs_refuse_unsent(call);
	}
	ao2_ref(call, -1);
	return 0;
}

void pushwake__call_look(struct pushwake__call *call)
{
	int is_due;

	ao2_lock(call);
	is_due = looks && !call->ended && !call->runs && !call->is_looked_at && call->event == PUSHWAKE_EVENT_CALL;
	if (is_due) {
		call->is_looked_at = 1;
	}
	ao2_unlock(call);
	if (is_due && ast_sched_add_variable(looks, SOON_MS, look, ao2_bump(call), 1) < 0) {
		ao2_lock(call);
		call->is_looked_at = 0;
		ao2_unlock(call);
		ao2_ref(call, -1);
	}
}

void pushwake__call_awaited(struct pushwake__call *call)
{
	ao2_lock(call);
	call->runs++;
	ao2_unlock(call);
}

void pushwake__call_left(struct pushwake__call *call)
{
	ao2_lock(call);
	call->runs--;
	ao2_unlock(call);
	pushwake__call_look(call);
}

void pushwake__call_lost_leg(struct pushwake__call *call)
{
	int is_asleep = call->event == PUSHWAKE_EVENT_CALL && !pushwake__legs_live(call);
	int is_new;

	ao2_lock(call);
	is_new = is_asleep && call->watched && !call->ended && !call->given_up && !call->has_waited;
	if (is_new) {
		call->has_waited = 1;
	}
	ao2_unlock(call);
	if (is_new) {
		pushwake__devstate_changed(call->aor);
	}
	pushwake__call_alert(call);
	pushwake__call_look(call);
}

void pushwake__calls_abandon(struct ast_channel *chan)
{
	struct pushwake__calls calls;
	size_t index;

	pushwake__calls_of(&calls, chan, 1);
	for (index = 0; index < AST_VECTOR_SIZE(&calls); index++) {
		pushwake__call_end(AST_VECTOR_GET(&calls, index), PUSHWAKE_CALL_FAILED, 480, "");
	}
	pushwake__calls_free(&calls);
}

static int forget(const void *data)
{
	ao2_ref((void *) data, -1);
	return 0;
}

int pushwake__abandoned_start(void)
{
	looks = ast_sched_context_create();
	if (looks && !ast_sched_start_thread(looks)) {
		return 0;
	}
	pushwake__abandoned_stop();
	return -1;
}

void pushwake__abandoned_stop(void)
{
	struct ast_sched_context *old = looks;

	looks = NULL;
	if (old) {
		ast_sched_clean_by_callback(old, look, forget);
		ast_sched_context_destroy(old);
	}
}
