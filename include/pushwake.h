/* SPDX-License-Identifier: MIT
 *
 * pushwake.h - the C interface of libpushwake.
 *
 * This file is the contract: only what is declared here is public. The compiler
 * checks the Swift side against it.
 *
 * Names      pushwake_noun_verb(), PUSHWAKE_CONSTANT. Out parameters come first.
 * Results    int: 0 or more on success, one of enum pushwake_status below 0.
 * Ownership  pushwake_x_new() makes an object, pushwake_x_free() frees it; for NULL
 *            it does nothing. All other pointers are borrowed: arguments for the call,
 *            callback arguments for the callback. A pushwake_str in a result stays
 *            valid until the next call on the same object, with a shared client until
 *            the next call of the same thread. Calls that have no answer
 *            (pushwake_progressed(), pushwake_request_ended(), ..._continues())
 *            do not invalidate results. Never pass anything from this library to
 *            free().
 * Strings    pushwake_str: pointer and length, no terminating NUL, {NULL, 0} is
 *            empty. It may point into a SIP message and hold any byte.
 * Structs    Start from the _INIT macro, which stores sizeof in .size. Fields are
 *            only ever appended; a zero field means its default.
 * Threads    Only one thread at a time may use an object, except a client after
 *            pushwake_client_make_shared(). Different objects are independent. The library
 *            starts threads only in pushwake_engine_run() and pushwake_tool_run().
 * Processes  A settings object and a client may be made before fork(): a client
 *            opens its connection to the engine at the first call in each process.
 *            A supervisor is made in the process that runs it.
 * Blocking   No call waits longer than the setting engine_timeout. After a call that
 *            waited so long, calls with the same client fail at once for a second,
 *            unless the engine answers earlier. Exceptions: pushwake_command() (5
 *            seconds a page; not for SIP workers), pushwake_client_wait_for_engine(),
 *            pushwake_settings_trial() (10 seconds), and pushwake_supervisor_free()
 *            (2 seconds).
 * Callbacks  Run inside the call they were given to, must not block, and may not
 *            call back into the same object.
 */
#ifndef PUSHWAKE_H
#define PUSHWAKE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when an existing caller would break; the .so name carries it too. */
#define PUSHWAKE_ABI_VERSION 1

/* Version of the ABI the loaded library implements. Compare it with
 * PUSHWAKE_ABI_VERSION before anything else. */
int pushwake_abi_version(void);

/* The release, such as "0.1.0"; never NULL. */
const char *pushwake_version(void);

typedef struct pushwake_str {
    const char *ptr;
    size_t len;
} pushwake_str;

enum pushwake_status {
    PUSHWAKE_OK                   = 0,
    PUSHWAKE_ERR_INVALID_ARGUMENT = -1, /* NULL, a bad .size, an unknown enum value */
    PUSHWAKE_ERR_CONFIG           = -2, /* a setting is wrong; the object's _error() names it */
    PUSHWAKE_ERR_UNAVAILABLE      = -3, /* no engine answers; go on without push */
    PUSHWAKE_ERR_TIMEOUT          = -4, /* the engine was slower than engine_timeout */
    PUSHWAKE_ERR_TOO_LARGE        = -5, /* does not fit one message to the engine */
    PUSHWAKE_ERR_REFUSED          = -6, /* the engine cannot do this now; _error() says why */
    PUSHWAKE_ERR_NOT_FOUND        = -7  /* no such binding, user or setting */
};

/* Static English text for a status; never NULL. */
const char *pushwake_status_name(int status);

enum pushwake_log_level {
    PUSHWAKE_LOG_ERROR   = 0,
    PUSHWAKE_LOG_WARNING = 1,
    PUSHWAKE_LOG_NOTICE  = 2,
    PUSHWAKE_LOG_INFO    = 3,
    PUSHWAKE_LOG_DEBUG   = 4
};

/* ---- Settings ------------------------------------------------------------ */

enum pushwake_setting_type {
    PUSHWAKE_SETTING_TEXT    = 1,
    PUSHWAKE_SETTING_INTEGER = 2, /* booleans are 0 and 1 */
    PUSHWAKE_SETTING_REMOVED = 3  /* cannot be set; `help` and the error of an attempt say what to write instead */
};

/* One row of the settings table. All pointers are static and never NULL. */
typedef struct pushwake_setting {
    size_t size;
    const char *name;
    int type; /* enum pushwake_setting_type */
    const char *default_value;
    const char *unit; /* "s", "ms", "days", "" */
    const char *help;
} pushwake_setting;
#define PUSHWAKE_SETTING_INIT { sizeof(pushwake_setting), NULL, 0, NULL, NULL, NULL }

/* Copies row `index` into *out: first all settings, then the names that were settings once, for hosts that declare their
 * parameters. PUSHWAKE_ERR_NOT_FOUND past the end. */
int pushwake_setting_at(pushwake_setting *out, size_t index);

/* A set of values: all defaults at first. */
typedef struct pushwake_settings pushwake_settings;
int pushwake_settings_new(pushwake_settings **out);
void pushwake_settings_free(pushwake_settings *settings);

/* Sets one value from its text form. PUSHWAKE_ERR_CONFIG: unknown name or a value
 * that does not fit; pushwake_settings_error() then names setting and remedy. */
int pushwake_settings_set(pushwake_settings *settings, pushwake_str name, pushwake_str value);

/* Replaces all values by those of a file of `name = value` lines; values that are set afterwards override the file.
 * pushwake_engine_run() reads the file again on SIGHUP and on the command `reload`. PUSHWAKE_ERR_CONFIG: the file cannot
 * be read, or has wrong lines; then nothing is changed, and pushwake_settings_error() has a line for each problem. */
int pushwake_settings_file(pushwake_settings *settings, pushwake_str path);

/* Text and number of one value; empty and 0 when the name is unknown. */
pushwake_str pushwake_settings_text(pushwake_settings *settings, pushwake_str name);
int64_t pushwake_settings_integer(pushwake_settings *settings, pushwake_str name);

/* These settings replace earlier ones; requests that are held stay with this host.
 * 1: all values are the same; 0: some differ. */
int pushwake_settings_replace(pushwake_settings *settings, pushwake_settings *earlier);

