/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief An INVITE goes on inside its session: the channel stays, and Asterisk sees nothing but another answer.
 *
 * PJSIP has this for redirections. It uses members of pjsip_inv_session and pjsip_transaction that are no interface:
 * pushwake__follow_start() compares what was compiled with what runs.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

/*! Makes a URI the one target that is left: the same place may be tried once more, so the set is not asked. */
static int set_target(pjsip_dialog *dlg, const char *text)
{
	pjsip_target *target;
	pjsip_uri *uri;
	pj_str_t copy;

	pj_strdup2_with_null(dlg->pool, &copy, text);
	uri = pjsip_parse_uri(dlg->pool, copy.ptr, copy.slen, 0);
	if (!uri || (!PJSIP_URI_SCHEME_IS_SIP(uri) && !PJSIP_URI_SCHEME_IS_SIPS(uri))) {
		return -1;
	}
	for (target = dlg->target_set.head.next; (void *) target != (void *) &dlg->target_set.head; target = target->next) {
		target->code = target->code ? target->code : PJSIP_SC_MOVED_TEMPORARILY;
	}
	target = PJ_POOL_ZALLOC_T(dlg->pool, pjsip_target);
	target->uri = uri;
	target->q1000 = 1000;
	pj_list_push_back(&dlg->target_set.head, target);
	pjsip_target_set_set_current(&dlg->target_set, target);
	return 0;
}

/*! Asterisk corrects host and port of the Contact for each way, and the transport only for those that it knows. */
static void readdress(pjsip_inv_session *inv, const pjsip_sip_uri *target)
{
	pjsip_contact_hdr *contact = pjsip_msg_find_hdr(inv->invite_req->msg, PJSIP_H_CONTACT, NULL);

	if (pushwake__place_is(target)) {
		return;
	}
	if (contact) {
		((pjsip_sip_uri *) pjsip_uri_get_uri(contact->uri))->transport_param = target->transport_param;
	}
	if (inv->dlg->local.contact) {
		((pjsip_sip_uri *) pjsip_uri_get_uri(inv->dlg->local.contact->uri))->transport_param = target->transport_param;
	}
}

/*!
 * PJSIP would send the same message to another place. A transaction that is left still needs it as it was, for its
 * CANCEL, for the ACK of its answer, and to be sent once more.
 */
static int renew_request(pjsip_inv_session *inv)
{
	pjsip_tx_data *tdata;

	if (pjsip_endpt_create_tdata(ast_sip_get_pjsip_endpoint(), &tdata) != PJ_SUCCESS) {
		return -1;
	}
	pjsip_tx_data_add_ref(tdata);
	tdata->msg = pjsip_msg_clone(tdata->pool, inv->invite_req->msg);
	pjsip_tx_data_dec_ref(inv->invite_req);
	inv->invite_req = tdata;
	return 0;
}

/* ---- What was left */

static pjsip_module left;

/*! A phone that is shown the end of a call reads from the CANCEL how it ended (RFC 3326). */
static void cancel(pjsip_transaction *tsx)
{
	const char *reason = tsx->mod_data[left.id];
	pjsip_tx_data *tdata;

	if (pjsip_endpt_create_cancel(ast_sip_get_pjsip_endpoint(), tsx->last_tx, &tdata) == PJ_SUCCESS) {
		if (reason) {
			ast_sip_add_header(tdata, "Reason", reason);
		}
		pjsip_endpt_send_request(ast_sip_get_pjsip_endpoint(), tdata, -1, NULL, NULL);
	}
}

