/* SPDX-License-Identifier: MIT
 *
 * pushwake_in_dialog(): a request within a dialog wakes the phone that it is for, when
 * it carries the phone's PURR (RFC 8599, 6.2.3).
 */
#include "core/parser/parse_from.h"
#include "pushwake_functions.h"

#define PW_TABLE "location"

/* The user whose phone it is for, in pkg memory; 0 when there is none. */
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
	pkg_free(headers);
	if(status < 0) {
		pw_engine_away("pushwake_in_dialog", status);
		return 0;
	}
	return found.len > 0 && pw_copy(aor, found.ptr, found.len) == 0;
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
			if(held <= 0) {
				pushwake_request_ended(pw_client, plan.handle, PUSHWAKE_CALL_ANSWERED, 200, 0, pw_in(NULL));
			}
		}
		pkg_free(asked);
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
	pkg_free(aor.s);
	return ret;
}

int ki_pushwake_in_dialog(sip_msg_t *msg)
{
	str table = str_init(PW_TABLE);

	return ki_pushwake_in_dialog_table(msg, &table);
}
