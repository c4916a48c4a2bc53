/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Copy of a REGISTER, from the request to its response.
 *
 * When the registrar refuses a REGISTER nothing calls back. So all that is kept lives in the pool of the request, and
 * nobody looks at it before the next one has taken its place.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_request.h"

void pushwake__request_reset(struct pushwake__request *request)
{
	request->contact_count = 0;
	request->is_filled = 0;
	request->aor[0] = '\0';
}

/*! Whether the library has any business with this header. */
static int is_wanted(const pjsip_hdr *header)
{
	return header->type != PJSIP_H_AUTHORIZATION && header->type != PJSIP_H_PROXY_AUTHORIZATION;
}

static void read_headers(struct pushwake__request *request, pjsip_msg *msg, char *at, char *end)
{
	pjsip_hdr *header;

	for (header = msg->hdr.next; header != &msg->hdr; header = header->next) {
		pushwake_header *slot = &request->headers[request->message.header_count];
		char *colon;
		int len;

		if (request->message.header_count == PUSHWAKE__MAX_HEADERS || !is_wanted(header)) {
			continue;
		}
		len = pjsip_hdr_print_on(header, at, end - at);
		colon = len > 0 ? memchr(at, ':', len) : NULL;
		if (!colon) {
			continue;
		}
		slot->name = (pushwake_str) { at, colon - at };
		at += len;
		colon = colon + 1 < at && colon[1] == ' ' ? colon + 2 : colon + 1;
		slot->value = (pushwake_str) { colon, at - colon };
		request->message.header_count++;
	}
}

int pushwake__request_read(struct pushwake__request *request, struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata)
{
	const pushwake_register_request empty = PUSHWAKE_REGISTER_REQUEST_INIT;
	/* Printing may escape a byte as three. */
	size_t size = (size_t) rdata->msg_info.len * 3 + 4096;
	char *text;

	if (!rdata->msg_info.cid || !rdata->msg_info.cseq || !rdata->msg_info.to) {
		return -1;
	}
	text = pj_pool_alloc(rdata->tp_info.pool, size);
	request->message = empty;
	ast_copy_pj_str(request->call_id, &rdata->msg_info.cid->id, sizeof(request->call_id));
	request->message.call_id = pushwake__str(request->call_id);
	request->message.cseq = rdata->msg_info.cseq->cseq;
	request->message.headers = request->headers;
	request->is_stream = rdata->tp_info.transport && PJSIP_TRANSPORT_IS_RELIABLE(rdata->tp_info.transport);
	pushwake__register_aor(request->aor, sizeof(request->aor), endpoint, rdata);
	read_headers(request, rdata->msg_info.msg, text, text + size);
	request->is_filled = 1;
	return 0;
}

/*! A Contact's URI when it is SIP or SIPS. */
static pjsip_sip_uri *contact_uri(pjsip_contact_hdr *contact)
{
	if (contact->star || !contact->uri
		|| (!PJSIP_URI_SCHEME_IS_SIP(contact->uri) && !PJSIP_URI_SCHEME_IS_SIPS(contact->uri))) {
		return NULL;
	}
	return pjsip_uri_get_uri(contact->uri);
}

/*! The URI as text of the pool; or NULL. */
static char *uri_text(pj_pool_t *pool, const pjsip_sip_uri *uri)
{
	char text[PUSHWAKE__MAX_URI];
	int len = pjsip_uri_print(PJSIP_URI_IN_CONTACT_HDR, uri, text, sizeof(text) - 1);
	pj_str_t printed = { text, len }, copy;

	return len < 0 ? NULL : pj_strdup_with_null(pool, &copy, &printed)->ptr;
}

/*! Makes a URI what the text says. */
static int become(pj_pool_t *pool, pjsip_sip_uri *uri, const char *text)
{
	pjsip_uri *parsed;
	pj_str_t copy;

	pj_strdup2_with_null(pool, &copy, text);
	parsed = pjsip_parse_uri(pool, copy.ptr, copy.slen, 0);
	if (!parsed || (!PJSIP_URI_SCHEME_IS_SIP(parsed) && !PJSIP_URI_SCHEME_IS_SIPS(parsed))) {
		return 0;
	}
	pjsip_sip_uri_assign(pool, uri, pjsip_uri_get_uri(parsed));
	return 1;
}

