/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What PJSIP says of callers.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/channel.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_early_wake.h"
#include "pushwake_calls.h"
#include "pushwake_supplement.h"

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
		pushwake__early_wakes_hung_up(session->channel, reason ? ast_str_buffer(reason) : "");
	}
	ast_free(reason);
	return 0;
}

static union pushwake__supplement hangups = { .known = {
	.method = "CANCEL,BYE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.incoming_request = incoming_hangup,
} };

int pushwake__session_start(void)
{
	ast_sip_session_register_supplement(&hangups.known);
	return 0;
}

void pushwake__session_stop(void)
{
	ast_sip_session_unregister_supplement(&hangups.known);
}
