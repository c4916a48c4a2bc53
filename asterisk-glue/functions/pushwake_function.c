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
#include "pushwake_query.h"
#include "pushwake_wake.h"

/*! Names of the columns, as `pushwake bindings` has them, collected over the rows. */
struct column {
	const char *name;
	char *buf;
	size_t size;
};

static int add_value(void *context, const pushwake_field *fields, size_t count)
{
	struct column *column = context;
	const pushwake_field *field = pushwake__field_find(fields, count, column->name);
	char value[512];

	if (field && !pushwake__row_is_removed(fields, count)) {
		size_t used = strlen(column->buf);

		snprintf(column->buf + used, column->size - used, "%s%s", used ? "," : "",
			pushwake__field_text(field, value, sizeof(value)));
	}
	return 0;
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
	struct column column = { .buf = buf, .size = size };
	char error[256];
	int rows;
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
	if (!strcasecmp(args.field, "count")) {
		rows = pushwake__query_count(args.aor, error, sizeof(error));
		snprintf(buf, size, "%d", MAX(rows, 0));
	} else {
		column.name = args.field;
		rows = pushwake__query(PUSHWAKE_QUERY_BINDINGS, args.aor, add_value, &column, error, sizeof(error));
	}
	if (rows < 0) {
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
