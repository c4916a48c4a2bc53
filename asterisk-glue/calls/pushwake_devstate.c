/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Device state PushWake:aor: a phone that sleeps but can be woken is available.
 *
 * As long as the SIP endpoint of the AoR has a contact its own state is passed
 * on, so a hint or queue can name PushWake:alice alone. While a call waits for a phone to
 * wake it rings, so that a queue does not send it a second one.
 */
#include "asterisk.h"

#include <sys/eventfd.h>

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/devicestate.h"
#include "asterisk/logger.h"
#include "asterisk/options.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/stasis.h"
#include "asterisk/stasis_message_router.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_early_wake.h"
#include "pushwake_calls.h"

#define SIP_PREFIX "PJSIP/"
#define BUCKETS 61

static struct stasis_message_router *router;

/*! AoRs that nobody could be asked about, since no engine answered: queues go by what they were told last. */
static struct ao2_container *unknown;

/*! Readable when there is a new one of these, as the supervisor may sleep. */
static int unknown_fd = -1;

/* ---- The endpoint */

static enum ast_device_state sip_state(const char *endpoint)
{
	char device[256];

	snprintf(device, sizeof(device), SIP_PREFIX "%s", endpoint);
	return ast_device_state(device);
}

/*! Where no endpoint has the AoR, one of its name is all that can be meant. */
static enum ast_device_state endpoint_state(const char *aor)
{
	struct ast_sip_endpoint *endpoint = pushwake__endpoint_of(aor);
	enum ast_device_state state = sip_state(endpoint ? ast_sorcery_object_get_id(endpoint) : aor);

	ao2_cleanup(endpoint);
	return state;
}

/*! When the endpoint's state changes, so do those of its AoRs. */
static void on_device_state(void *userdata, struct stasis_subscription *sub, struct stasis_message *message)
{
	struct ast_device_state_message *state = stasis_message_data(message);
	struct ast_sip_endpoint *endpoint;
	const char *name;
	char *rest, *aor;

	/* One message per server, and one for all of them: the latter has no EID. */
	if (state->eid || strncmp(state->device, SIP_PREFIX, strlen(SIP_PREFIX))) {
		return;
	}
	name = state->device + strlen(SIP_PREFIX);
	endpoint = ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "endpoint", name);
	rest = ast_strdupa(endpoint ? S_OR(endpoint->aors, name) : name);
	while ((aor = ast_strip(strsep(&rest, ",")))) {
		pushwake__devstate_changed(aor);
	}
	ao2_cleanup(endpoint);
}

/* ---- The bindings */

static int report(void *obj, void *arg, int flags)
{
	pushwake__devstate_changed(obj);
	return CMP_MATCH;
}

void pushwake__devstates_ask_again(int is_probe)
{
	ao2_callback(unknown, OBJ_NODATA | OBJ_UNLINK | (is_probe ? 0 : OBJ_MULTIPLE), report, NULL);
}

static int report_aor(void *obj, void *arg, int flags)
{
	pushwake__devstate_changed(ast_sorcery_object_get_id(obj));
	return 0;
}

void pushwake__devstates_renew(void)
{
	/* While Asterisk starts, those who ask come after this module. */
	struct ao2_container *all = ast_fully_booted ? ast_sorcery_retrieve_by_fields(ast_sip_get_sorcery(), "aor",
		AST_RETRIEVE_FLAG_MULTIPLE | AST_RETRIEVE_FLAG_ALL, NULL) : NULL;

	if (all) {
		ao2_callback(all, OBJ_NODATA, report_aor, NULL);
		ao2_ref(all, -1);
	}
}

int pushwake__devstates_unknown(void)
{
	return ao2_container_count(unknown) > 0;
}

int pushwake__devstates_fd(void)
{
	return unknown_fd;
}

static void keep_unknown(const char *aor)
{
	ao2_lock(unknown);
	ast_str_container_remove(unknown, aor);
	ast_str_container_add(unknown, aor);
	ao2_unlock(unknown);
	eventfd_write(unknown_fd, 1);
}

/*! Whether pushes wake phones of an AoR that has none that is there. */
static enum ast_device_state binding_state(const char *aor)
{
	int count;

	/* All endpoints are asked about when the network goes; most users have no phone that sleeps. */
	if (!pushwake__client() || !pushwake_may_wake(pushwake__client(), pushwake__str(aor))) {
		return AST_DEVICE_UNAVAILABLE;
	}
	count = pushwake_bindings(pushwake__client(), pushwake__str(aor), NULL, 0, 0, NULL, NULL);
	if (count < 0) {
		keep_unknown(aor);
		return AST_DEVICE_UNKNOWN;
	}
	pushwake__devstates_ask_again(0);
	return count ? AST_DEVICE_NOT_INUSE : AST_DEVICE_UNAVAILABLE;
}

static enum ast_device_state device_state(const char *aor)
{
	enum ast_device_state state = endpoint_state(aor);
	int is_away = state == AST_DEVICE_UNAVAILABLE || state == AST_DEVICE_INVALID || state == AST_DEVICE_UNKNOWN;

	if ((is_away || state == AST_DEVICE_NOT_INUSE) && pushwake__early_wakes_wait_for(aor)) {
		return AST_DEVICE_RINGING;
	}
	return is_away ? binding_state(aor) : state;
}

int pushwake__devstate_start(void)
{
	unknown = ast_str_container_alloc(BUCKETS);
	unknown_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (unknown_fd < 0 || !unknown || ast_devstate_prov_add(PUSHWAKE__DEVICE, device_state)) {
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
	ast_devstate_prov_del(PUSHWAKE__DEVICE);
	ao2_cleanup(unknown);
	unknown = NULL;
	if (unknown_fd >= 0) {
		close(unknown_fd);
		unknown_fd = -1;
	}
}