/*! A request in the dialog that a late 2xx has made. */
static pjsip_tx_data *make_request(const pjsip_method *method, pjsip_transaction *tsx, pjsip_rx_data *rdata, int cseq)
{
	pjsip_msg *sent = tsx->last_tx->msg, *msg = rdata->msg_info.msg;
	pjsip_contact_hdr *contact = pjsip_msg_find_hdr(msg, PJSIP_H_CONTACT, NULL);
	pjsip_rr_hdr *hop;
	pjsip_tx_data *tdata;

	if (pjsip_endpt_create_request_from_hdr(ast_sip_get_pjsip_endpoint(), method,
			contact && contact->uri ? contact->uri : sent->line.req.uri, rdata->msg_info.from, rdata->msg_info.to, NULL,
			rdata->msg_info.cid, cseq, NULL, &tdata) != PJ_SUCCESS) {
		return NULL;
	}
	/* A route set is the Record-Route of the answer, from its end (RFC 3261, 12.1.2). */
	for (hop = pjsip_msg_find_hdr(msg, PJSIP_H_RECORD_ROUTE, NULL); hop;
		hop = pjsip_msg_find_hdr(msg, PJSIP_H_RECORD_ROUTE, hop->next)) {
		pjsip_route_hdr *route = pjsip_route_hdr_create(tdata->pool);

		route->name_addr = *(pjsip_name_addr *) pjsip_uri_clone(tdata->pool, &hop->name_addr);
		pjsip_msg_insert_first_hdr(tdata->msg, (pjsip_hdr *) route);
	}
	return tdata;
}

/*! The phone has taken a call that is elsewhere: it is acknowledged, and hung up. */
static void hang_up(pjsip_transaction *tsx, pjsip_rx_data *rdata)
{
	int cseq = rdata->msg_info.cseq->cseq;
	pjsip_tx_data *ack = make_request(pjsip_get_ack_method(), tsx, rdata, cseq);
	pjsip_tx_data *bye = make_request(pjsip_get_bye_method(), tsx, rdata, cseq + 1);

	if (ack) {
		pjsip_endpt_send_request_stateless(ast_sip_get_pjsip_endpoint(), ack, NULL, NULL);
	}
	if (bye) {
		pjsip_endpt_send_request(ast_sip_get_pjsip_endpoint(), bye, -1, NULL, NULL);
	}
}

static void on_tsx_state(pjsip_transaction *tsx, pjsip_event *event)
{
	if (tsx->state == PJSIP_TSX_STATE_DESTROYED && tsx->mod_data[left.id]) {
		ast_module_unref(AST_MODULE_SELF);
	}
	if (event->type != PJSIP_EVENT_TSX_STATE || event->body.tsx_state.type != PJSIP_EVENT_RX_MSG) {
		return;
	}
	if (tsx->state == PJSIP_TSX_STATE_PROCEEDING && event->body.tsx_state.prev_state == PJSIP_TSX_STATE_CALLING) {
		cancel(tsx);
	} else if (tsx->state == PJSIP_TSX_STATE_TERMINATED && tsx->status_code / 100 == 2) {
		hang_up(tsx, event->body.tsx_state.src.rdata);
	}
}

static pjsip_module left = {
	.name = { "PushWake left legs", 18 },
	.id = -1,
	.priority = PJSIP_MOD_PRIORITY_APPLICATION,
	.on_tsx_state = on_tsx_state,
};

void pushwake__follow_leave(pjsip_transaction *tsx, pjsip_dialog *dlg)
{
	int ua = pjsip_ua_instance()->id;

	if (tsx->mod_data[ua] != dlg) {
		return;
	}
	/* It is the dialog's no longer. A late answer has another tag, and would be taken for that of the place where the
	 * INVITE is now; and for some failures of any transaction (408, 481) PJSIP ends the session. */
	tsx->mod_data[ua] = NULL;
	tsx->tsx_user = &left;
	dlg->tsx_count--;
	if (tsx->state == PJSIP_TSX_STATE_PROCEEDING) {
		cancel(tsx);
	}
}

