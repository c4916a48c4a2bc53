/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Questions to the engine, and what it said.
 */
#ifndef PUSHWAKE_QUERY_H
#define PUSHWAKE_QUERY_H

#include <pushwake.h>

/*! Writes what is wrong after a call of the client failed; the status. */
int pushwake__error(int status, char *error, size_t size);

/*! A field of a row as text. */
const char *pushwake__field_text(const pushwake_field *field, char *buf, size_t size);

#endif /* PUSHWAKE_QUERY_H */
