/* SPDX-License-Identifier: MIT
 *
 * A held request is a tm transaction with a blind branch: a branch without a
 * destination that only keeps the transaction open until its timer fires. Phones
 * that register add real branches to it. The alternative, t_suspend() and
 * t_continue(), was tried: it lets only one device in, since the transaction ends
 * with the first final answer after it was continued.
 */
#ifndef PUSHWAKE_HOLD_H
#define PUSHWAKE_HOLD_H

#include "core/locking.h"
#include "pushwake_contact.h"

#define PW_MAX_DEVICES 16

/* In shared memory. Born with the blind branch, freed with the transaction. */
typedef struct pw_hold {
	struct pw_hold *next;
	struct pw_hold *prev;
	unsigned int slot;
	int linked; /* phones that register find it */
	int busy;   /* its script is not done with it: joining now could ring a phone twice */
	int missed; /* a phone registered meanwhile */
	time_t since;
	unsigned int tindex;
	unsigned int tlabel;
	int blind;      /* index of the blind branch */
	int awaited;    /* devices that were pushed */
	int cancelled;
	int expired; /* nobody woke in time */
	int device_count;
	unsigned int devices[PW_MAX_DEVICES]; /* those that came */
	str aor;
	str table;
	str callid;
} pw_hold_t;

/* One held request, copied out: no lock is held while tm works on it. */
typedef struct pw_hold_ref {
	unsigned int tindex;
	unsigned int tlabel;
} pw_hold_ref_t;

/* Once, before the forks. Not undone: tm frees its transactions, and with them
 * what is held, after the other modules. */
int pw_holds_init(void);

/* Holds msg for the AoR: transaction, saved lumps, blind branch that ends after
 * `seconds`. 1: held, 0: a retransmission, -1: cannot. */
int pw_hold(sip_msg_t *msg, str *table, str *aor, int awaited, int seconds);

/* All branches are over, and the blind one was the last: answers 480, or what a
 * phone said, unless a failure_route does something else. Under the reply lock. */
void pw_hold_unanswered(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *req, int code);

/* Lets phones join from now on. */
void pw_hold_open(void);

/* Tells the caller: 100, then 110 Push Sent. Nothing for what is no INVITE. */
int pw_hold_tell(sip_msg_t *msg);

/* Nobody is waited for any more: tm passes over a finished branch that has no
 * destination. Under the reply lock. */
void pw_hold_close(tm_cell_t *t, int blind);

/* Copies up to max references of what is held for the AoR; returns how many. What
 * its script is not done with is noted there and left out. */
int pw_holds_find(pw_hold_ref_t *out, int max, str *table, str *aor);

/* Notes that a device came. 1: all that were pushed have now come. */
int pw_hold_arrived(pw_hold_ref_t *ref, str *table, str *aor, unsigned int device, int *blind);

/* A phone has registered: its contacts become branches of everything that is held
 * for the AoR. device tells devices apart; 0: not one that was pushed. */
void pw_join(str *table, str *aor, pw_contacts_t *contacts, unsigned int device);

#endif /* PUSHWAKE_HOLD_H */