/* Called once per finding, errors first. */
typedef void (*pushwake_problem_fn)(void *context, int level, pushwake_str setting, pushwake_str message);

/* Checks all values together. Returns the number of findings that must stop the
 * start (PUSHWAKE_LOG_ERROR): wrong values. Does not read keys: the engine reports
 * problems with key files when it starts, and calls still go through. */
int pushwake_settings_check(pushwake_settings *settings, pushwake_problem_fn on_problem, void *context);

/* Tries settings that are to replace `earlier` ones, while the engine of those goes on: the program of the new settings
 * reads keys, certificates and templates and looks at the store, in a process of its own. Returns the number of
 * problems that would leave this host without push and that `earlier` does not have; PUSHWAKE_LOG_ERROR for each. Takes up to 10
 * seconds: not for SIP workers. */
int pushwake_settings_trial(pushwake_settings *settings, pushwake_settings *earlier, pushwake_problem_fn on_problem,
                          void *context);

/* Text of the last failure on these settings. */
pushwake_str pushwake_settings_error(pushwake_settings *settings);

/* ---- Client: from a SIP worker to the engine ------------------------------ */

/* A new client opens no connection; it copies the settings. */
typedef struct pushwake_client pushwake_client;
int pushwake_client_new(pushwake_client **out, pushwake_settings *settings);
void pushwake_client_free(pushwake_client *client);

/* Text of the last failure on this client; for a shared client, of the last in this thread. */
pushwake_str pushwake_client_error(pushwake_client *client);

/* From now on any number of threads may use the client at once. Each question has its own connection until it is
 * answered. Messages without an answer (such as pushwake_progressed()) reach the engine in the order of the calls.
 * Use it only in a process that does not fork. PUSHWAKE_ERR_REFUSED: the system has no room for thread-local data. */
int pushwake_client_make_shared(pushwake_client *client);

/* Gives a shared client other settings; calls under way end with the old ones. PUSHWAKE_ERR_INVALID_ARGUMENT: the client
 * is not shared. */
int pushwake_client_replace(pushwake_client *client, pushwake_settings *settings);

/* Waits until an engine answers, at most this many milliseconds. Call it when the host starts. Anything reported before the
 * engine answers is lost. */
int pushwake_client_wait_for_engine(pushwake_client *client, int milliseconds);

/* What to log about a call that failed with this status: at most one line in ten seconds, which says how many failures were
 * left out. 1: log *line; 0: log nothing. */
int pushwake_client_warning(pushwake_str *line, pushwake_client *client, int status);

typedef struct pushwake_header {
    pushwake_str name;
    pushwake_str value;
} pushwake_header;

enum pushwake_contact_action {
    PUSHWAKE_RING = 0, /* send the request to this contact now */
    PUSHWAKE_HOLD = 1  /* not now: its phone is being woken, or another contact of that phone rings */
};

/* How a host sends legs and ends a request. */
enum pushwake_host {
    PUSHWAKE_HOST_PROXY    = 0, /* sends a leg when told to, and answers by itself when the last leg has failed */
    PUSHWAKE_HOST_DIALPLAN = 1  /* its script sends legs when it reaches them, and goes on when told to give up */
};

enum pushwake_reach {
    PUSHWAKE_REACH_DATAGRAM = 0, /* no connection is needed, or none is known */
    PUSHWAKE_REACH_OPEN     = 1, /* its connection is open */
    PUSHWAKE_REACH_CLOSED   = 2, /* its connection is gone; its address may accept a new one */
    PUSHWAKE_REACH_LOST     = 3, /* its connection is gone, and only the phone can open another */
    PUSHWAKE_REACH_REFUSES  = 4  /* its phone takes no such request (Allow): it is neither pushed nor rung */
};

/* One contact that the registrar has for the AoR. */
typedef struct pushwake_contact {
    pushwake_str uri;
    pushwake_str instance;  /* +sip.instance with or without its quotes, or empty */
    int32_t age_s;          /* seconds since its last REGISTER; -1: not known */
    int reach;              /* enum pushwake_reach */
    int action;             /* out: enum pushwake_contact_action */
    int leg;                /* out: number of the leg when the action is PUSHWAKE_RING, else 0 */
    pushwake_str key;       /* the host's name for it, which verbs use too; empty: the URI */
    pushwake_str flow;      /* address and transport that its REGISTER came from; empty: not known */
    pushwake_str register_call_id; /* of its last REGISTER */
    int behind_proxy;       /* 1: a proxy stands before the phone (Path) */
    int leg_status;         /* for pushwake_resume(): the last status that came for `leg`; 0: none. From 300 on it is what
                             * the phone, or a proxy before it, has answered for good */
    pushwake_str path;      /* the Path it registered with (RFC 3327), or empty */
    int64_t expires;        /* for pushwake_register_run(): seconds that the registrar granted it; 0: not known, as in
                             * granted_expires; -1: it does not expire */
} pushwake_contact;

/* A host holds a request and executes verbs for it; it decides nothing. A leg is
 * the request as sent to one contact: a branch, or a channel. */
enum pushwake_verb_kind {
    PUSHWAKE_VERB_RING    = 1, /* send the request to `contact` as `leg`; close `replaced_leg` unless it is 0.
                                * `reason`, unless empty: why no push can wake the phone, so that it is rung directly */
    PUSHWAKE_VERB_RESEND  = 2, /* send the datagram of `leg` once more */
    PUSHWAKE_VERB_HOLD    = 3, /* keep the request open for `milliseconds`, even if its legs end */
    PUSHWAKE_VERB_GIVE_UP = 4, /* stop waiting: the open legs decide; without any, send the best answer, or
                                * `status` if there is none. Empty `reason`: time is over. A
                                * PUSHWAKE_HOST_DIALPLAN gets it when its last leg is over. `leg` is the newest
                                * leg that the engine knows. Ignore the verb if that leg could not be sent, or if
                                * a HOLD with a higher `sequence` arrived before it */
    PUSHWAKE_VERB_RING_AND_CANCEL = 5, /* the request is over, but this phone shows a call: send INVITE and CANCEL with
                                * `reason` to `contact` */
    PUSHWAKE_VERB_PUSHED  = 6, /* a push for the device `leg` (from 0) was accepted: remember it for pushwake_resume() */
    PUSHWAKE_VERB_PROVISIONAL = 7, /* send the caller the provisional `status`, 110, 180, 182 or 183, with a To tag */
    PUSHWAKE_VERB_CLOSE   = 8  /* end `leg`, and do not wait for its answer */
};

