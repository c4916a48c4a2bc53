/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What PJSIP says of callers, and of channels that only show the end of a call.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/channel.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_ahead.h"
#include "pushwake_calls.h"
#include "pushwake_supplement.h"

/*! Says which push the INVITE belongs to: its own Call-ID is another one (Acrobits, Push Notification Mediator). */
static void outgoing_request(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	char *call_id = session->channel ? pushwake__show_end_call_id(session->channel) : NULL;

	if (!ast_strlen_zero(call_id) && session->inv_session->state < PJSIP_INV_STATE_CONFIRMED) {
		ast_sip_add_header(tdata, "X-Push-ID", call_id);
	}
	ast_free(call_id);
}

static void incoming_response(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	if (session->channel) {
		pushwake__show_end_proceeding(session->channel);
	}
}

/*! The values of all Reason headers of a request, to be freed. */
static struct ast_str *read_reason(pjsip_rx_data *rdata)
{
	static const pj_str_t name = { "Reason", 6 };
	struct ast_str *reason = ast_str_create(64);
	pjsip_generic_string_hdr *header = pjsip_msg_find_hdr_by_name(rdata->msg_info.msg, &name, NULL);

	for (; reason && header; header = pjsip_msg_find_hdr_by_name(rdata->msg_info.msg, &name, header->next)) {
		ast_str_append(&reason, 0, "%s%.*s", ast_str_strlen(reason) ? ", " : "",
			(int) header->hvalue.slen, header->hvalue.ptr);
	}
	return reason;
}

/*! The caller hangs up: the engine hears of it before Asterisk takes the legs down. */
static int incoming_hangup(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	struct ast_str *reason = session->channel ? read_reason(rdata) : NULL;

	if (session->channel) {
		pushwake__aheads_hung_up(session->channel, reason ? ast_str_buffer(reason) : "");
	}
	ast_free(reason);
	return 0;
}

/*! A phone that is shown the end of a call reads from the CANCEL how it ended (RFC 3326). */
static void outgoing_cancel(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	char *reason = session->channel ? pushwake__show_end_reason(session->channel) : NULL;

	if (reason) {
		ast_sip_add_header(tdata, "Reason", reason);
		ast_free(reason);
	}
}

static union pushwake__supplement ends = { .known = {
	.method = "INVITE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.outgoing_request = outgoing_request,
	.incoming_response = incoming_response,
	/* 100 is seen after media, a final answer before. */
	.response_priority = AST_SIP_SESSION_BEFORE_MEDIA | AST_SIP_SESSION_AFTER_MEDIA,
} };

static union pushwake__supplement hangups = { .known = {
	.method = "CANCEL,BYE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.incoming_request = incoming_hangup,
} };

static union pushwake__supplement cancels = { .known = {
	.method = "CANCEL",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.outgoing_request = outgoing_cancel,
} };

int pushwake__session_start(void)
{
	ast_sip_session_register_supplement(&ends.known);
	ast_sip_session_register_supplement(&hangups.known);
	ast_sip_session_register_supplement(&cancels.known);
	return 0;
}

void pushwake__session_stop(void)
{
	ast_sip_session_unregister_supplement(&cancels.known);
	ast_sip_session_unregister_supplement(&hangups.known);
	ast_sip_session_unregister_supplement(&ends.known);
}
