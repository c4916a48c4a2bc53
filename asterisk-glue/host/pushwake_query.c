/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Questions to the engine, and what it said.
 */
#include "asterisk.h"

#include <inttypes.h>

#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"
#include "pushwake_query.h"

int pushwake__error(int status, char *error, size_t size)
{
	pushwake_client *client = pushwake__client();
	pushwake_str text = pushwake_client_error(client);

	if (!client) {
		ast_copy_string(error,
			"push is off: pushwake.conf has errors, see the log; correct them, then: pushwake reload", size);
		return PUSHWAKE_ERR_UNAVAILABLE;
	}
	if (text.len) {
		pushwake__copy(error, size, text);
	} else {
		ast_copy_string(error, pushwake_status_name(status), size);
	}
	return status;
}

int pushwake__query(int kind, const char *argument, pushwake_row_fn on_row, void *context,
	char *error, size_t size)
{
	int status = pushwake_query(pushwake__client(), kind, pushwake__str(argument), on_row, context);

	return status < 0 ? pushwake__error(status, error, size) : status;
}

int pushwake__take_number(void *context, const pushwake_field *fields, size_t count)
{
	*(int64_t *) context = count ? fields[0].number : 0;
	return 0;
}

const char *pushwake__field_text(const pushwake_field *field, char *buf, size_t size)
{
	if (field->text.ptr) {
		pushwake__copy(buf, size, field->text);
	} else {
		snprintf(buf, size, "%" PRId64, field->number);
	}
	return buf;
}