typedef struct pushwake_verb {
    size_t size;
    int kind;            /* enum pushwake_verb_kind; skip one that you do not know */
    int leg;
    int replaced_leg;    /* for PUSHWAKE_VERB_RING */
    int sequence;        /* for PUSHWAKE_VERB_HOLD and PUSHWAKE_VERB_GIVE_UP: higher than that of each earlier one */
    int status;
    int64_t milliseconds;
    uint64_t handle;     /* of the request, as in pushwake_wake_request */
    pushwake_str aor;
    pushwake_str domain;
    pushwake_str contact; /* key */
    pushwake_str reason;  /* text; for PUSHWAKE_VERB_RING_AND_CANCEL the value of a Reason header (RFC 3326) */
    /* For PUSHWAKE_VERB_RING_AND_CANCEL, whose request has ended. */
    pushwake_str call_id;
    pushwake_str from_uri;
    pushwake_str from_tag;
    pushwake_str to_uri;
    uint32_t cseq;
    /* For PUSHWAKE_VERB_RING of a contact that registered at another node, which this host's registrar may not have. All
     * are empty for any other contact, which the host can reach by itself. */
    pushwake_str contact_uri;
    pushwake_str contact_path; /* Path (RFC 3327) that leads there; empty: no Route, directly to the address */
    pushwake_str contact_flow; /* the address and transport that its REGISTER came from: the destination without a Path */
    pushwake_str from_user;    /* of from_uri: what a host shows as the caller's number */
} pushwake_verb;

/* The verb after this one in a list: the library's may be longer than the header's. */
#define PUSHWAKE_NEXT_VERB(verb) ((const pushwake_verb *)((const char *)(verb) + (verb)->size))

/* Writes a contact URI without parameters that are about push, in any dialect, and a NUL; returns its length. Remove them
 * before others see the contact (RFC 8599, 4.1). If it
 * does not fit, writes only the NUL and returns 0. Does not ask the engine. */
size_t pushwake_contact_strip(char *out, size_t size, pushwake_str uri);

/* Writes a text from a packet as the value of a `key=value` in a log line, and a NUL;
 * returns its length. What a terminal or a reader of lines would obey becomes ?, a text
 * with blanks is quoted, an empty one is -, and one that does not fit ends in an
 * ellipsis. Below 8 bytes there may be room for the NUL only: 0. Does not ask the engine. */
size_t pushwake_log_value(char *out, size_t size, pushwake_str text);

enum pushwake_registrar {
    PUSHWAKE_REGISTRAR_NOT_ASKED = 0,
    PUSHWAKE_REGISTRAR_FULL      = 1, /* it takes no contact more */
    PUSHWAKE_REGISTRAR_SAVED     = 2, /* it has this REGISTER */
    PUSHWAKE_REGISTRAR_DESCRIBED = 3  /* the same, and `contacts` say what it has */
};

/* A REGISTER as received. Pass all headers, in order; the library picks those that it
 * knows (Contact, Expires, X-MPUSH, Feature-Caps, X-PIID, ...). */
typedef struct pushwake_register_request {
    size_t size;
    int registrar;        /* enum pushwake_registrar: what it said last */
    uint32_t cseq;
    pushwake_str aor;     /* the registrar's key: "user" or "user@domain" */
    pushwake_str call_id;
    const pushwake_header *headers;
    size_t header_count;
    pushwake_str domain;     /* the registrar's table, if it has several; as in pushwake_wake_request */
    /* The contacts that this REGISTER inserted or refreshed in the registrar. */
    const pushwake_contact *contacts;
    size_t contact_count;
    size_t contact_size;     /* sizeof(pushwake_contact), as the host knows it */
    pushwake_str account;    /* pushwake_upstream.account of PUSHWAKE_UPSTREAM_ACCEPT, or empty */
    int64_t granted_expires; /* seconds the registrar granted contacts whose `expires` is 0; -1: not known */
    uint64_t seen;           /* the library's: what an earlier step has shown; 0 at first */
} pushwake_register_request;
#define PUSHWAKE_REGISTER_REQUEST_INIT                                                     \
    { sizeof(pushwake_register_request), 0, 0, { NULL, 0 }, { NULL, 0 }, NULL, 0,          \
      { NULL, 0 }, NULL, 0, sizeof(pushwake_contact), { NULL, 0 }, -1, 0 }

/* What to do next. */
enum pushwake_register_step {
    PUSHWAKE_REGISTER_DONE          = 0, /* nothing, but send the registrar's answer, with `reply_headers` in a 200 */
    PUSHWAKE_REGISTER_SAVE          = 1, /* ask the registrar, and say what it says */
    PUSHWAKE_REGISTER_DROP_AND_SAVE = 2, /* the same, without `left_contacts`, which make room */
    PUSHWAKE_REGISTER_DESCRIBE      = 3, /* say PUSHWAKE_REGISTRAR_DESCRIBED, with `contacts` */
    PUSHWAKE_REGISTER_REFUSE        = 4  /* answer `reply_code`, `reply_reason` and `reply_headers`; save nothing */
};

enum pushwake_register_outcome {
    PUSHWAKE_REGISTER_PLAIN   = 0, /* has no push parameters */
    PUSHWAKE_REGISTER_STORED  = 1, /* at least one binding is in the store */
    PUSHWAKE_REGISTER_UNBOUND = 2, /* the bindings it named are gone */
    PUSHWAKE_REGISTER_QUERY   = 3, /* asks what is supported (RFC 8599, 5.6.1.2) */
    PUSHWAKE_REGISTER_IGNORED = 4  /* push parameters that cannot be used: see problems */
};

