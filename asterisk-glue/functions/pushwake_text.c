/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Texts that the dialplan has sent to phones that are awake: those that do not answer get them by push.
 *
 * A MESSAGE is over for its dialplan once it is sent, and for its sender since Asterisk has said 202. A phone whose app
 * is suspended behind an open connection answers it never, and nobody would notice. So each text is kept until phones
 * that have said nothing count as silent. The engine is then asked once more, with those contacts alone that have
 * answered: it pushes to phones that have none of them, and had no push for this text before.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/linkedlists.h"
#include "asterisk/lock.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sched.h"
#include "asterisk/strings.h"
#include "asterisk/time.h"
#include "asterisk/utils.h"

#include "pushwake_caller.h"
#include "pushwake_legs.h"
#include "pushwake_wake.h"

/*! How soon an engine that did not answer is asked again, and for how long. */
#define AGAIN_MS 2000
#define GIVE_UP_MS 60000

/*! A contact that the dialplan was given. */
struct target {
	struct pushwake__contact contact;
	/*! Call-ID of the MESSAGE that went there; NULL before. */
	char *call_id;
	int has_answered;
};

struct text {
	char *aor;
	/*! As the engine knows it. */
	char *call_id;
	struct pushwake__caller caller;
	/*! The engine knows it, and has pushed to phones that slept. */
	int is_known;
	struct timeval began;
	/*! When the last MESSAGE of it went out. */
	struct timeval sent;
	AST_VECTOR(, struct target) targets;
	AST_LIST_ENTRY(text) next;
};

/*! The list and what is in it; only the thread of `waits` takes a text away. */
static AST_LIST_HEAD_STATIC(texts, text);

static struct ast_sched_context *waits;

static void target_free(struct target target)
{
	pushwake__contact_free(target.contact);
	ast_free(target.call_id);
}

static void text_free(struct text *text)
{
	AST_VECTOR_CALLBACK_VOID(&text->targets, target_free);
	AST_VECTOR_FREE(&text->targets);
	ast_free(text->aor);
	ast_free(text->call_id);
	ast_free(text);
}

static void text_remove(struct text *text)
{
	AST_LIST_LOCK(&texts);
	AST_LIST_REMOVE(&texts, text, next);
	AST_LIST_UNLOCK(&texts);
	text_free(text);
}

/* ---- What becomes of it */

/*! The contacts that have answered, for the engine; how many have not. The list is locked. */
static size_t describe_answered(struct text *text, pushwake_contact *asked, size_t *count)
{
	size_t index, silent = 0;

	*count = 0;
	for (index = 0; index < AST_VECTOR_SIZE(&text->targets); index++) {
		struct target *target = AST_VECTOR_GET_ADDR(&text->targets, index);

		if (!target->has_answered) {
			silent++;
			continue;
		}
		pushwake__contact_describe(&asked[*count], &target->contact);
		asked[*count].reach = PUSHWAKE_REACH_OPEN; /* just now */
		(*count)++;
	}
	return silent;
}

/*! Below 0: no engine answers. */
static int push_to_silent(struct text *text)
{
	pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	pushwake_contact *asked = ast_calloc(AST_VECTOR_SIZE(&text->targets) + 1, sizeof(*asked));
	size_t silent;
	int status = 0;

	if (!asked) {
		return 0;
	}
	AST_LIST_LOCK(&texts);
	silent = describe_answered(text, asked, &request.contact_count);
	AST_LIST_UNLOCK(&texts);
	if (silent || !text->is_known) {
		pushwake__caller_fill(&request, &text->caller);
		request.event = PUSHWAKE_EVENT_CHAT;
		request.method = pushwake__str("MESSAGE");
		request.aor = pushwake__str(text->aor);
		request.call_id = pushwake__str(text->call_id);
		request.contacts = asked;
		status = pushwake_wake(&result, pushwake__client(), &request);
	}
	ast_free(asked);
	return status;
}

/*! Milliseconds until its phones count as silent; 0 when they do. */
static int left_ms(struct text *text)
{
	int64_t left;

	AST_LIST_LOCK(&texts);
	left = pushwake__silent_after() - ast_tvdiff_ms(ast_tvnow(), text->sent);
	AST_LIST_UNLOCK(&texts);
	return left > 0 && left <= GIVE_UP_MS ? (int) left : 0;
}

static int look(const void *data)
{
	struct text *text = (struct text *) data;
	int left = left_ms(text);

	if (left) {
		return left;
	}
	if (push_to_silent(text) < 0 && ast_tvdiff_ms(ast_tvnow(), text->began) < GIVE_UP_MS) {
		return AGAIN_MS;
	}
	text_remove(text);
	return 0;
}

