/* SPDX-License-Identifier: MIT
 *
 * What the module exports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/cfg/cfg_struct.h"
#include "core/kemi.h"
#include "core/mod_fix.h"
#include "core/pt.h"
#include "core/pvar.h"
#include "pushwake_module.h"

#define PW_EXPORT __attribute__((visibility("default")))

static int mod_init(void);
static int child_init(int rank);
static int w_save(sip_msg_t *msg, char *table, char *flags);
static int w_save_upstream(sip_msg_t *msg, char *table, char *unused);
static int w_lookup(sip_msg_t *msg, char *table, char *uri);
static int w_lookup_upstream(sip_msg_t *msg, char *table, char *unused);
static int w_in_dialog(sip_msg_t *msg, char *table, char *unused);
static int w_keep_waiting(sip_msg_t *msg, char *seconds, char *unused);
static int w_send(sip_msg_t *msg, char *event, char *uri);
static int w_remove(sip_msg_t *msg, char *uri, char *unused);
static int w_send_text(sip_msg_t *msg, char *event, char *uri, char *text);
static int fixup_save(void **param, int no);
static int fixup_lookup(void **param, int no);
static int fixup_upstream(void **param, int no);

/* clang-format off */
static cmd_export_t cmds[] = {
	{"pushwake_save",   (cmd_function)w_save,      1, fixup_save,     0, REQUEST_ROUTE},
	{"pushwake_save",   (cmd_function)w_save,      2, fixup_save,     0, REQUEST_ROUTE},
	{"pushwake_save_upstream", (cmd_function)w_save_upstream, 1, fixup_upstream, 0, REQUEST_ROUTE},
	{"pushwake_lookup_upstream", (cmd_function)w_lookup_upstream, 1, fixup_lookup, 0, REQUEST_ROUTE | FAILURE_ROUTE},
	{"pushwake_continue_", (cmd_function)pw_continue_now, 0, 0,      0, FAILURE_ROUTE},
	{"pushwake_lookup", (cmd_function)w_lookup,    1, fixup_lookup,   0, REQUEST_ROUTE | FAILURE_ROUTE},
	{"pushwake_lookup", (cmd_function)w_lookup,    2, fixup_lookup,   0, REQUEST_ROUTE | FAILURE_ROUTE},
	{"pushwake_in_dialog", (cmd_function)w_in_dialog, 0, 0,          0, REQUEST_ROUTE},
	{"pushwake_in_dialog", (cmd_function)w_in_dialog, 1, fixup_lookup, 0, REQUEST_ROUTE},
	{"pushwake_keep_waiting", (cmd_function)w_keep_waiting, 1, fixup_igp_null, 0, ANY_ROUTE},
	{"pushwake_send",   (cmd_function)w_send,      2, fixup_spve_all, 0, ANY_ROUTE},
	{"pushwake_send",   (cmd_function)w_send_text, 3, fixup_spve_all, 0, ANY_ROUTE},
	{"pushwake_remove", (cmd_function)w_remove,    1, fixup_spve_null, 0, ANY_ROUTE},
	{0, 0, 0, 0, 0, 0}
};

static pv_export_t pvs[] = {
	{ {"pushwake", sizeof("pushwake") - 1}, PVT_OTHER, pw_pv_get, 0, pw_pv_parse, 0, 0, 0 },
	{ {0, 0}, 0, 0, 0, 0, 0, 0, 0 }
};

PW_EXPORT struct module_exports exports = {
	"pushwake",
	DEFAULT_DLFLAGS,
	cmds,
	pw_params,
	pw_rpcs,
	pvs,
	0,
	mod_init,
	child_init,
	0
};
/* clang-format on */

/* Runs when the module is loaded, before the modparams are set. */
PW_EXPORT int mod_register(char *path, int *dlflags, void *p1, void *p2)
{
	if(pushwake_abi_version() != PUSHWAKE_ABI_VERSION) {
		LM_ERR("libpushwake %s has interface %d, this module needs %d\n", pushwake_version(),
				pushwake_abi_version(), PUSHWAKE_ABI_VERSION);
		return -1;
	}
	if(pw_params_init() < 0) {
		return -1;
	}
	return sr_kemi_modules_add(pw_kemi);
}

