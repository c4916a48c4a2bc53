/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Texts that a dialplan sends without PushWake(), to an address that a phone has had.
 *
 * A MESSAGE is over for its dialplan once it is sent. Where its phone says nothing for `silent_after` a copy goes to the
 * place where requests wait, and from there to the phone that wakes.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

struct text {
	/*! What was sent, for the place. */
	pjsip_tx_data *copy;
	/*! A proxy may speak for the phone. */
	int behind_proxy;
	char call_id[];
};

/*! Those whose phones have said nothing. */
static struct ao2_container *texts;

AO2_STRING_FIELD_HASH_FN(text, call_id)
AO2_STRING_FIELD_CMP_FN(text, call_id)

static void destroy(void *obj)
{
	struct text *text = obj;

	if (text->copy) {
		pjsip_tx_data_dec_ref(text->copy);
	}
}

static struct text *find(const pjsip_msg *msg, int flags)
{
	const pjsip_cid_hdr *header = pjsip_msg_find_hdr(msg, PJSIP_H_CALL_ID, NULL);
	char *call_id = ast_alloca(header ? header->id.slen + 1 : 1);

	if (!header) {
		return NULL;
	}
	ast_copy_pj_str(call_id, &header->id, header->id.slen + 1);
	return ao2_find(texts, call_id, OBJ_SEARCH_KEY | flags);
}

/*! The same as a request of its own, to the place; NULL: there is none. */
static pjsip_tx_data *copy_for_place(pjsip_msg *msg, const char *aor)
{
	char *place = pushwake__place_uri(aor);
	pjsip_tx_data *copy = NULL;
	pjsip_uri *uri = NULL;
	pj_pool_t *pool = pjsip_endpt_create_pool(ast_sip_get_pjsip_endpoint(), "pushwake", 1000, 1000);
	pj_str_t text;

	if (place && pool) {
		pj_strdup2_with_null(pool, &text, place);
		uri = pjsip_parse_uri(pool, text.ptr, text.slen, 0);
	}
	if (uri && pjsip_endpt_create_request_from_hdr(ast_sip_get_pjsip_endpoint(), &msg->line.req.method, uri,
			PJSIP_MSG_FROM_HDR(msg), PJSIP_MSG_TO_HDR(msg), NULL, NULL, -1, NULL, &copy) == PJ_SUCCESS) {
		copy->msg->body = msg->body ? pjsip_msg_body_clone(copy->pool, msg->body) : NULL;
	}
	if (pool) {
		pjsip_endpt_release_pool(ast_sip_get_pjsip_endpoint(), pool);
	}
	ast_free(place);
	return copy;
}

static int look(void *data)
{
	struct text *text = data;
	struct text *silent = texts ? ao2_find(texts, text, OBJ_SEARCH_OBJECT | OBJ_UNLINK) : NULL;

	if (silent && pushwake__legs_wake_all()) {
		pjsip_endpt_send_request(ast_sip_get_pjsip_endpoint(), text->copy, -1, NULL, NULL);
		text->copy = NULL;
	}
	ao2_cleanup(silent);
	ao2_ref(text, -1);
	ast_module_unref(AST_MODULE_SELF);
	return 0;
}

static void watch(pjsip_tx_data *tdata, const char *aor, int behind_proxy)
{
	const pjsip_cid_hdr *call_id = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CALL_ID, NULL);
	struct text *text = call_id ? ao2_alloc(sizeof(*text) + call_id->id.slen + 1, destroy) : NULL;
	struct ast_sip_sched_task *task = NULL;

	if (!text) {
		return;
	}
	text->behind_proxy = behind_proxy;
	ast_copy_pj_str(text->call_id, &call_id->id, call_id->id.slen + 1);
	text->copy = copy_for_place(tdata->msg, aor);
	if (text->copy) {
		ao2_link(texts, text);
		ast_module_ref(AST_MODULE_SELF);
		task = ast_sip_schedule_task(NULL, pushwake__silent_after(), look, NULL, text, AST_SIP_SCHED_TASK_ONESHOT);
		if (!task) {
			ao2_unlink(texts, text);
			ast_module_unref(AST_MODULE_SELF);
		}
	}
	if (!task) {
		ao2_ref(text, -1);
	}
	ao2_cleanup(task);
}

void pushwake__plain_text_sent(struct ast_sip_endpoint *endpoint, pjsip_tx_data *tdata)
{
	struct ast_sip_contact *contact;
	struct text *known;

	if (!pushwake__legs_wake_all() || !endpoint || pushwake__silent_after() <= 0 || pushwake__forwards()) {
		return;
	}
	known = find(tdata->msg, 0); /* it goes out once more, with credentials */
	contact = known ? NULL : pushwake__contact_of_request(endpoint, tdata);
	if (contact && pushwake_may_wake(pushwake__client(), pushwake__str(contact->aor)) == 1) {
		watch(tdata, contact->aor, !ast_strlen_zero(contact->path) || !ast_strlen_zero(endpoint->outbound_proxy));
	}
	ao2_cleanup(contact);
	ao2_cleanup(known);
}

void pushwake__plain_text_answered(const pjsip_rx_data *rdata)
{
	int status = rdata->msg_info.msg->line.status.code;
	struct text *text;

	if (!pushwake__legs_wake_all() || status < 200 || status == PJSIP_SC_UNAUTHORIZED
		|| status == PJSIP_SC_PROXY_AUTHENTICATION_REQUIRED) {
		return;
	}
	text = find(rdata->msg_info.msg, 0);
	if (text && !(text->behind_proxy && pushwake_is_about_way(status))) {
		ao2_unlink(texts, text);
	}
	ao2_cleanup(text);
}

int pushwake__plain_text_start(void)
{
	texts = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, 251, text_hash_fn, NULL, text_cmp_fn);
	return texts ? 0 : -1;
}

void pushwake__plain_text_stop(void)
{
	ao2_cleanup(texts);
	texts = NULL;
}
