/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Where an INVITE goes first, and what becomes of it.
 *
 * A session supplement sends the first INVITE to the place where requests wait. A usage of the dialog, which hears of each change
 * before the INVITE session does, follows the library's 302 and takes an INVITE back that a phone has not taken.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/pbx.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_early_wake.h"
#include "pushwake_calls.h"
#include "pushwake_legs.h"
#include "pushwake_supplement.h"

/* ---- What answers say */

static void copy_header(char *buf, size_t size, pjsip_msg *msg, const char *name)
{
	pj_str_t str = pj_str((char *) name);
	pjsip_generic_string_hdr *header = pjsip_msg_find_hdr_by_name(msg, &str, NULL);

	buf[0] = '\0';
	if (header) {
		ast_copy_pj_str(buf, &header->hvalue, size);
	}
}

/* ---- The way on, and back. The dialog is locked. */

/*! The library says where the call goes on: leg, contact and Path. */
static void go_on(struct pushwake__waiter *waiter, pjsip_inv_session *inv, pjsip_msg *msg)
{
	struct ast_sip_session *session = waiter->session;
	char uri[PUSHWAKE__MAX_URI], path[1024], number[16];
	struct ast_sip_contact *contact;
	const char *route;

	copy_header(number, sizeof(number), msg, "X-PushWake-Leg");
	copy_header(uri, sizeof(uri), msg, "X-PushWake-Contact");
	copy_header(path, sizeof(path), msg, "X-PushWake-Path");
	contact = pushwake__contact_named(waiter->aor, uri);
	route = contact && !ast_strlen_zero(contact->path) ? contact->path : session->endpoint->outbound_proxy;
	/* What Asterisk does for a contact it does for this one from now on: its Path in later requests, say. */
	ao2_replace(session->contact, contact);
	waiter->leg = atoi(number);
	waiter->heard = 0;
	if (pushwake__follow(inv, uri, S_OR(path, route))) {
		pushwake__legs_tell_progress(waiter->handle, waiter->leg, PJSIP_SC_SERVICE_UNAVAILABLE, 0);
		pushwake__follow_back(waiter, inv);
	}
	ao2_cleanup(contact);
}

static void answered_by_phone(struct pushwake__waiter *waiter, pjsip_inv_session *inv, int status, int from_phone)
{
	int leg = waiter->leg;

	if (status < 200) {
		if (status > waiter->heard) {
			waiter->heard = status;
			pushwake__legs_tell_progress(waiter->handle, leg, status, from_phone);
		}
		return;
	}
	if (status < 300) {
		waiter->is_elsewhere = 1;
	}
	if (waiter->beside && status < 300) {
		/* It may come too late: what becomes of it is told then. */
		return;
	}
	pushwake__legs_tell_progress(waiter->handle, leg, status, from_phone);
	if (waiter->beside) {
		pushwake__beside_end(waiter);
	} else if (status >= 300 && (!from_phone || pushwake_legs_takes_back(status))) {
		pushwake__follow_back(waiter, inv);
	}
}

/*! The status of a final answer or failure of this transaction, 0: none. */
static int final_status(const pjsip_transaction *tsx, const pjsip_event *event, int *from_phone)
{
	*from_phone = event->body.tsx_state.type == PJSIP_EVENT_RX_MSG;
	if (*from_phone) {
		return tsx->state == PJSIP_TSX_STATE_PROCEEDING || tsx->state == PJSIP_TSX_STATE_COMPLETED
			|| tsx->state == PJSIP_TSX_STATE_TERMINATED ? tsx->status_code : 0;
	}
	if (tsx->state != PJSIP_TSX_STATE_TERMINATED) {
		return 0;
	}
	switch (event->body.tsx_state.type) {
	case PJSIP_EVENT_TIMER:
		return PJSIP_SC_REQUEST_TIMEOUT;
	case PJSIP_EVENT_TRANSPORT_ERROR:
		return PJSIP_SC_SERVICE_UNAVAILABLE;
	default:
		return 0;
	}
}

