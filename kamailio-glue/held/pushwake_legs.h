/* SPDX-License-Identifier: MIT
 *
 * The branches of one held request, and how its wait ends.
 */
#ifndef PUSHWAKE_LEGS_H
#define PUSHWAKE_LEGS_H

#include "pushwake_held.h"

/* pushwake_leg.c */
int pw_leg_init(void);

/* Legs are added while the script runs for this message; NULL: no longer. */
void pw_leg_in_hand(sip_msg_t *msg);

/* Another process has the reply lock, and may run a route of the script under it. */
int pw_is_locked(tm_cell_t *t);

/* The rest of it under the reply lock. */

/* tm takes no more branches. */
int pw_leg_is_last(const tm_cell_t *t);

/* A branch has a final answer that came over the network. */
int pw_leg_is_answered(const tm_cell_t *t, int branch);

/* Whether legs may still be added. */
int pw_leg_allowed(const tm_cell_t *t, const pw_hold_t *hold);

/* The leg of a branch, 0 for one that is none of ours. */
int pw_leg_of(tm_cell_t *t, pw_hold_t *hold, int branch);

/* Whether a branch was sent to where this contact is now: usrloc keeps the ruid of one whose phone registers another address,
 * and behind NAT the URI stays as well. `flow`: where it was sent. */
int pw_leg_goes_to(tm_cell_t *t, int branch, const pw_contact_t *contact, char flow[PW_FLOW_SIZE]);

/* Sends the request to a contact as `leg`; the branch of the leg that it replaces is
 * closed. 0: done; 1: not sent, another has taken the place of this leg; 2: not sent, another leg is out to this very
 * place; -1: it could not be sent. */
int pw_leg_add(tm_cell_t *t, pw_hold_t *hold, pw_contact_t *contact, int leg, int replaces);

/* The route that branches of this request run when they come later: its own, or the
 * one that is there for all. With KEMI it is a number of a function. */
void pw_leg_keep_route(tm_cell_t *t);

/* A branch to a contact. More than 0: it is out; `keeps_uri`: with the Request-URI of the request. */
int pw_leg_append(tm_cell_t *t, pw_contact_t *contact, int keeps_uri);

/* Ends a branch without that its end counts. */
void pw_leg_close(tm_cell_t *t, pw_hold_t *hold, int branch);

/* The same for a leg. Processes execute what each was told, so it may come before the leg itself. */
void pw_leg_end(tm_cell_t *t, pw_hold_t *hold, int leg);

/* The same where nothing can be sent to the phone any more. */
void pw_leg_drop(tm_cell_t *t, pw_hold_t *hold, int branch);

/* Sends a leg's datagram once more, if nothing came back yet. */
void pw_leg_resend(tm_cell_t *t, pw_hold_t *hold, int leg);

/* Whether a leg, or a branch of the script's, may still be answered. */
int pw_leg_pending(const tm_cell_t *t, const pw_hold_t *hold);

/* Whether the script has relayed to this contact that the engine gave a leg. */
int pw_leg_relayed(tm_cell_t *t, pw_hold_t *hold, int named);

/* Contacts that the engine gave a leg are left to the script's failure_route (serial forking). */
int pw_leg_reserved(tm_cell_t *t, pw_hold_t *hold);

/* Tells the engine what became of a leg; of a branch of the script's it tells nothing. */
void pw_leg_report(pw_hold_t *hold, int leg, int status, int from_phone);

/* The same of one that failed before its phone has heard of it. */
void pw_leg_failed(tm_cell_t *t, pw_hold_t *hold, int branch, int status);

/* The blind branch keeps the request open, or no longer. */
void pw_blind_open(tm_cell_t *t, pw_hold_t *hold);
void pw_blind_close(tm_cell_t *t, pw_hold_t *hold);

/* pushwake_stream.c: legs whose connection ends. */
int pw_stream_init(void);

/* Under the reply lock: legs may have gone out over connections. */
void pw_stream_watch(tm_cell_t *t, pw_hold_t *hold);

/* In the supervisor: fails the legs whose connection is gone. 1: look soon again. */
int pw_stream_scan(void);

/* Where phones that ring have come back over another connection, what they are still sent goes there. `except`: not the
 * one of this branch. Under the reply lock. */
void pw_stream_follow(tm_cell_t *t, pw_hold_t *hold, int except);

/* Those of one request; 1: look soon again. */
int pw_stream_look_after(tm_cell_t *t, pw_hold_t *hold);

/* pushwake_cancel.c */

/* The caller's CANCEL is here, NULL where nobody has it. */
void pw_cancelled(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *cancel);

/* A phone says 6xx. */
void pw_declined(tm_cell_t *t, pw_hold_t *hold);

/* The CANCEL came while the script was adding branches, which tm does without the lock: whoever tm has missed is ended here. Under
 * the reply lock. */
void pw_cancel_missed(tm_cell_t *t, pw_hold_t *hold);

/* tm sends the 2xx before it cancels the others. It forgets a first 180 that comes in between, and waits for it for ever
 * then. A branch that is marked here gets its CANCEL in answer to its first word; whoever hears that one writes down that it
 * has come. Under the reply lock. */
void pw_cancel_with_first_answer(tm_cell_t *t, int answered);

/* Brings the CANCEL to phones that have moved while they rang, and ends legs whose phones do not answer it. */
void pw_cancel_look_after(tm_cell_t *t, pw_hold_t *hold);

/* pushwake_end.c */

/* A leg has ended with something that can be sent on. Under the reply lock. */
int pw_has_answer(const tm_cell_t *t, const pw_hold_t *hold);

/* Number of failure_route[PUSHWAKE], or of the KEMI function for it; 0: there is none. */
int pw_failure_route(void);

/* Nobody is waited for now: what legs answered is sent, or `status`. */
void pw_give_up(tm_cell_t *t, pw_hold_t *hold, int status);

/* All legs have timed out, and the script has contacts left: its failure_route runs. */
void pw_yield(tm_cell_t *t, pw_hold_t *hold);

/* For tm's callback: the blind branch timed out, because no engine said anything. */
void pw_unanswered(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *req, int code);

/* Sends the caller a provisional answer with a To tag. */
void pw_tell(tm_cell_t *t, pw_hold_t *hold, int status);

/* pushwake_keep_waiting(): phones may join what the script's failure_route has sent elsewhere. */
int ki_pushwake_keep_waiting(sip_msg_t *msg, int seconds);

#endif /* PUSHWAKE_LEGS_H */
