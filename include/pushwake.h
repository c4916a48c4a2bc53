/* SPDX-License-Identifier: MIT
 *
 * pushwake.h - the C interface of libpushwake.
 *
 * This file is the contract: what is not declared here is not public, and the
 * Swift side is checked against it by the compiler.
 *
 * Names      pushwake_noun_verb(), PUSHWAKE_CONSTANT. Out parameters come first.
 * Results    int: 0 or more on success, one of enum pushwake_status below 0.
 * Ownership  pushwake_x_new() gives, pushwake_x_free() takes back; free(NULL) does
 *            nothing. All other pointers are borrowed: arguments for the call,
 *            callback arguments for the callback. A pushwake_str in a result stays
 *            valid until the next call on the same object, of a shared client until
 *            the next call of the same thread. Calls that have no answer
 *            (pushwake_progressed(), pushwake_request_ended(), ..._continues())
 *            leave results as they are. Nothing from this library is ever passed
 *            to free().
 * Strings    pushwake_str: pointer and length, no terminating NUL, {NULL, 0} is
 *            empty. It may point into a SIP message and hold any byte.
 * Structs    Start from the _INIT macro, which stores sizeof in .size. Fields are
 *            only ever appended; a zero field means its default.
 * Threads    An object is used by one thread at a time, but for a client after
 *            pushwake_client_share(); different objects are independent. The library
 *            starts no thread, but in pushwake_engine_run().
 * Processes  A settings object and a client may be made before fork(): a client
 *            opens its connection to the engine at the first call in each process.
 *            A supervisor is made in the process that runs it.
 * Blocking   No call waits longer than the setting engine_timeout; after one that
 *            did, calls with the same client fail at once for a second, unless the
 *            engine is heard of earlier. Except pushwake_query() (5 seconds a
 *            page, not for SIP workers; of one AoR's bindings as all others), what is
 *            built on it, pushwake_client_await() and pushwake_supervisor_free()
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
    PUSHWAKE_SETTING_INTEGER = 2 /* booleans are 0 and 1 */
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

/* Number of settings that exist. */
size_t pushwake_setting_count(void);

/* Copies row `index` into *out; PUSHWAKE_ERR_NOT_FOUND past the end. */
int pushwake_setting_at(pushwake_setting *out, size_t index);

/* A set of values: all defaults at first. */
typedef struct pushwake_settings pushwake_settings;
int pushwake_settings_new(pushwake_settings **out);
void pushwake_settings_free(pushwake_settings *settings);

/* Sets one value from its text form. PUSHWAKE_ERR_CONFIG: unknown name or a value
 * that does not fit; pushwake_settings_error() then names setting and remedy. */
int pushwake_settings_set(pushwake_settings *settings, pushwake_str name, pushwake_str value);

/* Takes all values from a file of `name = value` lines in place of those that were set; what is set afterwards stands
 * above them. pushwake_engine_run() reads the file again on SIGHUP and on PUSHWAKE_QUERY_RELOAD. PUSHWAKE_ERR_CONFIG:
 * it cannot be read, or lines do not fit; nothing is changed then, and pushwake_settings_error() has a line for each. */
int pushwake_settings_file(pushwake_settings *settings, pushwake_str path);

/* Text and number of one value; empty and 0 when the name is unknown. */
pushwake_str pushwake_settings_text(pushwake_settings *settings, pushwake_str name);
int64_t pushwake_settings_integer(pushwake_settings *settings, pushwake_str name);

/* These settings take the place of earlier ones: requests that are held stay this
 * host's. 1: not one value is another; 0: some are. */
int pushwake_settings_replace(pushwake_settings *settings, pushwake_settings *earlier);

/* Called once per finding, errors first. */
typedef void (*pushwake_problem_fn)(void *context, int level, pushwake_str setting, pushwake_str message);

/* Looks at all values together. Returns the number of findings that must stop the
 * start (PUSHWAKE_LOG_ERROR): values that are wrong. Reads no key: what is
 * wrong with key files the engine says when it starts, and calls still go through. */
int pushwake_settings_check(pushwake_settings *settings, pushwake_problem_fn on_problem, void *context);

/* Text of the last failure on these settings. */
pushwake_str pushwake_settings_error(pushwake_settings *settings);

/* ---- Client: from a SIP worker to the engine ------------------------------ */

/* Opens nothing; copies the settings. */
typedef struct pushwake_client pushwake_client;
int pushwake_client_new(pushwake_client **out, pushwake_settings *settings);
void pushwake_client_free(pushwake_client *client);

