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

const char *pushwake__field_text(const pushwake_field *field, char *buf, size_t size)
{
	if (field->text.ptr) {
		pushwake__copy(buf, size, field->text);
	} else {
		snprintf(buf, size, "%" PRId64, field->number);
	}
	return buf;
}
