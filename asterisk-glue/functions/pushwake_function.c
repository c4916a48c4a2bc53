/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief PUSHWAKE(): what push knows of an AoR.
 */
#include "asterisk.h"

#include "asterisk/app.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/pbx.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"
#include "pushwake_wake.h"

/*! What has been read of a column so far, one value a binding. */
struct values {
	pushwake_str column;
	char *buf;
	size_t size;
};

static int add_value(void *context, const pushwake_field *fields, size_t count)
{
	struct values *values = context;
	size_t index, used = strlen(values->buf);
	char text[1024];

	for (index = 0; index < count; index++) {
		if (fields[index].name.len == values->column.len
			&& !memcmp(fields[index].name.ptr, values->column.ptr, values->column.len)) {
			snprintf(values->buf + used, values->size - used, "%s%s", used ? "," : "",
				pushwake__field_text(&fields[index], text, sizeof(text)));
		}
	}
	return 0;
}

/*! A column of the bindings, or with "count" how many there are. */
static int read_bindings(char *buf, size_t size, const char *aor, const char *column)
{
	struct values values = { pushwake__str(column), buf, size };
	int count = pushwake_bindings(pushwake__client(), pushwake__str(aor), NULL, 0, 0, add_value, &values);

	if (!strcasecmp(column, "count")) {
		snprintf(buf, size, "%d", MAX(count, 0));
	}
	return count;
}

static void read_contacts(char *buf, size_t size, const char *aor)
{
	struct pushwake__contacts contacts;
	struct ast_str *dial = ast_str_create(256);
	size_t index;

	pushwake__contacts_get(&contacts, aor);
	for (index = 0; dial && index < AST_VECTOR_SIZE(&contacts); index++) {
		if (!pushwake__dial_fit(&dial, size - 1, AST_VECTOR_GET_ADDR(&contacts, index))) {
			break;
		}
	}
	if (dial) {
		ast_copy_string(buf, ast_str_buffer(dial), size);
	}
	ast_free(dial);
	pushwake__contacts_free(&contacts);
}

static int function_read(struct ast_channel *chan, const char *function, char *data, char *buf, size_t size)
{
	char error[256];
	int status;
	AST_DECLARE_APP_ARGS(args,
		AST_APP_ARG(aor);
		AST_APP_ARG(field);
	);

	buf[0] = '\0';
	AST_STANDARD_APP_ARGS(args, data);
	if (ast_strlen_zero(args.aor) || ast_strlen_zero(args.field)) {
		ast_log(LOG_WARNING, "PUSHWAKE() needs an AoR and a field: PUSHWAKE(aor,count)\n");
		return -1;
	}
	if (!strcasecmp(args.field, "contacts")) {
		read_contacts(buf, size, args.aor);
		return 0;
	}
	status = read_bindings(buf, size, args.aor, args.field);
	if (status < 0) {
		pushwake__error(status, error, sizeof(error));
		ast_log(LOG_WARNING, "PUSHWAKE(%s,%s): %s\n", args.aor, args.field, error);
	}
	return 0;
}

static struct ast_custom_function function = {
	.name = "PUSHWAKE",
	.synopsis = "What push knows of a user.",
	.syntax = "PUSHWAKE(aor,field)",
	.desc =
		"Reads one field of the push bindings of an AoR; the values of several phones\n"
		"are separated by commas.\n"
		"\n"
		"  count     how many bindings there are, 0 when the engine does not answer\n"
		"  contacts  all contacts of the AoR as a string that is safe for Dial()\n"
		"  any name  of a column of 'pushwake show bindings', such as provider or app\n",
	.read = function_read,
};

int pushwake__function_start(void)
{
	return ast_custom_function_register(&function);
}

void pushwake__function_stop(void)
{
	ast_custom_function_unregister(&function);
}
