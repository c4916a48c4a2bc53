/* SPDX-License-Identifier: MIT
 *
 * A held REGISTER goes on when its SIP server has answered: it is saved and accepted,
 * or refused. tm continues a request with an action of a script; here that is a call of
 * this module's own function, which no script has to name.
 */
#include <stdio.h>
#include <string.h>

#include "core/data_lump_rpl.h"
#include "core/parser/contact/parse_contact.h"
#include "core/parser/parse_expires.h"
#include "core/route_struct.h"
#include "core/ut.h"
#include "pushwake_functions.h"

static struct action *go_on = NULL;
/* What this process is about to do. */
static const pushwake_upstream *now = NULL;
static str *now_table = NULL;

int pw_continue_init(void)
{
	ksr_cmd_export_t *own = find_export_record("pushwake_continue_", 0, FAILURE_ROUTE);

	go_on = own != NULL ? mk_action(MODULE0_T, 2, MODEXP_ST, own, NUMBER_ST, (void *)0) : NULL;
	if(go_on == NULL) {
		LM_ERR("no action to continue REGISTERs with\n");
		return -1;
	}
	return 0;
}

void pw_refuse_register(sip_msg_t *msg, const pushwake_upstream *action)
{
	char text[128];
	str reason;

	if(action->headers.len > 0) {
		add_lump_rpl(msg, (char *)action->headers.ptr, (int)action->headers.len, LUMP_RPL_HDR);
	}
	snprintf(text, sizeof(text), "%.*s", PW_FMT(action->reason));
	reason.s = text[0] != '\0' ? text : "Refused";
	reason.len = (int)strlen(reason.s);
	pw.sl.freply(msg, action->status >= 300 ? action->status : 500, &reason);
}

/* A phone that must come again before its server forgets it is not granted more. What
 * it leaves out, or what cannot be read, would be the registrar's default. */
static void limit(sip_msg_t *msg, unsigned int most)
{
	static char text[INT2STR_MAX_LEN];
	static param_t granted;
	exp_body_t *header = NULL;
	unsigned int asked;
	contact_t *contact;
	hdr_field_t *h;
	char *number;

	number = int2str(most, &granted.body.len);
	memcpy(text, number, granted.body.len);
	granted.body.s = text;
	if(msg->expires != NULL && (msg->expires->parsed != NULL || parse_expires(msg->expires) == 0)) {
		header = (exp_body_t *)msg->expires->parsed;
		header->val = header->valid && header->val <= most ? header->val : most;
		header->valid = 1;
	}
	for(h = msg->contact; h != NULL; h = next_sibling_hdr(h)) {
		if(h->type != HDR_CONTACT_T || (h->parsed == NULL && parse_contact(h) < 0)) {
			continue;
		}
		for(contact = ((contact_body_t *)h->parsed)->contacts; contact != NULL; contact = contact->next) {
			if(contact->expires == NULL || contact->expires->body.len == 0) {
				contact->expires = header == NULL ? &granted : contact->expires;
			} else if(str2int(&contact->expires->body, &asked) < 0 || asked > most) {
				contact->expires->body = granted.body;
			}
		}
	}
}

int pw_continue_now(sip_msg_t *msg, char *unused, char *unused2)
{
	const pushwake_upstream *action = now;
	str uri;

	if(action == NULL) {
		LM_ERR("pushwake_continue_ is not a function for scripts\n");
		return -1;
	}
	if(parse_headers(msg, HDR_EOH_F, 0) < 0) {
		return -1;
	}
	if(action->kind == PUSHWAKE_UPSTREAM_REFUSE) {
		pw_refuse_register(msg, action);
		return 0;
	}
	if(action->headers.len > 0) {
		add_lump_rpl(msg, (char *)action->headers.ptr, (int)action->headers.len, LUMP_RPL_HDR);
	}
	if(action->max_expires > 0) {
		limit(msg, (unsigned int)action->max_expires);
	}
	uri.s = (char *)action->local_user.ptr;
	uri.len = (int)action->local_user.len;
	if(pw_save_for(msg, now_table, &uri, action->account) < 0) {
		LM_DBG("a REGISTER that its server accepted was not saved\n");
	}
	return 0;
}

void pw_continue(const pushwake_upstream *action, str *table, unsigned int index, unsigned int label)
{
	const pushwake_upstream *before = now;
	str *before_table = now_table;

	now = action;
	now_table = table;
	if(pw.tm.t_continue(index, label, go_on) < 0) {
		LM_DBG("a REGISTER ended after its server answered\n");
	}
	now = before;
	now_table = before_table;
}
