/* SPDX-License-Identifier: MIT
 *
 * A held request is a tm transaction with a blind branch: a branch without a
 * destination that keeps the transaction open while the engine waits for phones. A
 * blind branch that counts as ended (487, no buffer) is passed over by tm, so a
 * request is kept open, or not, by one field. Legs are real branches. What becomes of
 * them is decided by the engine; here it is done.
 */
#ifndef PUSHWAKE_HELD_H
#define PUSHWAKE_HELD_H

#include <stdint.h>

#include "core/locking.h"
#include "modules/tm/h_table.h"
#include "pushwake_contact.h"

/* tm has bitmaps of 32 bits for its branches. */
#define PW_MAX_BRANCHES 32
/* A script that takes longer between lookup and relay, or is suspended for longer, is not waited for. */
#define PW_BUSY_MS 2000
/* tm prefers every other code to this one. */
#define PW_WORST 799
/* What tm passes over, and what makes it ignore whatever still comes for the branch. */
#define PW_ENDED 487

/* A contact that the engine gave a leg before the script relayed: known again by its ruid. */
typedef struct pw_named_leg {
	int leg;
	int later; /* the script relays to it from its failure_route, if at all */
	unsigned int place; /* where the phone was then: pw_place_of() */
	unsigned int run;   /* of its app: pw_run_of() */
	str ruid;
} pw_named_leg_t;

/* In shared memory. Born with the blind branch, freed with the transaction. Fields
 * past the slot's are guarded by the reply lock of the transaction. */
typedef struct pw_hold {
	struct pw_hold *next;
	struct pw_hold *prev;
	unsigned int slot;
	int linked; /* verbs find it */
	uint64_t handle;
	int64_t began_ms;
	unsigned int tindex;
	unsigned int tlabel;
	volatile int busy; /* its script is not done with it: no branch may be added */
	int continues;         /* its script is suspended between lookup and relay, or goes on after that */
	int joins_late;        /* phones registered meanwhile, without an engine */
	int64_t suspended_ms; /* since then a verb waits for a script that is suspended; 0: none does */
	int blind;         /* index of the blind branch */
	int held;          /* the blind branch keeps it open */
	int yields;        /* not now: the script's failure_route has its turn, and contacts left to try */
	uint64_t quiet_uri; /* hash of the Request-URI then */
	int quiet;         /* T_CANCELED is lent to it: the script's t_relay() shall send nothing and say nothing */
	int over;          /* a final answer is chosen, or the script has taken it elsewhere: no more legs */
	int64_t joins_until; /* it has, and asked for legs until then; 0: it has not */
	int answered;      /* a 2xx is on its way through tm */
	int cancelled;
	int64_t cancels_ms; /* since then legs that ring have a CANCEL, of the caller or for a 6xx; 0: none has */
	int expired;       /* nobody came */
	int resumes;       /* a new engine has not heard of it yet; of the supervisor's process alone */
	int64_t looked_ms; /* when the process for what may take long was asked to look after it; 0: it has */
	int failure_status; /* what tm shall answer when no leg has an answer */
	int last_leg;
	int answered_leg;  /* of the 2xx that goes to the caller */
	int unsent_leg;    /* the last that could not be sent: the engine decides again when it hears of it */
	uint64_t overtaken;   /* legs whose end, or whose successor, came before themselves */
	int turn;          /* of the HOLD that came last: a GIVE_UP before it counts no more */
	int64_t resumed_ms; /* when another engine was asked to go on: what the one before said then counts no more */
	int legs[PW_MAX_BRANCHES];   /* leg of each branch; 0: none of ours */
	unsigned int places[PW_MAX_BRANCHES]; /* where it was sent: pw_place_of(); 0: not known */
	unsigned int runs[PW_MAX_BRANCHES];   /* of which app: pw_run_of(); 0: not known */
	int64_t sent_ms[PW_MAX_BRANCHES];     /* when a phone that has registered was sent it; 0: it was not */
	unsigned int joined;         /* branches of phones that came while no engine answered, which knows nothing of them yet */
	unsigned int closed;         /* branches that a later leg of their device replaced */
	unsigned int reported_trying;   /* branches of which 100, more than 100, a failure was reported */
	unsigned int reported_ringing;
	unsigned int failed;
	int64_t stream_ms;           /* since then a leg is out over a connection, unanswered; 0: none is */
	uint64_t pushed;             /* devices whose push was taken */
	ticks_t lifetime;            /* of the transaction, from the end of its script; 0: tm bounds none */
	int keeps_uri;               /* within a dialog: only where it is sent changes, not its Request-URI */
	str aor;
	str table;
	str ticket;
	str reason;                  /* of the CANCEL, in shared memory of its own */
	int named_count;
	pw_named_leg_t *named;
} pw_hold_t;

/* pushwake_hold.c */

/* Once, before the forks. Not undone: tm frees its transactions, and with them
 * what is held, after the other modules. */
int pw_holds_init(void);

/* How many requests are held, or were and have a transaction that is open. */
int pw_holds_linked(void);

/* pushwake_admission.c: once, before the forks */
int pw_admission_init(void);

