/* SPDX-License-Identifier: MIT
 *
 * What the engine says is done here: in the process that asked it, or in the
 * supervisor's.
 */
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "pushwake_requests.h"

/* How late a leg may be that is on its way: those before it may have asked DNS. */
#define PW_RING_MS 30000
/* For how long a worker waits for a lock. */
#define PW_LOCK_TRIES 20
#define PW_LOCK_PAUSE_US 250

/* A request that is about to end is tried again until it has: then its phone is told. */
static enum pw_executed ring(tm_cell_t *t, pw_hold_t *hold, const pushwake_verb *verb, pw_contacts_t *contacts)
{
	str key = pw_out(verb->contact);
	pw_contact_t *contact = pw_contact_find(contacts, &key);
	pw_contacts_t found = {.n = 0};
	pw_contact_t elsewhere;
	int allowed, added = -1;

	if(contact == NULL && pw_contacts_get(&found, &hold->table, &hold->aor) == 0) {
		contact = pw_contact_find(&found, &key);
	}
	if(contact == NULL) {
		contact = pw_contact_elsewhere(&elsewhere, verb);
	}
	if(pw_executes_briefly() && contact != NULL && !pw_contact_is_address(contact)) {
		pw_contacts_free(&found);
		return PW_ELSEWHERE;
	}
	if(contact != NULL && pw_contact_resolve(contact) < 0) {
		contact = NULL;
	}
	pw.reply_lock(t);
	allowed = pw_leg_allowed(t, hold);
	if(allowed && contact != NULL && pw_contact_takes(contact, t->uas.request->REQ_METHOD)) {
		added = pw_leg_add(t, hold, contact, verb->leg, verb->replaced_leg);
	}
	if(added == 0) {
		pw_stream_watch(t, hold);
	}
	if(added < 0 && allowed) {
		hold->unsent_leg = verb->leg;
	}
	pw.reply_unlock(t);
	if(added == 0) {
		update_stat(pw_count.joined, 1);
	} else if(added == 2) {
		pushwake_progressed(pw_client, hold->handle, verb->leg, 482, 1); /* what the phone would say to a second copy */
	} else if(added < 0 && allowed) {
		pushwake_progressed(pw_client, hold->handle, verb->leg, 503, 0);
	}
	pw_contacts_free(&found);
	return allowed ? PW_DONE : PW_LATER;
}

/* Others of the same request may be on their way through another process: a leg that it speaks of, or what opens it again. */
static enum pw_executed give_up(tm_cell_t *t, pw_hold_t *hold, const pushwake_verb *verb, int64_t since_ms)
{
	if((verb->leg > 0 && verb->leg == hold->unsent_leg) || (verb->sequence > 0 && verb->sequence < hold->turn)
			|| since_ms < hold->resumed_ms) {
		return PW_DONE;
	}
	if(verb->leg > hold->last_leg && pw_now_ms() - since_ms < PW_RING_MS) {
		return PW_BLOCKED;
	}
	if(pw_executes_briefly()) {
		return PW_ELSEWHERE;
	}
	pw_give_up(t, hold, verb->status);
	return PW_DONE;
}

/* tm has waited for it if the others have ended meanwhile, and asks nobody when it is gone. The process that has time for that
 * finds the leg ended, and the rest as it is then. */
static enum pw_executed close_leg(tm_cell_t *t, pw_hold_t *hold, const pushwake_verb *verb)
{
	int was_last = 0;

	pw.reply_lock(t);
	if(pw_leg_allowed(t, hold)) {
		pw_leg_end(t, hold, verb->leg);
		was_last = !hold->held && !pw_leg_pending(t, hold) && pw_has_answer(t, hold);
	}
	pw.reply_unlock(t);
	if(was_last && pw_executes_briefly()) {
		return PW_ELSEWHERE;
	}
	if(was_last) {
		pw_give_up(t, hold, hold->failure_status);
	}
	return PW_DONE;
}

