/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief pushwake.conf: every key of [general] is a row of the settings table.
 *
 * The table lives in libpushwake, and so do the remedies; this file adds where in
 * the file the trouble is.
 */
#include "asterisk.h"

#include "asterisk/config.h"
#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"

#define CONFIG_FILE "pushwake.conf"

void pushwake__copy(char *buf, size_t size, pushwake_str str)
{
	size_t len = MIN(str.len, size - 1);

	if (len) {
		memcpy(buf, str.ptr, len);
	}
	buf[len] = '\0';
}

char *pushwake__dup(pushwake_str str)
{
	return ast_strndup(str.ptr ? str.ptr : "", str.len);
}

static const struct ast_variable *find_variable(struct ast_config *config, const char *name)
{
	const struct ast_variable *var;

	for (var = config ? ast_variable_browse(config, "general") : NULL; var; var = var->next) {
		if (!strcasecmp(var->name, name)) {
			return var;
		}
	}
	return NULL;
}

static void log_finding(void *context, int level, pushwake_str setting, pushwake_str message)
{
	const struct ast_variable *var;
	char name[80];
	char where[160];

	pushwake__copy(name, sizeof(name), setting);
	var = find_variable(context, name);
	if (var) {
		snprintf(where, sizeof(where), "%s:%d", S_OR(var->file, CONFIG_FILE), var->lineno);
	} else {
		ast_copy_string(where, CONFIG_FILE, sizeof(where));
	}
	if (level == PUSHWAKE_LOG_ERROR) {
		ast_log(LOG_ERROR, "%s: %s: %.*s\n", where, name, PUSHWAKE__PRINT(message));
	} else {
		ast_log(LOG_WARNING, "%s: %s: %.*s\n", where, name, PUSHWAKE__PRINT(message));
	}
}

/*! Sets one key; 0 when it fits. */
static int set_value(pushwake_settings *settings, const struct ast_variable *var)
{
	pushwake_str error;

	if (pushwake_settings_set(settings, pushwake__str(var->name), pushwake__str(var->value)) >= 0) {
		return 0;
	}
	error = pushwake_settings_error(settings);
	ast_log(LOG_ERROR, "%s:%d: %.*s\n", S_OR(var->file, CONFIG_FILE), var->lineno, PUSHWAKE__PRINT(error));
	return -1;
}

static int set_values(pushwake_settings *settings, struct ast_config *config)
{
	const struct ast_variable *var;
	const char *category = NULL;
	int errors = 0;

	while ((category = ast_category_browse(config, category))) {
		if (strcasecmp(category, "general")) {
			var = ast_variable_browse(config, category);
			ast_log(LOG_ERROR, "%s:%d: section [%s] is not known; put its keys under [general]\n",
				var ? S_OR(var->file, CONFIG_FILE) : CONFIG_FILE, var ? var->lineno - 1 : 0, category);
			errors++;
		}
	}
	for (var = ast_variable_browse(config, "general"); var; var = var->next) {
		errors += set_value(settings, var) ? 1 : 0;
	}
	return errors;
}

int pushwake__config_try(pushwake_settings *settings, pushwake_settings *earlier)
{
	struct ast_flags flags = { CONFIG_FLAG_NOCACHE };
	struct ast_config *config = ast_config_load(CONFIG_FILE, flags);
	int problems;

	config = config == CONFIG_STATUS_FILEINVALID ? NULL : config;
	problems = pushwake_settings_trial(settings, earlier, log_finding, config);
	ast_config_destroy(config);
	return problems;
}

pushwake_settings *pushwake__config_read(void)
{
	struct ast_flags flags = { CONFIG_FLAG_NOCACHE };
	struct ast_config *config = ast_config_load(CONFIG_FILE, flags);
	pushwake_settings *settings = NULL;
	int errors = 0;

	if (config == CONFIG_STATUS_FILEINVALID) {
		ast_log(LOG_ERROR, "%s: the file cannot be parsed; see the message above for the line\n", CONFIG_FILE);
		return NULL;
	}
	if (!config) {
		ast_log(LOG_NOTICE, "%s: there is no such file, so no setting has a value\n", CONFIG_FILE);
	}
	if (pushwake_settings_new(&settings) < 0) {
		ast_log(LOG_ERROR, "Out of memory for the settings\n");
		errors = 1;
	} else {
		errors = config ? set_values(settings, config) : 0;
		errors += pushwake_settings_check(settings, log_finding, config);
	}
	ast_config_destroy(config);
	if (errors) {
		pushwake_settings_free(settings);
		return NULL;
	}
	return settings;
}
