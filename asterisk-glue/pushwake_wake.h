/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief One run of PushWake().
 */
#ifndef PUSHWAKE_WAKE_H
#define PUSHWAKE_WAKE_H

struct ast_channel;
struct ast_str;

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
	/*! Result: milliseconds from the push to the REGISTER. */
	int woken_ms;
};

/*! Who calls or writes, for the phone's screen. */
struct pushwake__caller {
	char uri[256];
	char name[256];
	char to[256];
	char type[128];
	char text[4096];
};

/*! Reads it from the channel, or from the MESSAGE in hand. */
void pushwake__caller_read(struct pushwake__caller *caller, const struct pushwake__wake *wake, const char *aor);

/*! Call-ID of the caller's INVITE, so that its push names the call as SIP does; to be freed. */
char *pushwake__caller_call_id(struct ast_channel *chan);

/*! Wakes and waits; not 0 when the channel has hung up. */
int pushwake__wake_run(struct pushwake__wake *wake);

#endif /* PUSHWAKE_WAKE_H */
