/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Is a phone awake? An app that is suspended and reads an OPTIONS late answers it and shows nothing.
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

#include "pushwake_legs.h"

/*! Milliseconds for an answer where `silent_after` is none. */
#define LONGEST_MS 1500

struct probe {
	uint64_t handle;
	int leg;
	struct pushwake__waiter *waiter;
	char *uri;
	char *path;
};

static void probe_free(struct probe *probe)
{
	ao2_cleanup(probe->waiter);
	ast_free(probe->uri);
	ast_free(probe->path);
	ast_free(probe);
}

static void tell(const struct probe *probe, int status)
{
	struct pushwake__told told = { .kind = PUSHWAKE__TOLD_PROBED, .handle = probe->handle, .leg = probe->leg, .status = status };

	pushwake__legs_tell(&told);
}

static void on_answer(void *token, pjsip_event *event)
{
	struct probe *probe = token;

	switch (event->body.tsx_state.type) {
	case PJSIP_EVENT_RX_MSG:
		tell(probe, event->body.tsx_state.tsx->status_code);
		break;
	case PJSIP_EVENT_TRANSPORT_ERROR:
		tell(probe, PJSIP_SC_SERVICE_UNAVAILABLE);
		break;
	default:
		tell(probe, 0);
	}
	probe_free(probe);
}

static int send_task(void *data)
{
	struct probe *probe = data;
	struct ast_sip_endpoint *endpoint = probe->waiter->session->endpoint;
	int pause = pushwake__silent_after() > 0 ? pushwake__silent_after() : LONGEST_MS;
	pjsip_tx_data *tdata;

	if (ast_sip_create_request("OPTIONS", NULL, endpoint, probe->uri, NULL, &tdata)) {
		tell(probe, PJSIP_SC_SERVICE_UNAVAILABLE);
		probe_free(probe);
		return 0;
	}
	if (!ast_strlen_zero(probe->path)) {
		ast_sip_set_outbound_proxy(tdata, probe->path);
	}
	if (ast_sip_send_out_of_dialog_request(tdata, endpoint, pause, probe, on_answer)) {
		tell(probe, PJSIP_SC_SERVICE_UNAVAILABLE);
		probe_free(probe);
	}
	return 0;
}

void pushwake__probe(struct pushwake__waiter *waiter, int leg, const char *uri, const char *path)
{
	struct probe *probe = ast_calloc(1, sizeof(*probe));

	if (!probe) {
		return;
	}
	probe->handle = waiter->handle;
	probe->leg = leg;
	probe->waiter = ao2_bump(waiter);
	probe->uri = ast_strdup(uri);
	probe->path = ast_strdup(path);
	if (!probe->uri || !probe->path || ast_sip_push_task(NULL, send_task, probe)) {
		probe_free(probe);
	}
}
