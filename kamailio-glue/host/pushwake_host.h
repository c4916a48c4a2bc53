/* SPDX-License-Identifier: MIT
 *
 * The module stands in six layers. A layer uses those below it alone, and the
 * Makefile shows a file no other headers. Within a layer too no two files
 * need each other (make circles).
 *
 *
 *   module/     what Kamailio loads
 *     pushwake_mod        exports, init, the processes
 *     pushwake_param      modparams out of the settings table
 *     pushwake_supervisor the child process that runs the engine
 *     pushwake_routes     another one, for what may take long
 *     pushwake_verbs      verbs that these two execute, now or a little later
 *     pushwake_rpc        pushwake.stats and the rest
 *     pushwake_kemi       the functions for Lua, Python, JavaScript
 *   functions/  what a script calls
 *     pushwake_register   pushwake_save(): REGISTER
 *     pushwake_upstream   pushwake_save_upstream(): REGISTERs for a SIP server behind
 *     pushwake_continue   what that server answered goes on with the phone's REGISTER
 *     pushwake_registers  which of them are held; pushwake_server: where they go
 *     pushwake_lookup     pushwake_lookup(): INVITE, MESSAGE
 *     pushwake_dialog     pushwake_in_dialog(): requests within a call
 *     pushwake_send       pushwake_send()
 *     pushwake_removed    contacts that somebody removes by hand
 *     pushwake_replicated contacts that other nodes replicate; pushwake_pending: those that wait for the engine
 *     pushwake_result     event_route[pushwake:result] and $pushwake(...)
 *     pushwake_event      what a script has for events of this module
 *   waiting/    the same with wait=leg, which needs none of requests/
 *     pushwake_waiting    a request gets one branch more, which waits
 *     pushwake_waited     what tm tells of it, and how it ends
 *     pushwake_wait_leg   branches to phones that its place names
 *     pushwake_place      where such branches lead: a socket of the supervisor
 *     pushwake_connections  connections over which phones were sent it
 *   requests/   what happens to what is held
 *     pushwake_begin      a request is held from now on
 *     pushwake_verb       what the engine says is done
 *     pushwake_late       a phone that comes after the end
 *     pushwake_resume     a new engine learns what is held
 *     pushwake_script     what the script at work has held, until it ends
 *     pushwake_suspended  a script that is suspended between lookup and relay
 *     pushwake_join       REGISTERs while there is no engine
 *     pushwake_watch      what tm tells of them goes to the engine
 *   held/       requests that are held
 *     pushwake_end        the end of a wait: the best answer, failure_route, 480
 *     pushwake_cancel     the caller hangs up, or a phone declines for all
 *     pushwake_stream     legs whose connection ends
 *     pushwake_leg        branches that come, are replaced, and go
 *     pushwake_quiet      a script that goes on, and shall send nothing
 *     pushwake_opened     what the scripts of this process have held
 *     pushwake_process    how much time this process has
 *     pushwake_hold       the table of them
 *   host/       what Kamailio and the library give us
 *     pushwake_host       the modules we need, the client, counters, the log
 *     pushwake_version    lets one .so load into every release of its series
 *     pushwake_contact    what usrloc knows about an AoR; pushwake_forget: what it shall know no more
 *     pushwake_registrar  how the registrar writes an AoR, and which contacts it takes
 *     pushwake_branch     contacts as branches of the destination set
 *     pushwake_headers    a message as the library reads it, texts as Kamailio does, and memory for both
 *     pushwake_shown      who calls, as phones will see it
 *     pushwake_note       what processes leave for the supervisor, and it for the other child
 */
#ifndef PUSHWAKE_HOST_H
#define PUSHWAKE_HOST_H

#include <stdint.h>
#include <stdlib.h>

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
	int *failure_reply_mode;              /* tm: its parameter of this name */
	void (*drop_replies)(int mode);       /* tm: another one, for the failure that is looked at */
	int (*registrar_reply)(sip_msg_t *m); /* registrar: replies as plain save() would */
	int *registrar_error;                 /* registrar: rerrno */
	int *method_filtering;                /* registrar: its parameters of these names */
	int *path_check_local;
} pw_binds_t;

