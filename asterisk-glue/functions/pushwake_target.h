/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Whom PushWake() is to wake.
 */
#ifndef PUSHWAKE_TARGET_H
#define PUSHWAKE_TARGET_H

#include "asterisk/vector.h"

AST_VECTOR(pushwake__aors, char *);

/*! Reads "100&101", where PJSIP/ENDPOINT stands for the AoRs of an endpoint. What names no user is left out, with a
 * line in the log that says what to write instead. Not 0 when memory is short; free what was read in any case. */
int pushwake__aors_read(struct pushwake__aors *aors, const char *text);
void pushwake__aors_free(struct pushwake__aors *aors);

#endif /* PUSHWAKE_TARGET_H */
