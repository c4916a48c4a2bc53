/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief One run of PushWake(), and what the dialplan has besides.
 */
#ifndef PUSHWAKE_WAKE_H
#define PUSHWAKE_WAKE_H

struct ast_channel;
struct ast_str;
struct pushwake__call;
struct pushwake__caller;
struct pushwake__calls;

struct pushwake__wake {
	struct ast_channel *chan;
	/*! Names joined by '&'; empty: those of all calls that the channel carries. */
	const char *aors;
	/*! Seconds; 0: the setting wake_timeout. */
	int timeout;
	unsigned int is_joining:1;
	unsigned int is_message:1;
	unsigned int is_ringing:1;
	/*! Result: one of the words of PUSHWAKE_STATUS. */
	const char *status;
	/*! Result: dial string; given by the caller, appended to. */
	struct ast_str *contacts;
	/*! Result: phones that have joined its calls so far, when this run has brought one of them; else 0. */
	int joins;
	/*! Result: the best answer of the calls' phones so far, 0 for none. */
	int answer;
	/*! Result: milliseconds from the push to the REGISTER. */
	int woken_ms;
};

/*! Wakes and waits; not 0 when the channel has hung up. */
int pushwake__wake_run(struct pushwake__wake *wake);

/* ---- pushwake_wake_ahead.c */

/*! Wakes and does not wait: the Dial() that follows does. */
void pushwake__wake_ahead(struct pushwake__wake *wake);

/* ---- pushwake_wait.c */

/*! Hands over what has come; whether that was a phone. */
int pushwake__wake_take(struct pushwake__wake *wake, struct pushwake__calls *calls);

/*! Waits for the first of: a phone, the engine's word, the deadline, a hang-up (not 0). */
int pushwake__wake_wait(struct pushwake__wake *wake, struct pushwake__calls *calls);

/* ---- pushwake_text.c */

int pushwake__text_start(void);
void pushwake__text_stop(void);

/*!
 * The contacts of this MESSAGE's legs go to the dialplan: phones of theirs that do not answer are pushed. `is_known`: the
 * engine has heard of it; otherwise it is told as soon as it answers.
 */
void pushwake__text_watch(struct pushwake__call *call, const struct pushwake__caller *caller, int is_known);

/* ---- pushwake_app.c, pushwake_function.c */

int pushwake__app_start(void);
void pushwake__app_stop(void);
int pushwake__function_start(void);
void pushwake__function_stop(void);

#endif /* PUSHWAKE_WAKE_H */
