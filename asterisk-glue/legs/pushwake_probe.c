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
#include "asterisk/module.h"
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
	/*! Until it is sent. */
	struct pushwake__waiter *waiter;
	char *uri;
	char *path;
	int is_answered;
};

static void probe_destroy(void *obj)
{
	struct probe *probe = obj;

	ao2_cleanup(probe->waiter);
	ast_free(probe->uri);
	ast_free(probe->path);
}

static void tell(const struct probe *probe, int status)
{
	struct pushwake__told told = { .kind = PUSHWAKE__TOLD_PROBED, .handle = probe->handle, .leg = probe->leg, .status = status };

	pushwake__legs_tell(&told);
}

/*! PJSIP and its scheduler hold pointers into this module until they have called. */
static void done(struct probe *probe)
{
	ao2_ref(probe, -1);
	ast_module_unref(AST_MODULE_SELF);
}

/*! An app that was suspended answers when it runs again, which may be long after it counted as silent: it rings then. */
static void on_answer(void *token, pjsip_event *event)
{
	struct probe *probe = token;

	__atomic_store_n(&probe->is_answered, 1, __ATOMIC_RELEASE);
	if (event->body.tsx_state.type == PJSIP_EVENT_RX_MSG) {
		tell(probe, event->body.tsx_state.tsx->status_code);
	} else {
		tell(probe, event->body.tsx_state.type == PJSIP_EVENT_TRANSPORT_ERROR ? PJSIP_SC_SERVICE_UNAVAILABLE : 0);
	}
	done(probe);
}

static int on_silence(void *data)
{
	struct probe *probe = data;

	if (!__atomic_load_n(&probe->is_answered, __ATOMIC_ACQUIRE)) {
		tell(probe, 0);
	}
	done(probe);
	return 0;
}

static void watch(struct probe *probe)
{
	int pause = pushwake__silent_after() > 0 ? pushwake__silent_after() : LONGEST_MS;
	struct ast_sip_sched_task *task;

	ast_module_ref(AST_MODULE_SELF);
	task = ast_sip_schedule_task(NULL, pause, on_silence, NULL, ao2_bump(probe), AST_SIP_SCHED_TASK_ONESHOT);
	if (!task) {
		tell(probe, 0);
		done(probe);
	}
	ao2_cleanup(task);
}

static int send_task(void *data)
{
	struct probe *probe = data;
	struct ast_sip_endpoint *endpoint = ao2_bump(probe->waiter->session->endpoint);
	pjsip_tx_data *tdata;

	/* The session need not stay for as long as the answer takes. */
	ao2_ref(probe->waiter, -1);
	probe->waiter = NULL;
	if (ast_sip_create_request("OPTIONS", NULL, endpoint, probe->uri, NULL, &tdata)) {
		tell(probe, PJSIP_SC_SERVICE_UNAVAILABLE);
		ao2_ref(endpoint, -1);
		ao2_ref(probe, -1);
		return 0;
	}
	if (!ast_strlen_zero(probe->path)) {
		ast_sip_set_outbound_proxy(tdata, probe->path);
	}
	ast_module_ref(AST_MODULE_SELF);
	watch(probe);
	if (ast_sip_send_out_of_dialog_request(tdata, endpoint, 0, probe, on_answer)) {
		__atomic_store_n(&probe->is_answered, 1, __ATOMIC_RELEASE);
		tell(probe, PJSIP_SC_SERVICE_UNAVAILABLE);
		done(probe);
	}
	ao2_ref(endpoint, -1);
	return 0;
}

void pushwake__probe(struct pushwake__waiter *waiter, int leg, const char *uri, const char *path)
{
	struct probe *probe = ao2_alloc_options(sizeof(*probe), probe_destroy, AO2_ALLOC_OPT_LOCK_NOLOCK);

	if (!probe) {
		return;
	}
	probe->handle = waiter->handle;
	probe->leg = leg;
	probe->waiter = ao2_bump(waiter);
	probe->uri = ast_strdup(uri);
	probe->path = ast_strdup(path);
	if (!probe->uri || !probe->path || ast_sip_push_task(NULL, send_task, probe)) {
		ao2_ref(probe, -1);
	}
}
