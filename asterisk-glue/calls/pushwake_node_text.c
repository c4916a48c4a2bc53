/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief MESSAGEs of other nodes for phones of this one.
 *
 * The dialplan gets a MESSAGE after Asterisk has accepted it with 202, so what the phone
 * says would be lost. One that another node holds does not go there: it goes on to the
 * phone as it came, and the phone's answer back. Only endpoints may that have the context
 * of the nodes as their message_context, and only phones are reached that are registered here.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"

/*! The message_context of the endpoint that stands for other nodes. No dialplan needs to have it. */
#define NODES_CONTEXT "pushwake-nodes"

/*! A MESSAGE that is on its way to its phone. */
struct forwarded {
	pjsip_transaction *transaction;
	pjsip_tx_data *answer;
};

static pjsip_module forwarder;

static void forwarded_free(struct forwarded *forwarded)
{
	pj_grp_lock_dec_ref(forwarded->transaction->grp_lock);
	ast_free(forwarded);
	ast_module_unref(AST_MODULE_SELF);
}

/*! What has come is answered from now on, a copy that is sent again too; NULL when it cannot be. */
static struct forwarded *forwarded_new(pjsip_rx_data *rdata)
{
	struct forwarded *forwarded = ast_calloc(1, sizeof(*forwarded));

	if (!forwarded || pjsip_endpt_create_response(ast_sip_get_pjsip_endpoint(), rdata, 200, NULL, &forwarded->answer) != PJ_SUCCESS) {
		ast_free(forwarded);
		return NULL;
	}
	if (pjsip_tsx_create_uas2(&forwarder, rdata, NULL, &forwarded->transaction) != PJ_SUCCESS) {
		pjsip_tx_data_dec_ref(forwarded->answer);
		ast_free(forwarded);
		return NULL;
	}
	pj_grp_lock_add_ref(forwarded->transaction->grp_lock);
	pjsip_tsx_recv_msg(forwarded->transaction, rdata);
	/* The phone may take its time, and calls back into this module. */
	ast_module_ref(AST_MODULE_SELF);
	return forwarded;
}

/*! Answers, and forgets it. */
static void finish(struct forwarded *forwarded, int status)
{
	pjsip_tx_data *answer = forwarded->answer;

	answer->msg->line.status.code = status;
	answer->msg->line.status.reason = *pjsip_get_status_text(status);
	if (forwarded->transaction->state >= PJSIP_TSX_STATE_TERMINATED
		|| pjsip_tsx_send_msg(forwarded->transaction, answer) != PJ_SUCCESS) {
		pjsip_tx_data_dec_ref(answer);
	}
	forwarded_free(forwarded);
}

static void on_answer(void *token, pjsip_event *event)
{
	int status = event->type == PJSIP_EVENT_TSX_STATE ? event->body.tsx_state.tsx->status_code : 0;

	finish(token, status >= 200 ? status : PJSIP_SC_REQUEST_TIMEOUT);
}

/*! The MESSAGE as the phone is to get it; NULL when memory is short. */
static pjsip_tx_data *copy_for(pjsip_rx_data *rdata, struct ast_sip_endpoint *endpoint, const struct pushwake__contact *contact)
{
	pjsip_tpselector selector = { .type = PJSIP_TPSELECTOR_NONE };
	pjsip_tx_data *tdata;
	pjsip_uri *uri;
	pj_str_t text;

	pj_strdup2_with_null(rdata->tp_info.pool, &text, contact->uri);
	uri = pjsip_parse_uri(rdata->tp_info.pool, text.ptr, text.slen, 0);
	if (!uri || pjsip_endpt_create_request_fwd(ast_sip_get_pjsip_endpoint(), rdata, uri, NULL, 0, &tdata) != PJ_SUCCESS) {
		return NULL;
	}
	/* It has led here. */
	while (pjsip_msg_find_remove_hdr(tdata->msg, PJSIP_H_ROUTE, NULL)) {
	}
	ast_sip_set_tpselector_from_ep_or_uri(endpoint, pjsip_uri_get_uri(uri), &selector);
	pjsip_tx_data_set_transport(tdata, &selector);
	ast_sip_tpselector_unref(&selector);
	return tdata;
}

static void forward(pjsip_rx_data *rdata, const struct pushwake__contact *contact)
{
	struct ast_sip_endpoint *endpoint = ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "endpoint", contact->endpoint);
	struct forwarded *forwarded = endpoint ? forwarded_new(rdata) : NULL;
	pjsip_tx_data *tdata = forwarded ? copy_for(rdata, endpoint, contact) : NULL;

	if (!forwarded) {
		pjsip_endpt_respond_stateless(ast_sip_get_pjsip_endpoint(), rdata, 503, NULL, NULL, NULL);
	} else if (!tdata) {
		finish(forwarded, 503);
	} else if (ast_sip_send_request(tdata, NULL, endpoint, forwarded, on_answer)) {
		finish(forwarded, 503);
	}
	ao2_cleanup(endpoint);
}

/*! Whether it comes from another node, outside of a dialog. */
static int is_of_node(pjsip_rx_data *rdata)
{
	static const pjsip_method method = { PJSIP_OTHER_METHOD, { "MESSAGE", 7 } };
	struct ast_sip_endpoint *endpoint;
	int is_node;

	if (pjsip_method_cmp(&rdata->msg_info.msg->line.req.method, &method) || rdata->msg_info.to->tag.slen) {
		return 0;
	}
	endpoint = ast_pjsip_rdata_get_endpoint(rdata);
	is_node = endpoint && !strcmp(S_OR(endpoint->message_context, ""), NODES_CONTEXT);
	ao2_cleanup(endpoint);
	return is_node;
}

static pj_bool_t on_rx_request(pjsip_rx_data *rdata)
{
	struct pushwake__contact contact;
	int found = is_of_node(rdata) ? pushwake__node_find(&contact, rdata) : -1;
	int refusal = !found ? PJSIP_SC_TEMPORARILY_UNAVAILABLE
		: rdata->msg_info.max_fwd && rdata->msg_info.max_fwd->ivalue < 1 ? PJSIP_SC_TOO_MANY_HOPS : 0;

	if (found < 0) {
		return PJ_FALSE;
	}
	if (refusal) {
		pjsip_endpt_respond_stateless(ast_sip_get_pjsip_endpoint(), rdata, refusal, NULL, NULL, NULL);
	} else {
		forward(rdata, &contact);
	}
	if (found) {
		pushwake__contact_free(contact);
	}
	return PJ_TRUE;
}

static pjsip_module forwarder = {
	.name = { "PushWake MESSAGE", 16 },
	.id = -1,
	.priority = PJSIP_MOD_PRIORITY_APPLICATION - 1,
	.on_rx_request = on_rx_request,
};

int pushwake__node_text_start(void)
{
	return ast_sip_register_service(&forwarder) ? -1 : 0;
}

void pushwake__node_text_stop(void)
{
	ast_sip_unregister_service(&forwarder);
}