/* A request that was held has ended. */
void pw_admission_ended(void);

/* A REGISTER has come. */
void pw_admission_register(void);

/* 1: the host has too much to do for one more request of those that wake phones, and has answered it 503.
 * ORDER: pw_script_is_late() has found that the caller does not send it again. */
int pw_refused(sip_msg_t *msg);

/* A number that no other request of this Kamailio has. */
uint64_t pw_hold_handle(void);

/* The engine is asked about a request for this user: +1 before its contacts are looked for, -1 once it is held, or known
 * not to be. */
void pw_hold_asks(const str *aor, int change);

/* A request for this user, or for one of the same hash, may be held in a moment, as slow as its process may be. Who looks
 * for it asks this first. */
int pw_hold_is_asked(const str *aor);

/* Waits a moment for requests that the engine is being asked about. A contact that the registrar has taken since they
 * looked is then told of after them, and they hear of it. */
void pw_hold_await_asked(const str *aor);

/* Where in the table the requests for this user are. */
unsigned int pw_hold_slot(const str *aor);

/* Verbs find it from now on. `is_held`: it is held although no leg is out. */
void pw_hold_link(pw_hold_t *hold, int is_held);

/* The held request with this handle, or NULL. Its transaction is referenced and the
 * current one; *t must be given back with pw.tm.unref_cell(). */
pw_hold_t *pw_hold_find(tm_cell_t **t, str *aor, uint64_t handle);

/* Which of what is held. */
enum pw_holds {
	PW_HOLDS_ALL,
	PW_HOLDS_WAITING,     /* for phones that sleep, or for answers to a CANCEL */
	PW_HOLDS_OVER_STREAMS /* stream_ms is set */
};

/* Visits what is held, oldest first: for the AoR in this table, or, when both are NULL, for everybody. The transaction is
 * referenced and the current one meanwhile; the one before is again after that. Returns how many there were. */
typedef void (*pw_hold_fn)(tm_cell_t *t, pw_hold_t *hold, void *context);
int pw_holds_each(str *table, str *aor, enum pw_holds which, pw_hold_fn visit, void *context);

/* 1 the first time: it has its final answer. */
int pw_hold_unlink(pw_hold_t *hold);

/* The request is held from now on, or no longer, for who counts them. */
void pw_hold_counts(pw_hold_t *hold, int held);

/* Lets the transaction live as long from now as it was given when its script ended: its phones, or whom
 * failure_route chooses, begin to ring now. */
void pw_hold_prolong(tm_cell_t *t, const pw_hold_t *hold);

/* tm gives it back with its transaction: a callback of tm that has this for its end is one of ours. */
void pw_hold_free(void *hold);

/* The request that is held in this transaction by this handle, or NULL; 0: the last one. */
pw_hold_t *pw_hold_in(tm_cell_t *t, uint64_t handle);

/* What is held in this transaction, one after the other; the first after NULL. */
pw_hold_t *pw_hold_next(tm_cell_t *t, const pw_hold_t *hold);

/* pushwake_opened.c: what the scripts of this process have held, and are not done with. */

/* A script rarely looks more than one user up. */
#define PW_MOST_OPENED 8

/* Known by name and not by place: a script that ends in a way of its own leaves its requests behind here. */
typedef struct pw_opened {
	uint64_t handle;
	unsigned int tindex;
	unsigned int tlabel;
	int in_failure; /* by a failure_route, which may run while a request_route does */
} pw_opened_t;

int pw_opened_count(void);

/* One of them, the oldest first; NULL for a number that none has. */
const pw_opened_t *pw_opened_at(int i);

/* There must be room. */
void pw_opened_add(const pw_opened_t *one);
pw_opened_t pw_opened_take(int i);
int pw_opened_is_of(const pw_opened_t *one, const tm_cell_t *t);
int pw_opened_has(const pw_hold_t *hold);

/* Whether one of them is of the transaction that is the current one. */
int pw_opened_has_current(void);

/* pushwake_quiet.c */

/* Whether tm has answered the script's request, or its caller has hung up: a retransmission, or something before was slow. */
int pw_script_is_late(sip_msg_t *msg);

/* It goes on although the request that it has just held has nowhere to go: until its end nothing is relayed, and no reply
 * sent. -1: it has held none. */
int pw_quiet_begin(sip_msg_t *msg);

/* Until pw_quiet_end() what the script relays of this request is not sent, nor what it replies. */
void pw_quiet(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *msg);

/* Under the reply lock. */
void pw_quiet_end(tm_cell_t *t, pw_hold_t *hold);

/* The script that goes on has found somebody else for its request: what it relays goes out again. */
void pw_quiet_over(sip_msg_t *msg);

/* pushwake_process.c */

/* From now on this process executes nothing that runs a failure_route or asks DNS. No process waits for one that does, but
 * for those that are there for that. */
void pw_execute_briefly(void);
void pw_execute_at_length(void);
int pw_executes_briefly(void);
int pw_executes_at_length(void);

/* The process for what may take long does what pw_watch_look_after() and pw_stream_look_after() do. */
void pw_look_elsewhere(pw_hold_t *hold);

#endif /* PUSHWAKE_HELD_H */
