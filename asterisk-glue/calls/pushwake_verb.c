/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What the engine says is done here: in the thread of a REGISTER, or in the supervisor's.
 *
 * Verbs for waiting legs go to the library.
 */
#include "asterisk.h"

#include <time.h>

#include "pushwake_ahead.h"
#include "pushwake_calls.h"

void pushwake__verb_execute(const pushwake_verb *verb)
{
	if (verb->kind == PUSHWAKE_VERB_RING_AND_CANCEL) {
		pushwake__show_end(verb);
	} else {
		pushwake__ahead_execute(verb);
	}
}