/* Text of the last failure on this client; of a shared one, the last in this thread. */
pushwake_str pushwake_client_error(pushwake_client *client);

/* From now on any number of threads may use the client at once. Each question has a connection to itself until it is
 * answered, and what has no answer (pushwake_progressed() and the like) goes to the engine in the order of the calls. For
 * a process that does not fork. PUSHWAKE_ERR_REFUSED: the system has no room for what belongs to a thread. */
int pushwake_client_share(pushwake_client *client);

/* Takes other settings for a shared client; calls under way end with those before. PUSHWAKE_ERR_INVALID_ARGUMENT for one
 * that is not shared. */
int pushwake_client_replace(pushwake_client *client, pushwake_settings *settings);

/* Waits until an engine answers, for so many milliseconds at most: what a host says before it does is lost. For its start. */
int pushwake_client_await(pushwake_client *client, int milliseconds);

/* What to log of a call that failed with this status: one line in ten seconds, which says how many were left out. 0: nothing
 * now; 1: *line. */
int pushwake_client_warning(pushwake_str *line, pushwake_client *client, int status);

typedef struct pushwake_header {
    pushwake_str name;
    pushwake_str value;
} pushwake_header;

enum pushwake_verdict {
    PUSHWAKE_RING = 0, /* send the request to this contact now */
    PUSHWAKE_HOLD = 1  /* not now: its phone is being woken, or another contact of it rings */
};

/* How a host sends legs and ends a request. */
enum pushwake_host {
    PUSHWAKE_HOST_PROXY    = 0, /* sends a leg when it is told to, and answers by itself when the last one failed */
    PUSHWAKE_HOST_DIALPLAN = 1  /* its script sends legs when it comes to them, and goes on when it is told to give up */
};

enum pushwake_reach {
    PUSHWAKE_REACH_DATAGRAM = 0, /* no connection is needed, or none is known of */
    PUSHWAKE_REACH_OPEN     = 1, /* its connection is open */
    PUSHWAKE_REACH_CLOSED   = 2, /* its connection is gone; its address may take another one */
    PUSHWAKE_REACH_LOST     = 3  /* its connection is gone, and only the phone can open another */
};

/* One contact the registrar has for the AoR. */
typedef struct pushwake_contact {
    pushwake_str uri;
    pushwake_str instance;  /* +sip.instance with or without its quotes, or empty */
    int32_t registered_ago; /* seconds since its last REGISTER; -1: not known */
    int reachable;          /* enum pushwake_reach */
    int verdict;            /* out: enum pushwake_verdict */
    int leg;                /* out: number of the leg when the verdict is PUSHWAKE_RING, else 0 */
    pushwake_str key;       /* the host's name for it, by which verbs name it; empty: the URI */
    pushwake_str flow;      /* address and transport that its REGISTER came from; empty: not known */
    pushwake_str registration; /* Call-ID of its REGISTER */
    int behind_proxy;       /* 1: a proxy stands before the phone (Path) */
    int leg_status;         /* for pushwake_resume(): the last status that came for `leg`; 0: none */
    pushwake_str path;      /* the Path it registered with (RFC 3327), or empty */
} pushwake_contact;

/* A host holds a request and does what it is told for it; it decides nothing. A
 * leg is the request as it went to one contact: a branch, or a channel. */
enum pushwake_verb_kind {
    PUSHWAKE_VERB_RING    = 1, /* send the request to `contact` as `leg`; close the leg `replaces` unless it is 0.
                                * `reason` says why no push brings the phone, where that is why it is rung */
    PUSHWAKE_VERB_RESEND  = 2, /* send the datagram of `leg` once more */
    PUSHWAKE_VERB_HOLD    = 3, /* keep the request open for `milliseconds` although its legs may end */
    PUSHWAKE_VERB_GIVE_UP = 4, /* wait for nobody any more: the legs that are out decide; with none, send the
                                * best answer, or `status` when there is none. Empty `reason`: time is over. A
                                * PUSHWAKE_HOST_DIALPLAN hears of it when its last leg is over. Void when `leg`,
                                * the newest that is out as far as the engine knows, could not be sent */
    PUSHWAKE_VERB_SHOW_END = 5, /* the request is over, and this phone shows a call: send INVITE and CANCEL with
                                * `reason` to `contact` */
    PUSHWAKE_VERB_PUSHED  = 6, /* a push for the device `leg` (from 0) was taken: remember it for pushwake_resume() */
    PUSHWAKE_VERB_TELL    = 7, /* send the caller the provisional `status`, 110, 180, 182 or 183, with a To tag */
    PUSHWAKE_VERB_CLOSE   = 8  /* end `leg`: no answer of it is waited for */
};

