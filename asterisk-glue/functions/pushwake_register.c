/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief REGISTER: what the phone says of push on the way in, Feature-Caps on the way out.
 *
 * A PJSIP module that runs after authentication and before the registrar copies the
 * headers and takes the push parameters out of the Contact URIs. The registrar works
 * in the same thread and answers through the supplements; only when that answer is a
 * 2xx is anything stored, and the Contacts of the 200 get their parameters back.
 * So a token never reaches the contact list, AMI or an INVITE, it cannot make the URI
 * too long for PJSIP, and a new token is not a new contact.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_legs.h"
#include "pushwake_request.h"

/*! The REGISTER that this thread is working on. When the registrar refuses it nothing calls back: it goes with the next one. */
static __thread struct pushwake__request in_hand;

static void log_problems(const struct pushwake__request *request, const pushwake_register_result *result)
{
	char call_id[256];
	size_t index;

	for (index = 0; index < result->problem_count; index++) {
		pushwake_log_value(call_id, sizeof(call_id), pushwake__str(request->call_id));
		ast_log(LOG_WARNING, "REGISTER of '%s' (Call-ID %s): %.*s\n", request->aor, call_id,
			PUSHWAKE__PRINT(result->problems[index]));
	}
}

static pj_str_t pj_text(pushwake_str text)
{
	pj_str_t str = { (char *) text.ptr, text.len };

	return str;
}

/*! Appends what the library wants in the reply; names and values are copied. */
static void add_headers(pjsip_hdr *list, pj_pool_t *pool, const pushwake_register_result *result)
{
	size_t index;

	for (index = 0; index < result->reply_header_count; index++) {
		pj_str_t name = pj_text(result->reply_headers[index].name);
		pj_str_t value = pj_text(result->reply_headers[index].value);

		pj_list_push_back(list, pjsip_generic_string_hdr_create(pool, &name, &value));
	}
}

/*! Answers 555 or 423 in place of the registrar. */
static void refuse(pjsip_rx_data *rdata, const pushwake_register_result *result)
{
	pj_str_t reason = pj_text(result->reply_reason);
	pjsip_hdr headers;

	pj_list_init(&headers);
	add_headers(&headers, rdata->tp_info.pool, result);
	pjsip_endpt_respond_stateless(ast_sip_get_pjsip_endpoint(), rdata, result->reply_code,
		reason.slen ? &reason : NULL, &headers, NULL);
}

/*! What is to be done next with a REGISTER, of which the registrar has said this last. 0, or a status below 0. */
static int run(pushwake_register_result *result, struct pushwake__request *request, int registrar)
{
	int status;

	request->message.aor = pushwake__str(request->aor);
	request->message.registrar = registrar;
	status = pushwake_register_run(result, pushwake__client(), &request->message);
	if (status < 0) {
		pushwake__engine_away("REGISTER", request->aor, status);
	}
	log_problems(request, result);
	return status;
}

/*! Whether the REGISTER has been answered here. */
static int check(struct pushwake__request *request, pjsip_rx_data *rdata)
{
	pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;

	if (!pushwake__client()) {
		return 0;
	}
	run(&result, request, PUSHWAKE_REGISTRAR_NOT_ASKED);
	if (result.step != PUSHWAKE_REGISTER_REFUSE) {
		return 0;
	}
	refuse(rdata, &result);
	return 1;
}

/*! Takes the contacts out of the registrar that this phone has left; `tdata`: and out of the 200. */
static void forget_left(struct pushwake__request *request, pjsip_tx_data *tdata, const pushwake_register_result *result)
{
	size_t index;

	for (index = 0; index < result->left_contact_count; index++) {
		char uri[PUSHWAKE__MAX_URI];

		if (pushwake_contact_strip(uri, sizeof(uri), result->left_contacts[index])
			&& !pushwake__request_names(request, uri)) {
			pushwake__contact_forget(request->aor, uri);
			if (tdata) {
				pushwake__request_drop_contact(tdata, uri);
			}
		}
	}
}

/*!
 * The AoR is full (max_contacts). The registrar would refuse a phone that has woken at a new address, or with
 * remove_existing take the contact of another one: the one that this phone leaves goes first.
 */
static void leave_early(struct pushwake__request *request)
{
	pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;

	run(&result, request, PUSHWAKE_REGISTRAR_FULL);
	forget_left(request, NULL, &result);
}

static void make_room(struct pushwake__request *request, pjsip_rx_data *rdata)
{
	int is_full = 0, count = 0;
	size_t index;

	for (index = 0; index < request->contact_count; index++) {
		int room = pushwake__contact_make_room(request->aor, request->contacts[index].uri, rdata);

		is_full |= room <= count;
		count += room < INT_MAX;
	}
	if (is_full && pushwake__client()) {
		leave_early(request);
	}
}

