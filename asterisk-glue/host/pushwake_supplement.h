/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What looks at the messages of PJSIP's sessions.
 */
#ifndef PUSHWAKE_SUPPLEMENT_H
#define PUSHWAKE_SUPPLEMENT_H

#include "asterisk/res_pjsip_session.h"

/*! Releases within a series have appended callbacks to this struct: one that is later than these headers finds none. */
union pushwake__supplement {
	struct ast_sip_session_supplement known;
	char room[sizeof(struct ast_sip_session_supplement) + 32 * sizeof(void *)];
};

#endif /* PUSHWAKE_SUPPLEMENT_H */
