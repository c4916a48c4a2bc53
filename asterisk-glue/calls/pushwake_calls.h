/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What stands around the calls that Asterisk holds itself: phones that came too late, other nodes, edge proxies,
 * hints.
 *
 * A file uses those that stand above it here, and none below.
 */
#ifndef PUSHWAKE_CALLS_H
#define PUSHWAKE_CALLS_H

#include "pushwake_host.h"

/* ---- pushwake_show_end.c */

/*! Sends the request and its CANCEL to a phone that shows a call which is over. Does not wait. */
void pushwake__show_end(const pushwake_verb *verb);

/*! Of a channel that only shows the end of a call: the Reason of its CANCEL, a copy to be freed; or NULL. */
char *pushwake__show_end_reason(struct ast_channel *chan);

/*! Its Call-ID as pushes name it, a copy to be freed; or NULL. */
char *pushwake__show_end_call_id(struct ast_channel *chan);

/*! The phone of such a channel has the INVITE. */
void pushwake__show_end_proceeding(struct ast_channel *chan);

/* ---- pushwake_node.c */

/*!
 * The contact of this registrar that a request from another node is for: 1 and a copy of it; 0 when its phone has
 * left; -1 when the topmost Route says nothing of the kind.
 */
int pushwake__node_find(struct pushwake__contact *out, struct pjsip_rx_data *rdata);

int pushwake__node_start(void);
void pushwake__node_stop(void);

/* ---- pushwake_node_text.c */

int pushwake__node_text_start(void);
void pushwake__node_text_stop(void);

/* ---- pushwake_path.c: calls and texts to phones behind an edge proxy of their own */

int pushwake__path_start(void);
void pushwake__path_stop(void);

/* ---- pushwake_devstate.c */

int pushwake__devstate_start(void);
void pushwake__devstate_stop(void);

/*! An engine may answer for AoRs that it did not answer for: all of them, or one to see. */
void pushwake__devstates_ask_again(int is_probe);

/*! Whether there are such. */
int pushwake__devstates_unknown(void);

/*! Hints and queues ask anew about all AoRs: what they know is from before there was push, or from another engine. */
void pushwake__devstates_renew(void);

/*! \brief Becomes readable when a state is unknown anew; whoever waits for it reads it empty. */
int pushwake__devstates_fd(void);

/* ---- pushwake_session.c: what PJSIP says of callers, and of channels that show an end */

int pushwake__session_start(void);
void pushwake__session_stop(void);

/* ---- pushwake_verb.c */

/*! Executes a verb of the engine, in whatever thread it came to. */
void pushwake__verb_execute(const pushwake_verb *verb);

#endif /* PUSHWAKE_CALLS_H */
