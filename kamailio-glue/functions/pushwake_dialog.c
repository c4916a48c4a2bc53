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
static void follow(sip_msg_t *msg, pw_contact_t *contact, int is_behind_proxy)
{
	char flow[PW_FLOW_SIZE];
	str target;

	if(is_behind_proxy || msg->dst_uri.len > 0) {
		return;
	}
	target = pw_contact_target(contact, flow);
	if(set_dst_uri(msg, target.len > 0 ? &target : &contact->uri) < 0) {
		LM_ERR("the request goes to the address that the dialog began with\n");
	}
}

/* Which contact the request goes to at once, -1 for none. */
static int awake(const pw_contacts_t *known, const pushwake_contact *asked)
{
	int i;

	for(i = 0; i < known->n; i++) {
		if(asked[i].action == PUSHWAKE_RING && asked[i].leg > 0) {
			return i;
		}
	}
	return -1;
}

/* Holds the request for a phone that sleeps, and watches it on its way to one that is awake: its app may be suspended
 * behind an open connection. 0: a retransmission, which tm has answered. */
static int watch(sip_msg_t *msg, const pw_hold_plan_t *plan)
{
	int held = pw_hold(msg, plan);

	if(held <= 0) {
		pushwake_request_ended(pw_client, plan->handle, PUSHWAKE_CALL_ANSWERED, 200, 0, pw_in(NULL));
	}
	return held;
}

static int send_or_hold(sip_msg_t *msg, str *table, str *aor, pw_contacts_t *known, pushwake_contact *asked)
{
	pw_hold_plan_t plan = {.keeps_uri = 1};
	int held = pw_ask(&plan, asked, msg, table, aor, known) ? watch(msg, &plan) : -1;
	int i = awake(known, asked);

	if(i >= 0 && held != 0) {
		/* the branch that t_relay() makes is known by it, as one of lookup() is */
		if(held > 0 && set_ruid(msg, &known->v[i].ruid) < 0) {
			LM_ERR("nobody sees whether the phone answers\n");
		}
		follow(msg, &known->v[i], asked[i].behind_proxy);
		return PW_AWAKE;
	}
	if(held > 0 && plan.is_held && msg->REQ_METHOD == METHOD_INVITE) {
		pw.tm.t_reply(msg, 100, "Trying");
	}
	return held == 0 || (held > 0 && plan.is_held) ? PW_HELD : PW_AWAKE;
}

static int wake(sip_msg_t *msg, str *table, str *aor)
{
	pw_contacts_t known;
	pushwake_contact *asked;
	int ret = PW_AWAKE;

	if(pw_contacts_get(&known, table, aor) < 0) {
		return PW_AWAKE;
	}
	asked = pw_contacts_describe(&known);
	if(asked != NULL) {
		ret = send_or_hold(msg, table, aor, &known, asked);
		free(asked);
	}
	pw_contacts_free(&known);
	return ret;
}

int ki_pushwake_in_dialog_table(sip_msg_t *msg, str *table)
{
	str aor;
	int ret;

	if(!pw_may_hold("pushwake_in_dialog")) {
		return PW_ERROR;
	}
	if(!pushwake_method_wakes(pw_client, pw_in(&msg->first_line.u.request.method), 1)
			|| parse_headers(msg, HDR_EOH_F, 0) < 0 || msg->callid == NULL || parse_from_header(msg) < 0
			|| !dialog_user(&aor, msg)) {
		return PW_AWAKE;
	}
	pw_hold_asks(&aor, 1);
	ret = pw_script_is_late(msg) ? PW_HELD : wake(msg, table, &aor);
	pw_hold_asks(&aor, -1);
	free(aor.s);
	return ret;
}

int ki_pushwake_in_dialog(sip_msg_t *msg)
{
	str table = str_init(PW_TABLE);

	return ki_pushwake_in_dialog_table(msg, &table);
}
