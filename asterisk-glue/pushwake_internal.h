/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What the parts of res_pushwake share.
 *
 * A client of libpushwake belongs to one thread at a time, so it is lent out from
 * a pool; a call that waits is an ao2 object that lives as long as the channels
 * which carry it.
 */
#ifndef PUSHWAKE_INTERNAL_H
#define PUSHWAKE_INTERNAL_H

#include <pushwake.h>

#include "asterisk/strings.h"
#include "asterisk/vector.h"

struct ast_channel;
struct ast_sip_contact;
struct ast_str;
struct ao2_container;

/*! A pushwake_str of a C string; empty for NULL. */
static inline pushwake_str pushwake__str(const char *text)
{
	pushwake_str str = { text, text ? strlen(text) : 0 };

	return str;
}

/*! Arguments for a "%.*s" that prints a pushwake_str. */
#define PUSHWAKE__PRINT(str) (int) MIN((str).len, 4096), (str).ptr ? (str).ptr : ""

/*! Copies a pushwake_str to a C string, cut to fit. */
void pushwake__copy(char *buf, size_t size, pushwake_str str);

/* ---- pushwake_config.c */

/*! Reads pushwake.conf. NULL when it has errors, which are then in the log. */
pushwake_settings *pushwake__config_read(void);

/*! Whether two sets hold the same values. */
int pushwake__config_equal(pushwake_settings *one, pushwake_settings *other);

/* ---- pushwake_clients.c */

/*! A client on loan. */
struct pushwake__client;

/*! Starts lending clients with these settings; takes the settings over. */
void pushwake__clients_start(pushwake_settings *settings);

/*! The settings in use; valid until the next start or stop, so for load and reload only. */
pushwake_settings *pushwake__clients_settings(void);

/*! The number of one setting. */
int64_t pushwake__clients_integer(const char *name);

/*! Frees the idle clients and the settings; those on loan go when they come back. */
void pushwake__clients_stop(void);

struct pushwake__client *pushwake__client_take(void);
void pushwake__client_give(struct pushwake__client *lease);
pushwake_client *pushwake__client_of(struct pushwake__client *lease);

/* ---- pushwake_contact.c */

/*! One contact of an AoR, as the dialplan can dial it. */
struct pushwake__contact {
	/*! URI as Asterisk keeps it: without push parameters. */
	char *uri;
	/*! Endpoint that registered it. */
	char *endpoint;
	/*! The connection that it came over is open. */
	int reachable;
	/*! Seconds since its last REGISTER, -1 when unknown. */
	int registered_ago;
};
AST_VECTOR(pushwake__contacts, struct pushwake__contact);

/*! Fills in the contacts of an AoR; none when there is no such AoR. */
void pushwake__contacts_get(struct pushwake__contacts *contacts, const char *aor);
void pushwake__contacts_free(struct pushwake__contacts *contacts);

/*! Removes the push parameters from a URI in text form, in place. */
void pushwake__uri_strip(char *uri);

/*! Whether a URI parameter carries a push token or belongs to one. */
int pushwake__is_push_parameter(const char *name, size_t len);

/*! Appends one contact to a dial string, with everything escaped that Dial() would split at. */
void pushwake__dial_append(struct ast_str **dial, const struct pushwake__contact *contact);

/*! Removes the contact with this URI from the registrar. */
void pushwake__contact_forget(const char *aor, const char *uri);

/*! Notes that a contact has just registered. */
void pushwake__contact_seen(const char *aor, const char *uri);

int pushwake__contacts_start(void);
void pushwake__contacts_stop(void);

/* ---- pushwake_call.c */

AST_VECTOR(pushwake__uris, char *);

/*! A request for one AoR for which phones are being woken. */
struct pushwake__call {
	/*! Bit by bit readable when a phone has registered. */
	int alert;
	/*! Channels that carry this call. */
	int carriers;
	/*! A channel is polling `wait` now. */
	unsigned int polled:1;
	/*! The engine has been told how it ended. */
	unsigned int ended:1;
	/*! The wait ended because nobody woke in time. */
	unsigned int timed_out:1;
	int event;
	/*! Phones that were pushed, and contacts that have come since. */
	int pushed;
	int woken;
	struct timeval began;
	/*! When the engine stops waiting; zero before the first wake. */
	struct timeval deadline;
	/*! NULL before the first wake, and after the wait is over. */
	pushwake_wait *wait;
	/*! Contacts already handed to the dialplan. */
	struct pushwake__uris rung;
	/*! Contacts that registered since, oldest first. */
	struct pushwake__uris joined;
	char *aor;
	char *call_id;
	/*! Unique id of the channel that began it. */
	char *origin;
};

/*! The call that this channel carries for the AoR, or a new one; a reference. */
struct pushwake__call *pushwake__call_get(struct ast_channel *chan, const char *aor);

/*! A MESSAGE for the AoR; a reference, which finish takes back. */
struct pushwake__call *pushwake__call_begin_message(struct ast_channel *chan, const char *aor);
void pushwake__call_finish_message(struct pushwake__call *call);

/*! Whether the channel began the call, rather than inherited it. */
int pushwake__call_is_origin(struct pushwake__call *call, struct ast_channel *chan);

/*! The descriptor of the wait, for the caller alone to poll until it releases it; or -1. */
int pushwake__call_claim_wait(struct pushwake__call *call);

/*! Ends the claim; frees the wait when it is over or the call has ended. */
void pushwake__call_release_wait(struct pushwake__call *call, int is_over);

/*! Frees the wait unless another leg polls it. */
void pushwake__call_drop_wait(struct pushwake__call *call);

/*! Marks a contact as handed to the dialplan; 0 when it already was. */
int pushwake__call_ring(struct pushwake__call *call, const char *uri);

/*! The next contact that joined and has not been rung yet, to be freed; or NULL. */
char *pushwake__call_joined(struct pushwake__call *call);

/*! A contact has registered since the call began. */
void pushwake__call_join(struct pushwake__call *call, const char *uri);

/*! Tells the engine how the call ended, once, and lets go of the wait. */
void pushwake__call_end(struct pushwake__call *call, int how);

/*! A phone of this AoR has registered: who waits for it goes on. */
void pushwake__calls_registered(const char *aor, const char *uri);

/*! The channel that began a call has been connected: the call is over for other phones. */
void pushwake__calls_answered(const char *origin);

int pushwake__calls_start(void);
void pushwake__calls_stop(void);

/* ---- pushwake_supervisor.c */

int pushwake__supervisor_start(void);
void pushwake__supervisor_stop(void);

/*! Process id of the engine that this module started, or 0. */
int pushwake__supervisor_engine_pid(void);

/* ---- The faces to the SIP stack, the dialplan, the console and the rest */

int pushwake__register_start(void);
void pushwake__register_stop(void);
int pushwake__answer_start(void);
void pushwake__answer_stop(void);
int pushwake__app_start(void);
void pushwake__app_stop(void);
int pushwake__function_start(void);
void pushwake__function_stop(void);
int pushwake__devstate_start(void);
void pushwake__devstate_stop(void);
int pushwake__cli_start(void);
void pushwake__cli_stop(void);
int pushwake__manager_start(void);
void pushwake__manager_stop(void);

/*! What push knows of an AoR may have changed. */
void pushwake__devstate_changed(const char *aor);

/*! Sends the AMI event PushWakeResult. */
void pushwake__manager_result(const pushwake_result *result);

/*! Reads pushwake.conf again and uses it; keeps the old settings when it has errors. */
int pushwake__reload(void);

#endif /* PUSHWAKE_INTERNAL_H */
