/* SPDX-License-Identifier: MIT */
#pragma once
/* As in CLinux: both modules must see the same struct definitions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <jansson.h>

/* json_decref() is inline in a way Swift cannot import. */
static inline void cjansson_release(json_t *json) { json_decref(json); }
static inline json_t *cjansson_retain(json_t *json) { return json_incref(json); }