static void on_problem(void *context, int level, pushwake_str setting, pushwake_str message)
{
	char name[80];

	snprintf(name, sizeof(name), "%.*s", PW_FMT(setting));
	pw_log(level == PUSHWAKE_LOG_ERROR ? level : PUSHWAKE_LOG_WARNING, name, message);
}

static int mod_init(void)
{
	if(pw_bind_modules() < 0 || !pw_core_fits() || register_module_stats(exports.name, pw_stats) != 0) {
		return -1;
	}
	if(pw_params_accounts() < 0) {
		return -1;
	}
	if(pushwake_settings_check(pw_settings, on_problem, NULL) != 0) {
		LM_ERR("not started: see the settings named above\n");
		return -1;
	}
	if(pushwake_client_new(&pw_client, pw_settings) < 0) {
		LM_ERR("no client: %.*s\n", PW_FMT(pushwake_settings_error(pw_settings)));
		return -1;
	}
	if(pw_holds_init() < 0 || pw_admission_init() < 0 || pw_stream_init() < 0 || pw_script_init() < 0
			|| pw_suspended_init() < 0 || pw_leg_init() < 0 || pw_waiting_init() < 0 || pw_result_init() < 0 || pw_upstream_init() < 0
			|| pw_removed_init() < 0 || pw_replicated_init(pw_settings) < 0 || pw_notes_init() < 0) {
		return -1;
	}
	register_procs(2); /* the supervisor, and the one for routes */
	cfg_register_child(2);
	LM_INFO("libpushwake %s\n", pushwake_version());
	return 0;
}

/* Forks a process of our own, which `process` ends. */
static int start(char *name, void (*process)(void))
{
	int pid = fork_process(PROC_RPC, name, 1);

	if(pid < 0) {
		LM_ERR("cannot fork the process \"%s\"\n", name);
		return -1;
	}
	if(pid == 0) {
		if(cfg_child_init() < 0) {
			return -1;
		}
		process();
	}
	return 0;
}

static int child_init(int rank)
{
	if(rank == PROC_MAIN) {
		return start("PushWake supervisor", pw_supervisor_run) < 0 || start("PushWake routes", pw_routes_run) < 0 ? -1 : 0;
	}
	if(rank > 0) {
		pw_engine_await();
	}
	return 0;
}

/* usrloc knows the tables that somebody asked for while the script was read. */
static int fixup_table(void **param)
{
	udomain_t *domain;
	gparam_t *table;

	if(fixup_spve_null(param, 1) < 0) {
		return -1;
	}
	table = (gparam_t *)*param;
	if(table->type == GPARAM_TYPE_STR && pw.usrloc.register_udomain(table->v.str.s, &domain) < 0) {
		LM_ERR("usrloc has no table %.*s\n", table->v.str.len, table->v.str.s);
		return -1;
	}
	return 0;
}

/* As save() takes them: 4, 0x04, or what a variable holds. */
static int fixup_flags(void **param)
{
	char *text = (char *)*param, *end, *decimal;
	long flags;

	if(*text == '$') {
		return fixup_igp_null(param, 1);
	}
	flags = strtol(text, &end, strncasecmp(text, "0x", 2) == 0 ? 16 : 10);
	if(end == text || *end != '\0' || flags < 0 || flags > 0xffff) {
		LM_ERR("pushwake_save: flags \"%s\": write a number, such as 4 or 0x04\n", text);
		return -1;
	}
	decimal = pkg_malloc(8);
	if(decimal == NULL) {
		PKG_MEM_ERROR;
		return -1;
	}
	snprintf(decimal, 8, "%ld", flags);
	*param = decimal;
	return fixup_igp_null(param, 1);
}

static int fixup_save(void **param, int no)
{
	return no == 1 ? fixup_table(param) : fixup_flags(param);
}

static int fixup_lookup(void **param, int no)
{
	return no == 1 ? fixup_table(param) : fixup_spve_null(param, 1);
}

