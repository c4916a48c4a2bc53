/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief AMI: PushWakeSend, PushWakeBindings, PushWakeRemove, and the event PushWakeResult.
 */
#include "asterisk.h"

#include <ctype.h>
#include <inttypes.h>

#include "asterisk/logger.h"
#include "asterisk/manager.h"
#include "asterisk/module.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_host.h"
#include "pushwake_legs.h"
#include "pushwake_module.h"

struct listing {
	struct mansession *session;
	const struct message *message;
	const char *action_id;
	int count;
};

/*! Copies text into a header value: a control character would begin another header. */
static void clean(char *buf, size_t size, pushwake_str str)
{
	char *byte;

	pushwake__copy(buf, size, str);
	for (byte = buf; *byte; byte++) {
		if (iscntrl((unsigned char) *byte)) {
			*byte = ' ';
		}
	}
}

/*! "expires_at" becomes "ExpiresAt", as AMI has it. */
static void header_name(char *buf, size_t size, pushwake_str name)
{
	size_t from, to = 0;
	int is_start = 1;

	for (from = 0; from < name.len && to + 1 < size; from++) {
		unsigned char byte = name.ptr[from];

		if (!isalnum(byte)) {
			is_start = 1;
			continue;
		}
		buf[to++] = is_start ? toupper(byte) : byte;
		is_start = 0;
	}
	buf[to] = '\0';
}

/*! Not before the engine has answered: an error is a response, and not an empty list. */
static void begin(const struct listing *listing)
{
	if (!listing->count) {
		astman_send_listack(listing->session, listing->message, "Push bindings will follow", "start");
	}
}

static int list_binding(void *context, const pushwake_field *fields, size_t count)
{
	struct listing *listing = context;
	size_t index;

	begin(listing);
	listing->count++;
	astman_append(listing->session, "Event: PushWakeBinding\r\n%s", listing->action_id);
	for (index = 0; index < count; index++) {
		char name[64], text[512], value[512];

		header_name(name, sizeof(name), fields[index].name);
		pushwake__field_text(&fields[index], text, sizeof(text));
		clean(value, sizeof(value), pushwake__str(text));
		astman_append(listing->session, "%s: %s\r\n", name, value);
	}
	astman_append(listing->session, "\r\n");
	return 0;
}

/*! The header line that ties a response to its action; empty when the action had none. */
static void read_action_id(char *line, size_t size, const struct message *message)
{
	const char *id = astman_get_header(message, "ActionID");

	line[0] = '\0';
	if (!ast_strlen_zero(id)) {
		snprintf(line, size, "ActionID: %.200s\r\n", id);
	}
}

/*! A header of an action, and the name of its value in a command; empty: the value is a word by itself. */
struct name {
	char *header;
	const char *word;
};

/*! The conditions of a listing. */
static const struct name conditions[] = {
	{ "AOR", "aor" }, { "User", "user" }, { "Provider", "provider" }, { "Verdict", "verdict" }, { "Age", "age" },
};

#define MOST_NAMES 16

/*! Carries out a command with those words that the action has headers for; what it returns, or a status below 0 with its text. */
static int run(const struct message *message, const char *verb, const struct name *names, size_t count,
	pushwake_row_fn on_row, void *context, char *error, size_t size)
{
	pushwake_str words[MOST_NAMES + 1] = { pushwake__str(verb) };
	char *texts[MOST_NAMES] = { NULL };
	size_t index, used = 1;
	int number = 0;

	for (index = 0; index < count && number >= 0; index++) {
		const char *value = astman_get_header(message, names[index].header);

		if (!ast_strlen_zero(value)) {
			number = ast_asprintf(&texts[index], "%s%s%s", names[index].word, *names[index].word ? "=" : "", value);
			words[used++] = pushwake__str(texts[index]);
		}
	}
	if (number < 0) {
		ast_copy_string(error, "out of memory", size);
	} else {
		number = pushwake_command(pushwake__client(), words, used, on_row, NULL, context);
		if (number < 0) {
			pushwake__error(number, error, size);
		}
	}
	for (index = 0; index < count; index++) {
		ast_free(texts[index]);
	}
	return number;
}

static int action_bindings(struct mansession *session, const struct message *message)
{
	char id_line[256];
	struct listing listing = { session, message, id_line, 0 };
	char error[256];
	int rows;

	read_action_id(id_line, sizeof(id_line), message);
	rows = run(message, "list", conditions, ARRAY_LEN(conditions), list_binding, &listing, error, sizeof(error));
	if (rows < 0 && !listing.count) {
		astman_send_error_va(session, message, "%s", error);
		return 0;
	}
	if (rows < 0) { /* the engine has gone between two pages */
		astman_append(session, "Event: PushWakeBindingsComplete\r\n%sEventList: cancelled\r\nListItems: %d\r\nMessage: %s\r\n\r\n",
			id_line, listing.count, error);
		return 0;
	}
	begin(&listing);
	astman_send_list_complete_start(session, message, "PushWakeBindingsComplete", listing.count);
	astman_send_list_complete_end(session);
	return 0;
}