/*!
 * PJSIP cannot send the INVITE at all: its transaction ends before the session knows it. pushwake__follow() fails, and
 * the INVITE goes back. A phone that rings beside another one has no place to go back to: its session ends.
 */
static int fails_at_once(const pjsip_transaction *tsx, const pjsip_inv_session *inv, const struct pushwake__waiter *waiter)
{
	return !inv->invite_tsx && inv->state == PJSIP_INV_STATE_NULL && tsx->state == PJSIP_TSX_STATE_TERMINATED && waiter->leg
		&& !waiter->beside;
}

static void on_tsx_state(pjsip_transaction *tsx, pjsip_event *event)
{
	pjsip_dialog *dlg = pjsip_tsx_get_dlg(tsx);
	pjsip_inv_session *inv = dlg ? pjsip_dlg_get_inv_session(dlg) : NULL;
	struct ast_sip_session *session;
	struct pushwake__waiter *waiter;
	int status, from_phone;

	if (!inv || (inv->invite_tsx && tsx != inv->invite_tsx) || event->type != PJSIP_EVENT_TSX_STATE || inv->cancelling
		|| inv->state >= PJSIP_INV_STATE_CONNECTING) {
		return;
	}
	status = final_status(tsx, event, &from_phone);
	session = status ? ast_sip_dialog_get_session(dlg) : NULL;
	waiter = session ? pushwake__waiter_of(session) : NULL;
	if (waiter && fails_at_once(tsx, inv, waiter)) {
		pushwake__follow_leave(tsx, dlg);
	} else if (waiter && tsx == inv->invite_tsx && waiter->leg) {
		answered_by_phone(waiter, inv, status, from_phone);
	} else if (waiter && status == PJSIP_SC_MOVED_TEMPORARILY && from_phone) {
		go_on(waiter, inv, event->body.tsx_state.src.rdata->msg_info.msg);
	}
	ao2_cleanup(waiter);
	ao2_cleanup(session);
}

static pjsip_module usage = {
	.name = { "PushWake legs", 13 },
	.id = -1,
	.priority = PJSIP_MOD_PRIORITY_DIALOG_USAGE - 1,
	.on_tsx_state = on_tsx_state,
};

/* ---- Where an INVITE goes first */

/*! Whether a URI, as printed, is that of the companion of an AoR. */
static int is_companion_of(const char *aor, const char *uri)
{
	char *own = pushwake__place_uri(aor);
	size_t len = own ? strlen(own) : 0;
	int is = own && !strncmp(own, uri, len) && (!uri[len] || uri[len] == ';');

	ast_free(own);
	return is;
}

/*!
 * The AoR that is called, to be freed: that of the session, or that of the endpoint which has a contact with this URI. A
 * companion may have gone since it was dialled: its phone has registered.
 */
static char *aor_of(struct ast_sip_session *session, pjsip_tx_data *tdata, const char *uri)
{
	char *rest = ast_strdupa(S_OR(session->endpoint->aors, ""));
	struct ast_sip_contact *contact;
	char *found, *name;

	if (session->aor) {
		return ast_strdup(ast_sorcery_object_get_id(session->aor));
	}
	while ((name = ast_strip(strsep(&rest, ",")))) {
		if (is_companion_of(name, uri)) {
			return ast_strdup(name);
		}
	}
	contact = pushwake__contact_of_request(session->endpoint, tdata);
	found = contact ? ast_strdup(contact->aor) : NULL;
	ao2_cleanup(contact);
	return found;
}

/*! Another node, whose call this is, has seen to it. */
static int is_of_node(struct ast_channel *chan)
{
	int is;

	ast_channel_lock(chan);
	is = !ast_strlen_zero(pbx_builtin_getvar_helper(chan, "PUSHWAKE_NODE_CONTACT"));
	ast_channel_unlock(chan);
	return is;
}

/*!
 * PUSHWAKE_CONTACTS means all phones of a user; Dial(PJSIP/100) means a user, and Asterisk chooses one of the contacts; Dial(PJSIP/100/sip:...), such as that of
 * PJSIP_DIAL_CONTACTS, means one phone, or with the companion those that have no contact.
 */
