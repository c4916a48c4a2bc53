/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The console: pushwake show stats, show bindings, show binding, remove bindings, trace, send, reload.
 *
 * What the engine says is put into lines by the library, as for the shell.
 */
#include "asterisk.h"

#include "asterisk/cli.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_host.h"
#include "pushwake_legs.h"
#include "pushwake_module.h"

/*! Whether a command is to run, and not only to say what it is called and how it is used. */
static int is_run(struct ast_cli_entry *e, int cmd, char *command, const char *usage)
{
	if (cmd == CLI_INIT) {
		e->command = command;
		e->usage = usage;
	}
	return cmd != CLI_INIT && cmd != CLI_GENERATE;
}

static void print_line(void *context, pushwake_str line)
{
	ast_cli(*(const int *) context, "%.*s\n", PUSHWAKE__PRINT(line));
}

/*! Carries out a command whose other words are typed from an argument on, and prints what comes of it. */
static char *run(const struct ast_cli_args *a, const char *verb, int from)
{
	pushwake_str words[AST_MAX_ARGS + 1] = { pushwake__str(verb) };
	char error[512];
	size_t count = 1;
	int status;

	for (; from < a->argc && count <= AST_MAX_ARGS; from++) {
		words[count++] = pushwake__str(a->argv[from]);
	}
	status = pushwake_command(pushwake__client(), words, count, NULL, print_line, (void *) &a->fd);
	if (status >= 0) {
		return CLI_SUCCESS;
	}
	status = pushwake__error(status, error, sizeof(error));
	ast_cli(a->fd, "%s\n", error);
	return status == PUSHWAKE_ERR_INVALID_ARGUMENT ? CLI_SHOWUSAGE : CLI_FAILURE;
}

static char *show_stats(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	if (!is_run(e, cmd, "pushwake show stats",
			"Usage: pushwake show stats\n"
			"       Shows the counters of the push engine.\n")) {
		return NULL;
	}
	if (a->argc != 3) {
		return CLI_SHOWUSAGE;
	}
	ast_cli(a->fd, "%-32s %s\n", "version", pushwake_version());
	ast_cli(a->fd, "%-32s %d\n", "engine process", pushwake__supervisor_engine_pid());
	return run(a, "stats", 3);
}

static char *show_bindings(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	if (!is_run(e, cmd, "pushwake show bindings",
			"Usage: pushwake show bindings [aor] [user=<p>] [provider=<p>] [verdict=<t>] [age=<+a|-a> ...]\n"
			"       Lists the phones that can be woken, of one AoR or all. Tokens are shortened.\n"
			"       user      a pattern with * and ?\n"
			"       provider  as the column says: apns, fcm, ..., webhook\n"
			"       verdict   a part of what the column says: \"verdict=notifications off\"\n"
			"       age       +2d registered longer ago than that, -1h since then: s, m, h, d, w\n")) {
		return NULL;
	}
	return run(a, "list", 3);
}

static char *show_binding(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	if (!is_run(e, cmd, "pushwake show binding",
			"Usage: pushwake show binding <aor> [provider=<p>]\n"
			"       Shows all that is known of the phones of an AoR. Tokens are shortened.\n")) {
		return NULL;
	}
	return a->argc < 4 ? CLI_SHOWUSAGE : run(a, "show", 3);
}

static char *remove_bindings(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	char *result;

	if (!is_run(e, cmd, "pushwake remove bindings",
			"Usage: pushwake remove bindings <aor> [provider=<p>]\n"
			"       Removes the push bindings of an AoR, or those of one provider. A phone that registers\n"
			"       with its token again is bound again.\n")) {
		return NULL;
	}
	if (a->argc < 4) {
		return CLI_SHOWUSAGE;
	}
	result = run(a, "remove", 3);
	if (result == CLI_SUCCESS) {
		pushwake__devstate_changed(a->argv[3]);
		pushwake__companion_check(a->argv[3]);
	}
	return result;
}

static char *trace(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	if (!is_run(e, cmd, "pushwake trace",
			"Usage: pushwake trace [call-id|aor]\n"
			"       Tells what happened to the calls of a Call-ID or an AoR, line by line, the newest\n"
			"       first; with neither, the newest 20 in short.\n")) {
		return NULL;
	}
	return run(a, "trace", 2);
}

static char *send_push(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	if (!is_run(e, cmd, "pushwake send",
			"Usage: pushwake send <event> <aor> [text]\n"
			"       pushwake send <event> platform=<p> token=<t> [package=<p>] [<name>=<value> ...] [text]\n"
			"       Pushes to every phone of the AoR, or to one token. Events: call, chat,\n"
			"       cancel, custom, refresh, missed, elsewhere, group-chat, voicemail, refer.\n"
			"       Names: from, name, title, text, call-id, push-type, and of a token\n"
			"       environment, service, p256dh, auth, selector.\n")) {
		return NULL;
	}
	return run(a, "send", 2);
}

static char *reload(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	if (!is_run(e, cmd, "pushwake reload",
			"Usage: pushwake reload\n"
			"       Reads pushwake.conf again, and the keys and templates that it names.\n")) {
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
	AST_CLI_DEFINE(show_bindings, "List the phones that can be woken"),
	AST_CLI_DEFINE(show_binding, "Show all that is known of a user's phones"),
	AST_CLI_DEFINE(remove_bindings, "Remove the push bindings of a user"),
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
