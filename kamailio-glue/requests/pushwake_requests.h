/* SPDX-License-Identifier: MIT
 *
 * What is asked for from outside: a request is to be held, the engine says something, another engine has come.
 */
#ifndef PUSHWAKE_REQUESTS_H
#define PUSHWAKE_REQUESTS_H

#include "pushwake_watch.h"

/* What the engine said of a request that is to be held. */
typedef struct pw_hold_plan {
	uint64_t handle;
	str table;
	str aor;
	pushwake_str ticket;
	int is_held;       /* keep it open although no leg is out */
	int keeps_uri;     /* a request within a dialog */
	int64_t deadline_ms;
	const pw_contacts_t *contacts;
	const pushwake_contact *asked; /* verdict and leg of each contact */
} pw_hold_plan_t;

/* pushwake_begin.c */

/* Holds msg: transaction, saved lumps, blind branch. 1: held, 0: a retransmission,
 * -1: cannot. */
int pw_hold(sip_msg_t *msg, const pw_hold_plan_t *plan);

/* pushwake_verb.c */

enum pw_executed {
	PW_DONE,
	PW_LATER,    /* not now, its script is at work */
	PW_BLOCKED,  /* not now: another process has its lock, for as long as that takes, or a verb before it */
	PW_GONE,     /* a phone is to ring for a request that is over */
	PW_ELSEWHERE /* it may take long, and this process has no time */
};

/* Does what the engine said then. `contacts` are those of the REGISTER in hand, or NULL. */
enum pw_executed pw_execute(const pushwake_verb *verb, pw_contacts_t *contacts, int64_t since_ms);

/* All that it says of requests held here as a REGISTER comes; what cannot be done now the supervisor does. */
void pw_execute_all(const pushwake_register_result *result, pw_contacts_t *contacts);

/* pushwake_late.c: INVITE and CANCEL for a phone that comes after the end. */
void pw_show_end(const pushwake_verb *verb);

/* pushwake_resume.c: hands what is held to a new engine. */
void pw_resume_all(void);

/* Tries those again that the engine has not taken in time. */
void pw_resume_on(void);

#endif /* PUSHWAKE_REQUESTS_H */