typedef struct pushwake_register_result {
    size_t size;
    int step;           /* enum pushwake_register_step */
    int outcome;        /* enum pushwake_register_outcome */
    int bindings;       /* bindings stored now */
    int reply_code;     /* for PUSHWAKE_REGISTER_REFUSE: 555 or 423 */
    pushwake_str reply_reason;
    const pushwake_header *reply_headers;
    size_t reply_header_count;
    /* Contact URIs that this device registered earlier and no longer uses: the registrar should remove them. */
    const pushwake_str *left_contacts;
    size_t left_contact_count;
    /* Each is "parameter: what is wrong, what to do". */
    const pushwake_str *problems;
    size_t problem_count;
    /* What to do for the requests that this host holds: execute them in order after the
     * REGISTER is answered. PUSHWAKE_NEXT_VERB leads from one to the next. */
    const pushwake_verb *verbs;
    size_t verb_count;
} pushwake_register_result;
#define PUSHWAKE_REGISTER_RESULT_INIT                                                      \
    { sizeof(pushwake_register_result), 0, 0, 0, 0, { NULL, 0 }, NULL, 0, NULL, 0, NULL, 0, NULL, 0 }

/* Takes a REGISTER one step further: call it with the same `request` until the step is PUSHWAKE_REGISTER_DONE or
 * PUSHWAKE_REGISTER_REFUSE. Begin with PUSHWAKE_REGISTRAR_NOT_ASKED, or later for a REGISTER that is accepted already.
 * Only what may say something about push, or whose user may have a push binding or a request that waits, goes to the
 * engine: before the registrar saves with the settings send_555 and min_expires alone, else after it, when
 * a request that begins to wait finds the contact there. Stores, replaces or removes the bindings, and tells those who
 * wait for this AoR that it has registered. Below 0 the step is PUSHWAKE_REGISTER_DONE; PUSHWAKE_ERR_UNAVAILABLE and
 * PUSHWAKE_ERR_TIMEOUT: the bindings may not be stored. Without an engine nothing is refused. */
int pushwake_register_run(pushwake_register_result *out, pushwake_client *client, pushwake_register_request *request);

/* Somebody has removed this contact from the registrar by hand: the engine removes its binding (RFC 8599, 5.5), or all of
 * the user's bindings without a URI. Do not call it for contacts that phones or time remove. Does not wait. */
int pushwake_contact_removed(pushwake_client *client, pushwake_str aor, pushwake_str uri);

/* ---- Upstream: phones of a SIP server behind this host --------------------- */

/* A REGISTER that is held until the phone's SIP server has answered the gateway's own. */
typedef struct pushwake_upstream_request {
    size_t size;
    uint64_t handle;           /* the host finds the REGISTER by it; not 0 */
    pushwake_str request_uri;
    pushwake_str to_uri;
    pushwake_str call_id;
    pushwake_str route;        /* SIP URI of a next hop that the script chose, or empty */
    pushwake_str local_address; /* host:port under which the server reaches this host */
    const pushwake_header *headers; /* all of them, in order */
    size_t header_count;
    uint64_t is_retry;         /* 1: held since before this engine started. The call waits for a slow engine, as
                                * pushwake_resume() does; if it stays silent, ask again a little later */
} pushwake_upstream_request;
#define PUSHWAKE_UPSTREAM_REQUEST_INIT                                                     \
    { sizeof(pushwake_upstream_request), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },         \
      { NULL, 0 }, { NULL, 0 }, NULL, 0, 0 }

enum pushwake_upstream_kind {
    PUSHWAKE_UPSTREAM_SEND   = 1, /* send a REGISTER, and pass its final answer to pushwake_upstream_answered() */
    PUSHWAKE_UPSTREAM_ACCEPT = 2, /* save the held REGISTER `handle` under `local_user`, with `account` and `headers` */
    PUSHWAKE_UPSTREAM_REFUSE = 3  /* answer the held REGISTER `handle` with `status`, `reason` and `headers` */
};

/* What a host must do. */
typedef struct pushwake_upstream {
    size_t size;
    int kind;             /* enum pushwake_upstream_kind; skip one that you do not know */
    int status;
    uint64_t id;          /* of the REGISTER that is sent */
    uint64_t handle;
    int64_t max_expires;  /* longest registration of the phone in seconds; -1: no limit */
    uint32_t cseq;
    pushwake_str account;
    pushwake_str local_user;  /* for ACCEPT: URI of the user on this host */
    pushwake_str server_user; /* for SEND: From and To */
    pushwake_str request_uri;
    pushwake_str next_hop; /* SIP URI; empty: where request_uri leads */
    pushwake_str call_id;
    pushwake_str from_tag;
    pushwake_str reason;
    pushwake_str headers; /* whole lines, each ended by CRLF */
} pushwake_upstream;

/* Called for each action in its order; it may ask the engine itself. */
typedef void (*pushwake_upstream_fn)(void *context, const pushwake_upstream *action);

/* Call it when a phone registers. The actions for it come before this returns, or later from
 * pushwake_upstream_answered() or the supervisor. When no engine can be
 * asked, or there are no headers, on_action gets a PUSHWAKE_UPSTREAM_REFUSE, and this
 * returns a status below 0. */
int pushwake_upstream_register(pushwake_client *client, const pushwake_upstream_request *request,
                               pushwake_upstream_fn on_action, void *context);

typedef struct pushwake_upstream_answer {
    size_t size;
    uint64_t id;
    int status;
    int from_server;      /* 0: no answer came, and the status is the host's own */
    pushwake_str reason;
    const pushwake_header *headers;
    size_t header_count;
} pushwake_upstream_answer;
#define PUSHWAKE_UPSTREAM_ANSWER_INIT { sizeof(pushwake_upstream_answer), 0, 0, 0, { NULL, 0 }, NULL, 0 }

/* A server has answered a REGISTER that was sent. */
int pushwake_upstream_answered(pushwake_client *client, const pushwake_upstream_answer *answer,
                               pushwake_upstream_fn on_action, void *context);

/* Maps the user part of a Contact that the gateway registered to the user on this host,
 * as a SIP URI. Empty if the gateway registered no such Contact. Does not ask the engine. */
int pushwake_upstream_user(pushwake_str *uri, pushwake_client *client, pushwake_str name);

enum pushwake_event {
    PUSHWAKE_EVENT_CALL        = 0,
    PUSHWAKE_EVENT_CHAT        = 1,
    PUSHWAKE_EVENT_CANCEL      = 2,
    PUSHWAKE_EVENT_CUSTOM      = 3,
    PUSHWAKE_EVENT_REFRESH     = 4,
    PUSHWAKE_EVENT_MISSED      = 5,
    PUSHWAKE_EVENT_ELSEWHERE   = 6, /* answered elsewhere */
    PUSHWAKE_EVENT_GROUP_CHAT  = 7,
    PUSHWAKE_EVENT_VOICEMAIL   = 8, /* a notice about the mailbox */
    PUSHWAKE_EVENT_REFER       = 9
};

