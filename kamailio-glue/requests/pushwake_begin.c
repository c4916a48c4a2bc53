/* SPDX-License-Identifier: MIT
 *
 * How a request becomes a held one.
 */
#include <string.h>

#include "core/mem/shm_mem.h"
#include "core/timer.h"
#include "modules/tm/timer.h"
#include "pushwake_requests.h"

static int is_named(const pw_hold_plan_t *plan, int i)
{
	return plan->asked[i].leg > 0 && plan->asked[i].action == PUSHWAKE_RING;
}

static size_t plan_size(const pw_hold_plan_t *plan, int *named)
{
	size_t size = sizeof(pw_hold_t) + plan->aor.len + plan->table.len + plan->ticket.len + 3;
	int i;

	*named = 0;
	for(i = 0; i < plan->contacts->n; i++) {
		if(is_named(plan, i)) {
			size += sizeof(pw_named_leg_t) + plan->contacts->v[i].ruid.len + 1;
			(*named)++;
		}
	}
	return size;
}

static pw_hold_t *hold_new(tm_cell_t *t, const pw_hold_plan_t *plan)
{
	pw_hold_t *hold;
	size_t size;
	char *at;
	int i, named;

	size = plan_size(plan, &named);
	hold = shm_malloc(size);
	if(hold == NULL) {
		SHM_MEM_ERROR;
		return NULL;
	}
	memset(hold, 0, size);
	hold->named = (pw_named_leg_t *)(hold + 1);
	at = (char *)(hold->named + named);
	hold->aor = pw_put(&at, pw_in(&plan->aor));
	hold->table = pw_put(&at, pw_in(&plan->table));
	hold->ticket = pw_put(&at, plan->ticket);
	for(i = 0; i < plan->contacts->n; i++) {
		if(is_named(plan, i)) {
			hold->named[hold->named_count].leg = plan->asked[i].leg;
			hold->named[hold->named_count].place = pw_place_of(&plan->contacts->v[i]);
			hold->named[hold->named_count].run = pw_run_of(&plan->contacts->v[i]);
			hold->named[hold->named_count].ruid = pw_put(&at, pw_in(&plan->contacts->v[i].ruid));
			hold->named_count++;
			if(plan->asked[i].leg > hold->last_leg) {
				hold->last_leg = plan->asked[i].leg;
			}
		}
	}
	hold->handle = plan->handle;
	hold->tindex = t->hash_index;
	hold->tlabel = t->label;
	hold->slot = pw_hold_slot(&hold->aor);
	hold->busy = 1;
	hold->blind = t->nr_of_outgoings; /* add_blind() makes it; a CANCEL may come first */
	hold->keeps_uri = plan->keeps_uri;
	/* within a dialog 480 would end it (RFC 8599, 6.2.3; RFC 5057, 5.1) */
	hold->failure_status = plan->keeps_uri ? 504 : 480;
	hold->began_ms = pw_now_ms();
	return hold;
}

/* Its timer counts only when no engine is there. What is added later keeps the timers of the configuration. */
static int add_blind(tm_cell_t *t, pw_hold_t *hold, int64_t deadline_ms)
{
	ticks_t before = t->fr_timeout, end_before = t->end_of_life;
	ticks_t end = get_ticks_raw() + MS_TO_TICKS(deadline_ms);
	int suspended = t->async_backup.blind_uac;
	int added;

	if(t->end_of_life != 0 && (s_ticks_t)(end - t->end_of_life) > 0 && is_invite(t)) {
		t->end_of_life = end;
	}
	t->fr_timeout = MS_TO_TICKS(deadline_ms);
	added = pw.tm.t_addblind();
	t->fr_timeout = before;
	t->end_of_life = end_before; /* t_set_max_lifetime() is for those that ring */
	/* in a route that goes on after t_suspend() tm does not wait for the branch that this names */
	t->async_backup.blind_uac = suspended;
	/* t_relay() marks where its branches begin, and get_redirects() and t_drop_replies() look for that mark: what comes
	 * late, without t_relay(), begins here */
	if(added >= 0) {
		t->uac[hold->blind].flags |= TM_UAC_FLAG_FB;
	}
	return added;
}

static tm_cell_t *transaction(sip_msg_t *msg, int *status)
{
	tm_cell_t *t = pw.tm.t_gett();

	*status = 1;
	if(t == NULL || t == T_UNDEFINED) {
		*status = pw.tm.t_newtran(msg);
		t = *status > 0 ? pw.tm.t_gett() : NULL;
	}
	return t == T_UNDEFINED ? NULL : t;
}

int pw_hold(sip_msg_t *msg, const pw_hold_plan_t *plan)
{
	pw_hold_t *hold;
	tm_cell_t *t;
	int status;

	t = transaction(msg, &status);
	if(t == NULL) {
		return status == 0 ? 0 : -1;
	}
	/* what tm would refuse once it is watched */
	if(pw_leg_is_last(t)) {
		LM_ERR("%d branches are as many as max_branches allows\n", t->nr_of_outgoings);
		return -1;
	}
	hold = hold_new(t, plan);
	if(hold == NULL) {
		return -1;
	}
	if(pw.save_lumps(msg, NULL, NULL) < 0 || pw_watch(msg, t, hold) < 0) {
		shm_free(hold);
		return -1;
	}
	if(add_blind(t, hold, plan->deadline_ms) < 0) {
		return -1; /* the transaction frees it */
	}
	if(!plan->is_held) {
		t->uac[hold->blind].last_received = PW_ENDED;
	}
	pw_hold_link(hold, plan->is_held);
	pw_script_holds(t, hold);
	return 1;
}