static enum pw_executed execute(
		tm_cell_t *t, pw_hold_t *hold, const pushwake_verb *verb, pw_contacts_t *contacts, int64_t since_ms)
{
	switch(verb->kind) {
		case PUSHWAKE_VERB_RING:
			return ring(t, hold, verb, contacts);
		case PUSHWAKE_VERB_RESEND:
			pw.reply_lock(t);
			pw_leg_resend(t, hold, verb->leg);
			pw.reply_unlock(t);
			break;
		case PUSHWAKE_VERB_CLOSE:
			return close_leg(t, hold, verb);
		case PUSHWAKE_VERB_HOLD:
			pw.reply_lock(t);
			if(pw_leg_allowed(t, hold)) {
				hold->turn = MAX(hold->turn, verb->sequence);
				pw_blind_open(t, hold);
			}
			pw.reply_unlock(t);
			break;
		case PUSHWAKE_VERB_GIVE_UP:
			return give_up(t, hold, verb, since_ms);
		case PUSHWAKE_VERB_PUSHED:
			if(verb->leg >= 0 && verb->leg < 64) {
				hold->pushed |= (uint64_t)1 << verb->leg;
			}
			break;
		case PUSHWAKE_VERB_PROVISIONAL:
			pw_tell(t, hold, verb->status);
			break;
		case PW_NOTE_LOOK:
			hold->looked_ms = 0;
			pw_watch_look_after(t, hold);
			pw_stream_look_after(t, hold);
			break;
		default:
			LM_DBG("verb %d is of a later release\n", verb->kind);
	}
	return PW_DONE;
}

/* The script that holds it has not ended, or another is suspended or goes on: tm throws away what phones answer while a
 * transaction is suspended, and adds branches without the lock when it goes on. */
static int is_at_work(tm_cell_t *t, pw_hold_t *hold)
{
	int64_t now = pw_now_ms();

	if(hold->busy && now - hold->began_ms < PW_BUSY_MS) {
		return 1;
	}
	if(!(t->flags & (T_ASYNC_SUSPENDED | T_ASYNC_CONTINUE))) {
		hold->suspended_ms = 0;
		return 0;
	}
	if(hold->suspended_ms == 0) {
		hold->suspended_ms = now;
	}
	return now - hold->suspended_ms < PW_BUSY_MS;
}

/* A lock that is taken for an answer is free again in a moment; one under which a route runs may take seconds, and a worker
 * has other requests. The supervisor comes back by itself. */
static int stays_locked(tm_cell_t *t)
{
	int i;

	for(i = 0; !pw_executes_briefly() && i < PW_LOCK_TRIES && pw_is_locked(t); i++) {
		usleep(PW_LOCK_PAUSE_US);
	}
	return pw_is_locked(t);
}

enum pw_executed pw_execute(const pushwake_verb *verb, pw_contacts_t *contacts, int64_t since_ms)
{
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	pw_ruri_state_t ruri = pw_ruri_keep();
	str aor = pw_out(verb->aor);
	pw_hold_t *hold;
	tm_cell_t *t;
	enum pw_executed done = PW_DONE;
	int is_asked;

	if(verb->kind == PUSHWAKE_VERB_RING_AND_CANCEL) {
		if(pw_executes_briefly()) {
			return PW_ELSEWHERE;
		}
		pw_show_end(verb);
		return PW_DONE;
	}
	/* ORDER: before it is looked for: it is held before its worker says that it has */
	is_asked = pw_hold_is_asked(&aor);
	hold = pw_hold_find(&t, &aor, verb->handle);
	if(hold == NULL) {
		pw.tm.t_sett(before, branch);
		/* its worker has asked the engine and not held it yet, or it is over */
		return is_asked ? PW_LATER : verb->kind == PUSHWAKE_VERB_RING ? PW_GONE : PW_DONE;
	}
	if(is_at_work(t, hold)) {
		done = PW_LATER;
	} else if(!pw_executes_at_length() && stays_locked(t)) {
		done = PW_BLOCKED;
	} else {
		done = execute(t, hold, verb, contacts, since_ms);
	}
	pw.tm.unref_cell(t);
	pw.tm.t_sett(before, branch);
	pw_ruri_put_back(&ruri);
	return done;
}

void pw_execute_all(const pushwake_register_result *result, pw_contacts_t *contacts)
{
	const pushwake_verb *verb = result->verbs;
	size_t i;

	for(i = 0; i < result->verb_count; i++, verb = PUSHWAKE_NEXT_VERB(verb)) {
		if(pw_execute(verb, contacts, pw_now_ms()) != PW_DONE) {
			pw_verb_later(verb);
		}
	}
}