typedef struct pushwake_verb {
    size_t size;
    int kind;            /* enum pushwake_verb_kind; skip one that you do not know */
    int leg;
    int replaces;
    int status;
    int64_t milliseconds;
    uint64_t handle;     /* of the request, as in pushwake_wake_request */
    pushwake_str aor;
    pushwake_str domain;
    pushwake_str contact; /* key */
    pushwake_str reason;  /* text; of PUSHWAKE_VERB_SHOW_END the value of a Reason header (RFC 3326) */
    /* For PUSHWAKE_VERB_SHOW_END, whose request is gone. */
    pushwake_str call_id;
    pushwake_str from_uri;
    pushwake_str from_tag;
    pushwake_str to_uri;
    uint32_t cseq;
    /* For PUSHWAKE_VERB_RING of a contact that registered at another node, which this host's registrar may not have; all
     * empty for any other. Of a contact that it has, the host knows the way itself. */
    pushwake_str contact_uri;
    pushwake_str contact_path; /* Path (RFC 3327) that leads there; empty: no Route, straight to the address */
    pushwake_str contact_flow; /* the address and transport that its REGISTER came from: where it is sent without Path */
} pushwake_verb;

/* 1: a parameter of this name in a Contact URI is about push, in any dialect. What
 * others see of a contact is without it (RFC 8599, 4.1). Asks nobody. */
int pushwake_is_push_parameter(pushwake_str name);

/* Writes a contact URI without such parameters, and a NUL; returns its length. 0, and
 * nothing but the NUL, when it does not fit. Asks nobody. */
size_t pushwake_contact_strip(char *out, size_t size, pushwake_str uri);

/* A REGISTER as it came. The library picks the headers it knows (Contact, Expires,
 * X-MPUSH, Feature-Caps, X-PIID, ...); hand over all of them, in order. */
typedef struct pushwake_register_request {
    size_t size;
    pushwake_str aor;     /* the registrar's key: "user" or "user@domain" */
    pushwake_str call_id;
    const pushwake_header *headers;
    size_t header_count;
    uint32_t cseq;
    int32_t granted_expires; /* seconds the registrar granted; -1: not known */
    pushwake_str domain;     /* the registrar's table, where it has several; as in pushwake_wake_request */
    /* What this REGISTER has left in the registrar: contacts that it inserted or refreshed. */
    const pushwake_contact *contacts;
    size_t contact_count;
    size_t contact_size;     /* sizeof(pushwake_contact), as the host knows it */
    pushwake_str account;    /* pushwake_upstream.account of PUSHWAKE_UPSTREAM_ACCEPT, or empty */
} pushwake_register_request;
#define PUSHWAKE_REGISTER_REQUEST_INIT                                                     \
    { sizeof(pushwake_register_request), { NULL, 0 }, { NULL, 0 }, NULL, 0, 0, -1,         \
      { NULL, 0 }, NULL, 0, sizeof(pushwake_contact), { NULL, 0 } }

enum pushwake_register_outcome {
    PUSHWAKE_REGISTER_PLAIN   = 0, /* says nothing about push */
    PUSHWAKE_REGISTER_STORED  = 1, /* at least one binding is in the store */
    PUSHWAKE_REGISTER_UNBOUND = 2, /* the bindings it named are gone */
    PUSHWAKE_REGISTER_QUERY   = 3, /* asks what is supported (RFC 8599, 5.6.1.2) */
    PUSHWAKE_REGISTER_IGNORED = 4  /* push parameters that cannot be used: see problems */
};

typedef struct pushwake_register_result {
    size_t size;
    int outcome;        /* enum pushwake_register_outcome */
    int bindings;       /* bindings stored now */
    int reply_code;     /* 0: the registrar's own reply; else 555 or 423 */
    uint32_t min_expires; /* for 423 */
    pushwake_str reply_reason;
    /* Whole Feature-Caps header lines for the 200, each ended by CRLF. */
    pushwake_str feature_caps;
    /* One line per problem: "parameter: what is wrong, what to do". */
    pushwake_str problems;
    /* Contact URIs, one per line, that this device registered earlier and has left:
     * the registrar should forget them. */
    pushwake_str stale_contacts;
    /* What to do for requests that this host holds, in order, once the REGISTER is
     * answered. */
    const pushwake_verb *verbs;
    size_t verb_count;
    /* `problems` and `stale_contacts` again, one by one. */
    const pushwake_str *problem_list;
    size_t problem_count;
    const pushwake_str *stale_list;
    size_t stale_count;
    /* For the reply: Feature-Caps for the 200, Min-Expires for the 423. */
    const pushwake_header *reply_headers;
    size_t reply_header_count;
} pushwake_register_result;
#define PUSHWAKE_REGISTER_RESULT_INIT                                                      \
    { sizeof(pushwake_register_result), 0, 0, 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
      { NULL, 0 }, NULL, 0, NULL, 0, NULL, 0, NULL, 0 }

