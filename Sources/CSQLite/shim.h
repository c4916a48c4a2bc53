/* SPDX-License-Identifier: MIT
 *
 * SQLite's header, and what of it Swift cannot import.
 */
#pragma once
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast Swift cannot import. */
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

/* Swift cannot call a function that takes any number of arguments. */
static inline int csqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
