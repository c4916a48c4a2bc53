/* SPDX-License-Identifier: MIT
 *
 * A new engine learns what is still held here, and goes on where the old one ended.
 */
#include <string.h>

#include "core/mem/mem.h"
#include "pushwake_requests.h"

/* The leg that is out to this contact, or that its phone has answered. When it went to where the phone was before, the engine hears that: it knows the
 * new address for another one when the phone registers there, or has already. */
static void find_leg(pushwake_contact *asked, tm_cell_t *t, pw_hold_t *hold, pw_contact_t *contact)
{
	char flow[PW_FLOW_SIZE];
	int b;

	for(b = t->nr_of_outgoings - 1; b >= 0; b--) {
		if(b < PW_MAX_BRANCHES && !(hold->closed & (1u << b)) && t->uac[b].last_received < 200
				&& STR_EQ(t->uac[b].ruid, contact->ruid)) {
			asked->leg = pw_leg_of(t, hold, b);
			asked->leg_status = t->uac[b].last_received;
			if(!pw_leg_goes_to(t, b, contact, flow)) {
				memcpy(contact->flow, flow, sizeof(flow));
				asked->uri = pw_in(&t->uac[b].uri);
				asked->flow = pw_text(contact->flow);
			}
			return;
		}
	}
	for(b = 0; b < t->nr_of_outgoings && b < PW_MAX_BRANCHES; b++) {
		if(!(hold->closed & (1u << b)) && pw_leg_is_answered(t, b) && STR_EQ(t->uac[b].ruid, contact->ruid)) {
			asked->leg = pw_leg_of(t, hold, b);
			asked->leg_status = t->uac[b].last_received;
		}
	}
}

/* Legs to contacts that are not in `asked`, behind those: phones that have registered at another node, whom nobody
 * rings once more. There is room for one each branch. How many are in `asked` now. */
static int add_elsewhere(pushwake_contact *asked, int n, tm_cell_t *t, pw_hold_t *hold)
{
	int b, i, leg, known = n;

	for(b = t->nr_of_outgoings - 1; b >= 0; b--) {
		leg = pw_leg_of(t, hold, b);
		if(leg == 0 || (hold->closed & (1u << b)) || t->uac[b].last_received >= 200) {
			continue;
		}
		for(i = 0; i < known; i++) {
			if(asked[i].leg == leg || (asked[i].key.len == (size_t)t->uac[b].ruid.len
						&& memcmp(asked[i].key.ptr, t->uac[b].ruid.s, asked[i].key.len) == 0)) {
				break;
			}
		}
		if(i == known) {
			asked[n].uri = pw_in(&t->uac[b].uri);
			asked[n].key = pw_in(&t->uac[b].ruid);
			asked[n].age_s = -1;
			asked[n].behind_proxy = 1; /* its node is one */
			asked[n].leg = leg;
			asked[n++].leg_status = t->uac[b].last_received;
		}
	}
	return n;
}

/* The contacts with room for a leg each branch, zeroed; to be freed. NULL: no memory. */
static pushwake_contact *describe(pw_contacts_t *contacts)
{
	pushwake_contact *asked = pw_contacts_describe(contacts);
	pushwake_contact *all = asked == NULL ? NULL : pw_alloc((contacts->n + PW_MAX_BRANCHES) * sizeof(*all));

	if(all != NULL) {
		memset(all, 0, (contacts->n + PW_MAX_BRANCHES) * sizeof(*all));
		memcpy(all, asked, contacts->n * sizeof(*all));
	}
	free(asked);
	return all;
}

static int ask(tm_cell_t *t, pw_hold_t *hold)
{
	pushwake_resume_request request = PUSHWAKE_RESUME_REQUEST_INIT;
	pw_contacts_t contacts;
	pushwake_contact *asked;
	int i, count, status = PUSHWAKE_ERR_NOT_FOUND;

	if(pw_contacts_get(&contacts, &hold->table, &hold->aor) < 0) {
		return status;
	}
	asked = describe(&contacts);
	if(asked != NULL) {
		hold->turn = 0;
		hold->resumed_ms = pw_now_ms();
		pw.reply_lock(t);
		for(i = 0; i < contacts.n; i++) {
			if(!pw_contact_takes(&contacts.v[i], t->uas.request->REQ_METHOD)) {
				asked[i].reach = PUSHWAKE_REACH_REFUSES;
			}
			find_leg(&asked[i], t, hold, &contacts.v[i]);
		}
		count = add_elsewhere(asked, contacts.n, t, hold);
		pw.reply_unlock(t);
		request.handle = hold->handle;
		request.ticket = pw_in(&hold->ticket);
		request.pushed = hold->pushed;
		request.age_ms = pw_now_ms() - hold->began_ms;
		request.contacts = asked;
		request.contact_count = (size_t)count;
		request.last_leg = hold->last_leg;
		status = pushwake_resume(pw_client, &request);
		hold->joined = status == PUSHWAKE_OK ? 0 : hold->joined;
		free(asked);
	}
	pw_contacts_free(&contacts);
	return status;
}

/* A round: the engine is asked about them until it is silent, and those that are left come later. */
typedef struct pw_resumed {
	int status;
	int is_new; /* it has not heard of any */
} pw_resumed_t;

/* Those that it has taken; whether some are left. */
static int taken = 0;
static int resumes = 0;

static int is_silent(int status)
{
	return status == PUSHWAKE_ERR_UNAVAILABLE || status == PUSHWAKE_ERR_TIMEOUT;
}

static void resume(tm_cell_t *t, pw_hold_t *hold, void *context)
{
	pw_resumed_t *round = context;

	hold->resumes = (hold->resumes || round->is_new) && !hold->over;
	if(hold->resumes && !is_silent(round->status) && !pw_is_locked(t)) {
		round->status = ask(t, hold);
		hold->resumes = is_silent(round->status);
		taken += round->status == PUSHWAKE_OK;
	}
	resumes |= hold->resumes;
}

static void resume_round(int is_new)
{
	pw_resumed_t round = {PUSHWAKE_OK, is_new};

	resumes = 0;
	pw_holds_each(NULL, NULL, PW_HOLDS_ALL, resume, &round);
	if(taken > 0 && !resumes) {
		LM_NOTICE("%d held requests go on with the new engine\n", taken);
		taken = 0;
	}
}

void pw_resume_all(void)
{
	resume_round(1);
}

void pw_resume_on(void)
{
	if(resumes) {
		resume_round(0);
	}
}
