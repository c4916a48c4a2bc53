/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Waiting legs: Asterisk dials a phone that sleeps as it dials any other.
 *
 * An INVITE to a user whose phones may sleep goes to a transport of this module's own, where the library's
 * pushwake_legs answers it. Its 302 says where the call goes on, and the INVITE moves there inside its channel. When
 * that phone does not take it the INVITE comes back. So channels, queues, pickup and transfers are Asterisk's own.
 *
 * The library is used by the supervisor's thread alone; PJSIP's threads hand over what they see (pushwake__legs_tell).
 */
#ifndef PUSHWAKE_LEGS_H
#define PUSHWAKE_LEGS_H

#include <pjsip.h>
#include <pjsip_ua.h>

#include "pushwake_host.h"

struct ast_sip_session;

/*! A session whose INVITE waits, or is at a phone. */
struct pushwake__waiter {
	/*! By which the library names it; 0 until it has asked whose it is. */
	uint64_t handle;
	struct ast_sip_session *session;
	/*! The leg that the INVITE is at, 0: it waits. */
	int leg;
	/*! The highest provisional answer of that leg. */
	int heard;
	/*! It is over, or has been told so. */
	int has_ended;
	/*! SIP Call-ID of the session. */
	char *call_id;
	char *aor;
	/*! Who calls, for the push. */
	struct pushwake__caller *caller;
	/*! Call-ID that pushes have. */
	char *push_id;
	/*! Its caller has hung up before the INVITE went out. */
	int is_late;
	/*! Seconds to wait, 0: the setting wake_timeout. */
	int seconds;
	/*! Which phones were dialled, enum pushwake_scope; for PUSHWAKE_SCOPE_CONTACTS the contact. */
	int scope;
	char *dialled;
	/*! What it was waiting for, or its caller, is at another place: a phone that is left hears that it was answered there. */
	int is_elsewhere;
	/*! What its INVITE says beside SIP's own headers. */
	char *headers;
	/*! Of a phone that rings beside this one: the waiter whose INVITE is there. Then `leg` stays, and `chan` is its channel. */
	struct pushwake__waiter *beside;
	struct ast_channel *chan;
};

/* ---- pushwake_place.c: where requests wait */

/*! Whether a URI leads to the place where requests wait. */
int pushwake__place_is(const pjsip_sip_uri *uri);

/*! The URI of the place for an AoR, to be freed; NULL when memory is short. */
char *pushwake__place_uri(const char *aor);

/*! The same for a leg that rings all phones that wake, and those that are awake; whether a URI is such a one. */
char *pushwake__place_uri_for_all(const char *aor);
int pushwake__place_is_for_all(const pjsip_sip_uri *uri);

/*! Hands an answer of the library to PJSIP. In the supervisor's thread. */
void pushwake__place_answer(pushwake_str message);

int pushwake__place_start(void);
void pushwake__place_stop(void);

/* ---- pushwake_follow.c: an INVITE goes on inside its session. The dialog is locked. */

/*!
 * Sends the INVITE of a session to another place, with these Routes or none, and leaves the transaction that it had. Not
 * 0: the session has been answered or cancelled meanwhile, or the INVITE cannot be sent.
 */
int pushwake__follow(pjsip_inv_session *inv, const char *target, const char *route);

/*! Lets go of a transaction of which the session shall hear nothing: what it still brings is cancelled or ended. */
void pushwake__follow_leave(pjsip_transaction *tsx, pjsip_dialog *dlg);

/*! Sends an INVITE that is cancelled for this Reason as soon as its phone has it; takes the message over. */
void pushwake__follow_show(pjsip_tx_data *tdata, const char *reason);

/*! The INVITE of a session waits again. */
void pushwake__follow_back(struct pushwake__waiter *waiter, pjsip_inv_session *inv);

int pushwake__follow_start(void);
void pushwake__follow_stop(void);

/* ---- pushwake_tell.c: what the library hears, in order */

enum pushwake__told_kind {
	PUSHWAKE__TOLD_MESSAGE,
	PUSHWAKE__TOLD_PROGRESS,
	PUSHWAKE__TOLD_PROBED,
	PUSHWAKE__TOLD_END,
	PUSHWAKE__TOLD_REGISTERED,
};

struct pushwake__told {
	enum pushwake__told_kind kind;
	uint64_t handle;
	int leg;
	int status;
	int from_phone;
	/*! SIP message; Reason; AoR. */
	pushwake_str text;
	/*! Of a phone that has registered. */
	struct pushwake__contact contact;
};

/*! Copies what is to be told; it is told in the supervisor's thread. */
void pushwake__legs_tell(const struct pushwake__told *told);

/*! A leg has this answer; what does not come from a phone is of our own making. */
void pushwake__legs_tell_progress(uint64_t handle, int leg, int status, int from_phone);

/*! Readable when there is something to be told. */
int pushwake__legs_fd(void);

/*! Takes the next thing to be told, to be freed by pushwake__told_free(); NULL: there is none. */
struct pushwake__told *pushwake__legs_next_told(void);
void pushwake__told_free(struct pushwake__told *told);

int pushwake__tell_start(void);
void pushwake__tell_stop(void);

/* ---- pushwake_waiter.c */

/*! Whether requests can wait; and whether plain Dial() wakes phones, and not PushWake() alone. */
int pushwake__legs_are_on(void);
int pushwake__legs_wake_all(void);
void pushwake__legs_switch(int is_on, int is_for_all);

