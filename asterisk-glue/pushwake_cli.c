/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The console: pushwake show stats, trace, send, reload.
 */
#include "asterisk.h"

#include "asterisk/cli.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"
#include "pushwake_query.h"

static int print_fields(void *context, const pushwake_field *fields, size_t count)
{
	int fd = *(const int *) context;
	size_t index;

	for (index = 0; index < count; index++) {
		char value[512];

		ast_cli(fd, "%-32.*s %s\n", PUSHWAKE__PRINT(fields[index].name),
			pushwake__field_text(&fields[index], value, sizeof(value)));
	}
	return 0;
}

static char *show_stats(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	char error[256];

	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake show stats";
		e->usage =
			"Usage: pushwake show stats\n"
			"       Shows the counters of the push engine.\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	if (a->argc != 3) {
		return CLI_SHOWUSAGE;
	}
	ast_cli(a->fd, "%-32s %s\n", "version", pushwake_version());
	ast_cli(a->fd, "%-32s %d\n", "engine process", pushwake__supervisor_engine_pid());
	if (pushwake__query(PUSHWAKE_QUERY_STATS, "", print_fields, (void *) &a->fd, error, sizeof(error)) < 0) {
		ast_cli(a->fd, "%s\n", error);
		return CLI_FAILURE;
	}
	return CLI_SUCCESS;
}

/*! A field by name as text; empty when the row has none. */
static const char *field(const pushwake_field *fields, size_t count, const char *name, char *buf, size_t size)
{
	const pushwake_field *found = pushwake__field_find(fields, count, name);

	buf[0] = '\0';
	return found ? pushwake__field_text(found, buf, size) : buf;
}

/*! One line of a story, or what stands above its lines. */
static int print_trace(void *context, const pushwake_field *fields, size_t count)
{
	int fd = *(const int *) context;
	char time[32], text[512], aor[160], from[160], end[64];

	if (pushwake__field_find(fields, count, "at_ms")) {
		ast_cli(fd, "  +%8s ms  %s\n", field(fields, count, "at_ms", time, sizeof(time)),
			field(fields, count, "text", text, sizeof(text)));
		return 0;
	}
	field(fields, count, "end", end, sizeof(end));
	ast_cli(fd, "%s to %s from %s, %s s ago: %s\n", field(fields, count, "method", text, sizeof(text)),
		field(fields, count, "aor", aor, sizeof(aor)), field(fields, count, "from", from, sizeof(from)),
		field(fields, count, "started_ago", time, sizeof(time)), S_OR(end, "not over yet"));
	ast_cli(fd, "  Call-ID %s\n", field(fields, count, "call_id", text, sizeof(text)));
	ast_cli(fd, "  %s\n", field(fields, count, "summary", text, sizeof(text)));
	return 0;
}

static char *trace(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	char error[512];
	int rows;

	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake trace";
		e->usage =
			"Usage: pushwake trace [call-id|aor]\n"
			"       Tells what happened to the calls of a Call-ID or an AoR, line by line, the newest\n"
			"       first; with neither, the newest 20 in short.\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	if (a->argc > 3) {
		return CLI_SHOWUSAGE;
	}
	rows = pushwake__query(PUSHWAKE_QUERY_TRACE, a->argc == 3 ? a->argv[2] : "", print_trace, (void *) &a->fd,
		error, sizeof(error));
	if (rows < 0) {
		ast_cli(a->fd, "%s\n", error);
		return CLI_FAILURE;
	}
	if (rows == 0) {
		ast_cli(a->fd, "there was no request yet\n");
	}
	return CLI_SUCCESS;
}

/*! Takes an argument of the form name=value; 0 when it is none, or its name is unknown. */
static int take_named(pushwake_send_request *request, const char *argument)
{
	const char *equals = strchr(argument, '=');
	pushwake_str name = { argument, 0 };

	if (!equals) {
		return 0;
	}
	name.len = equals - argument;
	return pushwake_send_set(request, name, pushwake__str(equals + 1)) == PUSHWAKE_OK;
}

static char *send_push(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	pushwake_send_request request = PUSHWAKE_SEND_REQUEST_INIT;
	struct ast_str *text;
	char error[256];
	int queued;
	int index;

	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake send";
		e->usage =
			"Usage: pushwake send <event> <aor> [text]\n"
			"       pushwake send <event> platform=<p> token=<t> [package=<p>] [<name>=<value> ...] [text]\n"
			"       Pushes to every phone of the AoR, or to one token. Events: call, chat,\n"
			"       cancel, custom, refresh, missed, elsewhere, group-chat, voicemail, refer.\n"
			"       Names: from, name, title, text, call-id, push-type, and of a token\n"
			"       environment, service, p256dh, auth, selector.\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	if (a->argc < 4 || !(text = ast_str_create(128))) {
		return CLI_SHOWUSAGE;
	}
	for (index = 3; index < a->argc; index++) {
		if (take_named(&request, a->argv[index])) {
			continue;
		}
		if (!request.aor.len && !request.token.len) {
			request.aor = pushwake__str(a->argv[index]);
			continue;
		}
		ast_str_append(&text, 0, "%s%s", ast_str_strlen(text) ? " " : "", a->argv[index]);
	}
	if (ast_str_strlen(text)) {
		request.text = pushwake__str(ast_str_buffer(text));
	}
	queued = pushwake__send(a->argv[2], &request, error, sizeof(error));
	ast_free(text);
	if (queued < 0) {
		ast_cli(a->fd, "%s\n", error);
		return CLI_FAILURE;
	}
	ast_cli(a->fd, "%d push%s queued\n", queued, queued == 1 ? "" : "es");
	return CLI_SUCCESS;
}

static char *reload(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake reload";
		e->usage =
			"Usage: pushwake reload\n"
			"       Reads pushwake.conf again, and the keys and templates that it names.\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	if (a->argc != 2) {
		return CLI_SHOWUSAGE;
	}
	if (pushwake__reload()) {
		ast_cli(a->fd, "pushwake.conf has errors, see the log; the settings stay as they were\n");
		return CLI_FAILURE;
	}
	ast_cli(a->fd, "done\n");
	return CLI_SUCCESS;
}

static struct ast_cli_entry entries[] = {
	AST_CLI_DEFINE(show_stats, "Show the counters of the push engine"),
	AST_CLI_DEFINE(trace, "Tell what happened to a call"),
	AST_CLI_DEFINE(send_push, "Send one push by hand"),
	AST_CLI_DEFINE(reload, "Read pushwake.conf again"),
};

int pushwake__cli_start(void)
{
	return ast_cli_register_multiple(entries, ARRAY_LEN(entries));
}

void pushwake__cli_stop(void)
{
	ast_cli_unregister_multiple(entries, ARRAY_LEN(entries));
}
