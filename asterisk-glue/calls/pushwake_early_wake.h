/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief An early wake: a wake-up that PushWake() has begun before a Dial() calls the phones.
 *
 * The engine is told as of a call, so that phones hear of its end if no Dial() follows. The leg of a Dial() has the same
 * Call-ID: the engine goes on with that one, and sends no second push.
 */
#ifndef PUSHWAKE_EARLY_WAKE_H
#define PUSHWAKE_EARLY_WAKE_H

#include <stdint.h>

#include "asterisk/time.h"

#include "pushwake_host.h"

struct pushwake__early_wake {
	/*! By which the engine names it. */
	uint64_t handle;
	char *aor;
	char *call_id;
	/*! Unique id of the channel that began it. */
	char *origin;
	/*! Its caller has hung up: the value of a Reason header; else NULL. */
	char *reason;
	/*! When the time to wait is over. */
	struct timeval ends;
	/*! The engine sends verbs for it. */
	unsigned int is_watched:1;
	/*! A Dial() has called its phones. */
	unsigned int is_used:1;
	unsigned int is_over:1;
	/*! Legs that a Dial() could have, a bit for each number. */
	uint64_t rung;
};

/*! The one that the channel carries for the AoR and that waits for a Dial(), or a new one; a reference, or NULL. */
struct pushwake__early_wake *pushwake__early_wake_begin(struct ast_channel *chan, const char *aor, int seconds);

/*! The one that a channel carries, dialled from the one that woke or not, used or not. A reference, or NULL. */
struct pushwake__early_wake *pushwake__early_wake_of(struct ast_channel *chan, const char *aor);

/*! The engine has answered. */
void pushwake__early_wake_answered(struct pushwake__early_wake *early, const pushwake_wake_result *result,
	const pushwake_contact *contacts, size_t count);

/*! A leg goes out for it: the seconds that are left to wait, or 0 when another leg has had them. */
int pushwake__early_wake_continue(struct pushwake__early_wake *early);

/*! How the call ends for phones when Asterisk hangs a leg of it up: enum pushwake_call_end, and a Reason to be freed. */
int pushwake__early_wake_leg_end(struct pushwake__early_wake *early, char **reason);

/*! Whether phones of this AoR are being woken that no Dial() has called yet. */
int pushwake__early_wakes_wait_for(const char *aor);

/*! A verb of the engine. */
void pushwake__early_wake_execute(const pushwake_verb *verb);

int pushwake__early_wake_start(void);
void pushwake__early_wake_stop(void);

#endif /* PUSHWAKE_EARLY_WAKE_H */
