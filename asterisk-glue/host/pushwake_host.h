/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What Asterisk and the library give us.
 *
 * The module stands in five layers. A layer uses those below it alone, and the
 * Makefile shows a file no other headers:
 *
 *   module/     what Asterisk loads: start and stop, console, AMI, the engine's supervisor
 *   functions/  PushWake() and PUSHWAKE() of the dialplan, and what PJSIP's REGISTERs bring
 *   legs/       waiting legs: what plain Dial() dials
 *   calls/      what PushWake() has begun to wake, other nodes, hints
 *   host/       settings, the client, contacts, who calls
 */
#ifndef PUSHWAKE_HOST_H
#define PUSHWAKE_HOST_H

#include <pjlib.h>
#include <pushwake.h>

#include "asterisk/strings.h"
#include "asterisk/vector.h"

struct ast_channel;
struct ast_sip_contact;
struct ast_str;
struct ao2_container;
struct pjsip_rx_data;
struct pjsip_tx_data;
struct pjsip_sip_uri;
struct ast_sip_endpoint;

/*! A pushwake_str of a C string; empty for NULL. */
static inline pushwake_str pushwake__str(const char *text)
{
	pushwake_str str = { text, text ? strlen(text) : 0 };

	return str;
}

/*! Arguments for a "%.*s" that prints a pushwake_str. */
#define PUSHWAKE__PRINT(str) (int) MIN((str).len, 4096), (str).ptr ? (str).ptr : ""

/*! A copy as a C string, to be freed. */
char *pushwake__dup(pushwake_str str);

/*! Copies a pushwake_str to a C string, cut to fit. */
void pushwake__copy(char *buf, size_t size, pushwake_str str);

/* ---- pushwake_config.c */

/*! Reads pushwake.conf. NULL when it has errors, which are then in the log. */
pushwake_settings *pushwake__config_read(void);

/*! Tries what was read while an engine works with earlier settings. Not 0 when it would not do, which is then in the log. */
int pushwake__config_try(pushwake_settings *settings, pushwake_settings *earlier);

/* ---- pushwake_client.c */

/*! The client of all threads. NULL while push is off, which the library takes for a client that refuses everything. */
pushwake_client *pushwake__client(void);

/*! Uses these settings from now on, and takes them over; NULL: push is off. Not 0 when memory is short. */
int pushwake__settings_use(pushwake_settings *settings);

/*! The settings in use, NULL when push is off; for load and reload only. */
pushwake_settings *pushwake__settings(void);
void pushwake__settings_stop(void);

/*! Milliseconds after which a phone that is awake and says nothing counts as silent; -1: never. */
int pushwake__silent_after(void);

/*! The engine did not answer for this AoR. Says so as often as the library lets it. */
void pushwake__engine_away(const char *what, const char *aor, int status);

/*! Writes what is wrong after a call of the client failed; the status. */
int pushwake__error(int status, char *error, size_t size);

/*! A field of a row as text. */
const char *pushwake__field_text(const pushwake_field *field, char *buf, size_t size);

/*! Of a container whose objects begin with the handle that the engine or the library has for them. */
int pushwake__handle_hash(const void *obj, int flags);
int pushwake__handle_cmp(void *obj, void *arg, int flags);

/* ---- pushwake_endpoint.c */

/*! Of our device states: PushWake:aor. */
#define PUSHWAKE__DEVICE "PushWake"

/*! What push knows of an AoR may have changed. */
void pushwake__devstate_changed(const char *aor);

/*! Whether pjsip.conf has this AoR. */
int pushwake__is_aor(const char *name);

/*! Whether there is an endpoint of this name, and it has this AoR. */
int pushwake__endpoint_has(const char *name, const char *aor);

/*! The endpoint whose phones register under this AoR, a reference: most have its name. NULL when there is none. */
struct ast_sip_endpoint *pushwake__endpoint_of(const char *aor);

