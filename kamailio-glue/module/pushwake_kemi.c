/* SPDX-License-Identifier: MIT
 *
 * The functions of this module for Lua, Python and JavaScript.
 */
#include "core/kemi.h"
#include "pushwake_module.h"

#define FUNCTION(name, function, first, second, third)                                       \
	{str_init("pushwake"), str_init(name), SR_KEMIP_INT, function,                           \
			{SR_KEMIP_##first, SR_KEMIP_##second, SR_KEMIP_##third, SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE}}

/* clang-format off */
sr_kemi_t pw_kemi[] = {
	FUNCTION("save",            ki_pushwake_save,            STR,  NONE, NONE),
	FUNCTION("save_flags",      ki_pushwake_save_flags,      STR,  INT,  NONE),
	FUNCTION("save_upstream",   ki_pushwake_save_upstream,   STR,  NONE, NONE),
	FUNCTION("lookup_upstream", ki_pushwake_lookup_upstream, STR,  NONE, NONE),
	FUNCTION("lookup",          ki_pushwake_lookup,          STR,  NONE, NONE),
	FUNCTION("lookup_uri",      ki_pushwake_lookup_uri,      STR,  STR,  NONE),
	FUNCTION("in_dialog",       ki_pushwake_in_dialog,       NONE, NONE, NONE),
	FUNCTION("in_dialog_table", ki_pushwake_in_dialog_table, STR,  NONE, NONE),
	FUNCTION("keep_waiting",    ki_pushwake_keep_waiting,    INT,  NONE, NONE),
	FUNCTION("send",            ki_pushwake_send,            STR,  STR,  NONE),
	FUNCTION("send_text",       ki_pushwake_send_text,       STR,  STR,  STR),
	{ {0, 0}, {0, 0}, 0, NULL, { 0, 0, 0, 0, 0, 0 } }
};
/* clang-format on */
