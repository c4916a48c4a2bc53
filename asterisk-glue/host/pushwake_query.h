/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Questions to the engine, and what it said.
 */
#ifndef PUSHWAKE_QUERY_H
#define PUSHWAKE_QUERY_H

#include <pushwake.h>

/*! Asks; the number of rows, or a status below 0 with its text in error. */
int pushwake__query(int kind, const char *argument, pushwake_row_fn on_row, void *context,
	char *error, size_t size);

/*! Writes what is wrong after a call of the client failed; the status. */
int pushwake__error(int status, char *error, size_t size);

/*! Takes the number that a row consists of: an int64_t is the context. */
int pushwake__take_number(void *context, const pushwake_field *fields, size_t count);

/*! A field of a row as text. */
const char *pushwake__field_text(const pushwake_field *field, char *buf, size_t size);

#endif /* PUSHWAKE_QUERY_H */