/* Static lower-case name of an event: "call", "chat", ...; "unknown" for any other number. */
const char *pushwake_event_name(int event);

/* What the caller offers beside audio, for hosts that do not hand over the offer itself. */
#define PUSHWAKE_MEDIA_VIDEO 1u

/* Whom a phone is shown, for hosts that do not hand over the request itself. */
enum pushwake_caller {
    PUSHWAKE_CALLER_FROM     = 0, /* the one that `from` names */
    PUSHWAKE_CALLER_NUMBER   = 1, /* `caller_number` at the domain of `from`, or of this machine if that says none */
    PUSHWAKE_CALLER_WITHHELD = 2  /* nobody (RFC 3323) */
};

/* Which phones of a user a request is for. */
enum pushwake_scope {
    PUSHWAKE_SCOPE_USER     = 0, /* all */
    PUSHWAKE_SCOPE_CONTACTS = 1, /* those whose contacts are given */
    PUSHWAKE_SCOPE_OTHERS   = 2, /* those that have none of the contacts that are given */
    PUSHWAKE_SCOPE_ALL      = 3  /* all, and all that wake ring, with or without `ring_all` */
};

typedef struct pushwake_wake_request {
    size_t size;
    int event; /* enum pushwake_event */
    int hold_seconds; /* how long the request is held; 0: the setting wake_timeout */
    pushwake_str aor;
    pushwake_str call_id;
    pushwake_str from_uri;     /* sip:alice@example.com */
    pushwake_str from_display; /* as in the From header, quotes included or not */
    pushwake_str to_uri;
    pushwake_str content_type;
    pushwake_str text;         /* body of a MESSAGE as it came, in the charset of content_type */
    pushwake_contact *contacts;
    size_t contact_count;
    size_t contact_size;       /* sizeof(pushwake_contact), as the host knows it */
    uint64_t handle;           /* the host finds the request by it; 0: the host executes no verbs */
    pushwake_str domain;       /* the registrar's table, if it has several */
    pushwake_str method;       /* INVITE, MESSAGE, ... */
    pushwake_str from_tag;
    uint32_t cseq;
    /* All headers, as they came. They decide whether the request wakes anybody, and with
     * which event; `text` is then the whole body. Fields for which there is a header
     * need not be set. */
    const pushwake_header *headers;
    size_t header_count;
    pushwake_str request_uri;
    int host;                  /* enum pushwake_host */
    uint64_t media;            /* PUSHWAKE_MEDIA_VIDEO, or 0; not read where there are headers: then `text` has the offer */
    /* Where neither headers nor from_uri say who calls: the library makes both from_uri and from_display of these. */
    pushwake_str from;         /* a From header, or what the caller's channel has in its place; may be empty */
    pushwake_str caller_number; /* for PUSHWAKE_CALLER_NUMBER; from_display is its name */
    uint64_t caller;           /* enum pushwake_caller */
    /* Header lines as phones get them, each ended by CRLF, if the host's script has changed who calls: From and Privacy
     * of these count, and not those of `headers`. Other headers may be among them. */
    pushwake_str shown;
    pushwake_str privacy;      /* without headers: the value of a Privacy header (RFC 3323) */
    pushwake_str content_encoding; /* without headers: of `text` */
    uint64_t scope;            /* enum pushwake_scope; read by pushwake_legs_described() alone */
} pushwake_wake_request;
#define PUSHWAKE_WAKE_REQUEST_INIT                                                         \
    { sizeof(pushwake_wake_request), 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },          \
      { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL, 0,                         \
      sizeof(pushwake_contact), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0, NULL, 0, { NULL, 0 }, 0, 0,               \
      { NULL, 0 }, { NULL, 0 }, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0 }

typedef struct pushwake_wake_result {
    size_t size;
    int bindings; /* push bindings of the AoR */
    int pushed;   /* pushes queued for this request, now or by an earlier copy of it */
    int awake;    /* bindings whose phone is awake */
    int watched;  /* 1: verbs may come for this request: keep it, and report the answers of its legs */
    int64_t hold_ms; /* more than 0: keep it open for so long, even without a leg or when all legs end */
    int64_t limit_ms; /* how long verbs may arrive */
    /* What pushwake_resume() needs after a restart of the engine: keep the bytes with
     * the request. */
    pushwake_str ticket;
    int64_t deadline_ms; /* if no verb has ended the wait by then, the engine has failed: end the wait */
} pushwake_wake_result;
#define PUSHWAKE_WAKE_RESULT_INIT { sizeof(pushwake_wake_result), 0, 0, 0, 0, 0, 0, { NULL, 0 }, 0 }

/* 1: by the settings, a request of this method may wake phones; 0: it never does,
 * whatever its headers say. */
int pushwake_method_wakes(pushwake_client *client, pushwake_str method, int in_dialog);

/* Whether this AoR may have a push binding. 0: it certainly has none, so do not
 * call pushwake_wake() (also for a name that is not UTF-8, for which
 * nothing is stored). 1: it may have one, or this is not known (no
 * engine runs, or it has just started). Does not ask the engine and never waits: it
 * reads memory that the engine shares with all processes, also after a fork(). */
int pushwake_may_wake(pushwake_client *client, pushwake_str aor);

/* How many requests for sleeping phones the host takes: a struct in memory that all its
 * processes share, zero at first, changed by pushwake_admits() alone, which the host
 * calls under a lock of its own. But `ended` and `registers` are the host's: it adds 1,
 * atomically, when a watched request has ended, and for each REGISTER. */
typedef struct pushwake_admission {
    int64_t began_ms;
    int64_t samples;
    int64_t fill;
    int64_t taken;
    int64_t limit;
    int64_t first_limit;
    int64_t marked_ms;
    int64_t refused_now;
    int64_t refused;
    int64_t said_ms;
    int64_t ended;
    int64_t ended_before;
    int64_t registers;
    int64_t registers_before;
    int64_t lost;
    int64_t lost_before;
} pushwake_admission;

