/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Device state PushWake:aor: a phone that sleeps but can be woken is available.
 *
 * As long as the SIP endpoint of the same name has a contact its own state is passed
 * on, so a hint or queue can name PushWake:alice alone. While a call waits for a phone to
 * wake it rings, so that a queue does not send it a second one.
 */
#include "asterisk.h"

#include "asterisk/devicestate.h"
#include "asterisk/logger.h"
#include "asterisk/stasis.h"
#include "asterisk/stasis_message_router.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"
#include "pushwake_query.h"

#define LABEL "PushWake"
#define SIP_PREFIX "PJSIP/"

static struct stasis_message_router *router;

static enum ast_device_state device_state(const char *aor)
{
	pushwake_client *client = pushwake__client();
	enum ast_device_state state;
	char device[256];
	char error[256];

	snprintf(device, sizeof(device), SIP_PREFIX "%s", aor);
	state = ast_device_state(device);
	if (state == AST_DEVICE_NOT_INUSE || state == AST_DEVICE_UNAVAILABLE || state == AST_DEVICE_UNKNOWN) {
		if (pushwake__calls_wait_for(aor)) {
			return AST_DEVICE_RINGING;
		}
	}
	if (state != AST_DEVICE_UNAVAILABLE && state != AST_DEVICE_INVALID && state != AST_DEVICE_UNKNOWN) {
		return state;
	}
	/* All endpoints are asked about when the network goes; most users have no phone that sleeps. */
	if (client && !pushwake_may_wake(client, pushwake__str(aor))) {
		return AST_DEVICE_UNAVAILABLE;
	}
	if (pushwake__query_count(aor, error, sizeof(error)) > 0) {
		return AST_DEVICE_NOT_INUSE;
	}
	return AST_DEVICE_UNAVAILABLE;
}

void pushwake__devstate_changed(const char *aor)
{
	ast_devstate_changed(AST_DEVICE_UNKNOWN, AST_DEVSTATE_CACHABLE, LABEL ":%s", aor);
}

/*! When the endpoint's state changes, so does ours. */
static void on_device_state(void *userdata, struct stasis_subscription *sub, struct stasis_message *message)
{
	struct ast_device_state_message *state = stasis_message_data(message);

	/* One message per server, and one for all of them: the latter has no EID. */
	if (!state->eid && !strncmp(state->device, SIP_PREFIX, strlen(SIP_PREFIX))) {
		pushwake__devstate_changed(state->device + strlen(SIP_PREFIX));
	}
}

int pushwake__devstate_start(void)
{
	if (ast_devstate_prov_add(LABEL, device_state)) {
		return -1;
	}
	router = stasis_message_router_create(ast_device_state_topic_all());
	if (!router) {
		return -1;
	}
	return stasis_message_router_add(router, ast_device_state_message_type(), on_device_state, NULL);
}

void pushwake__devstate_stop(void)
{
	stasis_message_router_unsubscribe_and_join(router);
	router = NULL;
	ast_devstate_prov_del(LABEL);
}
