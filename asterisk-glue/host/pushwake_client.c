/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The client of the engine, one for all threads, and its settings.
 */
#include "asterisk.h"

#include <inttypes.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/strings.h"

#include "pushwake_host.h"

static pushwake_client *client;
static pushwake_settings *current;
/*! The setting of this name; -1 while push is off. */
static int silent_after = -1;

pushwake_client *pushwake__client(void)
{
	return __atomic_load_n(&client, __ATOMIC_ACQUIRE);
}

static int make_client(pushwake_settings *settings)
{
	pushwake_client *made = NULL;

	if (pushwake_client_new(&made, settings) < 0 || pushwake_client_make_shared(made) < 0) {
		pushwake_client_free(made);
		return -1;
	}
	__atomic_store_n(&client, made, __ATOMIC_RELEASE);
	return 0;
}

int pushwake__settings_use(pushwake_settings *settings)
{
	if (settings && (client ? pushwake_client_replace(client, settings) : make_client(settings)) < 0) {
		ast_log(LOG_ERROR, "Out of memory for the client of the engine\n");
		pushwake_settings_free(settings);
		return -1;
	}
	pushwake_settings_free(current);
	current = settings;
	__atomic_store_n(&silent_after,
		settings ? (int) pushwake_settings_integer(settings, pushwake__str("silent_after")) : -1, __ATOMIC_RELAXED);
	return 0;
}

int pushwake__silent_after(void)
{
	return __atomic_load_n(&silent_after, __ATOMIC_RELAXED);
}

pushwake_settings *pushwake__settings(void)
{
	return current;
}

void pushwake__settings_stop(void)
{
	pushwake_client_free(client);
	client = NULL;
	pushwake_settings_free(current);
	current = NULL;
}

void pushwake__engine_away(const char *what, const char *aor, int status)
{
	pushwake_str line;

	if (pushwake_client_warning(&line, pushwake__client(), status) > 0) {
		ast_log(LOG_WARNING, "%s(%s) goes on without push: %.*s\n", what, aor, PUSHWAKE__PRINT(line));
	}
}

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

int pushwake__handle_hash(const void *obj, int flags)
{
	return (int) (*(const uint64_t *) obj & 0x7fffffff);
}

int pushwake__handle_cmp(void *obj, void *arg, int flags)
{
	return *(const uint64_t *) obj == *(const uint64_t *) arg ? CMP_MATCH | CMP_STOP : 0;
}