static int action_remove(struct mansession *session, const struct message *message)
{
	const char *aor = astman_get_header(message, "AOR");
	char id_line[256];
	char error[256];
	int removed;

	read_action_id(id_line, sizeof(id_line), message);
	if (ast_strlen_zero(aor)) {
		astman_send_error(session, message, "PushWakeRemove needs the header AOR");
		return 0;
	}
	removed = run(message, "remove", conditions, ARRAY_LEN(conditions), NULL, NULL, error, sizeof(error));
	if (removed < 0) {
		astman_send_error_va(session, message, "%s", error);
		return 0;
	}
	pushwake__devstate_changed(aor);
	pushwake__companion_check(aor);
	astman_append(session, "Response: Success\r\n%sRemoved: %d\r\n\r\n", id_line, removed);
	return 0;
}

static int action_send(struct mansession *session, const struct message *message)
{
	static const struct name names[MOST_NAMES] = {
		{ "PushEvent", "" }, { "AOR", "aor" }, { "Text", "text" }, { "Title", "title" }, { "From", "from" }, { "Name", "name" },
		{ "CallID", "call-id" }, { "Platform", "platform" }, { "Package", "package" }, { "Token", "token" },
		{ "PushType", "push-type" }, { "Environment", "environment" }, { "Service", "service" },
		{ "P256dh", "p256dh" }, { "Auth", "auth" }, { "Selector", "selector" },
	};
	char id_line[256];
	char error[256];
	int queued;

	read_action_id(id_line, sizeof(id_line), message);
	if (ast_strlen_zero(astman_get_header(message, "PushEvent"))
		|| (ast_strlen_zero(astman_get_header(message, "AOR")) && ast_strlen_zero(astman_get_header(message, "Token")))) {
		astman_send_error(session, message, "PushWakeSend needs the headers PushEvent and AOR, or Platform and Token");
		return 0;
	}
	queued = run(message, "send", names, ARRAY_LEN(names), NULL, NULL, error, sizeof(error));
	if (queued < 0) {
		astman_send_error_va(session, message, "%s", error);
		return 0;
	}
	astman_append(session, "Response: Success\r\n%sQueued: %d\r\n\r\n", id_line, queued);
	return 0;
}

void pushwake__manager_result(const pushwake_result *result)
{
	char aor[256], call_id[256], provider[32], app[256], token[64], reason[256];

	clean(aor, sizeof(aor), result->aor);
	clean(call_id, sizeof(call_id), result->call_id);
	clean(provider, sizeof(provider), result->provider);
	clean(app, sizeof(app), result->app);
	clean(token, sizeof(token), result->token);
	clean(reason, sizeof(reason), result->reason);
	manager_event(EVENT_FLAG_CALL, "PushWakeResult",
		"ID: %" PRIu64 "\r\n"
		"PushEvent: %s\r\n"
		"Outcome: %s\r\n"
		"Status: %d\r\n"
		"BindingRemoved: %s\r\n"
		"ElapsedUS: %" PRId64 "\r\n"
		"AOR: %s\r\n"
		"CallID: %s\r\n"
		"Provider: %s\r\n"
		"App: %s\r\n"
		"Token: %s\r\n"
		"Reason: %s\r\n",
		result->id, pushwake_event_name(result->event), pushwake_outcome_name(result->outcome), result->http_status,
		AST_YESNO(result->binding_removed), result->elapsed_us, aor, call_id, provider, app, token, reason);
}

int pushwake__manager_start(void)
{
	int res = 0;

	res |= ast_manager_register2("PushWakeSend", EVENT_FLAG_CALL, action_send, AST_MODULE_SELF,
		"Send one push by hand.",
		"Headers: PushEvent (call, chat, cancel, custom, refresh, missed, elsewhere, group-chat,\n"
		"voicemail, refer),\n"
		"AOR, or Platform, Package and Token (with Environment, Service, P256dh, Auth, Selector\n"
		"where it needs them), and if wanted Text, Title, From, Name, CallID and PushType. The response says how many pushes are Queued;\n"
		"each outcome comes as an event PushWakeResult.\n");
	res |= ast_manager_register2("PushWakeBindings", EVENT_FLAG_SYSTEM | EVENT_FLAG_REPORTING, action_bindings,
		AST_MODULE_SELF,
		"List the phones that can be woken.",
		"Headers: AOR, or none for all; User (a pattern with * and ?), Provider, Verdict (a part of\n"
		"what it says) and Age (+2d: registered longer ago than that, -1h: since then) leave some\n"
		"of them. One event PushWakeBinding each, tokens shortened, then PushWakeBindingsComplete,\n"
		"whose EventList is \"cancelled\", with a Message, when the engine died before it had said all.\n");
	res |= ast_manager_register2("PushWakeRemove", EVENT_FLAG_SYSTEM, action_remove, AST_MODULE_SELF,
		"Remove the push bindings of a user.",
		"Headers: AOR, and if wanted Provider. The response says how many were Removed.\n");
	return res;
}

void pushwake__manager_stop(void)
{
	ast_manager_unregister("PushWakeSend");
	ast_manager_unregister("PushWakeBindings");
	ast_manager_unregister("PushWakeRemove");
}
