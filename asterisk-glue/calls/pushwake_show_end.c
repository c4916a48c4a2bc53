/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A phone that was made to show a call and comes after its end gets INVITE and CANCEL.
 *
 * Nothing else takes the call from its screen. The channel is dialled by a thread of its
 * own, and hung up as soon as the phone has answered it with anything.
 */
#include "asterisk.h"

#include "asterisk/callerid.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/format_cap.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"

/*! A phone that has just registered answers at once. */
#define ANSWER_TIMEOUT_MS 4000
/*! More phones at a time than these keep their screens until their own timer. */
#define MAX_SHOWN 64

struct shown {
	char *aor;
	char *uri;
	char *reason;
	char *call_id;
	/*! The caller's number. */
	char *from;
};

static int shown_count;

static void shown_free(struct shown *shown)
{
	ast_free(shown->aor);
	ast_free(shown->uri);
	ast_free(shown->reason);
	ast_free(shown->call_id);
	ast_free(shown->from);
	ast_free(shown);
}

static void end_free(void *data)
{
	shown_free(data);
}

/*! On the channel: what it shows the end of. */
static const struct ast_datastore_info end_info = {
	.type = "pushwake end",
	.destroy = end_free,
};

/*! A copy of what the channel knows of the call; NULL when it shows the end of none. */
static char *end_text(struct ast_channel *chan, size_t offset)
{
	struct ast_datastore *store;
	char *text = NULL;

	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &end_info, NULL);
	if (store) {
		text = ast_strdup(*(char **) ((char *) store->data + offset));
	}
	ast_channel_unlock(chan);
	return text;
}

char *pushwake__show_end_reason(struct ast_channel *chan)
{
	return end_text(chan, offsetof(struct shown, reason));
}

char *pushwake__show_end_call_id(struct ast_channel *chan)
{
	return end_text(chan, offsetof(struct shown, call_id));
}

void pushwake__show_end_proceeding(struct ast_channel *chan)
{
	struct ast_datastore *store;

	ast_channel_lock(chan);
	store = ast_channel_datastore_find(chan, &end_info, NULL);
	ast_channel_unlock(chan);
	if (store) {
		/* A 100 is nothing that a channel hears of. */
		ast_queue_control(chan, AST_CONTROL_PROCEEDING);
	}
}

/*! What Dial() would set: who calls, and why the channel will be hung up. */
static int prepare(struct ast_channel *chan, struct shown *shown)
{
	struct ast_datastore *store = ast_datastore_alloc(&end_info, NULL);
	struct shown *kept = ast_calloc(1, sizeof(*kept));
	struct ast_party_connected_line connected;

	if (!store || !kept) {
		ast_datastore_free(store);
		ast_free(kept);
		return -1;
	}
	ast_party_connected_line_init(&connected);
	connected.id.number.valid = 1;
	connected.id.number.str = shown->from;
	connected.id.number.presentation = AST_PRES_ALLOWED;
	kept->reason = shown->reason;
	kept->call_id = shown->call_id;
	shown->reason = shown->call_id = NULL;
	store->data = kept;
	ast_channel_lock(chan);
	ast_channel_datastore_add(chan, store);
	ast_channel_set_connected_line(chan, &connected, NULL);
	ast_channel_unlock(chan);
	return 0;
}

/*! Waits until the phone shows that it has the INVITE. */
static void await_answer(struct ast_channel *chan)
{
	int left = ANSWER_TIMEOUT_MS;

	while ((left = ast_waitfor(chan, left)) > 0) {
		struct ast_frame *frame = ast_read(chan);
		int is_answer = !frame || frame->frametype == AST_FRAME_CONTROL;

		if (frame) {
			ast_frfree(frame);
		}
		if (is_answer) {
			return;
		}
	}
}

static void dial(struct shown *shown, struct pushwake__contact *contact)
{
	struct ast_format_cap *formats = ast_format_cap_alloc(AST_FORMAT_CAP_FLAG_DEFAULT);
	struct ast_str *address = ast_str_create(256);
	struct ast_channel *chan = NULL;
	int cause = 0;

	if (formats && address) {
		ast_format_cap_append_by_type(formats, AST_MEDIA_TYPE_AUDIO);
		ast_str_set(&address, 0, "%s/%s", contact->endpoint, contact->uri);
		chan = ast_request("PJSIP", formats, NULL, NULL, ast_str_buffer(address), &cause);
	}
	if (chan) {
		if (!prepare(chan, shown) && !ast_call(chan, ast_str_buffer(address), 0)) {
			await_answer(chan);
		}
		ast_hangup(chan);
	}
	ao2_cleanup(formats);
	ast_free(address);
}

static void *run(void *data)
{
	struct shown *shown = data;
	struct pushwake__contacts contacts;
	struct pushwake__contact *contact;

	pushwake__contacts_get(&contacts, shown->aor);
	contact = pushwake__contact_find(&contacts, shown->uri);
	if (contact) {
		dial(shown, contact);
	}
	pushwake__contacts_free(&contacts);
	shown_free(shown);
	ast_atomic_fetchadd_int(&shown_count, -1);
	ast_module_unref(AST_MODULE_SELF);
	return NULL;
}

void pushwake__show_end(const pushwake_verb *verb)
{
	struct shown *shown;
	pthread_t thread;

	if (ast_atomic_fetchadd_int(&shown_count, 1) >= MAX_SHOWN || !(shown = ast_calloc(1, sizeof(*shown)))) {
		ast_atomic_fetchadd_int(&shown_count, -1);
		return;
	}
	shown->aor = ast_strndup(verb->aor.ptr, verb->aor.len);
	shown->uri = ast_strndup(verb->contact.ptr, verb->contact.len);
	shown->reason = ast_strndup(verb->reason.ptr, verb->reason.len);
	shown->call_id = ast_strndup(verb->call_id.ptr, verb->call_id.len);
	shown->from = ast_strndup(verb->from_user.ptr, verb->from_user.len);
	ast_module_ref(AST_MODULE_SELF);
	if (!shown->aor || !shown->uri || !shown->reason || !shown->call_id || !shown->from
		|| ast_pthread_create_detached_background(&thread, NULL, run, shown)) {
		ast_module_unref(AST_MODULE_SELF);
		ast_atomic_fetchadd_int(&shown_count, -1);
		shown_free(shown);
	}
}
