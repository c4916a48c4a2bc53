/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A phone behind an edge proxy (Path, RFC 3327) is reached through it, also where its contact is dialled by URI.
 *
 * PUSHWAKE_CONTACTS names contacts, and so PJSIP's session does not know which of the registrar's it calls. res_pjsip_path then
 * finds the Path only when the AoR has the name of the contact's user part, which is random with many apps.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_supplement.h"

/*! After res_pjsip_path, which has added the Route where it could. */
#define AFTER_PATH (AST_SIP_SUPPLEMENT_PRIORITY_CHANNEL - 50)

static void add_path(const struct ast_sip_endpoint *endpoint, pjsip_tx_data *tdata)
{
	const pjsip_uri *uri = tdata->msg->line.req.uri;
	struct ast_sip_contact *contact;

	if (PJSIP_MSG_TO_HDR(tdata->msg)->tag.slen || (!PJSIP_URI_SCHEME_IS_SIP(uri) && !PJSIP_URI_SCHEME_IS_SIPS(uri))) {
		return;
	}
	contact = pushwake__contact_of_request(endpoint, tdata);
	if (contact && !ast_strlen_zero(contact->path)) {
		/* res_pjsip_path may have added it. */
		while (pjsip_msg_find_remove_hdr(tdata->msg, PJSIP_H_ROUTE, NULL)) {
		}
		if (ast_sip_set_outbound_proxy(tdata, contact->path)) {
			ast_log(LOG_WARNING, "The Path of '%s' cannot be used (%s), so the request goes to its address\n", contact->aor,
				contact->path);
		}
	}
	ao2_cleanup(contact);
}

static void outgoing_call(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	if (!session->contact && session->endpoint && session->inv_session->role == PJSIP_ROLE_UAC) {
		add_path(session->endpoint, tdata);
	}
}

static void outgoing_text(struct ast_sip_endpoint *endpoint, struct ast_sip_contact *contact, pjsip_tx_data *tdata)
{
	if (!contact && endpoint) {
		add_path(endpoint, tdata);
	}
}

static union pushwake__supplement calls = { .known = {
	.method = "INVITE",
	.priority = AFTER_PATH,
	.outgoing_request = outgoing_call,
} };

static struct ast_sip_supplement texts = {
	.method = "MESSAGE",
	.priority = AFTER_PATH,
	.outgoing_request = outgoing_text,
};

int pushwake__path_start(void)
{
	ast_sip_session_register_supplement(&calls.known);
	ast_sip_register_supplement(&texts);
	return 0;
}

void pushwake__path_stop(void)
{
	ast_sip_unregister_supplement(&texts);
	ast_sip_session_unregister_supplement(&calls.known);
}
