/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Starts and stops waiting legs.
 *
 * What one of them does not find in this Asterisk leaves it as without push.
 */
#include "asterisk.h"

#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

static const struct {
	int (*start)(void);
	void (*stop)(void);
} parts[] = {
	{ pushwake__tell_start, pushwake__tell_stop },
	{ pushwake__waiter_start, pushwake__waiter_stop },
	{ pushwake__beside_start, pushwake__beside_stop },
	{ pushwake__follow_start, pushwake__follow_stop },
	{ pushwake__place_start, pushwake__place_stop },
	{ pushwake__leg_session_start, pushwake__leg_session_stop },
	{ pushwake__plain_text_start, pushwake__plain_text_stop },
	{ pushwake__companion_start, pushwake__companion_stop },
};

static void stop_parts(size_t count)
{
	while (count--) {
		parts[count].stop();
	}
}

/*! Whether plain Dial() is to wake phones, and not PushWake() alone. */
static int wakes_all(void)
{
	char wait[16] = "";

	if (pushwake__settings()) {
		pushwake__copy(wait, sizeof(wait), pushwake_settings_text(pushwake__settings(), pushwake__str("wait")));
	}
	return !strcmp(wait, "leg");
}

int pushwake__legs_start(void)
{
	size_t index;

	for (index = 0; index < ARRAY_LEN(parts); index++) {
		if (parts[index].start()) {
			stop_parts(index);
			return 0;
		}
	}
	pushwake__legs_switch(1, wakes_all());
	return 0;
}

void pushwake__legs_stop(void)
{
	if (!pushwake__legs_are_on()) {
		return;
	}
	pushwake__legs_switch(0, 0);
	stop_parts(ARRAY_LEN(parts));
	pushwake__legs_drop();
}
