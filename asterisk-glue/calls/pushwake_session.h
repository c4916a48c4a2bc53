/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What those share that look at PJSIP's sessions.
 */
#ifndef PUSHWAKE_SESSION_H
#define PUSHWAKE_SESSION_H

#include <pjsip.h>

#include "asterisk/res_pjsip_session.h"

#include "pushwake_host.h"

/*! Releases within a series have appended callbacks to this struct: one that is later than these headers finds none. */
union pushwake__supplement {
	struct ast_sip_session_supplement known;
	char room[sizeof(struct ast_sip_session_supplement) + 32 * sizeof(void *)];
};

/*! Whether a contact is what this Request-URI names; the pool is for the comparison. */
int pushwake__uri_matches(pj_pool_t *pool, const pjsip_sip_uri *target, const char *contact);

/*!
 * The contact of this registrar that a request from another node is for: 1 and a copy of it; 0 when its phone has
 * left; -1 when the topmost Route says nothing of the kind.
 */
int pushwake__node_find(struct pushwake__contact *out, pjsip_rx_data *rdata);

#endif /* PUSHWAKE_SESSION_H */
