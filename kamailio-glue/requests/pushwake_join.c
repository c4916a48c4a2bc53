/* SPDX-License-Identifier: MIT
 *
 * Without an engine a REGISTER still releases what is held for its user: its contacts
 * become legs. A device's new leg takes the place of its old one, except in a call.
 */
#include "pushwake_watch.h"

/* The leg of this device that may still be answered; 0: none. -1: one is out to this very contact, or was answered there. */
static int leg_of_device(tm_cell_t *t, pw_hold_t *hold, const pw_contact_t *contact)
{
	unsigned int place = pw_place_of(contact);
	char flow[PW_FLOW_SIZE];
	int b, leg = 0;

	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if((t->uac[b].last_received == 482 && hold->places[b] == place)
				|| (pw_leg_is_answered(t, b) && STR_EQ(t->uac[b].ruid, contact->ruid))) {
			return -1;
		}
		if(b == hold->blind || (hold->closed & (1u << b)) || t->uac[b].last_received >= 200) {
			continue;
		}
		if(STR_EQ(t->uac[b].ruid, contact->ruid) && pw_leg_goes_to(t, b, contact, flow)) {
			return -1;
		}
		if(STR_EQ(t->uac[b].ruid, contact->ruid)
				|| (contact->instance.len > 0 && STR_EQ(t->uac[b].instance, contact->instance))) {
			leg = pw_leg_of(t, hold, b);
		}
	}
	return leg;
}

/* Which leg the device's new one takes the place of. A call goes on at both: an app that has it already refuses a second
 * copy (RFC 3261, 8.2.2.2), and one that has started anew is not where it was. What is not heard of ends by tm's timer, or
 * when the other is answered. */
static int replaced_by(tm_cell_t *t, int old)
{
	return is_invite(t) ? 0 : old;
}

static void add_legs(tm_cell_t *t, pw_hold_t *hold, pw_contacts_t *contacts)
{
	int i, old, before;

	for(i = 0; i < contacts->n && pw_leg_allowed(t, hold) && (hold->joins_until == 0 || pw_now_ms() < hold->joins_until);
			i++) {
		old = leg_of_device(t, hold, &contacts->v[i]);
		before = t->nr_of_outgoings;
		if(old >= 0 && pw_contact_takes(&contacts->v[i], t->uas.request->REQ_METHOD)
				&& pw_leg_add(t, hold, &contacts->v[i], hold->last_leg + 1, replaced_by(t, old)) == 0) {
			update_stat(pw_count.joined, 1);
			hold->joined |= t->nr_of_outgoings > before ? 1u << before : 0;
			pw_stream_watch(t, hold);
		}
	}
}

static void join(tm_cell_t *t, pw_hold_t *hold, void *context)
{
	pw_contacts_t *contacts = context;
	int i;

	for(i = 0; i < contacts->n; i++) {
		pw_contact_resolve(&contacts->v[i]);
	}
	pw.reply_lock(t);
	if(hold->busy) {
		hold->joins_late = 1;
	} else {
		add_legs(t, hold, contacts);
	}
	pw.reply_unlock(t);
}

void pw_join_late(tm_cell_t *t, pw_hold_t *hold)
{
	time_t began = time(NULL) - (time_t)((pw_now_ms() - hold->began_ms) / 1000) - 1;
	pw_contacts_t contacts;
	int i, n = 0;

	if(!hold->joins_late || pw_contacts_get(&contacts, &hold->table, &hold->aor) < 0) {
		return;
	}
	hold->joins_late = 0;
	for(i = 0; i < contacts.n; i++) {
		if(contacts.v[i].modified >= began) {
			contacts.v[n++] = contacts.v[i];
		}
	}
	contacts.n = n;
	add_legs(t, hold, &contacts);
	pw_contacts_free(&contacts);
}

void pw_join(str *table, str *aor, pw_contacts_t *contacts)
{
	pw_ruri_state_t ruri = pw_ruri_keep();

	if(contacts->n == 0) {
		return;
	}
	pw_holds_each(table, aor, PW_HOLDS_ALL, join, contacts);
	pw_ruri_put_back(&ruri);
}
