/* SPDX-License-Identifier: MIT */
#pragma once
#include <jansson.h>

/* json_decref() is inline in a way Swift cannot import. */
static inline void cjansson_release(json_t *json) { json_decref(json); }
static inline json_t *cjansson_retain(json_t *json) { return json_incref(json); }
