/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The console: pushwake show bindings, show binding, remove bindings.
 */
#include "asterisk.h"

#include "asterisk/cli.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"
#include "pushwake_query.h"

/*! Columns of `show bindings`, 100 characters in all; `show binding` has everything. */
static const struct {
	const char *field;
	const char *title;
	int width;
	/*! What is too long is cut at its front. */
	int cuts_front;
} columns[] = {
	{ "aor", "AoR", 16, 0 },
	{ "provider", "Provider", 8, 0 },
	{ "service", "Service", 7, 0 },
	{ "app", "App", 17, 1 },
	{ "token", "Token", 11, 0 },
	{ "registered_ago", "Age", 4, 0 },
	{ "verdict", "Verdict", 31, 0 },
};

/*! Characters of text in UTF-8. */
static int characters(const char *text)
{
	int count = 0;

	for (; *text; text++) {
		count += (*text & 0xC0) != 0x80;
	}
	return count;
}

/*! Behind so many characters. */
static const char *skip(const char *text, int count)
{
	for (; *text && count > 0; count--) {
		do {
			text++;
		} while ((*text & 0xC0) == 0x80);
	}
	return text;
}

static void append_cell(struct ast_str **line, const char *text, int width, int cuts_front, int is_last)
{
	int length = characters(text);
	const char *end;

	if (length > width) {
		if (cuts_front) {
			ast_str_append(line, 0, "\xE2\x80\xA6%s", skip(text, length - width + 1));
		} else {
			end = skip(text, width - 1);
			ast_str_append(line, 0, "%.*s\xE2\x80\xA6", (int) (end - text), text);
		}
		length = width;
	} else {
		ast_str_append(line, 0, "%s", text);
	}
	if (!is_last) {
		ast_str_append(line, 0, "%*s", width - length + 1, "");
	}
}

/*! Seconds in short: 42s, 12m, 30h, 12d. */
static void short_age(char *buf, size_t size, int64_t seconds)
{
	if (seconds < 100) {
		snprintf(buf, size, "%ds", (int) MAX(seconds, 0));
	} else if (seconds < 6000) {
		snprintf(buf, size, "%dm", (int) (seconds / 60));
	} else if (seconds < 172800) {
		snprintf(buf, size, "%dh", (int) (seconds / 3600));
	} else {
		snprintf(buf, size, "%lldd", (long long) (seconds / 86400));
	}
}

static void cell_text(char *buf, size_t size, const char *name, const pushwake_field *fields, size_t count)
{
	const pushwake_field *field = pushwake__field_find(fields, count, name);
	const pushwake_field *removed = pushwake__field_find(fields, count, "removed");

	buf[0] = '\0';
	if (!field) {
		return;
	}
	if (!strcmp(name, "registered_ago")) {
		short_age(buf, size, field->number);
	} else if (!strcmp(name, "verdict") && removed && removed->text.len) {
		snprintf(buf, size, "removed: %.*s", PUSHWAKE__PRINT(removed->text));
	} else {
		pushwake__field_text(field, buf, size);
	}
}

static int print_binding(void *context, const pushwake_field *fields, size_t count)
{
	int fd = *(const int *) context;
	struct ast_str *line = ast_str_create(160);
	size_t index;

	for (index = 0; line && index < ARRAY_LEN(columns); index++) {
		char value[512];

		cell_text(value, sizeof(value), columns[index].field, fields, count);
		append_cell(&line, value, columns[index].width, columns[index].cuts_front, index + 1 == ARRAY_LEN(columns));
	}
	if (line) {
		ast_cli(fd, "%s\n", ast_str_buffer(line));
	}
	ast_free(line);
	return 0;
}

static void print_titles(int fd)
{
	struct ast_str *line = ast_str_create(160);
	size_t index;

	for (index = 0; line && index < ARRAY_LEN(columns); index++) {
		append_cell(&line, columns[index].title, columns[index].width, 0, index + 1 == ARRAY_LEN(columns));
	}
	if (line) {
		ast_cli(fd, "%s\n", ast_str_buffer(line));
	}
	ast_free(line);
}

/*! Reads [aor] [name=value ...] from an argument on; NULL when the arguments are no such thing. */
static struct ast_str *read_conditions(struct ast_cli_args *a, int from)
{
	struct ast_str *conditions = ast_str_create(64);
	int index;

	for (index = from; conditions && index < a->argc; index++) {
		const char *equals = strchr(a->argv[index], '=');
		char name[16];

		if (equals && equals > a->argv[index]) {
			ast_copy_string(name, a->argv[index], MIN(sizeof(name), (size_t) (equals - a->argv[index] + 1)));
			pushwake__condition(&conditions, name, equals + 1);
		} else if (index == from) {
			pushwake__condition(&conditions, "aor", a->argv[index]);
		} else {
			ast_free(conditions);
			return NULL;
		}
	}
	return conditions;
}

