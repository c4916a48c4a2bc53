/* SPDX-License-Identifier: MIT */
#ifndef PUSHWAKE_CONTACT_H
#define PUSHWAKE_CONTACT_H

#include "core/dset.h"
#include "pushwake_mod.h"

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
	int tcpconn_id;
	struct socket_info *sock;
	time_t expires; /* 0: never */
	time_t modified;
} pw_contact_t;

typedef struct pw_contacts {
	pw_contact_t *v;
	int n;
} pw_contacts_t;

/* The registrar's key of a SIP URI; *aor points to static memory. 0 or -1. */
int pw_aor(str *aor, str *uri);

/* Copies the unexpired contacts of an AoR, in the order of usrloc. 0 or -1. */
int pw_contacts_get(pw_contacts_t *out, str *table, str *aor);
void pw_contacts_free(pw_contacts_t *list);

/* Keeps only what this REGISTER inserted or updated (Call-ID and CSeq). */
void pw_contacts_keep(pw_contacts_t *list, str *callid, int cseq);

/* 1: a connection to it is open. */
int pw_contact_reachable(const pw_contact_t *c);

/* Adds it to the destination set as lookup() would. 0 or -1. */
int pw_contact_append(sip_msg_t *msg, pw_contact_t *c);

/* Removes contacts from usrloc by URI: one per line. Returns how many. */
int pw_contacts_forget(str *table, str *aor, const pushwake_str *uris);

#endif /* PUSHWAKE_CONTACT_H */
