/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief One run of PushWake(), and what the dialplan has besides.
 */
#ifndef PUSHWAKE_WAKE_H
#define PUSHWAKE_WAKE_H

#include "pushwake_host.h"

struct ast_channel;
struct ast_str;
struct pushwake__caller;

struct pushwake__wake {
	struct ast_channel *chan;
	/*! Names joined by '&'. */
	const char *aors;
	/*! Seconds that the Dial() may wait which follows; 0: the setting wake_timeout. */
	int timeout;
	unsigned int is_joining:1;
	unsigned int is_message:1;
	unsigned int is_ringing:1;
	/*! Result: one of the words of PUSHWAKE_STATUS. */
	const char *status;
	/*! Result: dial string; given by the caller, appended to. */
	struct ast_str *contacts;
};

/*! Wakes, and says what is known; waits for nobody. */
void pushwake__wake_run(struct pushwake__wake *wake);

/* ---- pushwake_target.c: whom PushWake() is to wake */

AST_VECTOR(pushwake__aors, char *);

/*!
 * Reads "100&101", where PJSIP/ENDPOINT stands for the AoRs of an endpoint. What names no user is left out, with a line in
 * the log that says what to write instead. Not 0 when memory is short; free what was read in any case.
 */
int pushwake__aors_read(struct pushwake__aors *aors, const char *text);
void pushwake__aors_free(struct pushwake__aors *aors);

/* ---- pushwake_text.c */

int pushwake__text_start(void);
void pushwake__text_stop(void);

/*!
 * These contacts of a MESSAGE go to the dialplan, those alone that `asked` says are rung: phones of theirs that do not
 * answer are pushed. `is_known`: the engine has heard of it; otherwise it is told as soon as it answers, and all are meant.
 */
void pushwake__text_watch(const char *aor, const char *call_id, struct pushwake__contacts *contacts,
	const pushwake_contact *asked, const struct pushwake__caller *caller, int is_known);

/* ---- pushwake_app.c, pushwake_function.c */

int pushwake__app_start(void);
void pushwake__app_stop(void);
int pushwake__function_start(void);
void pushwake__function_stop(void);

#endif /* PUSHWAKE_WAKE_H */
