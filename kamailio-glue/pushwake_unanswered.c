/* SPDX-License-Identifier: MIT
 *
 * The end of a held request that nobody answered: failure_route, then 480.
 */
#include "core/error.h"
#include "core/kemi.h"
#include "core/route.h"
#include "core/script_cb.h"
#include "modules/tm/h_table.h"
#include "pushwake_hold.h"

static void run_failure_route(tm_cell_t *t, sip_msg_t *req, int route)
{
	sr_kemi_eng_t *keng = sr_kemi_eng_get();
	str event = str_init("pushwake:timeout");
	int before = get_route_type();

	t->on_failure = 0;
	set_route_type(FAILURE_ROUTE);
	if(exec_pre_script_cb(req, FAILURE_CB_TYPE) > 0) {
		if(keng != NULL) {
			if(route > 0) {
				sr_kemi_route(keng, req, FAILURE_ROUTE, sr_kemi_cbname_lookup_idx(route), NULL);
			} else if(pw_failure_callback.len > 0) {
				sr_kemi_route(keng, req, FAILURE_ROUTE, &pw_failure_callback, &event);
			}
		} else if(run_top_route(failure_rt.rlist[route], req, 0) < 0) {
			LM_ERR("failure_route for a held request failed\n");
		}
		exec_post_script_cb(req, FAILURE_CB_TYPE);
	}
	set_route_type(before);
	t->uas.request->flags = req->flags;
}

/* The blind branch counts as 408, and tm prefers that to what a device answered. */
static int best_answer(tm_cell_t *t, int blind)
{
	int i, best = -1;

	for(i = 0; i < t->nr_of_outgoings; i++) {
		if(i == blind || t->uac[i].request.buffer == NULL || t->uac[i].last_received < 300) {
			continue;
		}
		if(best < 0 || t->uac[i].last_received / 100 == 6
				|| t->uac[best].last_received == 408) {
			best = i;
		}
	}
	return best;
}

/* All branches are over and the last to end was the blind one: nobody woke in
 * time, or those who did could not take the call. Runs under the reply lock. */
void pw_hold_unanswered(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *req, int code)
{
	int best, route, i, branches = t->nr_of_outgoings;

	if(code != 408 || hold->cancelled || (t->flags & T_CANCELED)
			|| pw.tm.t_get_picked_branch() != hold->blind) {
		return;
	}
	best = best_answer(t, hold->blind);
	if(best >= 0 && t->uac[best].last_received == 408) {
		best = -1;
	}
	hold->expired = best < 0;
	route = best >= 0 ? t->uac[best].on_failure : 0;
	if(route == 0 && best < 0) {
		route = route_lookup(&failure_rt, "PUSHWAKE");
		if(route < 0 || (route > 0 && failure_rt.rlist[route] == NULL)) {
			route = 0;
		}
	}
	if(route > 0 || (best < 0 && pw_failure_callback.len > 0)) {
		run_failure_route(t, req, route);
	}
	if(t->uas.status >= 200) {
		return;
	}
	for(i = branches; i < t->nr_of_outgoings; i++) {
		if(t->uac[i].last_received < 200) {
			return; /* the failure route sent it elsewhere */
		}
	}
	if(best >= 0) {
		code = t->uac[best].last_received;
		pw.reply_unsafe(t, req, code, error_text(code));
	} else {
		pw.reply_unsafe(t, req, 480, "Temporarily Unavailable");
	}
}