/* A held REGISTER remembers its table by number. */
static int fixup_upstream(void **param, int no)
{
	gparam_t *table;

	if(fixup_table(param) < 0) {
		return -1;
	}
	table = (gparam_t *)*param;
	if(table->type != GPARAM_TYPE_STR || pw_upstream_table(&table->v.str) < 0) {
		LM_ERR("pushwake_save_upstream: write the name of one of at most 8 tables\n");
		return -1;
	}
	return 0;
}

/* The table must end in NUL: usrloc reads it as a C string. */
static int table_of(str *out, sip_msg_t *msg, char *param)
{
	static char name[64];

	if(fixup_get_svalue(msg, (gparam_t *)param, out) < 0 || out->len <= 0 || out->len >= (int)sizeof(name)) {
		LM_ERR("which usrloc table?\n");
		return -1;
	}
	memcpy(name, out->s, out->len);
	name[out->len] = '\0';
	out->s = name;
	return 0;
}

static int w_save(sip_msg_t *msg, char *table, char *flags)
{
	str name;
	int bits = 0;

	if(table_of(&name, msg, table) < 0
			|| (flags != NULL && fixup_get_ivalue(msg, (gparam_t *)flags, &bits) < 0)) {
		return -1;
	}
	return ki_pushwake_save_flags(msg, &name, bits);
}

/* What is held or answered needs nothing more from the script. */
static int w_save_upstream(sip_msg_t *msg, char *table, char *unused)
{
	str name;
	int ret;

	if(table_of(&name, msg, table) < 0) {
		return -1;
	}
	ret = ki_pushwake_save_upstream(msg, &name);
	return ret == PW_HELD ? 0 : ret;
}

/* What is held needs nothing more from the script, and 0 ends it. That is what
 * makes switch(pushwake_lookup(...)) right: in an expression Kamailio knows of a
 * function only whether it returned more than 0. Other languages get the 2. */
static int told(sip_msg_t *msg, int ret)
{
	if(ret == PW_HELD) {
		return pw_lookup_goes_on && pw_quiet_begin(msg) == 0 ? PW_AWAKE : 0;
	}
	return ret;
}

static int w_lookup_upstream(sip_msg_t *msg, char *table, char *unused)
{
	str name;

	if(table_of(&name, msg, table) < 0) {
		return -2;
	}
	return told(msg, ki_pushwake_lookup_upstream(msg, &name));
}

static int w_lookup(sip_msg_t *msg, char *table, char *uri)
{
	str name, target = STR_NULL;

	if(table_of(&name, msg, table) < 0
			|| (uri != NULL && fixup_get_svalue(msg, (gparam_t *)uri, &target) < 0)) {
		return -2;
	}
	return told(msg, ki_pushwake_lookup_uri(msg, &name, &target));
}

static int w_in_dialog(sip_msg_t *msg, char *table, char *unused)
{
	str name;
	int ret;

	if(table == NULL) {
		ret = ki_pushwake_in_dialog(msg);
	} else if(table_of(&name, msg, table) < 0) {
		return -2;
	} else {
		ret = ki_pushwake_in_dialog_table(msg, &name);
	}
	return ret == PW_HELD ? 0 : ret;
}

static int w_keep_waiting(sip_msg_t *msg, char *seconds, char *unused)
{
	int value = 0;

	if(fixup_get_ivalue(msg, (gparam_t *)seconds, &value) < 0) {
		return -1;
	}
	return ki_pushwake_keep_waiting(msg, value);
}

static int w_remove(sip_msg_t *msg, char *uri, char *unused)
{
	str target;

	return fixup_get_svalue(msg, (gparam_t *)uri, &target) < 0 ? -1 : ki_pushwake_remove(msg, &target);
}

static int w_send(sip_msg_t *msg, char *event, char *uri)
{
	return w_send_text(msg, event, uri, NULL);
}

static int w_send_text(sip_msg_t *msg, char *event, char *uri, char *text)
{
	str name, target, body = STR_NULL;

	if(fixup_get_svalue(msg, (gparam_t *)event, &name) < 0 || fixup_get_svalue(msg, (gparam_t *)uri, &target) < 0
			|| (text != NULL && fixup_get_svalue(msg, (gparam_t *)text, &body) < 0)) {
		return -1;
	}
	return text != NULL ? ki_pushwake_send_text(msg, &name, &target, &body) : ki_pushwake_send(msg, &name, &target);
}
