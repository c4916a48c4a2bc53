/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Questions to the engine, with a client lent for each.
 */
#ifndef PUSHWAKE_QUERY_H
#define PUSHWAKE_QUERY_H

#include <pushwake.h>

struct ast_str;

/*! Asks; the number of rows, or a status below 0 with its text in error. */
int pushwake__query(int kind, const char *argument, pushwake_row_fn on_row, void *context,
	char *error, size_t size);

/*! Adds a condition to those of PUSHWAKE_QUERY_FIND and PUSHWAKE_QUERY_REMOVE_FOUND; an empty value says nothing. */
void pushwake__condition(struct ast_str **conditions, const char *name, const char *value);

/*! Bindings of an AoR that can be pushed now, or a status below 0 with its text in error. */
int pushwake__query_count(const char *aor, char *error, size_t size);

/*! Whether a row is of a binding that is gone: it is listed with the reason until its phone registers again. */
int pushwake__row_is_removed(const pushwake_field *fields, size_t count);

/*! Sends one push by hand, the event set by its name; the number queued, or a status below 0 with its text in error. */
int pushwake__send(const char *event, pushwake_send_request *request, char *error, size_t size);

/*! A field of a row as text. */
const char *pushwake__field_text(const pushwake_field *field, char *buf, size_t size);

/*! The field with this name, or NULL. */
const pushwake_field *pushwake__field_find(const pushwake_field *fields, size_t count, const char *name);

#endif /* PUSHWAKE_QUERY_H */
