/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief pushwake.conf is read again: by the console, and when Asterisk reloads its modules.
 */
#include "asterisk.h"

#include "asterisk/lock.h"
#include "asterisk/logger.h"

#include "pushwake_host.h"
#include "pushwake_module.h"

AST_MUTEX_DEFINE_STATIC(reload_lock);

static int log_row(void *context, const pushwake_field *fields, size_t count)
{
	size_t index;

	for (index = 0; index < count; index++) {
		char text[512];

		ast_log(LOG_WARNING, "%.*s: %s\n", PUSHWAKE__PRINT(fields[index].name),
			pushwake__field_text(&fields[index], text, sizeof(text)));
	}
	return 0;
}

int pushwake__reload(void)
{
	const pushwake_str command = pushwake__str("reload");
	pushwake_settings *settings;
	char error[256];
	int status, res = 0;

	/* ORDER: of two reloads the one that read the file last is done last. */
	ast_mutex_lock(&reload_lock);
	settings = pushwake__config_read();
	if (!settings) {
		ast_mutex_unlock(&reload_lock);
		return -1;
	}
	if (pushwake_settings_replace(settings, pushwake__settings()) > 0) {
		/* The engine goes on, with the pushes that it has in hand. */
		pushwake_settings_free(settings);
		status = pushwake_command(pushwake__client(), &command, 1, log_row, NULL, NULL);
		if (status < 0) {
			pushwake__error(status, error, sizeof(error));
			ast_log(LOG_WARNING, "The engine did not reload: %s\n", error);
		}
	} else if (pushwake__settings() && pushwake__config_try(settings, pushwake__settings())) {
		ast_log(LOG_ERROR, "No engine could work with pushwake.conf, so the one that runs goes on with the settings "
			"before; correct the lines above, then: pushwake reload\n");
		pushwake_settings_free(settings);
		res = -1;
	} else {
		pushwake__supervisor_stop();
		res = pushwake__settings_use(settings) ? -1 : pushwake__supervisor_start();
	}
	ast_mutex_unlock(&reload_lock);
	return res;
}
