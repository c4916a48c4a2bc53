/* SPDX-License-Identifier: MIT
 *
 * A phone has registered: its contacts become branches of what is held for it.
 */
#include "core/timer.h"
#include "modules/tm/h_table.h"
#include "modules/tm/t_reply.h"
#include "modules/tm/timer.h"
#include "pushwake_hold.h"

#define PW_MAX_HELD_PER_USER 32

static int append(tm_cell_t *t, pw_contacts_t *contacts)
{
	str any = STR_NULL;
	int i, n = 0;

	clear_branches();
	for(i = 0; i < contacts->n; i++) {
		if(pw_contact_append(t->uas.request, &contacts->v[i]) == 0) {
			n++;
		}
	}
	if(n > 0) {
		n = pw.tm.t_append_branches(&any);
	}
	clear_branches();
	return n;
}

static int is_new(tm_cell_t *t, pw_contacts_t *contacts)
{
	int i, b, known = 0;

	for(i = 0; i < contacts->n; i++) {
		for(b = 0; b < t->nr_of_outgoings; b++) {
			if(STR_EQ(t->uac[b].ruid, contacts->v[i].ruid)
					&& STR_EQ(t->uac[b].uri, contacts->v[i].uri)) {
				known++;
				break;
			}
		}
	}
	return known < contacts->n;
}

/* ORDER: the reply lock covers the check and the new branch, so that a final
 * answer cannot come in between; the timer is stopped without it, since its
 * handler takes the same lock. */
static void join_one(pw_hold_ref_t *ref, str *table, str *aor, pw_contacts_t *contacts, unsigned int device)
{
	tm_cell_t *t = NULL;
	int added = 0, last = 0, blind = 0;

	if(pw.tm.t_lookup_ident(&t, ref->tindex, ref->tlabel) < 0 || t == NULL) {
		return;
	}
	pw.reply_lock(t);
	if(!(t->flags & T_CANCELED) && t->uas.status < 200 && is_new(t, contacts)) {
		added = append(t, contacts);
		if(added > 0 && device != 0
				&& pw_hold_arrived(ref, table, aor, device, &blind)) {
			/* nobody is left to wait for: what they answer counts at once */
			pw_hold_close(t, blind);
			last = 1;
		}
	}
	pw.reply_unlock(t);
	if(last) {
		stop_rb_timers(&t->uac[blind].request);
	}
	if(added > 0) {
		update_stat(pw_count.joined, added);
		LM_DBG("%.*s: %d branches joined [%u:%u]\n", aor->len, aor->s, added, ref->tindex, ref->tlabel);
	}
	pw.tm.unref_cell(t);
}

void pw_join(str *table, str *aor, pw_contacts_t *contacts, unsigned int device)
{
	pw_hold_ref_t refs[PW_MAX_HELD_PER_USER];
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	int ruri_is_new = ruri_get_forking_state();
	int i, n;

	if(contacts->n == 0) {
		return;
	}
	n = pw_holds_find(refs, PW_MAX_HELD_PER_USER, table, aor);
	for(i = 0; i < n; i++) {
		/* t_lookup_ident() makes the one it finds the current transaction */
		join_one(&refs[i], table, aor, contacts, device);
		pw.tm.t_sett(before, branch);
	}
	if(ruri_is_new) {
		ruri_mark_new(); /* clear_branches() says that it is used up */
	}
}
