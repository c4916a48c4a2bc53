/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What PJSIP says of the legs of a call, and of its caller.
 *
 * Session supplements see each INVITE on its way out and each answer on its way in. The
 * call is found through the datastore that the outgoing channel has inherited; from then
 * on the session keeps the leg, since the channel may go before the phone has answered.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_ahead.h"
#include "pushwake_call.h"
#include "pushwake_supplement.h"

/*! A session that sends a leg; number 0 when it only rings somebody else for the same calls. */
struct sent {
	struct pushwake__call *call;
	int number;
	/*! All calls that an answer ends. */
	struct pushwake__calls calls;
};

static void sent_free(void *data)
{
	struct sent *sent = data;

	ao2_cleanup(sent->call);
	pushwake__calls_free(&sent->calls);
	ast_free(sent);
}

static const struct ast_datastore_info session_info = {
	.type = "pushwake leg",
	.destroy = sent_free,
};

/*! On the channel: it may be hung up before the phone has said its last word. */
struct hung {
	struct pushwake__call *call;
	int number;
};

/*! A leg has ended without a word from the phone. */
static void fail(struct pushwake__call *call, int number, int status)
{
	pushwake__call_follow(call);
	if (pushwake__leg_failed(call, number, status)) {
		pushwake__call_lost_leg(call);
	}
}

static void hung_free(void *data)
{
	struct hung *hung = data;

	/* By Dial(), since a leg that ended by itself is over already. */
	fail(hung->call, hung->number, 487);
	ao2_ref(hung->call, -1);
	ast_free(hung);
}

static const struct ast_datastore_info channel_info = {
	.type = "pushwake leg",
	.destroy = hung_free,
};

struct target {
	pj_pool_t *pool;
	pjsip_sip_uri *uri;
};

/*! Whether a contact is where the INVITE goes. */
static int matches(const char *text, void *context)
{
	const struct target *target = context;

	return pushwake__uri_matches(target->pool, target->uri, text);
}

static void watch_hangup(struct ast_channel *chan, struct pushwake__call *call, int number)
{
	struct ast_datastore *store = ast_datastore_alloc(&channel_info, NULL);
	struct hung *hung = ast_calloc(1, sizeof(*hung));

	if (!store || !hung) {
		ast_datastore_free(store);
		ast_free(hung);
		return;
	}
	hung->call = ao2_bump(call);
	hung->number = number;
	store->data = hung;
	ast_channel_lock(chan);
	ast_channel_datastore_add(chan, store);
	ast_channel_unlock(chan);
}

static struct sent *sent_new(struct ast_channel *chan, pjsip_tx_data *tdata)
{
	struct target target = { tdata->pool, pjsip_uri_get_uri(tdata->msg->line.req.uri) };
	struct sent *sent = ast_calloc(1, sizeof(*sent));
	size_t index;

	if (!sent) {
		return NULL;
	}
	pushwake__calls_of(&sent->calls, chan, 0);
	for (index = 0; !sent->call && index < AST_VECTOR_SIZE(&sent->calls); index++) {
		struct pushwake__call *call = AST_VECTOR_GET(&sent->calls, index);

		sent->number = pushwake__leg_sent(call, chan, matches, &target);
		if (sent->number) {
			sent->call = ao2_bump(call);
			watch_hangup(chan, call, sent->number);
		}
	}
	if (!AST_VECTOR_SIZE(&sent->calls)) {
		sent_free(sent);
		return NULL;
	}
	return sent;
}

static struct sent *sent_of(struct ast_sip_session *session)
{
	struct ast_datastore *store = ast_sip_session_get_datastore(session, session_info.type);
	struct sent *sent = store ? store->data : NULL;

	/* The session keeps it. */
	ao2_cleanup(store);
	return sent;
}

/*! A leg to a phone at another node goes through that one. */
static void take_route(const struct sent *sent, pjsip_tx_data *tdata)
{
	char *path = sent->call ? pushwake__leg_path(sent->call, sent->number) : NULL;

	if (path && ast_sip_set_outbound_proxy(tdata, path)) {
		ast_log(LOG_WARNING, "The Path of a phone at another node cannot be used (%s), so its call goes to its address\n", path);
	}
	ast_free(path);
}

/*! Says which push the INVITE belongs to: its own Call-ID is another one (Acrobits, Push Notification Mediator). */
static void add_push_id(const char *call_id, pjsip_tx_data *tdata)
{
	if (!ast_strlen_zero(call_id)) {
		ast_sip_add_header(tdata, "X-Push-ID", call_id);
	}
}

/*! The INVITE of a channel that only shows the end of a call. */
static void outgoing_end(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	char *call_id = pushwake__show_end_call_id(session->channel);

	add_push_id(call_id, tdata);
	ast_free(call_id);
}

static void outgoing_request(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	const pjsip_uri *uri = tdata->msg->line.req.uri;
	struct ast_datastore *store;
	struct sent *sent;

	if (!session->channel || session->inv_session->role != PJSIP_ROLE_UAC
		|| session->inv_session->state >= PJSIP_INV_STATE_CONFIRMED || sent_of(session)
		|| (!PJSIP_URI_SCHEME_IS_SIP(uri) && !PJSIP_URI_SCHEME_IS_SIPS(uri))) {
		return;
	}
	sent = sent_new(session->channel, tdata);
	if (!sent) {
		outgoing_end(session, tdata);
		return;
	}
	take_route(sent, tdata);
	add_push_id(sent->call ? sent->call->call_id : NULL, tdata);
	store = ast_sip_session_alloc_datastore(&session_info, session_info.type);
	if (!store) {
		sent_free(sent);
		return;
	}
	store->data = sent;
	ast_sip_session_add_datastore(session, store);
	ao2_ref(store, -1);
}

