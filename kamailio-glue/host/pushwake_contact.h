/* SPDX-License-Identifier: MIT */
#ifndef PUSHWAKE_CONTACT_H
#define PUSHWAKE_CONTACT_H

#include "core/dset.h"
#include "pushwake_host.h"

/* "sip:" address ":" port ";transport=..." */
#define PW_FLOW_SIZE 96

/* A copy of one usrloc contact: no usrloc lock may be held while the engine or tm
 * is asked. All strings point into the list they came with. */
typedef struct pw_contact {
	str uri;
	str ruid;
	str instance;
	str received;
	str path;
	str user_agent;
	str callid;
	int cseq;
	int q;
	unsigned int cflags;
	unsigned int reg_id;
	unsigned int methods;
	int tcpconn_id;
	struct socket_info *sock;
	time_t expires; /* 0: never */
	char flow[PW_FLOW_SIZE];  /* address and transport that it registered from; empty: not known */
	time_t modified;
} pw_contact_t;

typedef struct pw_contacts {
	pw_contact_t *v;
	int n;
	int refusing; /* behind those: of phones that take no such request */
} pw_contacts_t;

/* The longest key of the registrar's that is read. */
#define PW_AOR_SIZE 512

/* The registrar's key of a SIP URI; *aor points to static memory. 0 or -1. */
int pw_aor(str *aor, str *uri);

/* The same of a URI that is parsed; NULL is none. */
int pw_aor_of(str *aor, sip_uri_t *uri);

/* The registrar's key that is meant by an AOR as somebody types it; *aor points to static memory. 0 or -1. */
int pw_aor_typed(str *aor, const pushwake_str *typed);

/* Whether a contact that has expired, and that usrloc still has, counts (use_expired_contacts). */
int pw_expired_counts(void);

/* Copies the contacts of an AoR that the registrar's lookup takes, in the order of usrloc. 0 or -1. */
int pw_contacts_get(pw_contacts_t *out, str *table, str *aor);
void pw_contacts_free(pw_contacts_t *list);

/* Keeps only what this REGISTER inserted or updated (Call-ID and CSeq). */
void pw_contacts_keep(pw_contacts_t *list, str *callid, int cseq);

/* Keeps only what takes this method, where the registrar's method_filtering asks; the others stand behind those. */
void pw_contacts_keep_method(pw_contacts_t *list, unsigned int method);

/* Whether the phone takes this method, where the registrar's method_filtering asks. */
int pw_contact_takes(const pw_contact_t *c, unsigned int method);

/* Whether its connection is open; then `out`, where not NULL, has its far end. */
int pw_contact_connection(const pw_contact_t *c, struct receive_info *out);

/* Its URI names no transport, or UDP, and its host; nothing says that it registered over a connection, which is open. */
int pw_contact_hides_connection(const pw_contact_t *c);

/* Where a request to it has to go other than its URI says: what the registrar has as
 * received, the next proxy of its Path, or the far end of its connection, which is
 * written to `flow`. Empty: the URI. */
str pw_contact_target(pw_contact_t *c, char flow[PW_FLOW_SIZE]);

/* The address and transport that a request came from. */
void pw_flow_print(char flow[PW_FLOW_SIZE], struct receive_info *from);

/* What the engine wants to know of each: to be freed. NULL: no memory. */
pushwake_contact *pw_contacts_describe(pw_contacts_t *list);

/* Adds it to the destination set as lookup() would; with a uri that one is what the
 * phone is asked for. 0 or -1. */
int pw_contact_append(sip_msg_t *msg, pw_contact_t *c, str *uri);

/* pushwake_branch.c. What lookup() does with the first contact: the branch becomes the Request-URI. 0 or -1. */
int pw_branch_to_ruri(sip_msg_t *msg, branch_t *b);

/* The ruid of its contact. 0: it is none of usrloc's. */
int pw_branch_ruid(const branch_t *b, str *ruid);

/* What is sent to the contact with this ruid goes to `target`, where the Request-URI or its branch says nothing else. */
void pw_branches_send_to(sip_msg_t *msg, const str *ruid, str *target);

/* What the core keeps of the Request-URI in hand outside of its message: whether a relay sends there, and its branch flags.
 * clear_branches() forgets it, and is called for branches of other requests as well. */
typedef struct pw_ruri_state {
	int is_new;
	flag_t flags;
} pw_ruri_state_t;

pw_ruri_state_t pw_ruri_keep(void);
void pw_ruri_put_back(const pw_ruri_state_t *kept);

/* Whether it is sent to an address, and DNS not asked. */
int pw_contact_is_address(pw_contact_t *c);

/* Asks DNS where that is not so; the core remembers what it says. -1: nothing can be sent there. Before the reply lock is
 * taken, for which the workers wait that have answers of other phones. */
int pw_contact_resolve(pw_contact_t *c);

/* The one with this ruid, or NULL. */
pw_contact_t *pw_contact_find(pw_contacts_t *list, const str *ruid);

/* That of a phone that registered at another node: the registrar here may know nothing of it. NULL: the verb does not say
 * where it is. Texts are good until the next call. */
pw_contact_t *pw_contact_elsewhere(pw_contact_t *out, const pushwake_verb *verb);

/* Removes the contacts from usrloc that a phone has left, but none that the same REGISTER has brought: of a replicated one
 * the engine hears Contact by Contact. How many went. */
int pw_contacts_forget(str *table, str *aor, const pushwake_register_request *brought,
		const pushwake_register_result *left);

/* Another number when the phone has registered from elsewhere, or its app was started anew: the engine has another leg for
 * it then. */
unsigned int pw_place_of(const pw_contact_t *contact);

/* The same number as long as its app runs: by the Call-ID of its REGISTERs (RFC 3261, 10.2). */
unsigned int pw_run_of(const pw_contact_t *contact);

#endif /* PUSHWAKE_CONTACT_H */
