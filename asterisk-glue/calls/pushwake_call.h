/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A call for which phones are woken: what it is told, and the legs it has.
 *
 * The engine decides (its call machine); what is kept here is what it takes to execute
 * its verbs and to tell it what became of each leg. One call is for one AoR. A leg is
 * the call as it goes to one contact.
 *
 * A file uses those that stand above it here, and none below.
 *
 * ORDER: a channel's lock comes before a call's, and no call stays locked while the
 * engine is told something or a channel is touched.
 */
#ifndef PUSHWAKE_CALL_H
#define PUSHWAKE_CALL_H

#include <stdint.h>

#include "asterisk/time.h"
#include "asterisk/vector.h"

#include "pushwake_host.h"

enum pushwake__leg_state {
	/*! The next run of PushWake() hands it to the dialplan. */
	PUSHWAKE__LEG_QUEUED,
	/*! It is in a dial string. */
	PUSHWAKE__LEG_GIVEN,
	/*! Its INVITE is out. */
	PUSHWAKE__LEG_SENT,
	/*! Nothing that happens to it counts now. */
	PUSHWAKE__LEG_OVER,
	/*! The dialplan reaches that phone in a way of its own. */
	PUSHWAKE__LEG_ELSEWHERE,
};

struct pushwake__leg {
	int number;
	/*! By which it went until the engine had another for it; 0: it has had one. */
	int first_number;
	enum pushwake__leg_state state;
	/*! The highest provisional answer so far, or its phone's final one. */
	int heard;
	/*! The leg that it takes the place of once it is handed over; 0: none. */
	int replaces;
	struct pushwake__contact contact;
	/*! Unique id of the channel that carries it. */
	char *channel;
	/*! Why no push brings the phone, where that is why it is rung. */
	char *reason;
};

struct pushwake__call {
	/*! By which the engine names it. */
	uint64_t handle;
	/*! Readable when a run of PushWake() has to look; it stays so once the call is over. */
	int alert;
	/*! Channels that carry it. */
	int carriers;
	/*! Runs of PushWake() that wait for its phones. */
	int runs;
	/*! pushwake_abandoned.c looks at it soon. */
	unsigned int is_looked_at:1;
	/*! The engine sends verbs for it. */
	unsigned int watched:1;
	/*! Nobody is waited for now. */
	unsigned int given_up:1;
	/*! It is over. */
	unsigned int ended:1;
	/*! It has waited for phones that sleep. */
	unsigned int has_waited:1;
	/*! A new engine has not heard of it yet. */
	unsigned int resumes:1;
	/*! The engine is being asked about it; pushwake_question.c has the lock for that. */
	int is_asked_for;
	/*! How often a run of PushWake() has handed a phone to a Dial() within its Dial(). */
	int joins;
	int event;
	/*! The provisional answer that the caller is to hear, 0 for none. */
	int tell;
	/*! The best answer of its legs so far. */
	int answer;
	/*! The highest leg number in use. */
	int last_leg;
	/*! The last leg of the engine's that could not be sent. */
	int unsent_leg;
	/*! The number of the last PUSHWAKE_VERB_HOLD. */
	int turn;
	/*! Pushes that were taken, a bit for each device. */
	uint64_t pushed;
	struct timeval began;
	/*! When it is given up without a word from the engine; zero before the first wake. */
	struct timeval deadline;
	AST_VECTOR(, struct pushwake__leg) legs;
	char *ticket;
	size_t ticket_len;
	/*! Why it was given up, when not because time is over. */
	char *reason;
	/*! How it ended: enum pushwake_call_end, the status, the value of a Reason header. */
	int end_how;
	int end_status;
	char *end_reason;
	char *aor;
	char *call_id;
	/*! Unique id of the channel that began it. */
	char *origin;
	/*! That channel, as long as it carries the call; no reference, and it is not to be locked. */
	struct ast_channel *first;
};
AST_VECTOR(pushwake__calls, struct pushwake__call *);

/* ---- pushwake_call.c */

int pushwake__calls_start(void);
void pushwake__calls_stop(void);

/*! A new call, a reference, or NULL; takes `call_id` over. It is found once it is linked: by what a REGISTER and an answer know
 * of it until it ends, and by what the engine calls it until it is forgotten. */
struct pushwake__call *pushwake__call_create(const char *aor, int event, char *call_id, const char *origin);
void pushwake__call_link(struct pushwake__call *call);

/*! A name of the host's for the engine: no other request has it. */
uint64_t pushwake__next_handle(void);

/*! No channel carries it any more. */
void pushwake__call_forget(struct pushwake__call *call);

/*! Whether a call waits for phones of this AoR. */
int pushwake__calls_wait_for(const char *aor);

/*! A MESSAGE for the AoR, a reference; it is no longer found once it is finished. */
struct pushwake__call *pushwake__call_begin_message(struct ast_channel *chan, const char *aor);
void pushwake__call_finish_message(struct pushwake__call *call);

