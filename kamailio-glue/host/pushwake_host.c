/* SPDX-License-Identifier: MIT
 *
 * What Kamailio's modules and the library give us.
 */
#include "pushwake_host.h"

#include <dlfcn.h>
#include <time.h>

pw_binds_t pw;
pushwake_client *pw_client = NULL;
pw_counters_t pw_count;
str pw_event_callback = STR_NULL;
str pw_failure_callback = STR_NULL;

/* A symbol of another module that its API struct leaves out: found in the .so that
 * exports a function we know. */
static void *symbol_beside(cmd_function known, const char *name)
{
	Dl_info info;
	void *handle, *symbol;

	if(known == NULL || dladdr((void *)known, &info) == 0) {
		return NULL;
	}
	handle = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if(handle == NULL) {
		return NULL;
	}
	symbol = dlsym(handle, name);
	dlclose(handle);
	return symbol;
}

int pw_bind_modules(void)
{
	bind_usrloc_t bind_usrloc = (bind_usrloc_t)find_export("ul_bind_usrloc", 1, 0);
	cmd_function load_tm_f = find_export("load_tm", NO_SCRIPT, 0);
	cmd_function bind_registrar_f = find_export("bind_registrar", 0, 0);

	if(load_tm_f == NULL || bind_registrar_f == NULL || bind_usrloc == NULL || sl_load_api(&pw.sl) < 0) {
		LM_ERR("load the modules tm, sl, usrloc and registrar before pushwake\n");
		return -1;
	}
	if(load_tm_api(&pw.tm) < 0 || tm_load_xapi(&pw.xtm) < 0 || registrar_load_api(&pw.registrar) < 0
			|| bind_usrloc(&pw.usrloc) < 0) {
		return -1;
	}
	pw.save_lumps = find_export("t_save_lumps", 0, 0);
	pw.reply_lock = symbol_beside(load_tm_f, "tm_reply_mutex_lock");
	pw.reply_unlock = symbol_beside(load_tm_f, "tm_reply_mutex_unlock");
	pw.reply_unsafe = symbol_beside(load_tm_f, "t_reply_unsafe");
	pw.relay_reply = symbol_beside(load_tm_f, "relay_reply");
	pw.cleanup_timers = symbol_beside(load_tm_f, "cleanup_uac_timers");
	pw.set_branch_route = symbol_beside(load_tm_f, "set_branch_route");
	pw.send_buffer = symbol_beside(load_tm_f, "send_pr_buffer");
	pw.contacts_avp = symbol_beside(load_tm_f, "contacts_avp");
	pw.contact_flows_avp = symbol_beside(load_tm_f, "contact_flows_avp");
	pw.failure_reply_mode = symbol_beside(load_tm_f, "failure_reply_mode");
	pw.drop_replies = symbol_beside(load_tm_f, "t_drop_replies");
	pw.method_filtering = symbol_beside(bind_registrar_f, "method_filtering");
	pw.path_check_local = symbol_beside(bind_registrar_f, "path_check_local");
	pw.registrar_reply = symbol_beside(bind_registrar_f, "reg_send_reply");
	pw.registrar_error = symbol_beside(bind_registrar_f, "rerrno");
	if(pw.save_lumps == NULL || pw.reply_lock == NULL || pw.reply_unlock == NULL || pw.reply_unsafe == NULL
			|| pw.relay_reply == NULL || pw.cleanup_timers == NULL || pw.set_branch_route == NULL
			|| pw.send_buffer == NULL) {
		LM_ERR("this tm module lacks a function that a held request needs: relay_reply, set_branch_route, "
			   "send_pr_buffer, cleanup_uac_timers, t_save_lumps or the reply lock\n");
		return -1;
	}
	return 0;
}

int64_t pw_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pw_log(int level, const char *name, pushwake_str message)
{
	static const int levels[] = {L_ERR, L_WARN, L_NOTICE, L_INFO, L_DBG};

	LOG(levels[level >= PUSHWAKE_LOG_ERROR && level <= PUSHWAKE_LOG_DEBUG ? level : PUSHWAKE_LOG_DEBUG], "%s%s%.*s\n",
			name, name[0] != '\0' ? ": " : "", PW_FMT(message));
}