static void answered(struct sent *sent)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(&sent->calls); index++) {
		pushwake__call_end(AST_VECTOR_GET(&sent->calls, index), PUSHWAKE_CALL_ANSWERED, 200, "");
	}
}

/*! With credentials the same INVITE goes out once more. */
static int is_challenge(int status)
{
	return status == PJSIP_SC_UNAUTHORIZED || status == PJSIP_SC_PROXY_AUTHENTICATION_REQUIRED || status == 494;
}

static void responded(struct sent *sent, int status)
{
	if (status >= 300) {
		pushwake__call_follow(sent->call);
	}
	pushwake__leg_responded(sent->call, sent->number, status);
	if (status >= 300) {
		pushwake__call_lost_leg(sent->call);
	}
}

static void incoming_response(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	int status = rdata->msg_info.msg->line.status.code;
	struct sent *sent = sent_of(session);

	if (!sent) {
		if (session->channel) {
			pushwake__show_end_proceeding(session->channel);
		}
		return;
	}
	if (is_challenge(status)) {
		return;
	}
	if (sent->call) {
		responded(sent, status);
	}
	if (status >= 200 && status < 300) {
		answered(sent);
	}
}

static void session_end(struct ast_sip_session *session)
{
	struct sent *sent = sent_of(session);
	int cause = session->inv_session ? session->inv_session->cause : 0;

	if (sent && sent->call && is_challenge(cause)) {
		/* The phone asked for a password, and there is none: that was its answer. */
		responded(sent, cause);
	} else if (sent && sent->call) {
		fail(sent->call, sent->number, cause >= 300 ? cause : PJSIP_SC_SERVICE_UNAVAILABLE);
	}
}

/*! The values of all Reason headers of a request, to be freed. */
static struct ast_str *read_reason(pjsip_rx_data *rdata)
{
	static const pj_str_t name = { "Reason", 6 };
	struct ast_str *reason = ast_str_create(64);
	pjsip_generic_string_hdr *header = pjsip_msg_find_hdr_by_name(rdata->msg_info.msg, &name, NULL);

	for (; reason && header; header = pjsip_msg_find_hdr_by_name(rdata->msg_info.msg, &name, header->next)) {
		ast_str_append(&reason, 0, "%s%.*s", ast_str_strlen(reason) ? ", " : "",
			(int) header->hvalue.slen, header->hvalue.ptr);
	}
	return reason;
}

/*! The caller hangs up: the engine hears of it before Asterisk takes the legs down. */
static int incoming_hangup(struct ast_sip_session *session, pjsip_rx_data *rdata)
{
	struct pushwake__calls calls;
	struct ast_str *reason;
	size_t index;

	if (!session->channel) {
		return 0;
	}
	reason = read_reason(rdata);
	pushwake__aheads_hung_up(session->channel, reason ? ast_str_buffer(reason) : "");
	pushwake__calls_of(&calls, session->channel, 1);
	for (index = 0; index < AST_VECTOR_SIZE(&calls); index++) {
		pushwake__call_end(AST_VECTOR_GET(&calls, index), PUSHWAKE_CALL_CANCELLED, 487,
			reason ? ast_str_buffer(reason) : "");
	}
	ast_free(reason);
	pushwake__calls_free(&calls);
	return 0;
}

/*! A phone that is shown the end of a call reads from the CANCEL how it ended (RFC 3326). */
static void outgoing_cancel(struct ast_sip_session *session, pjsip_tx_data *tdata)
{
	char *reason = session->channel ? pushwake__show_end_reason(session->channel) : NULL;

	if (reason) {
		ast_sip_add_header(tdata, "Reason", reason);
		ast_free(reason);
	}
}

static union pushwake__supplement legs = { .known = {
	.method = "INVITE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.outgoing_request = outgoing_request,
	.incoming_response = incoming_response,
	.session_end = session_end,
	/* 100 is seen after media, a final answer before. */
	.response_priority = AST_SIP_SESSION_BEFORE_MEDIA | AST_SIP_SESSION_AFTER_MEDIA,
} };

static union pushwake__supplement hangups = { .known = {
	.method = "CANCEL,BYE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.incoming_request = incoming_hangup,
} };

static union pushwake__supplement cancels = { .known = {
	.method = "CANCEL",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_FIRST,
	.outgoing_request = outgoing_cancel,
} };

int pushwake__session_start(void)
{
	ast_sip_session_register_supplement(&legs.known);
	ast_sip_session_register_supplement(&hangups.known);
	ast_sip_session_register_supplement(&cancels.known);
	return 0;
}

void pushwake__session_stop(void)
{
	ast_sip_session_unregister_supplement(&cancels.known);
	ast_sip_session_unregister_supplement(&hangups.known);
	ast_sip_session_unregister_supplement(&legs.known);
}