/* ---- pushwake_contact.c */

/*! One contact of an AoR, as the dialplan can dial it. */
struct pushwake__contact {
	/*! URI as Asterisk keeps it: without push parameters. */
	char *uri;
	/*! Endpoint that registered it. */
	char *endpoint;
	/*! Where its REGISTER came from, as far as the registrar remembers. */
	char *flow;
	/*! Call-ID of its REGISTER. */
	char *registration;
	/*! enum pushwake_reach */
	int reach;
	/*! A proxy stands before the phone. */
	int behind_proxy;
};
AST_VECTOR(pushwake__contacts, struct pushwake__contact);

/*! Whether this is the contact of an AoR that has no other, which leads to this module. */
int pushwake__companion_is(const char *uri);

/*! Fills in the contacts of an AoR; none when there is no such AoR. */
void pushwake__contacts_get(struct pushwake__contacts *contacts, const char *aor);
void pushwake__contacts_free(struct pushwake__contacts *contacts);

/*! The one with this URI, or NULL. */
struct pushwake__contact *pushwake__contact_find(struct pushwake__contacts *contacts, const char *uri);

/*! Not 0 when memory is short; the copy is empty then. */
int pushwake__contact_copy(struct pushwake__contact *to, const struct pushwake__contact *from);
void pushwake__contact_free(struct pushwake__contact contact);

/*! The contact as the library wants it; borrows. */
void pushwake__contact_describe(pushwake_contact *out, const struct pushwake__contact *contact);

/*! The same of all, or of the one with this URI: an array to be freed; NULL when memory is short. */
pushwake_contact *pushwake__contacts_describe(size_t *count, struct pushwake__contacts *contacts, const char *uri);

/*! Longest URI in text form, push parameters included. */
#define PUSHWAKE__MAX_URI 8192

/*! The contact of the registrar with this URI, a reference; or NULL. */
struct ast_sip_contact *pushwake__contact_named(const char *aor, const char *uri);

/*! The endpoint that a contact is called by, a reference; or NULL. */
struct ast_sip_endpoint *pushwake__contact_endpoint(const struct ast_sip_contact *contact);

/*! Removes the contact with this URI from the registrar. */
void pushwake__contact_forget(const char *aor, const char *uri);

/*!
 * Before the registrar sees this Contact: removes those of this AoR that it would take for the same, although their text
 * is another. It would keep that text: parameters that the phone has no more, a token from a time without this module,
 * and the engine and the dialplan would look for the new one in vain. One whose text is the same gets the Call-ID and the Via
 * of this REGISTER: the registrar would keep those of the first, and an app that has started anew would seem to go on.
 *
 * Returns how many contacts the AoR still takes, none or less when it is full; INT_MAX for one that takes no new place.
 */
int pushwake__contact_make_room(const char *aor, const char *text, struct pjsip_rx_data *rdata);

/*! Whether a contact is what this Request-URI names; the pool is for the comparison. */
int pushwake__uri_matches(pj_pool_t *pool, const struct pjsip_sip_uri *target, const char *contact);

/*! The phone's contact that a request goes to, one of its endpoint's with a SIP URI; a reference, or NULL. */
struct ast_sip_contact *pushwake__contact_of_request(const struct ast_sip_endpoint *endpoint, struct pjsip_tx_data *tdata);

/* ---- pushwake_dial.c */

/*! Appends one contact to a dial string, with everything escaped that Dial() would split at. */
void pushwake__dial_append(struct ast_str **dial, const struct pushwake__contact *contact);

/*! Bytes of a variable that a dialplan can read: Asterisk cuts what is longer, in the middle of a contact. */
#define PUSHWAKE__MAX_VARIABLE 4095

/*! The same if the whole string has room then; 0: it was left out. */
int pushwake__dial_fit(struct ast_str **dial, size_t room, const struct pushwake__contact *contact);

#endif /* PUSHWAKE_HOST_H */