void pushwake__follow_show(pjsip_tx_data *tdata, const char *reason)
{
	pjsip_transaction *tsx;
	pj_str_t copy;

	if (pjsip_tsx_create_uac(&left, tdata, &tsx) != PJ_SUCCESS) {
		pjsip_tx_data_dec_ref(tdata);
		return;
	}
	pj_strdup2_with_null(tsx->pool, &copy, reason);
	tsx->mod_data[left.id] = copy.ptr;
	/* It calls back into this module. */
	ast_module_ref(AST_MODULE_SELF);
	pjsip_tsx_set_transport(tsx, &tdata->tp_sel);
	if (pjsip_tsx_send_msg(tsx, NULL) != PJ_SUCCESS) {
		pjsip_tx_data_dec_ref(tdata);
		pjsip_tsx_terminate(tsx, PJSIP_SC_SERVICE_UNAVAILABLE);
	}
}

/* ---- The way on, and back */

/*!
 * A connection that ends in the moment in which the INVITE goes out over it: PJSIP's timer for that is the one that it sets
 * for the answer right then, and nobody would hear of the end for 32 s. Not 0: so it is, and the transaction is left.
 */
static int is_lost(pjsip_inv_session *inv)
{
	pjsip_transaction *tsx = inv->invite_tsx;

	if (!tsx || tsx->state != PJSIP_TSX_STATE_CALLING || tsx->transport_err == PJ_SUCCESS) {
		return 0;
	}
	pushwake__follow_leave(tsx, inv->dlg);
	inv->invite_tsx = NULL;
	pjsip_tsx_terminate(tsx, PJSIP_SC_SERVICE_UNAVAILABLE);
	return 1;
}

int pushwake__follow(pjsip_inv_session *inv, const char *target, const char *route)
{
	pjsip_tpselector any = { .type = PJSIP_TPSELECTOR_NONE };
	pjsip_dialog *dlg = inv->dlg;

	if (inv->cancelling || inv->state >= PJSIP_INV_STATE_CONNECTING || !inv->invite_req || renew_request(inv)
		|| set_target(dlg, target)) {
		return -1;
	}
	while (pjsip_msg_find_remove_hdr(inv->invite_req->msg, PJSIP_H_ROUTE, NULL)) {
	}
	if (!ast_strlen_zero(route) && ast_sip_set_outbound_proxy(inv->invite_req, route)) {
		ast_log(LOG_WARNING, "The Path of a phone cannot be used (%s), so its call goes to its address\n", route);
	}
	readdress(inv, pjsip_uri_get_uri(dlg->target_set.current->uri));
	pjsip_dlg_set_transport(dlg, &any);
	if (inv->invite_tsx) {
		pushwake__follow_leave(inv->invite_tsx, dlg);
		inv->invite_tsx = NULL;
	}
	/* As for PJSIP_REDIRECT_PENDING. */
	pjsip_dlg_inc_session(dlg, pjsip_inv_usage_instance());
	if (pjsip_inv_process_redirect(inv, PJSIP_REDIRECT_ACCEPT_REPLACE, NULL) != PJ_SUCCESS) {
		ast_log(LOG_WARNING, "An INVITE cannot go on to %s\n", target);
		return -1;
	}
	return is_lost(inv) ? -1 : 0;
}

void pushwake__follow_back(struct pushwake__waiter *waiter, pjsip_inv_session *inv)
{
	char *uri = pushwake__place_uri(waiter->aor);

	waiter->leg = 0;
	if (!uri || pushwake__follow(inv, uri, NULL)) {
		ast_debug(1, "The INVITE of %s does not come back\n", waiter->call_id);
	}
	ast_free(uri);
}

/* ---- Whether what was compiled fits what runs: only pointers are compared, since nothing else can be believed before. */

static int dialog_fits(const pjsip_dialog *dlg)
{
	return dlg->ua == pjsip_ua_instance() && dlg->endpt == ast_sip_get_pjsip_endpoint() && dlg->role == PJSIP_ROLE_UAC
		&& dlg->target_set.current == dlg->target_set.head.next && dlg->sess_count > 0 && !dlg->tsx_count
		&& dlg->usage_cnt > 0 && dlg->usage_cnt < PJSIP_MAX_MODULE && dlg->usage[0] == pjsip_inv_usage_instance();
}