/* What the host measures when a request comes in. */
typedef struct pushwake_host_load {
    size_t size;
    int64_t queue_fill;  /* percent of the receive buffer of its socket; negative: not known */
    int64_t lost;        /* packets that the kernel dropped because a buffer was full: ever, of all sockets */
    int64_t memory;      /* bytes of the memory in which requests are held; 0: not known */
    int64_t free_memory; /* how many of them are free */
    int64_t held;        /* requests that are held */
} pushwake_host_load;
#define PUSHWAKE_HOST_LOAD_INIT { sizeof(pushwake_host_load), -1, 0, 0, 0, 0 }

/* Whether the host takes one more request that pushwake_may_wake() leads to
 * pushwake_wake(). 0: it has more of them than it can carry through, or its memory is
 * needed for those that it holds: answer 503 with Retry-After, and do nothing else.
 * `note` is a line for the log, or empty. Does not ask the engine and never waits. */
int pushwake_admits(pushwake_str *note, pushwake_client *client, pushwake_admission *admission,
                    const pushwake_host_load *load);

/* Finds the user for whose device a request within a dialog is, by the `pn-purr` in its
 * Request-URI or in a Route (RFC 8599, 6.2.3). pushwake_wake() with this AoR and the
 * same headers then wakes only that device. Empty if the request has no `pn-purr`, or
 * one that names no device. */
int pushwake_dialog_user(pushwake_str *aor, pushwake_client *client, pushwake_str method, pushwake_str request_uri,
                         const pushwake_header *headers, size_t header_count);

/* If another node sends a request through this node to a phone registered here, returns that phone's user. `route` is the
 * topmost Route; it must point to this node's `node_uri`. Empty for any other request. Does not ask the engine. A host that
 * answers calls itself (a PUSHWAKE_HOST_DIALPLAN) finds the phone by the Request-URI among the contacts of this user. */
int pushwake_node_user(pushwake_str *aor, pushwake_client *client, pushwake_str route);

/* Pushes to every sleeping phone of the AoR and fills in what to do with each
 * contact (`action`). Copies of a request (same AoR, event, Call-ID and CSeq) push once. */
int pushwake_wake(pushwake_wake_result *out, pushwake_client *client, pushwake_wake_request *request);

/* Reports the `status` of a leg of a watched request: 100 to 699 is an answer; -1: the
 * leg is not sent yet, since the host tries others first; 0: it is sent now. `from_phone`
 * is 0 for a status that the host made itself, such as 408 after its timer. A
 * PUSHWAKE_HOST_DIALPLAN reports 0 before it sends a leg, and 487 with `from_phone` 0
 * when it has hung the leg up itself. Does not wait. */
int pushwake_progressed(pushwake_client *client, uint64_t handle, int leg, int status, int from_phone);

/* Which of two final answers goes to the caller (RFC 3261, 16.7, 6); of equal ones the first. Below 300: none. */
int pushwake_better_answer(int first, int second);

/* 1: a proxy before a phone may say this of its way to the phone, which has heard nothing then. */
int pushwake_is_about_way(int status);

enum pushwake_call_end {
    PUSHWAKE_CALL_CANCELLED = 0, /* the caller hung up */
    PUSHWAKE_CALL_ANSWERED  = 1,
    PUSHWAKE_CALL_TIMED_OUT = 2,
    PUSHWAKE_CALL_FAILED    = 3
};

/* A watched request has its final answer. `how` is enum pushwake_call_end, `status`
 * the code that was sent. `leg` is the leg that answered, unless pushwake_progressed()
 * has already reported it; then 0. `reason` is the Reason header of the CANCEL, if there is one.
 * Does not wait. */
int pushwake_request_ended(pushwake_client *client, uint64_t handle, int how, int status, int leg,
                           pushwake_str reason);

/* Reports that a watched request for which nobody woke was sent elsewhere. Phones that register
 * within this many milliseconds (120,000 at most) still join it, by verbs as before;
 * PUSHWAKE_VERB_GIVE_UP does not come again. Does not wait. */
int pushwake_request_continues(pushwake_client *client, uint64_t handle, int64_t milliseconds);

/* A watched request whose engine has ended. */
typedef struct pushwake_resume_request {
    size_t size;
    uint64_t handle;
    pushwake_str ticket;
    uint64_t pushed;   /* bit n: PUSHWAKE_VERB_PUSHED came for device n */
    int64_t age_ms;    /* since pushwake_wake() */
    pushwake_contact *contacts; /* those of the registrar now; leg: number of the open leg, or 0 */
    size_t contact_count;
    size_t contact_size;
    int last_leg;      /* the highest number in use */
} pushwake_resume_request;
#define PUSHWAKE_RESUME_REQUEST_INIT \
    { sizeof(pushwake_resume_request), 0, { NULL, 0 }, 0, 0, NULL, 0, sizeof(pushwake_contact), 0 }

/* Passes a request to a new engine, which pushes to the phones whose push the old
 * one had not finished. Its verbs come through the supervisor. */
int pushwake_resume(pushwake_client *client, const pushwake_resume_request *request);

