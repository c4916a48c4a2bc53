/* SPDX-License-Identifier: MIT
 *
 * A script that is suspended between pushwake_lookup() and t_relay(), to ask a database or a web service. Its transaction
 * is older than the lookup, so what tm gives back to it has the user's own Request-URI, and t_relay() would lead back here.
 * It gets the contacts that the lookup has found; verbs wait until it ends.
 */
#include "core/script_cb.h"
#include "pushwake_watch.h"

int pw_suspended(const tm_cell_t *t, pw_hold_t *hold)
{
	hold->continues = hold->continues || ((t->flags & T_ASYNC_SUSPENDED) != 0 && hold->named_count > 0);
	return hold->continues;
}

/* Not who has registered from elsewhere meanwhile: a verb waits that rings the phone there. */
static void append_named(sip_msg_t *msg, const pw_hold_t *hold, pw_contacts_t *contacts)
{
	pw_contact_t *contact;
	int i;

	for(i = 0; i < hold->named_count; i++) {
		contact = pw_contact_find(contacts, &hold->named[i].ruid);
		if(contact != NULL && pw_place_of(contact) == hold->named[i].place && pw_contact_append(msg, contact, NULL) < 0) {
			return;
		}
	}
}

/* usrloc is asked again: nothing else has all that a branch needs. */
static void append_found(sip_msg_t *msg, pw_hold_t *hold)
{
	pw_contacts_t contacts;

	if(pw_contacts_get(&contacts, &hold->table, &hold->aor) == 0) {
		append_named(msg, hold, &contacts);
		pw_contacts_free(&contacts);
	}
}

static tm_cell_t *continued(void)
{
	tm_cell_t *t = pw.tm.t_gett();

	return t != NULL && t != T_UNDEFINED && (t->flags & T_ASYNC_CONTINUE) ? t : NULL;
}

/* ORDER: the script may go on before the one that was suspended has come to its end, in another process. */
static int take_over(tm_cell_t *t, pw_hold_t *hold)
{
	pw.reply_lock(t);
	hold->continues = hold->busy && hold->named_count > 0;
	pw.reply_unlock(t);
	return hold->continues;
}

static int on_begin(sip_msg_t *msg, unsigned int flags, void *param)
{
	tm_cell_t *t = continued();
	unsigned int first = nr_branches;
	pw_hold_t *hold = t != NULL ? pw_hold_next(t, NULL) : NULL, *last = NULL;
	branch_t *b;

	for(; hold != NULL; hold = pw_hold_next(t, hold)) {
		if(take_over(t, hold)) {
			append_found(msg, hold);
			last = hold;
		}
	}
	b = nr_branches > first ? get_sip_branch((int)first) : NULL;
	if(b != NULL && pw_branch_to_ruri(msg, b) == 0) {
		drop_sip_branch((int)first);
	} else if(last != NULL) {
		pw_quiet(t, last, msg); /* all have left: its Request-URI leads back here */
	}
	return 1;
}

static void end(tm_cell_t *t, pw_hold_t *hold)
{
	int must_yield = 0;

	pw.reply_lock(t);
	if(hold->continues) {
		hold->continues = 0;
		pw_quiet_end(t, hold);
		must_yield = pw_watch_close(t, hold);
		pw_join_late(t, hold);
	}
	pw.reply_unlock(t);
	if(must_yield) {
		pw_yield(t, hold);
	}
}

static int on_end(sip_msg_t *msg, unsigned int flags, void *param)
{
	tm_cell_t *t = continued();
	pw_hold_t *hold = t != NULL && !(t->flags & T_ASYNC_SUSPENDED) ? pw_hold_next(t, NULL) : NULL;

	for(; hold != NULL; hold = pw_hold_next(t, hold)) {
		end(t, hold);
	}
	return 1;
}

int pw_suspended_init(void)
{
	return register_script_cb(on_begin, PRE_SCRIPT_CB | FAILURE_CB, NULL) == 0
				   && register_script_cb(on_end, POST_SCRIPT_CB | FAILURE_CB, NULL) == 0
				   ? 0
				   : -1;
}
