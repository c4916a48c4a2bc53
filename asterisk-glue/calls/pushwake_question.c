/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Phones that register while the engine is being asked about a call of their user.
 *
 * PushWake() reads the contacts, and the engine begins to hold the call when it hears of it. A REGISTER between the two would
 * be in no contact that is dialled, and the engine would know no call that it is for. So it waits until the question is
 * answered, which takes as long as its own.
 */
#include "asterisk.h"

#include "asterisk/lock.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"

AST_MUTEX_DEFINE_STATIC(lock);
static ast_cond_t ended;

void pushwake__question_begin(struct pushwake__call *call)
{
	ast_mutex_lock(&lock);
	call->is_asked_for = 1;
	ast_mutex_unlock(&lock);
}

void pushwake__question_end(struct pushwake__call *call)
{
	ast_mutex_lock(&lock);
	call->is_asked_for = 0;
	ast_cond_broadcast(&ended);
	ast_mutex_unlock(&lock);
}

static void await(struct pushwake__call *call, void *context)
{
	ast_mutex_lock(&lock);
	while (call->is_asked_for) {
		ast_cond_wait(&ended, &lock);
	}
	ast_mutex_unlock(&lock);
}

void pushwake__questions_await(const char *aor)
{
	pushwake__calls_each(aor, await, NULL);
}

int pushwake__questions_start(void)
{
	return ast_cond_init(&ended, NULL) ? -1 : 0;
}

void pushwake__questions_stop(void)
{
	ast_cond_destroy(&ended);
}
