/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Learns when Dial() has an answer: for every other phone the call is over then.
 */
#include "asterisk.h"

#include "asterisk/channel.h"
#include "asterisk/json.h"
#include "asterisk/stasis.h"
#include "asterisk/stasis_channels.h"
#include "asterisk/stasis_message_router.h"
#include "asterisk/strings.h"

#include "pushwake_call.h"

static struct stasis_message_router *router;

/*! Over PJSIP it has been heard already, from the phone itself. */
static void on_dial(void *userdata, struct stasis_subscription *sub, struct stasis_message *message)
{
	struct ast_multi_channel_blob *blob = stasis_message_data(message);
	struct ast_channel_snapshot *caller = ast_multi_channel_blob_get_channel(blob, "caller");
	struct ast_json *status = ast_json_object_get(ast_multi_channel_blob_get_json(blob), "dialstatus");

	if (caller && status && !strcmp(S_OR(ast_json_string_get(status), ""), "ANSWER")) {
		pushwake__calls_answered(caller->base->uniqueid);
	}
}

int pushwake__answer_start(void)
{
	router = stasis_message_router_create(ast_channel_topic_all());
	if (!router) {
		return -1;
	}
	return stasis_message_router_add(router, ast_channel_dial_type(), on_dial, NULL);
}

void pushwake__answer_stop(void)
{
	stasis_message_router_unsubscribe_and_join(router);
	router = NULL;
}
