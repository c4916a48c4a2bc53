/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Who calls.
 */
#ifndef PUSHWAKE_CALLER_H
#define PUSHWAKE_CALLER_H

#include <stdint.h>

struct ast_channel;
struct pushwake_wake_request;

/*! Who calls or writes, for the phone's screen. */
struct pushwake__caller {
	/*! enum pushwake_caller */
	uint64_t kind;
	/*! Who it is without a dialplan: the From of the MESSAGE, or the channel's remote URI. */
	char from[2048];
	char number[256];
	char name[256];
	char to[256];
	char type[128];
	/*! Content-Encoding of the MESSAGE. */
	char encoding[64];
	/*! Privacy (RFC 3323) of the request that came: Asterisk heeds it of endpoints that it trusts, and no other. */
	char privacy[128];
	char text[4096];
	/*! What the call has beside audio, as in pushwake_wake_request. */
	uint64_t media;
};

/*! Reads it from the channel, or, with `is_message`, from the MESSAGE in hand. */
void pushwake__caller_read(struct pushwake__caller *caller, struct ast_channel *chan, int is_message, const char *aor);

/*! The same of a channel that is being dialled: its other side calls. */
void pushwake__caller_read_dialled(struct pushwake__caller *caller, struct ast_channel *chan, const char *aor);

/*! Call-ID of who calls, as pushes name the call for a channel that is being dialled; to be freed. */
char *pushwake__caller_push_id(struct ast_channel *chan);

/*! Fills in who it is, and what the text is. Borrows. */
void pushwake__caller_fill(struct pushwake_wake_request *request, const struct pushwake__caller *caller);

/*! Call-ID of the caller's INVITE, so that its push names the call as SIP does; to be freed. */
char *pushwake__caller_call_id(struct ast_channel *chan);

#endif /* PUSHWAKE_CALLER_H */
