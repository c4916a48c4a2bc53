/* SPDX-License-Identifier: MIT
 *
 * What the files of this module share. Each .c file does one job:
 *
 *   pushwake_mod        exports, init, the processes
 *   pushwake_version    lets one .so load into every release of its series
 *   pushwake_param      modparams out of the settings table
 *   pushwake_contact    what usrloc knows about an AoR
 *   pushwake_headers    a message as the library reads it, texts as Kamailio does
 *   pushwake_register   pushwake_save(): REGISTER
 *   pushwake_upstream   pushwake_save_upstream(): REGISTERs for a SIP server behind
 *   pushwake_continue   what that server answered goes on with the phone's REGISTER
 *   pushwake_lookup     pushwake_lookup(): INVITE, MESSAGE
 *   pushwake_dialog     pushwake_in_dialog(): requests within a call
 *   pushwake_hold       the table of requests that are held
 *   pushwake_script     what the script at work has held, until it ends
 *   pushwake_watch      what tm tells of them goes to the engine
 *   pushwake_verb       what the engine says is done
 *   pushwake_leg        branches that come, are replaced, and go
 *   pushwake_stream     legs whose connection ends before any answer
 *   pushwake_end        the end of a wait: the best answer, failure_route, 480
 *   pushwake_late       a phone that comes after the end
 *   pushwake_join       REGISTERs while there is no engine
 *   pushwake_resume     a new engine learns what is held
 *   pushwake_supervisor the child process that runs the engine
 *   pushwake_result     event_route[pushwake:result] and $pushwake(...)
 *   pushwake_send       pushwake_send()
 *   pushwake_rpc        pushwake.stats and the rest
 *   pushwake_kemi       the same functions for Lua, Python, JavaScript
 */
#ifndef PUSHWAKE_MOD_H
#define PUSHWAKE_MOD_H

#include "core/sr_module.h"
#include "core/dprint.h"
#include "core/counters.h"
#include "core/kemi.h"
#include "core/mem/mem.h"
#include "core/parser/msg_parser.h"
#include "core/str.h"
#include "modules/registrar/api.h"
#include "modules/sl/sl.h"
#include "modules/tm/t_reply.h"
#include "modules/tm/tm_load.h"
#include "modules/usrloc/usrloc.h"
#include "pushwake.h"

/* Kamailio counts in int, the library in size_t. */
static inline pushwake_str pw_in(const str *s)
{
	pushwake_str out = {NULL, 0};

	if(s != NULL && s->s != NULL && s->len > 0) {
		out.ptr = s->s;
		out.len = (size_t)s->len;
	}
	return out;
}

/* The other way round; borrowed, and without a NUL. */
static inline str pw_out(pushwake_str s)
{
	str out = {(char *)s.ptr, (int)s.len};

	return out;
}

static inline pushwake_str pw_text(const char *s)
{
	pushwake_str out = {s, strlen(s)};
	return out;
}

/* For printing with %.*s. */
#define PW_FMT(s) (int)(s).len, ((s).ptr != NULL ? (s).ptr : "")

/* What other modules and the library give us, bound in mod_init. */
typedef struct pw_binds {
	struct tm_binds tm;
	tm_xapi_t xtm;
	sl_api_t sl;
	registrar_api_t registrar;
	usrloc_api_t usrloc;
	cmd_function save_lumps;              /* tm: t_save_lumps() */
	void (*reply_lock)(tm_cell_t *t);     /* tm: lock of one transaction, recursive */
	void (*reply_unlock)(tm_cell_t *t);
	int (*reply_unsafe)(tm_cell_t *t, sip_msg_t *msg, unsigned int code, char *text); /* tm: lock held */
	enum rps (*relay_reply)(tm_cell_t *t, sip_msg_t *reply, int branch, unsigned int status,
			struct cancel_info *cancel, int put_on_wait); /* tm: takes the lock held, and gives it back */
	void (*cleanup_timers)(tm_cell_t *t);
	void (*set_branch_route)(unsigned int route);
	int (*send_buffer)(struct retr_buf *rb, void *buf, int len);
	str *contacts_avp;                    /* tm: its parameters of these names, for serial forking */
	str *contact_flows_avp;
	int (*registrar_reply)(sip_msg_t *m); /* registrar: replies as plain save() would */
	int *registrar_error;                 /* registrar: rerrno */
	int *method_filtering;                /* registrar: its parameters of these names */
	int *path_check_local;
} pw_binds_t;

extern pw_binds_t pw;
extern pushwake_settings *pw_settings;
extern pushwake_client *pw_client;

/* Counters, also shown by kamcmd stats. */
typedef struct pw_counters {
	stat_var *stored;      /* REGISTERs with a binding stored */
	stat_var *ignored;     /* REGISTERs with push parameters that cannot be used */
	stat_var *unavailable; /* requests that went on without the engine */
	stat_var *held;        /* requests held */
	stat_var *joined;      /* branches added to held requests */
	stat_var *answered;
	stat_var *cancelled;
	stat_var *timed_out;
	stat_var *holding;     /* held right now */
} pw_counters_t;
extern pw_counters_t pw_count;

