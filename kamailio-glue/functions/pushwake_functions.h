/* SPDX-License-Identifier: MIT
 *
 * What a script calls, under the names that it has for Lua and the like.
 */
#ifndef PUSHWAKE_FUNCTIONS_H
#define PUSHWAKE_FUNCTIONS_H

#include "core/pvar.h"
#include "pushwake_requests.h"
#include "pushwake_waiting.h"

/* pushwake_send.c: the engine did not answer. Says so as often as the library lets it. */
void pw_engine_away(const char *what, int status);
int ki_pushwake_send(sip_msg_t *msg, str *event, str *uri);
int ki_pushwake_send_text(sip_msg_t *msg, str *event, str *uri, str *text);

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

/* Tells a new engine of the REGISTERs that are held, for a moment or until it is silent. */
void pw_upstream_resume(void);

/* Goes on with those that are left. */
void pw_upstream_resume_on(void);

/* pushwake_server.c: where a REGISTER of the gateway goes, a SIP URI or empty, as the script has it. Good until the
 * next call. */
void pw_server_init(void);
str pw_server_of(const pushwake_upstream *order);

/* pushwake_registers.c: handles of the REGISTERs that are held */
int pw_registers_init(void);
void pw_register_held(uint64_t handle);

/* It goes on. 0: it did already. */
int pw_register_over(uint64_t handle);

/* To be freed; NULL: no memory. */
uint64_t *pw_registers_all(int *count);

/* pushwake_continue.c: action of PUSHWAKE_UPSTREAM_ACCEPT or _REFUSE */
int pw_continue_init(void);
void pw_continue(const pushwake_upstream *action, str *table, unsigned int index, unsigned int label);
void pw_refuse_register(sip_msg_t *msg, const pushwake_upstream *action);
int pw_continue_now(sip_msg_t *msg, char *unused, char *unused2);

/* pushwake_removed.c: contacts that are removed at the registrar by hand. */
int pw_removed_init(void);

/* None of the user's phones is pushed any more, as the script says. */
int ki_pushwake_remove(sip_msg_t *msg, str *uri);

/* pushwake_replicated.c: contacts that other nodes replicate. */
int pw_replicated_init(pushwake_settings *settings);

/* In the supervisor: takes those that have come. */
void pw_replicated_take(void);

/* pushwake_pending.c: contacts that the engine has not been told of. */
typedef struct pw_pending {
	struct pw_pending *next;
	struct pw_pending *same_bucket;
	int is_own; /* its REGISTER came to this node */
	str *table; /* usrloc's own */
	str aor;    /* the texts follow, each with a NUL */
	str ruid;
} pw_pending_t;
int pw_pending_init(void);

/* Under usrloc's lock, in any process. */
void pw_pending_add(const ucontact_t *contact);

/* Those of a REGISTER that the engine has not taken. */
void pw_pending_add_all(const str *table, const str *aor, const pw_contacts_t *contacts);

/* In the supervisor: the next one, to be freed, or NULL. */
pw_pending_t *pw_pending_take(void);

/* No engine has taken it yet: it is the next one again. */
void pw_pending_put_back(pw_pending_t *entry);
int pw_pending_any(void);

/* In the supervisor, when none is left: looks into a portion of usrloc for those for which there was no room. 0: there
 * is nothing to look for. */
int pw_pending_search(void);

/* pushwake_lookup.c */
enum pw_lookup_result {
	PW_AWAKE = 1,
	PW_HELD = 2,
	PW_NOBODY = -1,
	PW_ERROR = -2
};
int ki_pushwake_lookup(sip_msg_t *msg, str *table);
int ki_pushwake_lookup_uri(sip_msg_t *msg, str *table, str *uri);

/* Whether the script is where a request may be held, or says that it is not: a route of its own may be called from
 * everywhere, and KEMI has no check. The parser cannot tell. */
int pw_may_hold(const char *function);

/* pushwake_lookup.c: asks the engine about a request whose headers are parsed. 1: the plan says what to hold; 0: nobody
 * watches it, or no engine is there. */
int pw_ask(pw_hold_plan_t *plan, pushwake_contact *asked, sip_msg_t *msg, str *table, str *aor, pw_contacts_t *known);

/* pushwake_dialog.c */
int ki_pushwake_in_dialog(sip_msg_t *msg);
int ki_pushwake_in_dialog_table(sip_msg_t *msg, str *table);

/* pushwake_event.c: what the script has for an event of this module. */
typedef struct pw_event {
	char *name;
	int route; /* -1: none */
} pw_event_t;
void pw_event_init(pw_event_t *event);

/* Only then it may be run, with the route type set. */
int pw_event_has_route(const pw_event_t *event);
void pw_event_run(const pw_event_t *event, sip_msg_t *msg);

/* pushwake_result.c */
int pw_result_init(void);

/* Whether the script has anything for it; does not change while Kamailio runs. */
int pw_result_has_route(void);
void pw_result_run(const pushwake_result *result);
int pw_pv_parse(pv_spec_p spec, str *in);
int pw_pv_get(sip_msg_t *msg, pv_param_t *param, pv_value_t *value);

#endif /* PUSHWAKE_FUNCTIONS_H */
