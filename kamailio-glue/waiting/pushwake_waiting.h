/* SPDX-License-Identifier: MIT
 *
 * wait=leg: a phone that sleeps is one branch more. It leads to a socket of the supervisor, where the library answers, and
 * the rest is tm's own.
 *
 *     pushwake_lookup() ─ branch ─► tm ──INVITE──► place: pushwake_legs_receive()
 *     phone ◄──INVITE── branch ◄── tm's worker ◄── a 100 that names leg and contact
 *                                  worker ── answers of legs, the end ──► place
 */
#ifndef PUSHWAKE_WAITING_H
#define PUSHWAKE_WAITING_H

#include "pushwake_legs.h"

/* pushwake_place.c. The modparam. */
extern int pw_waits_in_leg;
int pw_wait_param(modparam_t type, void *value);

/* The library has handles of requests that wait for itself. */
#define PW_WAIT_MARK ((uint64_t)1 << 63)

/* A request that waits. In shared memory, freed with its transaction. */
typedef struct pw_waiting {
	uint64_t handle;           /* with PW_WAIT_MARK */
	uint64_t numbers;          /* of those 100 that were executed */
	volatile int is_counted;   /* its branch was heard of, and it is not over */
	volatile int answered;     /* a 2xx is on its way through tm */
	volatile int cancelled;
	volatile int ended;        /* the place knows of the end */
	int is_left;               /* its branch is over, and the place need not answer */
	int legs[PW_MAX_BRANCHES]; /* leg of each branch; 0: none of ours */
	unsigned int places[PW_MAX_BRANCHES];
	unsigned int closed;       /* branches whose answers count no more */
	unsigned int trying;       /* branches of which 100, more than 100 was reported */
	unsigned int ringing;
	int first;                 /* of its branches */
	int told;                  /* the last provisional answer of the place that went to the caller */
	int last_status;           /* of the final answer that the place gave */
	str table;
	str aor;
} pw_waiting_t;

/* pushwake_place.c */

/* Once, before the forks. -1 after a word in the log. */
int pw_place_init(void);

/* A branch to the place: its URI, or empty. Good until the next call. */
str pw_place_uri(const pw_waiting_t *waiting);

/* The handle in such a URI; 0: it leads elsewhere. */
uint64_t pw_place_handle(const str *uri);

/* Whether this came from there. */
int pw_place_is(const struct receive_info *from);

/* Tells the place, from any process. */
void pw_place_progressed(const pw_waiting_t *waiting, int leg, int status, int from_phone);
void pw_place_sent(const pw_waiting_t *waiting, int leg, struct dest_info *over);
void pw_place_ended(const pw_waiting_t *waiting, int how, int status);
void pw_place_registered(str *table, str *aor, pw_contacts_t *contacts);

/* The rest in the supervisor. Its socket, -1 without wait=leg. */
int pw_place_fd(void);
void pw_place_use(pushwake_settings *settings, pushwake_supervisor *supervisor);

/* Takes what has come to the socket, if anything has, and does what is due. */
void pw_place_process(int has_come);
int pw_place_timeout_ms(void);

/* 1: the note was for the place. */
int pw_place_take(const pushwake_verb *note);

/* Fails legs whose connection is gone. 1: look soon again. */
int pw_place_scan(void);

/* pushwake_connections.c */
void pw_connection_watch(const pushwake_verb *note);

/* Its phone has answered; `leg` 0: all of the request. */
void pw_connection_forget(uint64_t handle, int leg);

/* One that is gone, once; 0: there is none. */
int pw_connection_lost(uint64_t *handle, int *leg);
int pw_connections_are_young(void);

/* pushwake_wait_leg.c */

/* A header of an answer of the place, or empty. */
str pw_wait_header(sip_msg_t *reply, const char *name);

/* Does what the place says in a 100. */
void pw_wait_execute(tm_cell_t *t, pw_waiting_t *waiting, sip_msg_t *reply);

/* Whether this branch leads to the place. */
int pw_wait_is_place(const tm_cell_t *t, const pw_waiting_t *waiting, int branch);

/* The rest under the reply lock. Whether branches may still be added. */
int pw_wait_is_open(const tm_cell_t *t, const pw_waiting_t *waiting);

/* The open branch of a leg, -1 for none. */
int pw_wait_branch_of(const tm_cell_t *t, const pw_waiting_t *waiting, int leg);

/* Ends a branch without that its end counts. */
void pw_wait_close(tm_cell_t *t, pw_waiting_t *waiting, int branch);

/* pushwake_waited.c */

/* tm's callback for a request that waits. */
void pw_waited(tm_cell_t *t, int type, struct tmcb_params *params);
void pw_waited_free(void *waiting);

/* pushwake_waiting.c */

/* Once, before the forks. */
int pw_waiting_init(void);

/* Gives the request in hand a branch that waits for this user. 0, or -1. */
int pw_wait(sip_msg_t *msg, str *table, str *aor);

#endif /* PUSHWAKE_WAITING_H */