extern pw_binds_t pw;
extern pushwake_client *pw_client;

/* Counters, also shown by kamcmd stats. */
typedef struct pw_counters {
	stat_var *stored;      /* REGISTERs with a binding stored */
	stat_var *ignored;     /* REGISTERs with push parameters that cannot be used */
	stat_var *unavailable; /* requests that went on without the engine */
	stat_var *refused;     /* requests answered 503 because they were too many */
	stat_var *held;        /* requests held */
	stat_var *joined;      /* branches added to held requests */
	stat_var *answered;
	stat_var *cancelled;
	stat_var *timed_out;
	stat_var *holding;     /* held right now */
} pw_counters_t;
extern pw_counters_t pw_count;

/* With KEMI: names of the functions for event_route[pushwake:...] and failure_route[PUSHWAKE]. */
extern str pw_event_callback;
extern str pw_failure_callback;

/* pushwake_host.c */

/* Finds tm, sl, usrloc and registrar. 0, or -1 after a word in the log. */
int pw_bind_modules(void);

/* Monotonic. */
int64_t pw_now_ms(void);

/* A line of the library for Kamailio's log. */
void pw_log(int level, const char *name, pushwake_str message);

/* pushwake_version.c: whether tm's structs are those that this module was built with; says so when not. */
int pw_core_fits(void);

/* pushwake_headers.c */

/* Memory of this process alone, for free(); NULL after a word in the log. The C library's and not pkg_malloc(): Kamailio's
 * default manager looks through up to two thousand lists for each piece, which takes longer than what is done with it. */
void *pw_alloc(size_t size);

/* A copy that ends in NUL, to be freed; 0, or -1 when memory is short. */
int pw_copy(str *to, const char *from, size_t len);

/* Puts a text where *at points, and a NUL behind it: tm compares with strstr() in places. *at is behind that then. */
str pw_put(char **at, pushwake_str text);

/* All headers that are parsed, to be freed; NULL: no memory. */
pushwake_header *pw_headers(sip_msg_t *msg, size_t *count);

/* pushwake_shown.c */

/* The header lines of a request whose headers are parsed, as phones will get them, if the script has changed who calls;
 * to be freed. Empty if it has not. */
pushwake_str pw_shown(sip_msg_t *msg);

/* pushwake_note.c */

/* The kind of a note that is no verb of the engine's: this request is to be looked after, and a failure_route may run for it. */
#define PW_NOTE_LOOK (-1)
/* What is left for waiting legs: an answer of a leg, the end of a request, a phone that registered without an engine. */
#define PW_NOTE_PROGRESSED (-2)
#define PW_NOTE_ENDED (-3)
#define PW_NOTE_REGISTERED (-4)
#define PW_NOTE_SENT (-5) /* over a connection */
/* More than a SIP message has room for: a URI, a Path and what names the request. */
#define PW_MAX_NOTE 16384

/* A verb that cannot be executed yet: its request is just being held, or its script
 * is at work. Texts follow one another. */
typedef struct pw_note {
	pushwake_verb verb;
	int64_t since_ms; /* when the engine did */
	char text[PW_MAX_NOTE];
} pw_note_t;

/* Who takes notes. */
enum pw_line {
	PW_LINE_SUPERVISOR,
	PW_LINE_ROUTES, /* the process for what may take long */
	PW_LINES
};

int pw_notes_init(void);

/* The supervisor executes this verb later. */
void pw_verb_later(const pushwake_verb *verb);

/* The process for what may take long executes it. -1: it has more to do than its line takes. */
int pw_verb_elsewhere(const pushwake_verb *verb, int64_t since_ms);

/* The supervisor looks after connections at once. */
void pw_supervisor_wake(void);

/* Readable when there are notes, and when the supervisor was woken. */
int pw_notes_fd(enum pw_line line);
int pw_wake_fd(void);

/* The next note; 0: there is none. */
int pw_note_take(enum pw_line line, pw_note_t *note);

/* A verb with its texts, to be freed; NULL: no memory, or too much of it. */
pw_note_t *pw_note_copy(const pushwake_verb *verb, int64_t since_ms);

#endif /* PUSHWAKE_HOST_H */
