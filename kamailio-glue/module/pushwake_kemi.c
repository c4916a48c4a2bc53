/* SPDX-License-Identifier: MIT
 *
 * The functions of this module for Lua, Python and JavaScript.
 */
#include "core/kemi.h"
#include "pushwake_module.h"

/* Nothing ends these scripts at a held request. Those that Kamailio comes with relay whatever was found: for the one that is
 * held nothing is sent, as with lookup_goes_on. */
static int told(sip_msg_t *msg, int found)
{
	if(found == PW_HELD) {
		pw_quiet_begin(msg);
	}
	return found;
}

static int lookup(sip_msg_t *msg, str *table)
{
	return told(msg, ki_pushwake_lookup(msg, table));
}

static int lookup_uri(sip_msg_t *msg, str *table, str *uri)
{
	return told(msg, ki_pushwake_lookup_uri(msg, table, uri));
}

static int lookup_upstream(sip_msg_t *msg, str *table)
{
	return told(msg, ki_pushwake_lookup_upstream(msg, table));
}

static int in_dialog(sip_msg_t *msg)
{
	return told(msg, ki_pushwake_in_dialog(msg));
}

static int in_dialog_table(sip_msg_t *msg, str *table)
{
	return told(msg, ki_pushwake_in_dialog_table(msg, table));
}

#define FUNCTION(name, function, first, second, third)                                       \
	{str_init("pushwake"), str_init(name), SR_KEMIP_INT, function,                           \
			{SR_KEMIP_##first, SR_KEMIP_##second, SR_KEMIP_##third, SR_KEMIP_NONE, SR_KEMIP_NONE, SR_KEMIP_NONE}}

/* clang-format off */
sr_kemi_t pw_kemi[] = {
	FUNCTION("save",            ki_pushwake_save,            STR,  NONE, NONE),
	FUNCTION("save_flags",      ki_pushwake_save_flags,      STR,  INT,  NONE),
	FUNCTION("save_upstream",   ki_pushwake_save_upstream,   STR,  NONE, NONE),
	FUNCTION("lookup_upstream", lookup_upstream,             STR,  NONE, NONE),
	FUNCTION("lookup",          lookup,                      STR,  NONE, NONE),
	FUNCTION("lookup_uri",      lookup_uri,                  STR,  STR,  NONE),
	FUNCTION("in_dialog",       in_dialog,                   NONE, NONE, NONE),
	FUNCTION("in_dialog_table", in_dialog_table,             STR,  NONE, NONE),
	FUNCTION("keep_waiting",    ki_pushwake_keep_waiting,    INT,  NONE, NONE),
	FUNCTION("remove",          ki_pushwake_remove,          STR,  NONE, NONE),
	FUNCTION("send",            ki_pushwake_send,            STR,  STR,  NONE),
	FUNCTION("send_text",       ki_pushwake_send_text,       STR,  STR,  STR),
	{ {0, 0}, {0, 0}, 0, NULL, { 0, 0, 0, 0, 0, 0 } }
};
/* clang-format on */