/* Their names. */
extern stat_export_t pw_stats[];

/* pushwake_version.c: whether tm's structs are those that this module was built with; says so when not. */
int pw_core_fits(void);

/* pushwake_param.c */
int pw_params_init(void);

/* Hands the numbered parameters to the settings, once all are read. */
int pw_params_accounts(void);
extern param_export_t pw_params[];
extern str pw_event_callback;
extern str pw_failure_callback;
/* The script goes on with a request that is held, and its t_relay() sends nothing. */
extern int pw_lookup_goes_on;

/* pushwake_send.c: the engine did not answer. Says so as often as the library lets it. */
void pw_engine_away(const char *what, int status);
int ki_pushwake_send(sip_msg_t *msg, str *event, str *uri);
int ki_pushwake_send_text(sip_msg_t *msg, str *event, str *uri, str *text);

/* pushwake_headers.c */

/* A copy in pkg memory that ends in NUL, to be freed; 0, or -1 when memory is short. */
int pw_copy(str *to, const char *from, size_t len);

/* All headers that are parsed, in pkg memory, to be freed; NULL: no memory. */
pushwake_header *pw_headers(sip_msg_t *msg, size_t *count);

/* pushwake_register.c */
int ki_pushwake_save(sip_msg_t *msg, str *table);
int ki_pushwake_save_flags(sip_msg_t *msg, str *table, int flags);

/* Saves for another user than To names, as part of an upstream registration, and replies. */
int pw_save_for(sip_msg_t *msg, str *table, str *uri, pushwake_str account);

/* pushwake_upstream.c */
int pw_upstream_init(void);

/* Before the fork: a table that pushwake_save_upstream() may be used with. -1: there are too many. */
int pw_upstream_table(const str *table);
int pw_upstream_table_param(modparam_t type, void *value);
int ki_pushwake_save_upstream(sip_msg_t *msg, str *table);
int ki_pushwake_lookup_upstream(sip_msg_t *msg, str *table);
void pw_upstream_execute(const pushwake_upstream *action);

/* Asks a new engine for the REGISTERs that are held. */
void pw_upstream_resume(void);

/* pushwake_server.c: where a REGISTER of the gateway goes, a SIP URI or empty, as the script has it. Good until the
 * next call. */
int pw_server_init(void);
str pw_server_of(const pushwake_upstream *order);

/* pushwake_registers.c: handles of the REGISTERs that are held */
int pw_registers_init(void);
void pw_register_held(uint64_t handle);

/* It goes on. 0: it did already. */
int pw_register_over(uint64_t handle);

/* In pkg memory, to be freed; NULL: no memory. */
uint64_t *pw_registers_all(int *count);

/* pushwake_continue.c: action of PUSHWAKE_UPSTREAM_ACCEPT or _REFUSE */
int pw_continue_init(void);
void pw_continue(const pushwake_upstream *action, str *table, unsigned int index, unsigned int label);
void pw_refuse_register(sip_msg_t *msg, const pushwake_upstream *action);
int pw_continue_now(sip_msg_t *msg, char *unused, char *unused2);

/* pushwake_removed.c: contacts that are removed at the registrar by hand. */
int pw_removed_init(void);
void pw_removed_child(int rank);

/* In the supervisor: ends the pushes to one. */
void pw_removed_tell(const pushwake_verb *note);

/* Kind of a note that is no verb of the engine's: this contact of this AoR is gone. */
#define PW_NOTE_REMOVED (-1)

/* pushwake_lookup.c */
enum pw_lookup_result {
	PW_AWAKE = 1,
	PW_HELD = 2,
	PW_NOBODY = -1,
	PW_ERROR = -2
};
int ki_pushwake_lookup(sip_msg_t *msg, str *table);
int ki_pushwake_lookup_uri(sip_msg_t *msg, str *table, str *uri);

/* pushwake_dialog.c */
int ki_pushwake_in_dialog(sip_msg_t *msg);
int ki_pushwake_in_dialog_table(sip_msg_t *msg, str *table);

/* pushwake_end.c */
int ki_pushwake_keep_waiting(sip_msg_t *msg, int seconds);

/* pushwake_supervisor.c */
int pw_supervisor_prepare(void);
int pw_supervisor_start(void);
void pw_engine_await(void);

/* pushwake_result.c */
int pw_result_init(void);
void pw_result_run(const pushwake_result *result);
int pw_pv_parse(pv_spec_p spec, str *in);
int pw_pv_get(sip_msg_t *msg, pv_param_t *param, pv_value_t *value);

/* pushwake_supervisor.c: a line of the library for Kamailio's log. */
void pw_log(int level, const char *name, pushwake_str message);

/* pushwake_rpc.c, pushwake_kemi.c */
extern rpc_export_t pw_rpcs[];
extern sr_kemi_t pw_kemi[];

#endif /* PUSHWAKE_MOD_H */
