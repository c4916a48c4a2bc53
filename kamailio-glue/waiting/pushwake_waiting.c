/* SPDX-License-Identifier: MIT
 *
 * A request gets one branch more, which waits. There may be no transaction yet: what the script does before it relays
 * counts for all branches.
 */
#include <string.h>

#include "core/mem/shm_mem.h"
#include "core/script_cb.h"
#include "modules/tm/t_hooks.h"
#include "pushwake_waiting.h"

/* A branch that waits is no phone's: routes for those do not run for it. */
static int on_branch_route(sip_msg_t *msg, unsigned int flags, void *param)
{
	return pw_place_handle(GET_RURI(msg)) == 0;
}

int pw_waiting_init(void)
{
	if(!pw_waits_in_leg) {
		return 0;
	}
	return pw_place_init() == 0 && register_script_cb(on_branch_route, PRE_SCRIPT_CB | BRANCH_CB, NULL) == 0 ? 0 : -1;
}

static pw_waiting_t *waiting_new(str *table, str *aor)
{
	size_t size = sizeof(pw_waiting_t) + table->len + aor->len + 2;
	pw_waiting_t *waiting = shm_malloc(size);
	char *at;

	if(waiting == NULL) {
		SHM_MEM_ERROR;
		return NULL;
	}
	memset(waiting, 0, size);
	waiting->handle = pw_hold_handle() | PW_WAIT_MARK;
	at = (char *)(waiting + 1);
	waiting->table = pw_put(&at, pw_in(table));
	waiting->aor = pw_put(&at, pw_in(aor));
	return waiting;
}

/* The Request-URI leads to the place, and where it led before no longer counts. */
static int become_ruri(sip_msg_t *msg, str *uri)
{
	if(rewrite_uri(msg, uri) < 0) {
		return -1;
	}
	reset_ruid(msg);
	reset_dst_uri(msg);
	reset_path_vector(msg);
	reset_instance(msg);
	set_ruri_q(Q_UNSPECIFIED);
	return 0;
}

/* Phones whose connection is open are branches at once, as lookup() makes them, and the first is the Request-URI; others who
 * are awake the engine names. -1: there are none. */
static int ring_connected(sip_msg_t *msg, str *table, str *aor)
{
	unsigned int first = nr_branches;
	pushwake_contact *described;
	pw_contacts_t known;
	branch_t *branch;
	int i;

	if(pw_contacts_get(&known, table, aor) < 0) {
		return -1;
	}
	pw_contacts_keep_method(&known, msg->REQ_METHOD);
	described = known.n > 0 ? pw_contacts_describe(&known) : NULL;
	for(i = 0; described != NULL && i < known.n && nr_branches + 2 < sr_dst_max_branches; i++) {
		if(described[i].reach == PUSHWAKE_REACH_OPEN && pw_contact_append(msg, &known.v[i], NULL) < 0) {
			break;
		}
	}
	free(described);
	pw_contacts_free(&known);
	branch = nr_branches > first ? get_sip_branch((int)first) : NULL;
	if(branch == NULL || pw_branch_to_ruri(msg, branch) < 0) {
		return -1;
	}
	drop_sip_branch((int)first);
	return 0;
}

int pw_wait(sip_msg_t *msg, str *table, str *aor)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_waiting_t *waiting = waiting_new(table, aor);
	str uri = waiting != NULL ? pw_place_uri(waiting) : (str)STR_NULL;

	if(uri.len == 0 || pw.tm.register_tmcb(msg, NULL,
							   TMCB_E2ECANCEL_IN | TMCB_RESPONSE_IN | TMCB_ON_BRANCH_FAILURE | TMCB_RESPONSE_OUT
									   | TMCB_DESTROY,
							   pw_waited, waiting, pw_waited_free)
							   <= 0) {
		if(waiting != NULL) {
			shm_free(waiting);
		}
		return -1;
	}
	waiting->first = t != NULL && t != T_UNDEFINED ? t->nr_of_outgoings : 0;
	/* whom a failure_route has tried before only the engine knows */
	if(waiting->first > 0 || ring_connected(msg, table, aor) < 0) {
		return become_ruri(msg, &uri);
	}
	return ksr_push_branch(msg, &uri, NULL, NULL, Q_UNSPECIFIED, 0, NULL, NULL, 0, NULL, NULL) != NULL ? 0 : -1;
}