/*! The call with this handle, a reference; or NULL. */
struct pushwake__call *pushwake__call_find(uint64_t handle);

/*! Runs `visit` for each call, or for each of an AoR. */
void pushwake__calls_each(const char *aor, void (*visit)(struct pushwake__call *call, void *context), void *context);

/*! The channel that began calls has been connected: they are over for other phones. */
void pushwake__calls_answered(const char *origin);

/*! Lets runs of PushWake() look. */
void pushwake__call_alert(struct pushwake__call *call);

/*! Takes the alert back, unless it is there to stay. */
void pushwake__call_heed(struct pushwake__call *call);

/*! Tells the engine how the call ended, once: enum pushwake_call_end, the status, the value of a Reason header. */
void pushwake__call_end(struct pushwake__call *call, int how, int status, const char *reason);

/*! Tells the engine how a call has ended that it watches. */
void pushwake__call_tell_end(struct pushwake__call *call);

/* ---- pushwake_show_end.c */

/*! Sends the request and its CANCEL to a phone that shows a call which is over. Does not wait. */
void pushwake__show_end(const pushwake_verb *verb);

/*! Of a channel that only shows the end of a call: the Reason of its CANCEL, a copy to be freed; or NULL. */
char *pushwake__show_end_reason(struct ast_channel *chan);

/*! Its Call-ID as pushes name it, a copy to be freed; or NULL. */
char *pushwake__show_end_call_id(struct ast_channel *chan);

/*! The phone of such a channel has the INVITE. */
void pushwake__show_end_proceeding(struct ast_channel *chan);

/* ---- pushwake_node.c */

/*! A contact that registered at another node, as an endpoint of this one calls it. Not 0: no endpoint here has this AoR. */
int pushwake__node_contact(struct pushwake__contact *out, const char *aor, const pushwake_verb *verb);

/*!
 * The contact of this registrar that a request from another node is for: 1 and a copy of it; 0 when its phone has
 * left; -1 when the topmost Route says nothing of the kind.
 */
int pushwake__node_find(struct pushwake__contact *out, struct pjsip_rx_data *rdata);

int pushwake__node_start(void);
void pushwake__node_stop(void);

/* ---- pushwake_path.c: calls and texts to phones behind an edge proxy of their own */

int pushwake__path_start(void);
void pushwake__path_stop(void);

/* ---- pushwake_leg.c */

/*!
 * Phones of a call that join one after the other: each costs a Local channel and a Dial() within those before it, with
 * some six descriptors.
 */
#define PUSHWAKE__MAX_JOINS 64

/*! The number after the highest in use, given out when the leg is added. */
#define PUSHWAKE__LEG_NEXT -1

/*! Adds a leg; 0 when memory is short. The call is not locked. */
int pushwake__leg_add(struct pushwake__call *call, int number, const struct pushwake__contact *contact,
	enum pushwake__leg_state state);

/*!
 * The engine, which hears of the call only now, has this number for the leg to a contact. Whether there is one: it was given
 * out while no engine answered.
 */
int pushwake__leg_adopt(struct pushwake__call *call, int number, const char *uri);

/*! Adds a leg for the next run of PushWake(); `reason` as in pushwake_verb. */
void pushwake__leg_queue(struct pushwake__call *call, int number, const struct pushwake__contact *contact,
	int replaces, const char *reason);

/*! A leg of the engine's cannot be. */
void pushwake__leg_refuse(struct pushwake__call *call, int number);

/*! Hands what is queued to the dialplan: appended to the dial string. How many legs there were. */
int pushwake__legs_give(struct pushwake__call *call, struct ast_str **dial, int *has_reason);

/*! Legs that were handed over and not sent cannot be sent. */
void pushwake__legs_fail_unsent(struct pushwake__call *call);

/*! Legs that nobody has taken cannot be sent, and the engine hears of it although the call is over. */
void pushwake__legs_refuse_queued(struct pushwake__call *call);

/*! The same, of those too that a dialplan has taken and not sent. */
void pushwake__legs_refuse_unsent(struct pushwake__call *call);

/*! Whether a leg is out, or may go out without us. */
int pushwake__legs_live(struct pushwake__call *call);

/*! Whether one is dialled by a Dial() of this call's own. */
int pushwake__legs_dialled(struct pushwake__call *call);

/*! Whether one is still dialled: a channel that has been hung up counts no more, though its phone has not confirmed that. */
int pushwake__legs_ring(struct pushwake__call *call);

/*! Whether a Dial() has rung phones, and there are none that one may still ring. The call is locked. */
int pushwake__legs_were_rung(const struct pushwake__call *call);

/*! Whether a leg is there for the next run of PushWake(). The call is locked. */
int pushwake__legs_queued(const struct pushwake__call *call);

/*! Whether there has been a leg to this contact. */
int pushwake__legs_have(struct pushwake__call *call, const char *uri);