/* Before the registrar saves: reads the REGISTER without asking the engine and
 * says whether it must be answered 555 or 423, which only the settings send_555
 * and min_expires can ask for. Stores nothing. */
int pushwake_register_check(pushwake_register_result *out, pushwake_client *client,
                            const pushwake_register_request *request);

/* After the registrar saved: stores, replaces or removes the bindings, and tells
 * whoever waits for this AoR that it has registered. PUSHWAKE_ERR_UNAVAILABLE and
 * PUSHWAKE_ERR_TIMEOUT: nothing is known to be stored, so promise nothing. */
int pushwake_register(pushwake_register_result *out, pushwake_client *client,
                      const pushwake_register_request *request);

/* ---- Upstream: phones of a SIP server behind this host --------------------- */

/* A REGISTER that is held until the phone's SIP server has answered the gateway's own. */
typedef struct pushwake_upstream_request {
    size_t size;
    uint64_t handle;           /* by which the host finds the REGISTER again; not 0 */
    pushwake_str request_uri;
    pushwake_str to_uri;
    pushwake_str call_id;
    pushwake_str route;        /* SIP URI of a next hop that the script chose, or empty */
    pushwake_str local;        /* host:port under which the server reaches this host */
    const pushwake_header *headers; /* all of them, in order */
    size_t header_count;
} pushwake_upstream_request;
#define PUSHWAKE_UPSTREAM_REQUEST_INIT                                                     \
    { sizeof(pushwake_upstream_request), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },         \
      { NULL, 0 }, { NULL, 0 }, NULL, 0 }

enum pushwake_upstream_kind {
    PUSHWAKE_UPSTREAM_SEND   = 1, /* send a REGISTER, and tell pushwake_upstream_answered() of its final answer */
    PUSHWAKE_UPSTREAM_ACCEPT = 2, /* save the held REGISTER `handle` under `uri`, with `account` and `headers` */
    PUSHWAKE_UPSTREAM_REFUSE = 3  /* answer the held REGISTER `handle` with `status`, `reason` and `headers` */
};

/* What a host has to do. */
typedef struct pushwake_upstream {
    size_t size;
    int kind;             /* enum pushwake_upstream_kind; skip one that you do not know */
    int status;
    uint64_t id;          /* of the REGISTER that is sent */
    uint64_t handle;
    int64_t at_most;      /* the phone may be registered for so many seconds; -1: as it likes */
    uint32_t cseq;
    pushwake_str account;
    pushwake_str uri;     /* SEND: From and To; ACCEPT: the user on this host */
    pushwake_str request_uri;
    pushwake_str next_hop; /* SIP URI; empty: where request_uri leads */
    pushwake_str call_id;
    pushwake_str from_tag;
    pushwake_str reason;
    pushwake_str headers; /* whole lines, each ended by CRLF */
} pushwake_upstream;

typedef struct pushwake_upstream_result {
    size_t size;
    const pushwake_upstream *actions; /* in order */
    size_t count;
} pushwake_upstream_result;
#define PUSHWAKE_UPSTREAM_RESULT_INIT { sizeof(pushwake_upstream_result), NULL, 0 }

/* A phone registers. What to do for it comes now, or later from
 * pushwake_upstream_answered() or the supervisor. */
int pushwake_upstream_register(pushwake_upstream_result *out, pushwake_client *client,
                               const pushwake_upstream_request *request);

typedef struct pushwake_upstream_answer {
    size_t size;
    uint64_t id;
    int status;
    int from_server;      /* 0: nothing came, and the status is the host's own */
    pushwake_str reason;
    const pushwake_header *headers;
    size_t header_count;
} pushwake_upstream_answer;
#define PUSHWAKE_UPSTREAM_ANSWER_INIT { sizeof(pushwake_upstream_answer), 0, 0, 0, { NULL, 0 }, NULL, 0 }

/* A server has answered a REGISTER that was sent. */
int pushwake_upstream_answered(pushwake_upstream_result *out, pushwake_client *client,
                               const pushwake_upstream_answer *answer);

