/* SPDX-License-Identifier: MIT
 *
 * The functions of this module for Lua, Python and JavaScript.
 */
#include "core/kemi.h"
#include "pushwake_mod.h"

/* clang-format off */
sr_kemi_t pw_kemi[] = {
	{ str_init("pushwake"), str_init("save"),
		SR_KEMIP_INT, ki_pushwake_save,
		{ SR_KEMIP_STR, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("save_flags"),
		SR_KEMIP_INT, ki_pushwake_save_flags,
		{ SR_KEMIP_STR, SR_KEMIP_INT, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("save_upstream"),
		SR_KEMIP_INT, ki_pushwake_save_upstream,
		{ SR_KEMIP_STR, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("lookup_upstream"),
		SR_KEMIP_INT, ki_pushwake_lookup_upstream,
		{ SR_KEMIP_STR, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("lookup"),
		SR_KEMIP_INT, ki_pushwake_lookup,
		{ SR_KEMIP_STR, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("lookup_uri"),
		SR_KEMIP_INT, ki_pushwake_lookup_uri,
		{ SR_KEMIP_STR, SR_KEMIP_STR, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("in_dialog"),
		SR_KEMIP_INT, ki_pushwake_in_dialog,
		{ SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("in_dialog_table"),
		SR_KEMIP_INT, ki_pushwake_in_dialog_table,
		{ SR_KEMIP_STR, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("keep_waiting"),
		SR_KEMIP_INT, ki_pushwake_keep_waiting,
		{ SR_KEMIP_INT, SR_KEMIP_NONE, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("send"),
		SR_KEMIP_INT, ki_pushwake_send,
		{ SR_KEMIP_STR, SR_KEMIP_STR, SR_KEMIP_NONE,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ str_init("pushwake"), str_init("send_text"),
		SR_KEMIP_INT, ki_pushwake_send_text,
		{ SR_KEMIP_STR, SR_KEMIP_STR, SR_KEMIP_STR,
			SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE }
	},
	{ {0, 0}, {0, 0}, 0, NULL, { 0, 0, 0, 0, 0, 0 } }
};
/* clang-format on */