/*! Asks for what the arguments say; CLI_SUCCESS and the number of rows, or what else the console is to hear. */
static char *ask(struct ast_cli_args *a, int from, int kind, pushwake_row_fn on_row, void *context, int *rows)
{
	struct ast_str *conditions = read_conditions(a, from);
	char error[256];

	if (!conditions) {
		return CLI_SHOWUSAGE;
	}
	*rows = pushwake__query(kind, ast_str_buffer(conditions), on_row, context, error, sizeof(error));
	ast_free(conditions);
	if (*rows < 0) {
		ast_cli(a->fd, "%s\n", error);
		return CLI_FAILURE;
	}
	return CLI_SUCCESS;
}

static char *show_bindings(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	char *result;
	int rows;

	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake show bindings";
		e->usage =
			"Usage: pushwake show bindings [aor] [user=<p>] [provider=<p>] [verdict=<t>] [age=<+a|-a> ...]\n"
			"       Lists the phones that can be woken, of one AoR or all. Tokens are shortened.\n"
			"       user      a pattern with * and ?\n"
			"       provider  apns, fcm, webpush, acrobits or webhook\n"
			"       verdict   a part of what the column says: \"verdict=notifications off\"\n"
			"       age       +2d registered longer ago than that, -1h since then: s, m, h, d, w\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	print_titles(a->fd);
	result = ask(a, 3, PUSHWAKE_QUERY_FIND, print_binding, (void *) &a->fd, &rows);
	if (result == CLI_SUCCESS) {
		ast_cli(a->fd, "%d binding%s\n", rows, ESS(rows));
	}
	return result;
}

static int print_details(void *context, const pushwake_field *fields, size_t count)
{
	int fd = *(const int *) context;
	size_t index;

	for (index = 0; index < count; index++) {
		char value[512];

		ast_cli(fd, "%-16.*s %s\n", PUSHWAKE__PRINT(fields[index].name),
			pushwake__field_text(&fields[index], value, sizeof(value)));
	}
	ast_cli(fd, "\n");
	return 0;
}

static char *show_binding(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	char *result;
	int rows;

	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake show binding";
		e->usage =
			"Usage: pushwake show binding <aor> [provider=<p>]\n"
			"       Shows all that is known of the phones of an AoR; -1 stands for never. Tokens are\n"
			"       shortened.\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	if (a->argc < 4) {
		return CLI_SHOWUSAGE;
	}
	result = ask(a, 3, PUSHWAKE_QUERY_FIND, print_details, (void *) &a->fd, &rows);
	if (result == CLI_SUCCESS && rows == 0) {
		ast_cli(a->fd, "%s has no such push binding\n", a->argv[3]);
	}
	return result;
}

static int take_number(void *context, const pushwake_field *fields, size_t count)
{
	*(int64_t *) context = count ? fields[0].number : 0;
	return 0;
}

static char *remove_bindings(struct ast_cli_entry *e, int cmd, struct ast_cli_args *a)
{
	int64_t removed = 0;
	char *result;
	int rows;

	switch (cmd) {
	case CLI_INIT:
		e->command = "pushwake remove bindings";
		e->usage =
			"Usage: pushwake remove bindings <aor> [provider=<p>]\n"
			"       Removes the push bindings of an AoR, or those of one provider. A phone that registers\n"
			"       with its token again is bound again.\n";
		return NULL;
	case CLI_GENERATE:
		return NULL;
	}
	if (a->argc < 4) {
		return CLI_SHOWUSAGE;
	}
	result = ask(a, 3, PUSHWAKE_QUERY_REMOVE_FOUND, take_number, &removed, &rows);
	if (result == CLI_SUCCESS) {
		ast_cli(a->fd, "removed %d binding%s\n", (int) removed, ESS(removed));
		pushwake__devstate_changed(a->argv[3]);
	}
	return result;
}

static struct ast_cli_entry entries[] = {
	AST_CLI_DEFINE(show_bindings, "List the phones that can be woken"),
	AST_CLI_DEFINE(show_binding, "Show all that is known of a user's phones"),
	AST_CLI_DEFINE(remove_bindings, "Remove the push bindings of a user"),
};

int pushwake__bindings_start(void)
{
	return ast_cli_register_multiple(entries, ARRAY_LEN(entries));
}

void pushwake__bindings_stop(void)
{
	ast_cli_unregister_multiple(entries, ARRAY_LEN(entries));
}