/*! References, or NULL. */
struct pushwake__waiter *pushwake__waiter_of(struct ast_sip_session *session);
struct pushwake__waiter *pushwake__waiter_named(const char *call_id);
struct pushwake__waiter *pushwake__waiter_find(uint64_t handle);

/*! The library has named it. */
void pushwake__waiter_name(struct pushwake__waiter *waiter, uint64_t handle);

/*! A new one, a reference. */
struct pushwake__waiter *pushwake__waiter_new(struct ast_sip_session *session, const char *aor);

/*! What is done for a leg in the serializer of a session. */
struct pushwake__leg_task {
	struct pushwake__waiter *waiter;
	int leg;
	char uri[];
};

/*! `run` gets such a task, and frees it. */
void pushwake__leg_task_push(struct ast_sip_session *session, struct pushwake__waiter *waiter, int leg, const char *uri,
	int (*run)(void *task));
void pushwake__leg_task_free(struct pushwake__leg_task *task);

/*! It is over: how, enum pushwake_call_end, unless that is known. */
void pushwake__waiter_end(struct pushwake__waiter *waiter, int how, int status, const char *reason);

int pushwake__waiter_start(void);
void pushwake__waiter_stop(void);

/* ---- pushwake_beside.c: phones that ring beside the one at which an INVITE is. In any thread. */

/*! Dials this contact of the same endpoint, as a leg of the waiter. */
void pushwake__beside_dial(struct pushwake__waiter *main, int leg, const char *uri);

/*! A reference, or NULL; leg 0: any. */
struct pushwake__waiter *pushwake__beside_find(uint64_t handle, int leg);

/*! Its phone hears no more of it. */
void pushwake__beside_end(struct pushwake__waiter *waiter);

/*! The same for this leg, or for all (0); how many there were. */
int pushwake__beside_end_named(uint64_t handle, int leg);

/*! Its phone has answered: it takes the call, unless that has an answer. */
void pushwake__beside_take(struct pushwake__waiter *waiter);

/*! Headers that PJSIP does not know, one to a line: what Dial() has had put on the INVITE (its option b). To be freed. */
char *pushwake__beside_read_headers(pjsip_msg *msg);

/*! The same on the INVITE to a phone beside, where that has none of the name. */
void pushwake__beside_add_headers(pjsip_tx_data *tdata, const char *lines);

int pushwake__beside_start(void);
void pushwake__beside_stop(void);

/* ---- pushwake_leg_end.c */

/*! Asterisk has hung the leg up. `said`: a Reason that it has for that (RFC 3326), or none. */
void pushwake__leg_hung_up(struct pushwake__waiter *waiter, struct ast_channel *chan, const char *said);

/*! Sees to it that this is known: a phone that says nothing keeps Asterisk from sending a CANCEL. */
void pushwake__leg_watch(struct ast_channel *chan, struct pushwake__waiter *waiter);

/* ---- pushwake_leg_session.c: what PJSIP says of sessions */

int pushwake__leg_session_start(void);
void pushwake__leg_session_stop(void);

/* ---- pushwake_probe.c */

/*! Asks a phone by OPTIONS. In any thread. */
void pushwake__probe(struct pushwake__waiter *waiter, int leg, const char *uri, const char *path);

/* ---- pushwake_forward.c */

/*! Sends a MESSAGE that has waited to a phone. In any thread. */
void pushwake__forward(const pushwake_leg_order *order);

/*! Whether this thread sends such a MESSAGE now. */
int pushwake__forwards(void);

/* ---- pushwake_plain_text.c: texts of a dialplan without PushWake(). In any thread. */

/*! A MESSAGE goes out of which PushWake() knows nothing. */
void pushwake__plain_text_sent(struct ast_sip_endpoint *endpoint, pjsip_tx_data *tdata);

/*! A MESSAGE has an answer. */
void pushwake__plain_text_answered(const pjsip_rx_data *rdata);

int pushwake__plain_text_start(void);
void pushwake__plain_text_stop(void);

/* ---- pushwake_companion.c: the contact of an AoR that has no other */

/*! A phone registers so many contacts: its AoR has room for them. */
void pushwake__companion_leave(const char *aor, int coming);

/*! The registrar is done with that REGISTER. */
void pushwake__companion_return(const char *aor);

/*! A phone of this AoR has a binding. */
void pushwake__companion_know(const char *aor);

/*! What push knows of an AoR may have changed, or of all (NULL). */
void pushwake__companion_check(const char *aor);

int pushwake__companion_start(void);
void pushwake__companion_stop(void);

/* ---- pushwake_verb.c */

/*! Executes a verb of the engine, in whatever thread it came to. */
void pushwake__verb_execute(const pushwake_verb *verb);

/* ---- pushwake_order.c: the library itself; all but start and stop in the supervisor's thread */

/*! Uses this supervisor's connection. */
void pushwake__legs_use(pushwake_settings *settings, pushwake_supervisor *supervisor);

/*! Tells it what has come, and what time it is. */
void pushwake__legs_process(void);

/*! Milliseconds until then; -1 for no limit. */
int pushwake__legs_timeout_ms(void);

/*! The library's part goes. */
void pushwake__legs_drop(void);

/* ---- pushwake_legs.c */

int pushwake__legs_start(void);
void pushwake__legs_stop(void);

#endif /* PUSHWAKE_LEGS_H */