/*! Takes the push parameters out of a URI; 0 when that cannot be. */
static int strip(struct pushwake__stripped *stripped, pj_pool_t *pool, pjsip_sip_uri *uri)
{
	char text[PUSHWAKE__MAX_URI];

	stripped->whole = uri_text(pool, uri);
	if (!stripped->whole || !pushwake_contact_strip(text, sizeof(text), pushwake__str(stripped->whole))
		|| (strcmp(text, stripped->whole) && !become(pool, uri, text))) {
		return 0;
	}
	stripped->uri = uri_text(pool, uri);
	stripped->granted = -1;
	return stripped->uri != NULL;
}

void pushwake__request_strip(struct pushwake__request *request, pjsip_rx_data *rdata)
{
	pjsip_msg *msg = rdata->msg_info.msg;
	pjsip_contact_hdr *contact = pjsip_msg_find_hdr(msg, PJSIP_H_CONTACT, NULL);

	for (; contact; contact = pjsip_msg_find_hdr(msg, PJSIP_H_CONTACT, contact->next)) {
		struct pushwake__stripped stripped = { NULL, NULL, -1 };
		pjsip_sip_uri *uri = contact_uri(contact);

		if (uri && strip(&stripped, rdata->tp_info.pool, uri) && request->contact_count < PUSHWAKE__MAX_CONTACTS) {
			request->contacts[request->contact_count++] = stripped;
		} else if (uri && !stripped.uri) {
			pj_list_init(&uri->other_param); /* no parameter at all rather than a token */
		}
	}
}

int pushwake__request_matches(const struct pushwake__request *request, pjsip_tx_data *tdata)
{
	pjsip_cid_hdr *cid = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CALL_ID, NULL);
	pjsip_cseq_hdr *cseq = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CSEQ, NULL);
	char id[sizeof(request->call_id)];

	if (!request->is_filled || !cid || !cseq || (uint32_t) cseq->cseq != request->message.cseq) {
		return 0;
	}
	ast_copy_pj_str(id, &cid->id, sizeof(id));
	return !strcmp(id, request->call_id);
}

static struct pushwake__stripped *find_stripped(struct pushwake__request *request, const char *uri)
{
	size_t index;

	for (index = 0; uri && index < request->contact_count; index++) {
		if (!strcmp(request->contacts[index].uri, uri)) {
			return &request->contacts[index];
		}
	}
	return NULL;
}

void pushwake__request_restore(struct pushwake__request *request, pjsip_tx_data *tdata)
{
	pjsip_contact_hdr *contact = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CONTACT, NULL);

	for (; contact; contact = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CONTACT, contact->next)) {
		pjsip_sip_uri *uri = contact_uri(contact);
		struct pushwake__stripped *stripped = find_stripped(request, uri ? uri_text(tdata->pool, uri) : NULL);

		if (stripped) {
			if ((uint32_t) contact->expires != PJSIP_EXPIRES_NOT_SPECIFIED) {
				stripped->granted = (int) MIN((uint32_t) contact->expires, (uint32_t) INT_MAX);
			}
			if (strcmp(stripped->uri, stripped->whole)) {
				become(tdata->pool, uri, stripped->whole);
			}
		}
	}
}

int pushwake__request_names(const struct pushwake__request *request, const char *uri)
{
	return find_stripped((struct pushwake__request *) request, uri) != NULL;
}

void pushwake__request_drop_contact(pjsip_tx_data *tdata, const char *uri)
{
	pjsip_contact_hdr *contact = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CONTACT, NULL);

	while (contact) {
		pjsip_contact_hdr *next = pjsip_msg_find_hdr(tdata->msg, PJSIP_H_CONTACT, contact->next);
		pjsip_sip_uri *sip = contact_uri(contact);
		char *text = sip ? uri_text(tdata->pool, sip) : NULL;

		if (text && !strcmp(text, uri)) {
			pj_list_erase(contact);
		}
		contact = next;
	}
}

int pushwake__request_granted(const struct pushwake__request *request, const char *uri)
{
	const struct pushwake__stripped *stripped = find_stripped((struct pushwake__request *) request, uri);

	return stripped ? stripped->granted : -1;
}
