/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Questions to the engine, with a client lent for each.
 */
#include "asterisk.h"

#include <inttypes.h>

#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"
#include "pushwake_query.h"

static void say(char *error, size_t size, struct pushwake__client *handle, int status)
{
	pushwake_str text = pushwake_client_error(pushwake__client_of(handle));

	if (text.len) {
		pushwake__copy(error, size, text);
	} else {
		ast_copy_string(error, pushwake_status_name(status), size);
	}
}

int pushwake__query(int kind, const char *argument, pushwake_row_fn on_row, void *context,
	char *error, size_t size)
{
	struct pushwake__client *handle = pushwake__client_take();
	int status;

	if (!handle) {
		ast_copy_string(error, pushwake__clients_settings() ? "out of memory" :
			"push is off: pushwake.conf has errors, see the log; correct them, then: pushwake reload", size);
		return PUSHWAKE_ERR_UNAVAILABLE;
	}
	status = pushwake_query(pushwake__client_of(handle), kind, pushwake__str(argument), on_row, context);
	if (status < 0) {
		say(error, size, handle, status);
	}
	pushwake__client_give(handle);
	return status;
}

void pushwake__condition(struct ast_str **conditions, const char *name, const char *value)
{
	/* A line end would begin another condition. */
	if (!ast_strlen_zero(value) && !strchr(value, '\n')) {
		ast_str_append(conditions, 0, "%s=%s\n", name, value);
	}
}

int pushwake__row_is_removed(const pushwake_field *fields, size_t count)
{
	const pushwake_field *removed = pushwake__field_find(fields, count, "removed");

	return removed && removed->text.len;
}

static int count_live(void *context, const pushwake_field *fields, size_t count)
{
	*(int *) context += !pushwake__row_is_removed(fields, count);
	return 0;
}

int pushwake__query_count(const char *aor, char *error, size_t size)
{
	int live = 0;
	int status = pushwake__query(PUSHWAKE_QUERY_BINDINGS, aor, count_live, &live, error, size);

	return status < 0 ? status : live;
}

int pushwake__send(const char *event, pushwake_send_request *request, char *error, size_t size)
{
	struct pushwake__client *handle;
	int queued = 0;
	int status;

	request->event = pushwake_event_from_name(pushwake__str(event));
	if (request->event < 0) {
		snprintf(error, size, "'%s' is not an event; use call, chat, cancel, custom, refresh, missed, "
			"elsewhere, group-chat, voicemail or refer", event);
		return PUSHWAKE_ERR_INVALID_ARGUMENT;
	}
	handle = pushwake__client_take();
	if (!handle) {
		ast_copy_string(error, pushwake__clients_settings() ? "out of memory" :
			"push is off: pushwake.conf has errors, see the log; correct them, then: pushwake reload", size);
		return PUSHWAKE_ERR_UNAVAILABLE;
	}
	status = pushwake_send(&queued, pushwake__client_of(handle), request);
	if (status < 0) {
		say(error, size, handle, status);
	}
	pushwake__client_give(handle);
	return status < 0 ? status : queued;
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

const pushwake_field *pushwake__field_find(const pushwake_field *fields, size_t count, const char *name)
{
	size_t index;

	for (index = 0; index < count; index++) {
		if (fields[index].name.len == strlen(name) && !memcmp(fields[index].name.ptr, name, fields[index].name.len)) {
			return &fields[index];
		}
	}
	return NULL;
}