static pj_bool_t on_rx_request(pjsip_rx_data *rdata)
{
	struct pushwake__request *request = &in_hand;
	struct ast_sip_endpoint *endpoint;
	pj_bool_t is_answered = PJ_FALSE;

	if (rdata->msg_info.msg->line.req.method.id != PJSIP_REGISTER_METHOD
		&& pjsip_method_cmp(&rdata->msg_info.msg->line.req.method, &pjsip_register_method)) {
		return PJ_FALSE;
	}
	endpoint = ast_pjsip_rdata_get_endpoint(rdata);
	pushwake__request_reset(request);
	if (endpoint && !pushwake__request_read(request, endpoint, rdata)) {
		is_answered = check(request, rdata) ? PJ_TRUE : PJ_FALSE;
		if (is_answered) {
			pushwake__request_reset(request);
		} else {
			pushwake__request_strip(request, rdata);
			if (request->contact_count) {
				pushwake__companion_leave(request->aor, (int) request->contact_count);
			}
			make_room(request, rdata);
		}
	}
	ao2_cleanup(endpoint);
	return is_answered;
}

/*! Drops the contacts that this REGISTER did not save. */
static void keep_saved(struct pushwake__contacts *contacts, struct pushwake__request *request)
{
	size_t index = AST_VECTOR_SIZE(contacts);

	while (index--) {
		if (pushwake__request_granted(request, AST_VECTOR_GET_ADDR(contacts, index)->uri) <= 0) {
			pushwake__contact_free(AST_VECTOR_REMOVE_UNORDERED(contacts, index));
		}
	}
}

/*! Without an engine a REGISTER still rings for the calls that wait. */
static void join(const char *aor, struct pushwake__contacts *contacts)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		const struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);
		struct pushwake__told told = { .kind = PUSHWAKE__TOLD_REGISTERED, .text = pushwake__str(aor), .contact = *contact };

		if (pushwake__legs_are_on()) {
			pushwake__legs_tell(&told);
		}
	}
}

static void store(struct pushwake__request *request, pjsip_tx_data *tdata)
{
	pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
	pushwake_contact asked[PUSHWAKE__MAX_CONTACTS] = { { .reach = 0 } };
	const pushwake_verb *verb;
	struct pushwake__contacts contacts;
	size_t index;

	if (!pushwake__client()) {
		return;
	}
	/* ORDER: the registrar has it, so that whoever begins to wait for this user finds it there. */
	run(&result, request, PUSHWAKE_REGISTRAR_SAVED);
	if (result.step != PUSHWAKE_REGISTER_DESCRIBE) {
		return;
	}
	pushwake__contacts_get(&contacts, request->aor);
	keep_saved(&contacts, request);
	for (index = 0; index < MIN(AST_VECTOR_SIZE(&contacts), ARRAY_LEN(asked)); index++) {
		const struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(&contacts, index);

		pushwake__contact_describe(&asked[index], contact);
		asked[index].expires = pushwake__request_granted(request, contact->uri);
	}
	request->message.contacts = asked;
	request->message.contact_count = index;
	if (run(&result, request, PUSHWAKE_REGISTRAR_DESCRIBED) < 0) {
		join(request->aor, &contacts);
	} else {
		add_headers(&tdata->msg->hdr, tdata->pool, &result);
		forget_left(request, tdata, &result);
		for (index = 0, verb = result.verbs; index < result.verb_count; index++, verb = PUSHWAKE_NEXT_VERB(verb)) {
			pushwake__verb_execute(verb);
		}
		if (result.outcome == PUSHWAKE_REGISTER_STORED) {
			pushwake__companion_know(request->aor);
			pushwake__unwatched_check(request, &contacts);
		}
		if (result.outcome != PUSHWAKE_REGISTER_PLAIN) {
			pushwake__devstate_changed(request->aor);
			pushwake__companion_check(request->aor);
		}
	}
	pushwake__contacts_free(&contacts);
}

static void outgoing_response(struct ast_sip_endpoint *endpoint, struct ast_sip_contact *contact,
	pjsip_tx_data *tdata)
{
	struct pushwake__request *request = &in_hand;

	if (!pushwake__request_matches(request, tdata)) {
		return;
	}
	if (PJSIP_IS_STATUS_IN_CLASS(tdata->msg->line.status.code, 200)) {
		if (contact) {
			ast_copy_string(request->aor, contact->aor, sizeof(request->aor));
		}
		/* ORDER: the calls that wait look the contact up, and it is saved by now. */
		pushwake__request_restore(request, tdata);
		if (!ast_strlen_zero(request->aor)) {
			store(request, tdata);
		}
	}
	pushwake__companion_return(request->aor);
	pushwake__request_reset(request);
}

static pjsip_module pushwake_pjsip_module = {
	.name = { "PushWake REGISTER", 17 },
	.id = -1,
	.priority = PJSIP_MOD_PRIORITY_APPLICATION - 1,
	.on_rx_request = on_rx_request,
};

static struct ast_sip_supplement supplement = {
	.method = "REGISTER",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_LAST,
	.outgoing_response = outgoing_response,
};

int pushwake__register_start(void)
{
	if (ast_sip_register_service(&pushwake_pjsip_module)) {
		return -1;
	}
	ast_sip_register_supplement(&supplement);
	return 0;
}

void pushwake__register_stop(void)
{
	ast_sip_unregister_supplement(&supplement);
	ast_sip_unregister_service(&pushwake_pjsip_module);
}
