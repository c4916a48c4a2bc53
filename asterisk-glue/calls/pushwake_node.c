/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Calls between nodes: to phones that have registered at another one, and from others for phones of this one.
 *
 * Others send an INVITE for a phone of this node with a Route that leads here and names
 * the user, as the library wrote it when the phone registered. The call begins in the
 * context of the nodes' endpoint, with PUSHWAKE_NODE_CONTACT as what to Dial(). What
 * becomes of a MESSAGE is in pushwake_node_text.c.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/pbx.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_supplement.h"

/*! Longest Route that is read. */
#define MAX_ROUTE 2048

int pushwake__node_find(struct pushwake__contact *out, pjsip_rx_data *rdata)
{
	const pjsip_route_hdr *route = pjsip_msg_find_hdr(rdata->msg_info.msg, PJSIP_H_ROUTE, NULL);
	const pjsip_uri *uri = rdata->msg_info.msg->line.req.uri;
	pushwake_client *client = pushwake__client();
	char text[MAX_ROUTE], aor[AST_MAX_EXTENSION * 4];
	struct pushwake__contacts contacts;
	pushwake_str user;
	size_t index;
	int len, found = 0;

	if (!route || !client || (!PJSIP_URI_SCHEME_IS_SIP(uri) && !PJSIP_URI_SCHEME_IS_SIPS(uri))) {
		return -1;
	}
	len = pjsip_uri_print(PJSIP_URI_IN_ROUTING_HDR, &route->name_addr, text, sizeof(text));
	if (len <= 0 || pushwake_node_user(&user, client, (pushwake_str) { text, len }) < 0 || !user.len) {
		return -1;
	}
	pushwake__copy(aor, sizeof(aor), user);
	pushwake__contacts_get(&contacts, aor);
	for (index = 0; !found && index < AST_VECTOR_SIZE(&contacts); index++) {
		const struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(&contacts, index);

		found = pushwake__uri_matches(rdata->tp_info.pool, pjsip_uri_get_uri(uri), contact->uri)
			&& !pushwake__contact_copy(out, contact);
	}
	pushwake__contacts_free(&contacts);
	if (!found) {
		ast_log(LOG_NOTICE, "Another node has a request for a phone of '%s' that is not registered here any more\n", aor);
	}
	return found;
}

/*! An INVITE comes: from another node, when its Route says so. */
static int incoming_request(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	struct pushwake__contact contact;
	struct ast_str *dial;

	if (!session->channel || session->inv_session->state >= PJSIP_INV_STATE_CONFIRMED
		|| pushwake__node_find(&contact, rdata) <= 0) {
		return 0;
	}
	dial = ast_str_create(256);
	if (dial) {
		pushwake__dial_append(&dial, &contact);
		/* The channel that is dialled has it too, and so its phone is not woken once more. */
		pbx_builtin_setvar_helper(session->channel, "_PUSHWAKE_NODE_CONTACT", ast_str_buffer(dial));
	}
	ast_free(dial);
	pushwake__contact_free(contact);
	return 0;
}

static union pushwake__supplement invites = { .known = {
	.method = "INVITE",
	/* The channel is there, and its dialplan has not begun. */
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_CHANNEL + 1,
	.incoming_request = incoming_request,
} };

int pushwake__node_start(void)
{
	ast_sip_session_register_supplement(&invites.known);
	return 0;
}

void pushwake__node_stop(void)
{
	ast_sip_session_unregister_supplement(&invites.known);
}
