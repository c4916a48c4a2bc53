/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Copy of a REGISTER, from the request to its response.
 */
#ifndef PUSHWAKE_REQUEST_H
#define PUSHWAKE_REQUEST_H

#include <pjsip.h>
#include <pushwake.h>

#include "pushwake_host.h"

struct ast_sip_endpoint;

/*! More headers and contacts than these in one REGISTER are not looked at; the library reads no more contacts. */
#define PUSHWAKE__MAX_HEADERS 128
#define PUSHWAKE__MAX_CONTACTS 32

/*! One Contact as the registrar gets it, and as the phone wrote it. */
struct pushwake__stripped {
	/*! URI without its push parameters. */
	char *uri;
	/*! The URI with them. */
	char *whole;
	/*! Seconds the registrar granted, -1 before it answered. */
	int granted;
};

struct pushwake__request {
	/*! 0: this thread has no REGISTER in hand. */
	int is_filled;
	/*! It came over TCP, TLS or a WebSocket. */
	int is_stream;
	char aor[256];
	char call_id[256];
	/*! As the library wants it; it points into the rest, and into the pool of the REGISTER. */
	pushwake_register_request message;
	size_t contact_count;
	pushwake_header headers[PUSHWAKE__MAX_HEADERS];
	struct pushwake__stripped contacts[PUSHWAKE__MAX_CONTACTS];
};

/*! Empties it. */
void pushwake__request_reset(struct pushwake__request *request);

/*! Copies the headers; not 0 when the REGISTER cannot be handled. */
int pushwake__request_read(struct pushwake__request *request, struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata);

/*! Takes the push parameters out of the Contacts before the registrar sees them. */
void pushwake__request_strip(struct pushwake__request *request, pjsip_rx_data *rdata);

/*! Whether this response answers the request. */
int pushwake__request_matches(const struct pushwake__request *request, pjsip_tx_data *tdata);

/*! Gives the Contacts of the 200 their parameters back, and learns what was granted. */
void pushwake__request_restore(struct pushwake__request *request, pjsip_tx_data *tdata);

/*! Whether the REGISTER names this contact. */
int pushwake__request_names(const struct pushwake__request *request, const char *uri);

/*! Takes a contact out of the 200. */
void pushwake__request_drop_contact(pjsip_tx_data *tdata, const char *uri);

/*! Seconds that the registrar granted this contact; -1 for one that the REGISTER does not name. */
int pushwake__request_granted(const struct pushwake__request *request, const char *uri);

/* ---- pushwake_aor.c */

/*! The AoR of this endpoint that a REGISTER is for, empty when the registrar will find none. */
void pushwake__register_aor(char *aor, size_t size, const struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata);

/* ---- pushwake_unwatched.c */

/*! Says once per endpoint that phones over TCP count as asleep, where the saved contacts of a REGISTER show it. */
void pushwake__unwatched_check(const struct pushwake__request *request, struct pushwake__contacts *contacts);

int pushwake__unwatched_start(void);
void pushwake__unwatched_stop(void);

/* ---- pushwake_register.c */

int pushwake__register_start(void);
void pushwake__register_stop(void);

#endif /* PUSHWAKE_REQUEST_H */