void pushwake__text_watch(const char *aor, const char *call_id, struct pushwake__contacts *contacts,
	const pushwake_contact *asked, const struct pushwake__caller *caller, int is_known)
{
	struct text *text = waits && pushwake__silent_after() > 0 ? ast_calloc(1, sizeof(*text)) : NULL;
	size_t index;

	if (!text) {
		return;
	}
	AST_VECTOR_INIT(&text->targets, 0);
	text->aor = ast_strdup(aor);
	text->call_id = ast_strdup(call_id);
	text->caller = *caller;
	text->is_known = is_known;
	text->began = text->sent = ast_tvnow();
	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct target target = { .call_id = NULL };

		if ((!is_known || asked[index].action == PUSHWAKE_RING)
			&& !pushwake__contact_copy(&target.contact, AST_VECTOR_GET_ADDR(contacts, index))
			&& AST_VECTOR_APPEND(&text->targets, target)) {
			target_free(target);
		}
	}
	if (!text->aor || !text->call_id || (is_known && !AST_VECTOR_SIZE(&text->targets))) {
		text_free(text);
		return;
	}
	AST_LIST_LOCK(&texts);
	AST_LIST_INSERT_TAIL(&texts, text, next);
	AST_LIST_UNLOCK(&texts);
	if (ast_sched_add_variable(waits, pushwake__silent_after(), look, text, 1) < 0) {
		text_remove(text);
	}
}

/* ---- What PJSIP says of it */

/*! The first target that no MESSAGE has gone to and that this one goes to. The list is locked. */
static struct target *find_unsent(pjsip_tx_data *tdata, struct text **of)
{
	struct text *text;
	size_t index;

	AST_LIST_TRAVERSE(&texts, text, next) {
		for (index = 0; index < AST_VECTOR_SIZE(&text->targets); index++) {
			struct target *target = AST_VECTOR_GET_ADDR(&text->targets, index);

			if (!target->call_id
				&& pushwake__uri_matches(tdata->pool, pjsip_uri_get_uri(tdata->msg->line.req.uri), target->contact.uri)) {
				*of = text;
				return target;
			}
		}
	}
	return NULL;
}

static char *call_id_of(pjsip_msg *msg)
{
	pjsip_cid_hdr *header = pjsip_msg_find_hdr(msg, PJSIP_H_CALL_ID, NULL);

	return header ? ast_strndup(header->id.ptr, header->id.slen) : NULL;
}

static void outgoing_request(struct ast_sip_endpoint *endpoint, struct ast_sip_contact *contact, pjsip_tx_data *tdata)
{
	const pjsip_uri *uri = tdata->msg->line.req.uri;
	struct target *target;
	struct text *text;

	if (!PJSIP_URI_SCHEME_IS_SIP(uri) && !PJSIP_URI_SCHEME_IS_SIPS(uri)) {
		return;
	}
	AST_LIST_LOCK(&texts);
	target = find_unsent(tdata, &text);
	if (target) {
		target->call_id = call_id_of(tdata->msg);
		text->sent = ast_tvnow();
	}
	AST_LIST_UNLOCK(&texts);
	if (!target) {
		pushwake__plain_text_sent(endpoint, tdata);
	}
}

/*! With credentials the same MESSAGE goes out once more; a proxy may speak for a phone that it does not reach. */
static int is_answer(const struct target *target, int status)
{
	return status >= 200 && status != PJSIP_SC_UNAUTHORIZED && status != PJSIP_SC_PROXY_AUTHENTICATION_REQUIRED
		&& !(target->contact.behind_proxy && pushwake_is_about_way(status));
}

static void incoming_response(struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata)
{
	char *call_id = call_id_of(rdata->msg_info.msg);
	struct text *text;
	size_t index;

	pushwake__plain_text_answered(rdata);
	if (!call_id) {
		return;
	}
	AST_LIST_LOCK(&texts);
	AST_LIST_TRAVERSE(&texts, text, next) {
		for (index = 0; index < AST_VECTOR_SIZE(&text->targets); index++) {
			struct target *target = AST_VECTOR_GET_ADDR(&text->targets, index);

			if (target->call_id && !strcmp(target->call_id, call_id)) {
				target->has_answered |= is_answer(target, rdata->msg_info.msg->line.status.code);
			}
		}
	}
	AST_LIST_UNLOCK(&texts);
	ast_free(call_id);
}

static struct ast_sip_supplement supplement = {
	.method = "MESSAGE",
	.priority = AST_SIP_SUPPLEMENT_PRIORITY_LAST,
	.outgoing_request = outgoing_request,
	.incoming_response = incoming_response,
};

/*! Nobody waits for answers any more: each text is pushed whose phones have not all answered. */
static void push_all(void)
{
	struct text *text;

	AST_LIST_LOCK(&texts);
	AST_LIST_TRAVERSE(&texts, text, next) {
		if (push_to_silent(text) < 0) {
			break; /* nor does an engine */
		}
	}
	AST_LIST_UNLOCK(&texts);
}

int pushwake__text_start(void)
{
	waits = ast_sched_context_create();
	if (!waits || ast_sched_start_thread(waits)) {
		return -1;
	}
	ast_sip_register_supplement(&supplement);
	/* Asterisk may stop without unloading its modules. */
	ast_register_atexit(push_all);
	return 0;
}

void pushwake__text_stop(void)
{
	struct text *text;

	ast_unregister_atexit(push_all);
	ast_sip_unregister_supplement(&supplement);
	if (!waits) {
		return;
	}
	ast_sched_context_destroy(waits);
	waits = NULL;
	push_all();
	AST_LIST_LOCK(&texts);
	while ((text = AST_LIST_REMOVE_HEAD(&texts, next))) {
		text_free(text);
	}
	AST_LIST_UNLOCK(&texts);
}
