/* SPDX-License-Identifier: MIT
 *
 * event_route[pushwake:result] runs in the supervisor for every push that came to
 * an end. $pushwake(name) reads the result it runs for; elsewhere it is $null.
 */
#include <stddef.h>
#include <string.h>

#include "core/fmsg.h"
#include "core/pvar.h"
#include "core/route.h"
#include "core/script_cb.h"
#include "pushwake_functions.h"

/* What $pushwake(...) knows; texts by their place in the result. */
static const struct {
	const char *name;
	size_t text; /* 0: a value of its own, see pw_pv_get() */
} fields[] = {
	{"provider", offsetof(pushwake_result, provider)},
	{"reason", offsetof(pushwake_result, reason)},
	{"aor", offsetof(pushwake_result, aor)},
	{"callid", offsetof(pushwake_result, call_id)},
	{"app", offsetof(pushwake_result, app)},
	{"token", offsetof(pushwake_result, token)},
	{"outcome", 0},
	{"event", 0},
	{"status", 0},
	{"ms", 0},
	{"removed", 0},
};

static pw_event_t event = {"pushwake:result", -1};
static const pushwake_result *current = NULL;

int pw_result_init(void)
{
	pw_event_init(&event);
	if(faked_msg_init() < 0) {
		LM_ERR("cannot init the message for event_route[%s]\n", event.name);
		return -1;
	}
	return 0;
}

int pw_result_has_route(void)
{
	return pw_event_has_route(&event);
}

void pw_result_run(const pushwake_result *result)
{
	sip_msg_t *msg;
	int before;

	msg = faked_msg_next();
	before = get_route_type();
	set_route_type(EVENT_ROUTE);
	current = result;
	if(exec_pre_script_cb(msg, REQUEST_CB_TYPE) > 0) {
		pw_event_run(&event, msg);
		exec_post_script_cb(msg, REQUEST_CB_TYPE);
	}
	current = NULL;
	set_route_type(before);
}

int pw_pv_parse(pv_spec_p spec, str *in)
{
	size_t i;

	for(i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if((size_t)in->len == strlen(fields[i].name) && memcmp(in->s, fields[i].name, in->len) == 0) {
			spec->pvp.pvn.type = PV_NAME_INTSTR;
			spec->pvp.pvn.u.isname.type = 0;
			spec->pvp.pvn.u.isname.name.n = (int)i;
			return 0;
		}
	}
	LM_ERR("$pushwake(%.*s): no such name; known are provider, outcome, reason, aor, callid, app, token, event, "
		   "status, ms, removed\n",
			in->len, in->s);
	return -1;
}

static int get_text(sip_msg_t *msg, pv_param_t *param, pv_value_t *value, pushwake_str text)
{
	str s = pw_out(text.len > 0 ? text : pw_text(""));

	return pv_get_strval(msg, param, value, &s);
}

int pw_pv_get(sip_msg_t *msg, pv_param_t *param, pv_value_t *value)
{
	const pushwake_result *r = current;
	size_t text = fields[param->pvn.u.isname.name.n].text;
	const char *name = fields[param->pvn.u.isname.name.n].name;

	if(r == NULL) {
		return pv_get_null(msg, param, value);
	}
	if(text > 0) {
		return get_text(msg, param, value, *(const pushwake_str *)((const char *)r + text));
	}
	if(strcmp(name, "outcome") == 0) {
		return get_text(msg, param, value, pw_text(pushwake_outcome_name(r->outcome)));
	}
	if(strcmp(name, "event") == 0) {
		return get_text(msg, param, value, pw_text(pushwake_event_name(r->event)));
	}
	return pv_get_sintval(msg, param, value,
			strcmp(name, "status") == 0 ? r->http_status
			: strcmp(name, "ms") == 0   ? (int)(r->elapsed_us / 1000)
										: r->binding_removed);
}