/* The user on this host, as a SIP URI, whom the user part of the gateway's Contact
 * stands for; empty when it is none of the gateway's. Asks nobody. */
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
    PUSHWAKE_EVENT_VOICEMAIL   = 8, /* news of the mailbox */
    PUSHWAKE_EVENT_REFER       = 9
};

/* The event with this name ("call", "chat", ... or its number), or
 * PUSHWAKE_ERR_NOT_FOUND. */
int pushwake_event_from_name(pushwake_str name);

/* Static lower-case name of an event: "call", "chat", ...; "unknown" for any other number. */
const char *pushwake_event_name(int event);

typedef struct pushwake_wake_request {
    size_t size;
    int event; /* enum pushwake_event */
    int ring_seconds; /* how long the request is held; 0: the setting wake_timeout */
    pushwake_str aor;
    pushwake_str call_id;
    pushwake_str from_uri;     /* sip:alice@example.com */
    pushwake_str from_display; /* as in the From header, quotes included or not */
    pushwake_str to_uri;
    pushwake_str content_type;
    pushwake_str text;         /* body of a MESSAGE */
    pushwake_contact *contacts;
    size_t contact_count;
    size_t contact_size;       /* sizeof(pushwake_contact), as the host knows it */
    uint64_t handle;           /* by which the host finds the request again; 0: it executes no verbs */
    pushwake_str domain;       /* the registrar's table, where it has several */
    pushwake_str method;       /* INVITE, MESSAGE, ... */
    pushwake_str from_tag;
    uint32_t cseq;
    /* All headers, as they came: they decide whether the request wakes anybody and with
     * which event, and `text` is then the whole body. The fields for which there is a
     * header need not be filled in. */
    const pushwake_header *headers;
    size_t header_count;
    pushwake_str request_uri;
    int host;                  /* enum pushwake_host */
} pushwake_wake_request;
#define PUSHWAKE_WAKE_REQUEST_INIT                                                         \
    { sizeof(pushwake_wake_request), 0, 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },          \
      { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, NULL, 0,                         \
      sizeof(pushwake_contact), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0, NULL, 0, { NULL, 0 }, 0 }

typedef struct pushwake_wake_result {
    size_t size;
    int bindings; /* push bindings of the AoR */
    int pushed;   /* pushes queued for this request, now or by an earlier copy of it */
    int awake;    /* bindings whose phone is awake */
    int watched;  /* 1: verbs may come for this request: keep it, and report what its legs say */
    int64_t hold_ms; /* more than 0: keep it open for so long although no leg is out or all of them end */
    int64_t limit_ms; /* for how long verbs may come */
    /* What pushwake_resume() wants back when the engine was restarted: keep the bytes
     * with the request. */
    pushwake_str ticket;
    int64_t deadline_ms; /* after that no engine is there: the host ends the wait by itself */
} pushwake_wake_result;
#define PUSHWAKE_WAKE_RESULT_INIT { sizeof(pushwake_wake_result), 0, 0, 0, 0, 0, 0, { NULL, 0 }, 0 }

/* 1: a request of this method may wake phones, as far as the settings go; 0: it never
 * does, whatever its headers say. */
int pushwake_method_wakes(pushwake_client *client, pushwake_str method, int in_dialog);

/* Whether this AoR may have a push binding: 0 when it certainly has none (also a name
 * that is not UTF-8, for which pushwake_register() stores nothing), so that pushwake_wake() need not be called; 1 when it may have one, or when that is not
 * known (no engine runs, or it has just started). Asks nobody and never waits: it
 * reads memory that the engine shares with all processes, also after a fork(). */
int pushwake_may_wake(pushwake_client *client, pushwake_str aor);

/* The user whose device a request within a dialog is for, by the `pn-purr` of its
 * Request-URI or of a Route (RFC 8599, 6.2.3): pushwake_wake() with this AoR and the
 * same headers then wakes that device alone. Empty when it carries none, or one that
 * names no device. */
int pushwake_dialog_user(pushwake_str *aor, pushwake_client *client, pushwake_str method, pushwake_str request_uri,
                         const pushwake_header *headers, size_t header_count);

/* The user whose phone another node rings through this one, by the topmost Route of its request: one that leads to
 * this node's `node_uri`. Empty for any other request. Asks nobody. A host that answers calls itself (a
 * PUSHWAKE_HOST_DIALPLAN) finds the phone by the Request-URI among the contacts of this user. */
int pushwake_node_user(pushwake_str *aor, pushwake_client *client, pushwake_str route);

/* Pushes to every sleeping phone of the AoR and fills in the verdict of each
 * contact. Copies of a request (same AoR, event, Call-ID and CSeq) push once. */