static int scope_of(const struct ast_sip_session *session, const pjsip_sip_uri *uri)
{
	return session->aor ? PUSHWAKE_SCOPE_USER : pushwake__place_is_for_all(uri) ? PUSHWAKE_SCOPE_ALL : pushwake__place_is(uri) ? PUSHWAKE_SCOPE_OTHERS : PUSHWAKE_SCOPE_CONTACTS;
}

/*! The engine's name for the call, and how we hear of the INVITE. */
static int watch(struct ast_sip_session *session, pjsip_tx_data *tdata, const struct pushwake__waiter *waiter)
{
	if (pjsip_dlg_add_usage(session->inv_session->dlg, &usage, NULL) != PJ_SUCCESS) {
		return -1;
	}
	if (!ast_strlen_zero(waiter->push_id)) {
		ast_sip_add_header(tdata, "X-Push-ID", waiter->push_id);
	}
	return 0;
}

/*! Sends the INVITE to the place instead; `dialled`: its URI. */
static void divert(struct ast_sip_session *session, pjsip_tx_data *tdata, const char *aor, const char *dialled)
{
	pjsip_tpselector any = { .type = PJSIP_TPSELECTOR_NONE };
	struct pushwake__waiter *waiter = pushwake__waiter_new(session, aor);
	char *text = pushwake__place_uri(aor);
	pjsip_uri *uri = NULL;
	pj_str_t copy;

	if (text) {
		pj_strdup2_with_null(tdata->pool, &copy, text);
		uri = pjsip_parse_uri(tdata->pool, copy.ptr, copy.slen, 0);
	}
	if (waiter) {
		waiter->scope = scope_of(session, pjsip_uri_get_uri(tdata->msg->line.req.uri));
		waiter->dialled = ast_strdup(dialled);
		waiter->headers = pushwake__beside_read_headers(tdata->msg);
	}
	if (waiter && uri && !watch(session, tdata, waiter)) {
		tdata->msg->line.req.uri = uri;
		while (pjsip_msg_find_remove_hdr(tdata->msg, PJSIP_H_ROUTE, NULL)) {
		}
		pjsip_dlg_set_transport(session->inv_session->dlg, &any);
		pushwake__leg_watch(session->channel, waiter);
	} else if (waiter) {
		pushwake__waiter_end(waiter, PUSHWAKE_CALL_FAILED, 480, "");
	}
	ao2_cleanup(waiter);
	ast_free(text);
}

/*! An INVITE to a phone that rings beside another one goes to that phone. */
static int is_beside(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	struct pushwake__waiter *waiter = pushwake__waiter_of(session);
	int is = waiter && waiter->beside;

	if (is && watch(session, tdata, waiter)) {
		pushwake__beside_end(waiter);
	}
	if (is) {
		pushwake__beside_add_headers(tdata, waiter->beside->headers);
	}
	ao2_cleanup(waiter);
	return is;
}

/*! PushWake() of the dialplan has woken phones of this AoR. */
static int has_early_wake(struct ast_channel *chan, const char *aor)
{
	struct pushwake__early_wake *early = pushwake__early_wake_of(chan, aor);

	ao2_cleanup(early);
	return early != NULL;
}

/*! Whether phones of this AoR may have to be woken for an INVITE to a phone of theirs. */
static int may_wake(struct ast_channel *chan, const char *aor)
{
	return (pushwake__legs_wake_all() || has_early_wake(chan, aor)) && pushwake_may_wake(pushwake__client(), pushwake__str(aor)) == 1;
}

static void outgoing_request(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	char uri[PUSHWAKE__MAX_URI];
	char *aor;
	int len;

	if (!pushwake__legs_are_on() || !session->channel || session->inv_session->role != PJSIP_ROLE_UAC
		|| session->inv_session->state != PJSIP_INV_STATE_NULL || is_beside(session, tdata) || is_of_node(session->channel)
		|| (!PJSIP_URI_SCHEME_IS_SIP(tdata->msg->line.req.uri) && !PJSIP_URI_SCHEME_IS_SIPS(tdata->msg->line.req.uri))) {
		return;
	}
	len = pjsip_uri_print(PJSIP_URI_IN_CONTACT_HDR, pjsip_uri_get_uri(tdata->msg->line.req.uri), uri, sizeof(uri) - 1);
	uri[MAX(len, 0)] = '\0';
	aor = aor_of(session, tdata, uri);
	if (aor && (pushwake__place_is(pjsip_uri_get_uri(tdata->msg->line.req.uri))
		|| may_wake(session->channel, aor))) {
		divert(session, tdata, aor, uri);
	}
	ast_free(aor);
}