static int session_fits(const pjsip_inv_session *inv, pjsip_dialog *dlg)
{
	return pjsip_dlg_get_inv_session(dlg) == inv && inv->dlg == dlg && inv->role == PJSIP_ROLE_UAC
		&& inv->state == PJSIP_INV_STATE_NULL && !inv->cancelling && !inv->invite_tsx && !inv->invite_req;
}

static int transaction_fits(pjsip_transaction *tsx, const pjsip_tx_data *tdata, pjsip_dialog *dlg)
{
	int ua = pjsip_ua_instance()->id, fits;

	if (tsx->tsx_user != &left || tsx->role != PJSIP_ROLE_UAC || tsx->last_tx != tdata || tsx->mod_data[ua]) {
		return 0;
	}
	tsx->mod_data[ua] = dlg;
	fits = pjsip_tsx_get_dlg(tsx) == dlg;
	tsx->mod_data[ua] = NULL;
	return fits;
}

/*! Makes a session and a transaction of which nothing is sent, and looks at them. */
static int fit_task(void *data)
{
	pj_str_t local = pj_str("sip:pushwake@127.0.0.1"), remote = pj_str("sip:pushwake@127.0.0.1:5099");
	pjsip_transaction *tsx;
	pjsip_inv_session *inv;
	pjsip_tx_data *tdata;
	pjsip_dialog *dlg;
	int *fit = data;

	if (pjsip_dlg_create_uac(pjsip_ua_instance(), &local, NULL, &remote, NULL, &dlg) != PJ_SUCCESS) {
		return 0;
	}
	pjsip_dlg_inc_lock(dlg);
	if (pjsip_inv_create_uac(dlg, NULL, 0, &inv) == PJ_SUCCESS) {
		*fit = dialog_fits(dlg) && session_fits(inv, dlg);
		if (*fit && pjsip_inv_invite(inv, &tdata) == PJ_SUCCESS) {
			*fit = 0;
			if (pjsip_tsx_create_uac(&left, tdata, &tsx) == PJ_SUCCESS) {
				*fit = transaction_fits(tsx, tdata, dlg);
				pjsip_tsx_terminate(tsx, PJSIP_SC_REQUEST_TERMINATED);
			}
			pjsip_tx_data_dec_ref(tdata);
		}
		pjsip_inv_terminate(inv, PJSIP_SC_REQUEST_TERMINATED, PJ_FALSE);
	}
	pjsip_dlg_dec_lock(dlg);
	return 0;
}

/*! PJ_VERSION is a variable of the PJSIP that runs; the numbers are those of the headers. */
static int is_of_headers(const char *version)
{
	int major = 0, minor = 0, revision = 0;

	return sscanf(version, "%30d.%30d.%30d", &major, &minor, &revision) >= 2 && major == PJ_VERSION_NUM_MAJOR
		&& minor == PJ_VERSION_NUM_MINOR && revision == PJ_VERSION_NUM_REV;
}

int pushwake__follow_start(void)
{
	int fit = 0;

	if (!is_of_headers(pj_get_version())) {
		ast_log(LOG_WARNING, "This res_pushwake.so was built for PJSIP %d.%d.%d and this is %s, so calls wake no phones; "
			"build it for this Asterisk\n", PJ_VERSION_NUM_MAJOR, PJ_VERSION_NUM_MINOR,
			PJ_VERSION_NUM_REV, pj_get_version());
		return -1;
	}
	if (ast_sip_register_service(&left)) {
		return -1;
	}
	if (ast_sip_push_task_wait_servant(NULL, fit_task, &fit) || !fit) {
		ast_log(LOG_WARNING, "This res_pushwake.so was built for a PJSIP %s that is configured otherwise, so calls wake no "
			"phones; build it for this Asterisk\n", pj_get_version());
		ast_sip_unregister_service(&left);
		return -1;
	}
	return 0;
}

void pushwake__follow_stop(void)
{
	ast_sip_unregister_service(&left);
}
