/* SPDX-License-Identifier: MIT
 *
 * pushwake_in_dialog(): a request within a dialog wakes the phone that it is for, when
 * it carries the phone's PURR (RFC 8599, 6.2.3).
 */
#include <string.h>

#include "core/parser/parse_from.h"
#include "pushwake_hold.h"

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
	if(found.len == 0 || (aor->s = pkg_malloc(found.len + 1)) == NULL) {
		return 0;
	}
	memcpy(aor->s, found.ptr, found.len);
	aor->s[found.len] = '\0';
	aor->len = (int)found.len;
	return 1;
}

/* Its phone sleeps: held. It is awake, or a leg of the script's own reaches it: on its
 * way, and nobody watches. */
static int wake(sip_msg_t *msg, str *table, str *aor)
{
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	pw_contacts_t known;
	pushwake_contact *asked;
	pw_hold_plan_t plan;
	int held = 0;

	if(pw_contacts_get(&known, table, aor) < 0) {
		return PW_AWAKE;
	}
	asked = pw_contacts_describe(&known);
	if(asked != NULL) {
		memset(&plan, 0, sizeof(plan));
		plan.handle = pw_hold_handle();
		if(pw_ask(&result, asked, msg, table, aor, &known, plan.handle) == 0 && result.watched) {
			plan.table = *table;
			plan.aor = *aor;
			plan.ticket = result.ticket;
			plan.is_held = result.hold_ms > 0;
			plan.keeps_uri = 1;
			plan.limit_ms = result.limit_ms;
			plan.contacts = &known;
			plan.asked = asked;
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
	tm_cell_t *t;
	str aor;
	int ret;

	if(!pushwake_method_wakes(pw_client, pw_in(&msg->first_line.u.request.method), 1)
			|| parse_headers(msg, HDR_EOH_F, 0) < 0 || msg->callid == NULL || parse_from_header(msg) < 0
			|| !dialog_user(&aor, msg)) {
		return PW_AWAKE;
	}
	t = pw.tm.t_gett();
	if((t == NULL || t == T_UNDEFINED) && pw.xtm.t_check_trans(msg) == 0) {
		ret = PW_HELD; /* a retransmission: tm has answered it */
	} else {
		ret = wake(msg, table, &aor);
	}
	pkg_free(aor.s);
	return ret;
}

int ki_pushwake_in_dialog(sip_msg_t *msg)
{
	str table = str_init(PW_TABLE);

	return ki_pushwake_in_dialog_table(msg, &table);
}