int pushwake_wake(pushwake_wake_result *out, pushwake_client *client, pushwake_wake_request *request);

/* Tells how a leg of a watched request fares: 100 to 699. `from_phone` is 0 for
 * what the host made up itself, such as 408 after its timer. -1: the leg is not sent
 * yet, since the host tries others first; 0: it is sent now. A PUSHWAKE_HOST_DIALPLAN
 * sends no leg before it says so. 487 with `from_phone` 0: a PUSHWAKE_HOST_DIALPLAN has
 * hung the leg up itself. Does not wait. */
int pushwake_progressed(pushwake_client *client, uint64_t handle, int leg, int status, int from_phone);

enum pushwake_call_end {
    PUSHWAKE_CALL_CANCELLED = 0, /* the caller hung up */
    PUSHWAKE_CALL_ANSWERED  = 1,
    PUSHWAKE_CALL_TIMED_OUT = 2,
    PUSHWAKE_CALL_FAILED    = 3
};

/* A watched request has its final answer. `how` is enum pushwake_call_end; `status`
 * the code that was sent; `leg` the leg whose answer it is, where that has not been
 * reported, or 0; `reason` the Reason header of the CANCEL, where one came.
 * Does not wait. */
int pushwake_request_ended(pushwake_client *client, uint64_t handle, int how, int status, int leg,
                           pushwake_str reason);

/* A watched request that nobody woke for was sent elsewhere: phones that register
 * within so many milliseconds (120,000 at most) still join it, by verbs as before; none
 * of them gives it up. Does not wait. */
int pushwake_request_continues(pushwake_client *client, uint64_t handle, int64_t milliseconds);

/* A request that was watched by an engine which is gone. */
typedef struct pushwake_resume_request {
    size_t size;
    uint64_t handle;
    pushwake_str ticket;
    uint64_t pushed;   /* bit n: PUSHWAKE_VERB_PUSHED came for device n */
    int64_t age_ms;    /* since pushwake_wake() */
    pushwake_contact *contacts; /* those of the registrar now; leg: number of the leg that is out, or 0 */
    size_t contact_count;
    size_t contact_size;
    int last_leg;      /* the highest number in use */
} pushwake_resume_request;
#define PUSHWAKE_RESUME_REQUEST_INIT \
    { sizeof(pushwake_resume_request), 0, { NULL, 0 }, 0, 0, NULL, 0, sizeof(pushwake_contact), 0 }

/* Hands a request to a new engine, which pushes to the phones whose push the old
 * one had not finished. Its verbs come through the supervisor. */
int pushwake_resume(pushwake_client *client, const pushwake_resume_request *request);

/* The held request of a host without handles is over: pushes that have not left
 * yet are dropped. */
int pushwake_call_ended(pushwake_client *client, pushwake_str aor, pushwake_str call_id, int how);

/* For hosts that hold a call in a thread of their own: wakes as pushwake_wake()
 * does, then reports each phone that registers. It has a connection of its own;
 * freeing it ends the wait and counts as PUSHWAKE_CALL_CANCELLED unless
 * pushwake_call_ended() said otherwise. */
typedef struct pushwake_wait pushwake_wait;
int pushwake_wait_new(pushwake_wait **out, pushwake_wake_result *result, pushwake_client *client,
                      pushwake_wake_request *request);
void pushwake_wait_free(pushwake_wait *wait);

/* The descriptor to poll for reading. */
int pushwake_wait_fd(pushwake_wait *wait);

enum pushwake_wait_kind {
    PUSHWAKE_WAIT_NOTHING    = 0, /* not yet: poll again */
    PUSHWAKE_WAIT_REGISTERED = 1, /* a phone of this AoR has registered: contact */
    PUSHWAKE_WAIT_TIMED_OUT  = 2, /* ring_seconds passed; the wait is over */
    PUSHWAKE_WAIT_FAILED     = 3, /* no push was accepted and none is under way; the wait is over */
    PUSHWAKE_WAIT_LOST       = 4  /* the engine is gone; the wait is over */
};

typedef struct pushwake_wait_event {
    size_t size;
    int kind; /* enum pushwake_wait_kind */
    int elapsed_ms; /* since pushwake_wait_new() */
    pushwake_str contact; /* Contact URI as registered; may be empty */
    pushwake_str reason;
} pushwake_wait_event;
#define PUSHWAKE_WAIT_EVENT_INIT { sizeof(pushwake_wait_event), 0, 0, { NULL, 0 }, { NULL, 0 } }

