/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A MESSAGE that has waited goes on to the phone that woke, as a request of our own.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

/*! Longest text that Asterisk itself takes. */
#define MAX_TEXT 65536

struct text {
	uint64_t handle;
	int leg;
	char *aor;
	char *contact;
	char *path;
	char *type;
	char *content;
	char *from;
	char *display;
};

static void text_free(struct text *text)
{
	ast_free(text->aor);
	ast_free(text->contact);
	ast_free(text->path);
	ast_free(text->type);
	ast_free(text->content);
	ast_free(text->from);
	ast_free(text->display);
	ast_free(text);
}

static void on_answer(void *token, pjsip_event *event)
{
	int from_phone = event->body.tsx_state.type == PJSIP_EVENT_RX_MSG;
	struct text *text = token;

	pushwake__legs_tell_progress(text->handle, text->leg,
		from_phone ? event->body.tsx_state.tsx->status_code : PJSIP_SC_REQUEST_TIMEOUT, from_phone);
	text_free(text);
}

/*! Who has written it. */
static void set_from(pjsip_tx_data *tdata, const struct text *text)
{
	pjsip_name_addr *address = (pjsip_name_addr *) PJSIP_MSG_FROM_HDR(tdata->msg)->uri;
	pj_str_t copy;
	pjsip_uri *uri;

	pj_strdup2_with_null(tdata->pool, &copy, text->from);
	uri = pjsip_parse_uri(tdata->pool, copy.ptr, copy.slen, 0);
	if (uri && (PJSIP_URI_SCHEME_IS_SIP(uri) || PJSIP_URI_SCHEME_IS_SIPS(uri))) {
		address->uri = pjsip_uri_get_uri(uri);
		pj_strdup2(tdata->pool, &address->display, text->display);
	}
}

/*! The MIME type in its two parts; not 0: it has none. */
static int set_body(pjsip_tx_data *tdata, struct text *text)
{
	char *subtype = text->type;
	char *type = strsep(&subtype, "/");
	struct ast_sip_body body = { .type = type, .subtype = subtype, .body_text = text->content };

	if (!subtype) {
		return -1;
	}
	subtype[strcspn(subtype, "; ")] = '\0';
	return ast_sip_add_body(tdata, &body);
}

static __thread int forwards;

int pushwake__forwards(void)
{
	return forwards;
}

static int send_to_phone(pjsip_tx_data *tdata, struct ast_sip_endpoint *endpoint, struct text *text)
{
	int status;

	forwards = 1;
	status = ast_sip_send_out_of_dialog_request(tdata, endpoint, -1, text, on_answer);
	forwards = 0;
	return status;
}

static int send_task(void *data)
{
	struct text *text = data;
	struct ast_sip_endpoint *endpoint = pushwake__endpoint_of(text->aor);
	pjsip_tx_data *tdata = NULL;
	int status = endpoint ? ast_sip_create_request("MESSAGE", NULL, endpoint, text->contact, NULL, &tdata) : -1;

	if (!status) {
		if (!ast_strlen_zero(text->path)) {
			ast_sip_set_outbound_proxy(tdata, text->path);
		}
		set_from(tdata, text);
		status = set_body(tdata, text) || send_to_phone(tdata, endpoint, text);
	}
	if (status) {
		pushwake__legs_tell_progress(text->handle, text->leg, PJSIP_SC_SERVICE_UNAVAILABLE, 0);
		text_free(text);
	}
	ao2_cleanup(endpoint);
	return 0;
}

void pushwake__forward(const pushwake_leg_order *order)
{
	struct text *text = order->content.len < MAX_TEXT ? ast_calloc(1, sizeof(*text)) : NULL;

	if (!text) {
		return;
	}
	text->handle = order->handle;
	text->leg = order->leg;
	text->aor = pushwake__dup(order->aor);
	text->contact = pushwake__dup(order->contact);
	text->path = pushwake__dup(order->contact_path);
	text->type = pushwake__dup(order->content_type);
	text->content = pushwake__dup(order->content);
	text->from = pushwake__dup(order->from_uri);
	text->display = pushwake__dup(order->from_display);
	if (!text->aor || !text->contact || !text->path || !text->type || !text->content || !text->from || !text->display
		|| ast_sip_push_task(NULL, send_task, text)) {
		text_free(text);
	}
}
