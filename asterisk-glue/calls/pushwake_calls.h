/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What stands around the calls that Asterisk holds itself: other nodes, edge proxies, hints.
 *
 * A file uses those that stand above it here, and none below.
 */
#ifndef PUSHWAKE_CALLS_H
#define PUSHWAKE_CALLS_H

#include "pushwake_host.h"

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

#endif /* PUSHWAKE_CALLS_H */