/* Takes the next event without waiting. */
int pushwake_wait_next(pushwake_wait_event *out, pushwake_wait *wait);

/* A registrar that does not call pushwake_register() tells that an AoR has
 * registered: whoever waits for it goes on. */
int pushwake_registered(pushwake_client *client, pushwake_str aor, pushwake_str contact);

typedef struct pushwake_send_request {
    size_t size;
    int event;
    pushwake_str aor;      /* either a user with bindings ... */
    pushwake_str provider; /* ... or apns, apns.dev, fcm, webpush, acrobits, harmonyos, a, i, j, w, or a name of the webhook's, */
    pushwake_str app;      /* with the bundle id, package or project */
    pushwake_str token;    /* and the token */
    pushwake_str call_id;  /* made up when empty */
    pushwake_str from_uri;
    pushwake_str from_display;
    pushwake_str title;
    pushwake_str text;
    pushwake_str push_type;   /* Apple: voip, alert or background in place of what the event gives */
    pushwake_str environment; /* of an Apple token: production or sandbox */
    pushwake_str service;     /* of an Apple or Acrobits token: voip or remote */
    pushwake_str p256dh;      /* of a Web Push subscription; both or neither */
    pushwake_str auth;
    pushwake_str selector;    /* of an Acrobits token */
    pushwake_str event_name;  /* "call", "chat", ..., in place of `event` */
} pushwake_send_request;
#define PUSHWAKE_SEND_REQUEST_INIT                                                         \
    { sizeof(pushwake_send_request), 0, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, \
      { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 },         \
      { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } }

/* Sets a field by the name that people write: event, aor, platform, package, token,
 * call-id, from, name, title, text, push-type, environment, service, p256dh,
 * auth, selector. The value is borrowed until pushwake_send().
 * PUSHWAKE_ERR_INVALID_ARGUMENT for any other name. */
int pushwake_send_set(pushwake_send_request *request, pushwake_str name, pushwake_str value);

/* Queues one push per binding (or one, to the token); *queued counts them. The
 * outcome comes as a result event. PUSHWAKE_ERR_INVALID_ARGUMENT: also an event_name that is none. */
int pushwake_send(int *queued, pushwake_client *client, const pushwake_send_request *request);

/* The same in words as people write them: EVENT AOR [TEXT ...], or EVENT platform=... token=... [TEXT ...]; name=value
 * sets any field by its name. PUSHWAKE_ERR_INVALID_ARGUMENT: pushwake_client_error() says what to write. */
int pushwake_send_words(int *queued, pushwake_client *client, const pushwake_str *words, size_t count);

enum pushwake_query_kind {
    PUSHWAKE_QUERY_STATS    = 0, /* one row of counters */
    PUSHWAKE_QUERY_BINDINGS = 1, /* argument: an AoR, or empty for all; a row each. Of one AoR it waits no longer than
                                    engine_timeout, like a request, and asks only where there may be some */
    PUSHWAKE_QUERY_REMOVE   = 2, /* argument: an AoR; removes its bindings, one row: removed */
    /* Reads keys and templates again, and the file of pushwake_settings_file() if there is one. A row each: "problem",
     * "taken" (a setting whose new value counts from now on), "restart" (one that takes a restart of the engine). */
    PUSHWAKE_QUERY_RELOAD   = 3,
    /* argument: a Call-ID or an AoR; a row for each of its newest requests ("call_id", "summary", ...), followed by
     * a row for each thing that happened ("at_ms", "text", ...). Empty: the newest 20 requests, without the latter.
     * PUSHWAKE_ERR_NOT_FOUND: there was none. */
    PUSHWAKE_QUERY_TRACE    = 4,
    /* argument: conditions, one name=value a line, all of which must hold, or empty; a row each, as for
     * PUSHWAKE_QUERY_BINDINGS. aor: one user; user: a pattern with * and ?; provider; verdict: a part of it;
     * age: +2d registered longer ago than that, -1h since then (s, m, h, d, w). */
    PUSHWAKE_QUERY_FIND     = 5,
    PUSHWAKE_QUERY_REMOVE_FOUND = 6 /* argument: the same, aor among them; removes them, one row: removed */
};

/* number is used when text.ptr is NULL. */
typedef struct pushwake_field {
    pushwake_str name;
    pushwake_str text;
    int64_t number;
} pushwake_field;

/* Return 0 to go on, anything else to stop. */
typedef int (*pushwake_row_fn)(void *context, const pushwake_field *fields, size_t count);

/* Asks the engine; returns the number of rows given to on_row. Tokens come
 * shortened, secrets never. */
