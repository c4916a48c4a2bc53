/* SPDX-License-Identifier: MIT
 *
 * What happens to a held request: the script that holds it, what tm tells, phones that register without an engine.
 */
#ifndef PUSHWAKE_WATCH_H
#define PUSHWAKE_WATCH_H

#include "pushwake_legs.h"

/* pushwake_watch.c: what tm tells of a held request. */

int pw_watch(sip_msg_t *msg, tm_cell_t *t, pw_hold_t *hold);

/* The script is done with it, and verbs may change it from now on. 1: contacts are left to try that nobody knew of when
 * the others failed. Under the reply lock. */
int pw_watch_close(tm_cell_t *t, pw_hold_t *hold);

/* Reports a final answer that tm has sent before anybody watched: its transaction is older than the hold, and a CANCEL
 * came while the engine was asked. Under the reply lock. */
void pw_watch_missed(tm_cell_t *t, pw_hold_t *hold);

/* A failure_route has run for it. Under the reply lock. */
void pw_watch_failure_route(tm_cell_t *t, pw_hold_t *hold);

/* Reports legs that tm gave up without a word to us. */
void pw_watch_scan(void);

/* The same for one request; its failure_route runs where that is due. */
void pw_watch_look_after(tm_cell_t *t, pw_hold_t *hold);

/* pushwake_join.c: without an engine, the contacts of a REGISTER join what is held. */
void pw_join(str *table, str *aor, pw_contacts_t *contacts);

/* The same for one request, under the reply lock, with what has registered since it came. */
void pw_join_late(tm_cell_t *t, pw_hold_t *hold);

/* pushwake_suspended.c: a script that is suspended between lookup and relay. */
int pw_suspended_init(void);

/* At the script's end, under the reply lock: whether it goes on in another process, and is not done with this request. */
int pw_suspended(const tm_cell_t *t, pw_hold_t *hold);

/* pushwake_script.c */
int pw_script_init(void);

/* The script has just held this request, which is busy until it ends. */
void pw_script_holds(tm_cell_t *t, pw_hold_t *hold);

#endif /* PUSHWAKE_WATCH_H */
