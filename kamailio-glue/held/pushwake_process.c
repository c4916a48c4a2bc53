/* SPDX-License-Identifier: MIT
 *
 * How much time this process has, and who does what takes longer.
 */
#include "pushwake_held.h"

/* After that a request that the process for what may take long was asked to look after has been lost. */
#define PW_LOOK_MS 5000

static int is_brief = 0;
static int is_long = 0;

void pw_execute_briefly(void)
{
	is_brief = 1;
}

void pw_execute_at_length(void)
{
	is_long = 1;
}

int pw_executes_briefly(void)
{
	return is_brief;
}

int pw_executes_at_length(void)
{
	return is_long;
}

void pw_look_elsewhere(pw_hold_t *hold)
{
	pushwake_verb look = {.kind = PW_NOTE_LOOK, .handle = hold->handle, .aor = pw_in(&hold->aor)};
	int64_t now = pw_now_ms();

	if(hold->looked_ms == 0 || now - hold->looked_ms > PW_LOOK_MS) {
		/* ORDER: before it is asked, as it may have looked by the time that this process goes on */
		hold->looked_ms = now;
		if(pw_verb_elsewhere(&look, now) < 0) {
			hold->looked_ms = 0;
		}
	}
}