static void session_end(struct ast_sip_session *session)
{
	struct pushwake__waiter *waiter = session->inv_session ? pushwake__waiter_of(session) : NULL;
	int cause;

	if (!waiter) {
		return;
	}
	cause = session->inv_session->cause;
	if (waiter->beside) {
		/* Unless it has said so: nothing comes from there now. */
		pushwake__legs_tell_progress(waiter->handle, waiter->leg, PJSIP_SC_SERVICE_UNAVAILABLE, 0);
		pushwake__waiter_end(waiter, PUSHWAKE_CALL_FAILED, cause, "");
		pushwake__beside_end(waiter);
	} else if (waiter->heard >= 200 || session->inv_session->state == PJSIP_INV_STATE_CONFIRMED || cause / 100 == 2) {
		pushwake__waiter_end(waiter, PUSHWAKE_CALL_ANSWERED, 200, "");
	} else if (cause == PJSIP_SC_REQUEST_TERMINATED || !cause) {
		pushwake__leg_hung_up(waiter, session->channel, "");
		pushwake__waiter_end(waiter, PUSHWAKE_CALL_CANCELLED, 487, "");
	} else {
		pushwake__waiter_end(waiter, PUSHWAKE_CALL_FAILED, cause, "");
		/* Its bindings may be gone without anybody's having said so. */
		pushwake__companion_check(waiter->aor);
	}
	ao2_ref(waiter, -1);
}

/*! Asterisk cancels a leg: phones that sleep hear of it before that phone has confirmed it. */
static void outgoing_cancel(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	static const pj_str_t name = { "Reason", 6 };
	struct pushwake__waiter *waiter = pushwake__waiter_of(session);
	pjsip_generic_string_hdr *header;
	char reason[256] = "";

	if (!waiter || waiter->beside) {
		ao2_cleanup(waiter);
		return;
	}
	for (header = pjsip_msg_find_hdr_by_name(tdata->msg, &name, NULL); header && strncasecmp(reason, "SIP", 3);
		header = pjsip_msg_find_hdr_by_name(tdata->msg, &name, header->next)) {
		ast_copy_pj_str(reason, &header->hvalue, sizeof(reason));
	}
	pushwake__leg_hung_up(waiter, session->channel, reason);
	ao2_ref(waiter, -1);
}

/*! The channel of a phone that rings beside another one has heard of its answer. */
static void incoming_response(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	struct pushwake__waiter *waiter = rdata->msg_info.msg->line.status.code / 100 == 2 ? pushwake__waiter_of(session) : NULL;

	if (waiter && waiter->beside) {
		pushwake__beside_take(waiter);
	}
	ao2_cleanup(waiter);
}

static union pushwake__supplement invites = { .known = {
	.method = "INVITE",
	/* All others have said what the INVITE is. */
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_LAST,
	.response_priority = AST_SIP_SESSION_AFTER_MEDIA,
	.outgoing_request = outgoing_request,
	.incoming_response = incoming_response,
	.session_end = session_end,
} };

static union pushwake__supplement cancels = { .known = {
	.method = "CANCEL",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_LAST,
	.outgoing_request = outgoing_cancel,
} };

int pushwake__leg_session_start(void)
{
	if (ast_sip_register_service(&usage)) {
		return -1;
	}
	ast_sip_session_register_supplement(&invites.known);
	ast_sip_session_register_supplement(&cancels.known);
	return 0;
}

void pushwake__leg_session_stop(void)
{
	ast_sip_session_unregister_supplement(&cancels.known);
	ast_sip_session_unregister_supplement(&invites.known);
	ast_sip_unregister_service(&usage);
}