int pushwake_query(pushwake_client *client, int kind, pushwake_str argument,
                   pushwake_row_fn on_row, void *context);

/* The same in words as people write them. Of PUSHWAKE_QUERY_FIND and PUSHWAKE_QUERY_REMOVE_FOUND each is a condition
 * name=value, and the first may be a user; all others take one word at most. PUSHWAKE_ERR_INVALID_ARGUMENT: the words are
 * none of that. */
int pushwake_query_words(pushwake_client *client, int kind, const pushwake_str *words, size_t count,
                         pushwake_row_fn on_row, void *context);

/* What a console shows. */
enum pushwake_report_kind {
    PUSHWAKE_REPORT_STATS    = 0, /* the engine's counters */
    PUSHWAKE_REPORT_BINDINGS = 1, /* words as for PUSHWAKE_QUERY_FIND: a table of at most 100 characters a line */
    PUSHWAKE_REPORT_DETAILS  = 2, /* the same: all that is known of each */
    PUSHWAKE_REPORT_TRACE    = 3  /* a Call-ID, an AoR or nothing: what happened to the newest requests */
};

typedef void (*pushwake_line_fn)(void *context, pushwake_str line);

/* Asks the engine and gives its answer line by line, as the program pushwake prints it; returns the number of rows that
 * it is made of. */
int pushwake_report(pushwake_client *client, int kind, const pushwake_str *words, size_t count,
                    pushwake_line_fn on_line, void *context);

/* ---- Supervisor: runs the engine and brings its events --------------------- */

enum pushwake_outcome {
    PUSHWAKE_ACCEPTED      = 0, /* the provider took it */
    PUSHWAKE_TOKEN_GONE    = 1, /* the token is dead; the binding is removed */
    PUSHWAKE_REJECTED      = 2, /* permanent; the reason says why */
    PUSHWAKE_THROTTLED     = 3, /* the provider asks for less; the deadline came first */
    PUSHWAKE_UNAVAILABLE   = 4, /* the provider could not be reached or was out of order */
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
    pushwake_str reason;  /* the provider's own word, such as BadDeviceToken */
} pushwake_result;

typedef struct pushwake_supervisor_config {
    size_t size;
    void (*on_result)(void *context, const pushwake_result *result);
    void (*on_log)(void *context, int level, pushwake_str message);
    void *context; /* passed back untouched */
    void (*on_verb)(void *context, const pushwake_verb *verb);
    /* An engine answers that knows nothing of the requests held here: resume them. */
    void (*on_engine)(void *context);
    /* The gateway has something to do here; NULL for a host that sends no REGISTERs. */
    void (*on_upstream)(void *context, const pushwake_upstream *action);
} pushwake_supervisor_config;
#define PUSHWAKE_SUPERVISOR_CONFIG_INIT { sizeof(pushwake_supervisor_config), NULL, NULL, NULL, NULL, NULL, NULL }

/* Starts the engine (engine_mode=supervised) or finds it (external), and follows
 * its events. An engine that dies is started again, within a second at first. */
typedef struct pushwake_supervisor pushwake_supervisor;
int pushwake_supervisor_new(pushwake_supervisor **out, pushwake_settings *settings,
                            const pushwake_supervisor_config *config);

/* The one descriptor to poll for reading, and the milliseconds after which
 * pushwake_supervisor_process() must run even if it stays quiet (-1: no limit). */
int pushwake_supervisor_fd(pushwake_supervisor *supervisor);
int pushwake_supervisor_timeout_ms(pushwake_supervisor *supervisor);

/* Does what can be done without waiting. Callbacks run in here. */
int pushwake_supervisor_process(pushwake_supervisor *supervisor);

/* Process id of the engine this supervisor started, or 0. */
int pushwake_supervisor_engine_pid(pushwake_supervisor *supervisor);

/* Ends the engine: asks, waits at most two seconds, then kills it. */
void pushwake_supervisor_free(pushwake_supervisor *supervisor);

/* ---- Engine: the process that owns bindings, queue and provider connections --- */

/* Runs the engine in this process until SIGTERM. For a process of its own, such as
 * the program pushwake, and never for that of a PBX: it loads what reads keys and
 * speaks to providers, takes signals, and starts threads. supervised 1: more settings
 * come over standard input, up to an empty line; the engine ends with that input.
 * PUSHWAKE_ERR_CONFIG: it could not start, and has written the reason to standard
 * error. */
int pushwake_engine_run(pushwake_settings *settings, int supervised);

#ifdef __cplusplus
}
#endif

#endif /* PUSHWAKE_H */