/*! The next leg with this URI, which this channel now sends: its number, or 0. `matches` compares URIs. */
int pushwake__leg_sent(struct pushwake__call *call, struct ast_channel *chan,
	int (*matches)(const char *uri, void *context), void *context);

/*! The Path that leads the leg through another node, to be freed; NULL when there is none. */
char *pushwake__leg_path(struct pushwake__call *call, int number);

/*! A phone has said something: 100 to 699. */
void pushwake__leg_responded(struct pushwake__call *call, int number, int status);

/*! The leg has ended without a word from the phone; 0: that was known. */
int pushwake__leg_failed(struct pushwake__call *call, int number, int status);

/*! Ends a leg in favour of another one: its end does not count. */
void pushwake__leg_close(struct pushwake__call *call, int number);

/*! The channel that sends this leg, a reference; or NULL. */
struct ast_channel *pushwake__leg_channel(struct pushwake__call *call, int number);

/* ---- pushwake_node_text.c */

int pushwake__node_text_start(void);
void pushwake__node_text_stop(void);

/* ---- pushwake_question.c */

int pushwake__questions_start(void);
void pushwake__questions_stop(void);

/*! The contacts are read for it, and the engine is asked. */
void pushwake__question_begin(struct pushwake__call *call);

/*! The engine has answered, or has not. */
void pushwake__question_end(struct pushwake__call *call);

/*! Waits until the engine knows all calls for this AoR that may have been begun without the contact that has just come. */
void pushwake__questions_await(const char *aor);

/* ---- pushwake_resume.c */

/*! Hands all calls to a new engine. */
void pushwake__calls_resume(void);

/*! Tries those again that the engine has not taken in time; whether some are left. */
int pushwake__calls_resume_on(void);

/* ---- pushwake_answer.c: the answer to a Dial() of another kind than PJSIP's */

int pushwake__answer_start(void);
void pushwake__answer_stop(void);

/* ---- pushwake_devstate.c */

int pushwake__devstate_start(void);
void pushwake__devstate_stop(void);

/*! An engine may answer for AoRs that it did not answer for: all of them, or one to see. */
void pushwake__devstates_ask_again(int is_probe);

/*! Whether there are such. */
int pushwake__devstates_unknown(void);

/*! Hints and queues ask anew about all AoRs: what they know is from before there was push, or from another engine. */
void pushwake__devstates_renew(void);

/*! \brief Becomes readable when a state is unknown anew; whoever waits for it reads it empty. */
int pushwake__devstates_fd(void);

/* ---- pushwake_carrier.c */

/*!
 * The call that this channel carries for the AoR, or a new one; a reference. `is_joining`: one that is over will do.
 * Otherwise one that is left with nothing to wait for and nothing to dial is ended, and another one begins.
 */
struct pushwake__call *pushwake__call_get(struct ast_channel *chan, const char *aor, int is_joining);

/*!
 * The channel asks for these users now. Calls that it began for others and that its Dial() has rung are over: it is through
 * with them, since it runs PushWake() and no Dial(). One that was not dialled yet may be meant for the same Dial().
 */
void pushwake__calls_leave(struct ast_channel *chan, const struct pushwake__calls *asked);

/*! All calls that this channel carries; with `is_own` those that it began. References. */
void pushwake__calls_of(struct pushwake__calls *calls, struct ast_channel *chan, int is_own);
void pushwake__calls_free(struct pushwake__calls *calls);

/*!
 * A leg of the call goes. The call is over if who is behind the channel that began it has hung up: a Dial() ends for that,
 * and takes the legs down before its own channel goes.
 */
void pushwake__call_follow(struct pushwake__call *call);

/* ---- pushwake_abandoned.c: calls whose dialplan has gone elsewhere */

int pushwake__abandoned_start(void);
void pushwake__abandoned_stop(void);

/*! A run of PushWake() begins or ends to wait. */
void pushwake__call_awaited(struct pushwake__call *call);
void pushwake__call_left(struct pushwake__call *call);

/*! Somebody has to take a leg, or has to hear that the wait is over: looks soon whether anybody is there. */
void pushwake__call_look(struct pushwake__call *call);

/*! A leg is over: when it was the last one its phone sleeps as the others do, and runs of PushWake() may have to end. */
void pushwake__call_lost_leg(struct pushwake__call *call);

/*! The caller goes elsewhere in the dialplan: what the channel began is over. */
void pushwake__calls_abandon(struct ast_channel *chan);

/* ---- pushwake_session.c: what PJSIP says of legs and callers */

int pushwake__session_start(void);
void pushwake__session_stop(void);

/* ---- pushwake_join.c */

/*! A REGISTER came while no engine answers: this contact is rung, unless it is already. */
void pushwake__calls_join(const char *aor, const struct pushwake__contact *contact);

/* ---- pushwake_verb.c */

/*! Executes a verb of the engine, in whatever thread it came to. */
void pushwake__verb_execute(const pushwake_verb *verb);

#endif /* PUSHWAKE_CALL_H */
