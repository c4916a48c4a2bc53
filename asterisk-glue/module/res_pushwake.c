/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Wakes sleeping phones by push. The glue between Asterisk and libpushwake.
 *
 * This file starts and stops the parts, in the order of the table below. A part that
 * does not start undoes those before it and the module declines: whatever is wrong
 * with push, Asterisk runs. Settings with errors only switch push off.
 */
#include "asterisk.h"

#include <ctype.h>
#include <stdlib.h>

#include "asterisk/ast_version.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"

#include "pushwake_early_wake.h"
#include "pushwake_calls.h"
#include "pushwake_legs.h"
#include "pushwake_module.h"
#include "pushwake_request.h"
#include "pushwake_wake.h"

#ifndef PUSHWAKE_ASTERISK_MAJOR
#error "PUSHWAKE_ASTERISK_MAJOR is not set; build with the Makefile"
#endif

static int start_settings(void)
{
	pushwake_settings *settings = pushwake__config_read();

	if (!settings) {
		/* Declining would take PushWake() out of the dialplan, and every call with it. */
		ast_log(LOG_ERROR, "pushwake.conf has errors, so push is off and calls go on without it; "
			"correct the lines above, then: pushwake reload\n");
	}
	return pushwake__settings_use(settings);
}

static const struct {
	const char *name;
	int (*start)(void);
	void (*stop)(void);
} parts[] = {
	{ "settings", start_settings, pushwake__settings_stop },
	{ "early wakes", pushwake__early_wake_start, pushwake__early_wake_stop },
	{ "edge proxies", pushwake__path_start, pushwake__path_stop },
	{ "nodes", pushwake__node_start, pushwake__node_stop },
	{ "messages of nodes", pushwake__node_text_start, pushwake__node_text_stop },
	{ "waiting legs", pushwake__legs_start, pushwake__legs_stop },
	{ "device state", pushwake__devstate_start, pushwake__devstate_stop },
	{ "manager", pushwake__manager_start, pushwake__manager_stop },
	{ "supervisor", pushwake__supervisor_start, pushwake__supervisor_stop },
	{ "unwatched connections", pushwake__unwatched_start, pushwake__unwatched_stop },
	{ "SIP", pushwake__register_start, pushwake__register_stop },
	{ "texts", pushwake__text_start, pushwake__text_stop },
	{ "application", pushwake__app_start, pushwake__app_stop },
	{ "function", pushwake__function_start, pushwake__function_stop },
	{ "console", pushwake__cli_start, pushwake__cli_stop },
};

static void stop_parts(size_t count)
{
	while (count--) {
		parts[count].stop();
	}
}

/*! The first number of "22.10.1", "GIT-22-1a2b3c" or "certified/20.7". */
static int major_version(const char *version)
{
	while (*version && !isdigit((unsigned char) *version)) {
		version++;
	}
	return atoi(version);
}

/*! The structures of another major version differ, and using them would crash. */
static int check_versions(void)
{
	int major = major_version(ast_get_version());

	if (major != PUSHWAKE_ASTERISK_MAJOR) {
		ast_log(LOG_ERROR, "This res_pushwake.so was built for Asterisk %d and this is Asterisk %s; "
			"install the one for Asterisk %d or build it against these headers\n",
			PUSHWAKE_ASTERISK_MAJOR, ast_get_version(), major);
		return -1;
	}
	if (pushwake_abi_version() != PUSHWAKE_ABI_VERSION) {
		ast_log(LOG_ERROR, "libpushwake.so.1 has interface %d and this module needs %d; "
			"install both of one release\n", pushwake_abi_version(), PUSHWAKE_ABI_VERSION);
		return -1;
	}
	return 0;
}

static int load_module(void)
{
	size_t index;

	if (check_versions()) {
		return AST_MODULE_LOAD_DECLINE;
	}
	for (index = 0; index < ARRAY_LEN(parts); index++) {
		if (parts[index].start()) {
			ast_log(LOG_ERROR, "PushWake does not start (%s); Asterisk goes on without push\n",
				parts[index].name);
			/* The part that failed may have started by half. */
			stop_parts(index + 1);
			return AST_MODULE_LOAD_DECLINE;
		}
	}
	return AST_MODULE_LOAD_SUCCESS;
}

static int unload_module(void)
{
	stop_parts(ARRAY_LEN(parts));
	return 0;
}

static int reload_module(void)
{
	return pushwake__reload() ? AST_MODULE_RELOAD_ERROR : AST_MODULE_RELOAD_SUCCESS;
}

AST_MODULE_INFO(ASTERISK_GPL_KEY, AST_MODFLAG_LOAD_ORDER, "Wakes sleeping phones by push",
	.support_level = AST_MODULE_SUPPORT_EXTENDED,
	.load = load_module,
	.unload = unload_module,
	.reload = reload_module,
	.load_pri = AST_MODPRI_APP_DEPEND,
	.requires = "res_pjsip,res_pjsip_session",
);
