/* SPDX-License-Identifier: MIT
 *
 * pushwake_in_dialog(): a request within a dialog wakes the phone that it is for, when
 * it carries the phone's PURR (RFC 8599, 6.2.3).
 */
#include "core/parser/parse_from.h"
#include "pushwake_functions.h"

#define PW_TABLE "location"

/* The user whose phone it is for, to be freed; 0 when there is none. */
static int dialog_user(str *aor, sip_msg_t *msg)
{
	pushwake_header *headers;
	pushwake_str found = {NULL, 0};
	size_t count;
	int status;

	headers = pw_headers(msg, &count);
	if(headers == NULL) {
		return 0;
	}
	status = pushwake_dialog_user(&found, pw_client, pw_in(&msg->first_line.u.request.method),
			pw_in(&msg->first_line.u.request.uri), headers, count);
	free(headers);
	if(status < 0) {
		pw_engine_away("pushwake_in_dialog", status);
		return 0;
	}
	return found.len > 0 && pw_copy(aor, found.ptr, found.len) == 0;
}

/* A phone that is awake may have moved since it sent its Contact of the dialog, which stays the Request-URI: the request
 * goes where its registration leads now. Whoever sends it elsewhere, a further Route or the script, knows better. */
static void follow(sip_msg_t *msg, pw_contacts_t *known, const pushwake_contact *asked)
{
	char flow[PW_FLOW_SIZE];
	str target;
	int i;

	for(i = 0; i < known->n && (asked[i].verdict != PUSHWAKE_RING || asked[i].leg == 0); i++) {
	}
	if(i == known->n || asked[i].behind_proxy || msg->dst_uri.len > 0) {
		return;
	}
	target = pw_contact_target(&known->v[i], flow);
	if(set_dst_uri(msg, target.len > 0 ? &target : &known->v[i].uri) < 0) {
		LM_ERR("the request goes to the address that the dialog began with\n");
	}
}

/* Its phone sleeps: held. It is awake, or a leg of the script's own reaches it: on its
 * way, and nobody watches. */
static int wake(sip_msg_t *msg, str *table, str *aor)
{
	pw_hold_plan_t plan = {.keeps_uri = 1};
	pw_contacts_t known;
	pushwake_contact *asked;
	int held = 0;

	if(pw_contacts_get(&known, table, aor) < 0) {
		return PW_AWAKE;
	}
	asked = pw_contacts_describe(&known);
	if(asked != NULL) {
		if(pw_ask(&plan, asked, msg, table, aor, &known)) {
			held = plan.is_held ? pw_hold(msg, &plan) : -1;
			pw_hold_asks(aor, -1);
			if(held <= 0) {
				pushwake_request_ended(pw_client, plan.handle, PUSHWAKE_CALL_ANSWERED, 200, 0, pw_in(NULL));
			}
		}
		if(held <= 0) {
			follow(msg, &known, asked);
		}
		free(asked);
	}
	pw_contacts_free(&known);
	if(held > 0 && msg->REQ_METHOD == METHOD_INVITE) {
		pw.tm.t_reply(msg, 100, "Trying");
	}
	return held > 0 ? PW_HELD : PW_AWAKE;
}

int ki_pushwake_in_dialog_table(sip_msg_t *msg, str *table)
{
	str aor;
	int ret;

	if(!pushwake_method_wakes(pw_client, pw_in(&msg->first_line.u.request.method), 1)
			|| parse_headers(msg, HDR_EOH_F, 0) < 0 || msg->callid == NULL || parse_from_header(msg) < 0
			|| !dialog_user(&aor, msg)) {
		return PW_AWAKE;
	}
	ret = pw_script_is_late(msg) ? PW_HELD : wake(msg, table, &aor);
	free(aor.s);
	return ret;
}

int ki_pushwake_in_dialog(sip_msg_t *msg)
{
	str table = str_init(PW_TABLE);

	return ki_pushwake_in_dialog_table(msg, &table);
}