typedef struct pushwake_send_request {
    size_t size;
    pushwake_str event; /* "call", "chat", ..., or its number */
    pushwake_str aor;
    pushwake_str text;
    /* Of the request that the push is about, as in pushwake_wake_request: they say who calls, and its Call-ID. */
    const pushwake_header *headers;
    size_t header_count;
    pushwake_str shown;
} pushwake_send_request;
#define PUSHWAKE_SEND_REQUEST_INIT                                                         \
    { sizeof(pushwake_send_request), { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL, 0, { NULL, 0 } }

/* Queues a push for each binding of the AoR; returns their number. The outcomes come as result events.
 * PUSHWAKE_ERR_INVALID_ARGUMENT: also an unknown event. */
int pushwake_send(pushwake_client *client, const pushwake_send_request *request);

/* number is used when text.ptr is NULL. */
typedef struct pushwake_field {
    pushwake_str name;
    pushwake_str text;
    int64_t number;
} pushwake_field;

typedef void (*pushwake_line_fn)(void *context, pushwake_str line);

/* Return 0 to go on, anything else to stop. */
typedef int (*pushwake_row_fn)(void *context, const pushwake_field *fields, size_t count);

/* Carries out a command in words as people write them, of which the first is one of these:
 *
 *   stats                     the engine's counters, one row
 *   list [AOR] [NAME=VALUE]   the bindings for which all conditions hold, a row each. user: a pattern with * and ?;
 *                             provider; verdict: a part of it; age: +2d registered longer ago than two days, -1h within
 *                             the last hour (s, m, h, d, w)
 *   show AOR [NAME=VALUE]     the same; as lines all that is known of each
 *   remove AOR [NAME=VALUE]   removes them
 *   reload                    reads keys and templates again, and the file of pushwake_settings_file() if there is one. A
 *                             row each: "problem", "doubt" (a value that is accepted, but probably wrong), "taken" (a
 *                             setting whose new value counts from now on), "restart" (one that needs a restart)
 *   trace [CALL-ID|AOR]       a row for each of its newest requests ("call_id", "summary", ...), followed by a row for
 *                             each step ("at_ms", "text", ...); without one the newest 20 requests, without steps
 *   send EVENT AOR [TEXT ...] pushes, to a user or with platform=... token=... to one token. Other names: package,
 *                             call-id, from, name, title, text, push-type, and of a token environment, service, p256dh,
 *                             auth, selector
 *
 * Either callback may be NULL: rows are for programs, lines for a console. Tokens are shortened, secrets never appear.
 * Returns the number of rows, for `remove` of bindings removed, for `send` of pushes queued.
 * PUSHWAKE_ERR_INVALID_ARGUMENT: pushwake_client_error() says what to write. */
int pushwake_command(pushwake_client *client, const pushwake_str *words, size_t count, pushwake_row_fn on_row,
                     pushwake_line_fn on_line, void *context);

/* The bindings of one AoR that can be pushed now, a row each as for `list`; returns their number. `beside`: only those
 * whose phones have none of these contacts, each `contact_size` bytes. It waits no longer than engine_timeout, and asks
 * only if there may be some. */
int pushwake_bindings(pushwake_client *client, pushwake_str aor, const pushwake_contact *beside, size_t count,
                      size_t contact_size, pushwake_row_fn on_row, void *context);

/* ---- Supervisor: runs the engine and delivers its events ------------------- */

enum pushwake_outcome {
    PUSHWAKE_ACCEPTED      = 0, /* the provider accepted it */
    PUSHWAKE_TOKEN_GONE    = 1, /* the token is dead; the binding is removed */
    PUSHWAKE_REJECTED      = 2, /* permanent; the reason says why */
    PUSHWAKE_THROTTLED     = 3, /* the provider asked for fewer pushes, and the deadline came first */
    PUSHWAKE_UNAVAILABLE   = 4, /* the provider could not be reached or had a fault */
    PUSHWAKE_MISCONFIGURED = 5, /* key, certificate, topic or project is wrong */
    PUSHWAKE_EXPIRED       = 6, /* the deadline passed before an answer */
    PUSHWAKE_OVERLOADED    = 7  /* the queue was full; never sent */
};

/* Static lower-case name of an outcome: "accepted", "token-gone", ... */
const char *pushwake_outcome_name(int outcome);

typedef struct pushwake_result {
    size_t size;
    uint64_t id;          /* of the push */
    int event;
    int outcome;          /* treat an unknown value as PUSHWAKE_UNAVAILABLE */
    int http_status;      /* 0 when no answer came */
    int binding_removed;  /* 1: the binding is gone */
    int64_t elapsed_us;   /* from request to outcome */
    pushwake_str aor;
    pushwake_str call_id;
    pushwake_str provider;
    pushwake_str app;
    pushwake_str token;   /* shortened */
    pushwake_str reason;  /* the provider's own text, such as BadDeviceToken */
} pushwake_result;

typedef struct pushwake_supervisor_config {
    size_t size;
    void (*on_result)(void *context, const pushwake_result *result); /* NULL: not needed */
    void (*on_log)(void *context, int level, pushwake_str message);
    void *context; /* passed back unchanged */
    void (*on_verb)(void *context, const pushwake_verb *verb);
    /* A new engine answers and does not know the requests held here: call pushwake_resume() for each. */
    void (*on_engine)(void *context);
    /* An action for the gateway; NULL for a host that sends no REGISTERs. */
    pushwake_upstream_fn on_upstream;
} pushwake_supervisor_config;
#define PUSHWAKE_SUPERVISOR_CONFIG_INIT { sizeof(pushwake_supervisor_config), NULL, NULL, NULL, NULL, NULL, NULL }

/* Starts the engine (engine_mode=supervised) or finds it (external), and follows
 * its events. An engine that dies is restarted, within a second at first. */
typedef struct pushwake_supervisor pushwake_supervisor;
int pushwake_supervisor_new(pushwake_supervisor **out, pushwake_settings *settings,
                            const pushwake_supervisor_config *config);

/* The one descriptor to poll for reading, and the milliseconds after which
 * pushwake_supervisor_process() must run even if it stays quiet (-1: no limit). */
int pushwake_supervisor_fd(pushwake_supervisor *supervisor);
int pushwake_supervisor_timeout_ms(pushwake_supervisor *supervisor);

/* Does whatever can be done without waiting. Callbacks run inside this call. */
int pushwake_supervisor_process(pushwake_supervisor *supervisor);

/* Process id of the engine this supervisor started, or 0. */
int pushwake_supervisor_engine_pid(pushwake_supervisor *supervisor);

/* Ends the engine: asks, waits at most two seconds, then kills it. */
void pushwake_supervisor_free(pushwake_supervisor *supervisor);

/* ---- Waiting legs: a host dials a phone that sleeps as it dials any other ------- */

/* A SIP server without sockets, in the one process of the host that outlives an engine. The host sends it requests to
 * users whose phones may sleep, and moves its bytes. All functions are for one thread, that of the supervisor. */
typedef struct pushwake_legs pushwake_legs;

enum pushwake_leg_order_kind {
    PUSHWAKE_LEG_DESCRIBE = 1, /* call pushwake_legs_described(), now or soon */
    PUSHWAKE_LEG_PROBE    = 2, /* ask `contact` by OPTIONS, and call pushwake_legs_probed() */
    PUSHWAKE_LEG_FORWARD  = 3, /* send a MESSAGE with this content to `contact`, and call pushwake_legs_progressed() */
    PUSHWAKE_LEG_CLOSE    = 4, /* take the leg back from its phone, whatever it says from now on */
    PUSHWAKE_LEG_RESEND   = 5, /* send the request to the leg's phone once more, as it was */
    PUSHWAKE_LEG_FORGET   = 6, /* nothing more will be said of this request */
    PUSHWAKE_LEG_DIAL     = 7  /* the request is at another phone: dial `contact` besides; its answer takes the call */
};

/* What the host must do for a request that waits. Texts are valid during the call. */
typedef struct pushwake_leg_order {
    size_t size;
    int kind;             /* enum pushwake_leg_order_kind; skip one that you do not know */
    int leg;
    uint64_t handle;      /* the highest bit is set in all of them, and in no handle of the host's own */
    pushwake_str aor;     /* user part of the Request-URI, escapes resolved */
    pushwake_str domain;  /* its parameter `domain` */
    pushwake_str call_id;
    pushwake_str method;
    pushwake_str contact; /* URI as the registrar has it, or as it registered at another node */
    pushwake_str contact_path;
    pushwake_str contact_flow;
    /* For PUSHWAKE_LEG_FORWARD, and the AoR. */
    pushwake_str content_type;
    pushwake_str content;
    pushwake_str from_uri;
    pushwake_str from_display;
} pushwake_leg_order;

typedef struct pushwake_legs_config {
    size_t size;
    void *context;                                             /* passed back unchanged */
    void (*on_answer)(void *context, pushwake_str message);    /* a SIP response for the host */
    void (*on_order)(void *context, const pushwake_leg_order *order);
    /* PUSHWAKE_HOST_DIALPLAN: each request is in a channel, and at one phone at a time; with `ring_all` others are dialled
     * (PUSHWAKE_LEG_DIAL). RING is a 302 with X-PushWake-Leg, X-PushWake-Contact and X-PushWake-Path; the request comes
     * back in its dialog when its phone does not take it.
     * PUSHWAKE_HOST_PROXY: RING is a 100 with X-PushWake-Number, X-PushWake-Leg, X-PushWake-Contact, X-PushWake-Path,
     * X-PushWake-Key and X-PushWake-Replaces; CLOSE and RESEND are X-PushWake-Close and X-PushWake-Resend, with the leg.
     * Each number is executed once. The handle of a request is the parameter `call` of its Request-URI, in hexadecimal
     * digits and with the highest bit set. */
    int host;
    int is_reliable;       /* 1: its connection loses nothing, so nothing is sent twice */
    int64_t repetition_ms; /* provisional answers are repeated after so long; 0: a minute */
    pushwake_str key;      /* the parameter `key` of each Request-URI must be this; empty: none needed */
} pushwake_legs_config;
#define PUSHWAKE_LEGS_CONFIG_INIT { sizeof(pushwake_legs_config), NULL, NULL, NULL, 0, 0, 0, { NULL, 0 } }

int pushwake_legs_new(pushwake_legs **out, pushwake_settings *settings, const pushwake_legs_config *config);
void pushwake_legs_free(pushwake_legs *legs);

/* Uses these settings for requests to come, and this supervisor's connection from now on, in place of those before. */
int pushwake_legs_use(pushwake_legs *legs, pushwake_settings *settings, pushwake_supervisor *supervisor);

/* A SIP request of the host. Answers and orders come inside this call, or later. What is not SIP is dropped. */
int pushwake_legs_receive(pushwake_legs *legs, pushwake_str message);

/* Who the user of a request is: of `user` count `contacts`, `call_id`, who calls, `media` and `hold_seconds`; those that
 * are empty are as the request says, and `scope`. `may_wake`: pushwake_may_wake(); 0: who can be reached is rung, and that is all. */
int pushwake_legs_described(pushwake_legs *legs, uint64_t handle, const pushwake_wake_request *user, int may_wake);

/* What a phone said to an OPTIONS: its status; 0: nothing for `silent_after`; 503: it cannot be reached. */
int pushwake_legs_probed(pushwake_legs *legs, uint64_t handle, int leg, int status);

/* As pushwake_progressed() and pushwake_request_ended(), for a request that waits. */
int pushwake_legs_progressed(pushwake_legs *legs, uint64_t handle, int leg, int status, int from_phone);
int pushwake_legs_ended(pushwake_legs *legs, uint64_t handle, int how, int status, pushwake_str reason);

/* A phone has registered and pushwake_register_run() has failed: requests that wait for its user go there. */
int pushwake_legs_registered(pushwake_legs *legs, pushwake_str aor, pushwake_str domain, const pushwake_contact *contact);

/* 1: a request in a channel comes back with this answer of a phone. 0: the answer is the caller's: a 3xx, a 6xx, one that
 * asks for a password. */
int pushwake_legs_takes_back(int status);

/* Milliseconds after which pushwake_legs_process() must run; -1: no limit. */
int pushwake_legs_timeout_ms(pushwake_legs *legs);
int pushwake_legs_process(pushwake_legs *legs);

/* ---- Engine: the process that owns bindings, queue and provider connections --- */

/* Runs the engine in this process until SIGTERM. Call it in a process of its own, such
 * as the program pushwake, and never in that of a PBX: it loads the code that reads
 * keys and talks to providers, handles signals, and starts threads. supervised 1: more
 * settings come over standard input, up to an empty line; the engine ends when that
 * input does. supervised 2: what pushwake_settings_trial() runs. PUSHWAKE_ERR_CONFIG: it
 * could not start, and has written the reason to standard error. */
int pushwake_engine_run(pushwake_settings *settings, int supervised);

/* Runs one of the program's tools in this process: "check", "explain" or "load". They use the engine's code but start no
 * engine. Run them in a process of their own, as pushwake_engine_run(). words: the options of the command line as
 * name=value, such as "file=pushwake.conf". Writes its report to standard output and errors to standard error. Returns the
 * exit code of the program: 0 done, 1 what was asked for failed, 2 something cannot be read. PUSHWAKE_ERR_INVALID_ARGUMENT:
 * no such tool or option; nothing has been written. */
int pushwake_tool_run(pushwake_settings *settings, pushwake_str tool, const pushwake_str *words, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* PUSHWAKE_H */
