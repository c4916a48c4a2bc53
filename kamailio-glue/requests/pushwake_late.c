/* SPDX-License-Identifier: MIT
 *
 * A phone that was made to show a call and comes after its end gets an INVITE of that
 * call and at once its CANCEL with the Reason: nothing else takes the screen back. It
 * is a transaction of its own, since the caller's may be gone.
 */
#include <string.h>

#include "core/mem/mem.h"
#include "core/mem/shm_mem.h"
#include "modules/tm/dlg.h"
#include "modules/tm/t_cancel.h"
#include "modules/tm/t_reply.h"
#include "modules/tm/uac.h"
#include "pushwake_requests.h"

/* The phone has picked up before the CANCEL reached it: there is nobody to talk to. */
static void hang_up(dlg_t *dialog, sip_msg_t *reply)
{
	str method = str_init("BYE");
	uac_req_t bye;

	if(pw.tm.dlg_response_uac(dialog, reply, IS_TARGET_REFRESH) < 0) {
		return;
	}
	set_uac_req(&bye, &method, NULL, NULL, dialog, 0, NULL, NULL);
	pw.tm.t_request_within(&bye);
}

static void on_completed(tm_cell_t *t, int type, struct tmcb_params *params)
{
	dlg_t *dialog = (dlg_t *)*params->param;

	if(dialog == NULL) {
		return;
	}
	if(params->code < 300 && params->rpl != NULL && params->rpl != FAKED_REPLY) {
		hang_up(dialog, params->rpl);
	}
	*params->param = NULL;
	pw.tm.free_dlg(dialog);
}

/* tm sends the CANCEL at the first provisional answer, 100 included. */
static void cancel(unsigned int tindex, unsigned int tlabel, const pushwake_verb *verb)
{
	struct cancel_info info;
	struct cancel_reason *reason;
	size_t prefix = strlen("Reason: ");
	tm_cell_t *t = NULL;
	char *at;

	if(pw.tm.t_lookup_ident(&t, tindex, tlabel) < 0 || t == NULL) {
		return;
	}
	reason = shm_malloc(sizeof(*reason) + prefix + verb->reason.len + 2);
	if(reason != NULL && t->uas.cancel_reas == NULL) {
		at = (char *)(reason + 1);
		memcpy(at, "Reason: ", prefix);
		memcpy(at + prefix, verb->reason.ptr, verb->reason.len);
		memcpy(at + prefix + verb->reason.len, "\r\n", 2);
		reason->cause = CANCEL_REAS_PACKED_HDRS;
		reason->u.packed_hdrs.s = at;
		reason->u.packed_hdrs.len = (int)(prefix + verb->reason.len + 2);
		t->uas.cancel_reas = reason; /* freed with the transaction */
	} else if(reason != NULL) {
		shm_free(reason);
	}
	pw.reply_lock(t);
	t->uac[0].request.flags |= F_RB_CANCELED;
	if(t->uac[0].last_received >= 100 && prepare_cancel_branch(t, 0, 0)) {
		init_cancel_info(&info);
		info.cancel_bitmap = 1;
		if(t->uas.cancel_reas != NULL) {
			info.reason = *t->uas.cancel_reas;
		}
		pw.tm.cancel_uacs(t, &info, 0);
	}
	pw.reply_unlock(t);
	pw.tm.unref_cell(t);
}

static void send_invite(const pushwake_verb *verb, pw_contact_t *contact)
{
	str method = str_init("INVITE");
	str call_id = pw_out(verb->call_id), tag = pw_out(verb->from_tag);
	str from = pw_out(verb->from_uri), to = pw_out(verb->to_uri);
	char headers[1024];
	char flow[PW_FLOW_SIZE];
	str target, lines;
	unsigned int tindex, tlabel;
	dlg_t *dialog = NULL;
	uac_req_t request;
	int n;

	target = pw_contact_target(contact, flow);
	n = snprintf(headers, sizeof(headers), "Contact: <%.*s>\r\n%s%.*s%s", from.len, from.s,
			contact->path.len > 0 ? "Route: " : "", contact->path.len, contact->path.len > 0 ? contact->path.s : "",
			contact->path.len > 0 ? "\r\n" : "");
	if(n < 0 || n >= (int)sizeof(headers)
			|| pw.tm.new_dlg_uac(&call_id, &tag, verb->cseq, &from, &to, &dialog) < 0) {
		return;
	}
	lines.s = headers;
	lines.len = n;
	if(pw.tm.set_dlg_target(dialog, &contact->uri, target.len > 0 ? &target : NULL) < 0) {
		pw.tm.free_dlg(dialog);
		return;
	}
	set_uac_req(&request, &method, &lines, NULL, dialog, TMCB_LOCAL_COMPLETED, on_completed, dialog);
	if(pw.tm.t_uac_with_ids(&request, &tindex, &tlabel) < 0) {
		pw.tm.free_dlg(dialog);
		return;
	}
	cancel(tindex, tlabel, verb);
}

void pw_show_end(const pushwake_verb *verb)
{
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	char table_name[64];
	str aor = pw_out(verb->aor), key = pw_out(verb->contact), table = pw_out(verb->domain);
	pw_contacts_t contacts;
	pw_contact_t *contact;

	if(table.len >= (int)sizeof(table_name) || verb->from_tag.len == 0 || verb->call_id.len == 0) {
		return;
	}
	/* usrloc reads the name of a table as a C string */
	memcpy(table_name, table.s, table.len);
	table_name[table.len] = '\0';
	table.s = table_name;
	if(pw_contacts_get(&contacts, &table, &aor) < 0) {
		return;
	}
	contact = pw_contact_find(&contacts, &key);
	if(contact != NULL) {
		send_invite(verb, contact);
	}
	pw_contacts_free(&contacts);
	pw.tm.t_sett(before, branch);
}
