/* SPDX-License-Identifier: MIT
 *
 * Contacts that other nodes replicate (dmq_usrloc), where no store is shared: each is read
 * like a REGISTER, so that its phone can be pushed from here, and joins requests that are
 * held here. What a phone says of push in its Contact comes along; other headers do not.
 * In the same way the engine hears of REGISTERs that came to this node while it was away.
 */
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "core/globals.h"
#include "core/mem/mem.h"
#include "core/mem/shm_mem.h"
#include "core/sr_module.h"
#include "pushwake_functions.h"

/* The supervisor has more to do. */
#define PW_REPLICATED_AT_ONCE 32

/* Under usrloc's lock: nothing is asked, and nobody waited for. */
static void on_contact(ucontact_t *contact, int type, void *param)
{
	if(contact->server_id != server_id) {
		pw_pending_add(contact);
	}
}

int pw_replicated_init(pushwake_settings *settings)
{
	pushwake_str store = pushwake_settings_text(settings, pw_text("store"));

	if(server_id == 0 && module_loaded("dmq_usrloc")) {
		LM_WARN("dmq_usrloc brings contacts of other nodes, and server_id is not set: they count as this node's, and their phones are not woken "
				"from here; write server_id=1, and another number on each node\n");
	}
	if(pw_pending_init() < 0) {
		return -1;
	}
	/* what other nodes store is known here already */
	if(memchr(store.ptr, ':', store.len) != NULL) {
		return 0;
	}
	return pw.usrloc.register_ulcb(UL_CONTACT_INSERT | UL_CONTACT_UPDATE, on_contact, NULL) < 0 ? -1 : 0;
}

/* The Contact as its phone sent it, to be freed. 0 or -1. */
static int print_contact(str *out, const pw_contact_t *c, int expires)
{
	int size = c->uri.len + c->instance.len + 96;
	char flow[24] = "";

	out->s = pw_alloc(size);
	if(out->s == NULL) {
		return -1;
	}
	if(c->reg_id > 0) {
		snprintf(flow, sizeof(flow), ";reg-id=%d", c->reg_id);
	}
	out->len = snprintf(out->s, size, "<%.*s>%s%.*s%s%s;expires=%d", c->uri.len, c->uri.s,
			c->instance.len > 0 ? ";+sip.instance=\"" : "", c->instance.len, c->instance.s,
			c->instance.len > 0 ? "\"" : "", flow, expires);
	return 0;
}

/* 0, or the status of an engine that is away. */
static int learn(pw_contacts_t *contacts, str *table, str *aor)
{
	pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
	pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
	pw_contact_t *c = &contacts->v[0];
	pushwake_contact *asked = pw_contacts_describe(contacts);
	pushwake_header header = {pw_text("Contact"), {NULL, 0}};
	str value;
	int status = PUSHWAKE_OK;

	request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
	/* 0 would take it away */
	request.granted_expires = c->expires == 0 ? 0x7fffffff : MAX((int32_t)(c->expires - time(NULL)), 1);
	if(asked != NULL && print_contact(&value, c, (int)request.granted_expires) == 0) {
		header.value = pw_in(&value);
		request.aor = pw_in(aor);
		request.call_id = pw_in(&c->callid);
		request.cseq = (uint32_t)c->cseq;
		request.headers = &header;
		request.header_count = 1;
		request.domain = pw_in(table);
		request.contacts = asked;
		request.contact_count = 1;
		status = pushwake_register_run(&result, pw_client, &request);
		if(status == PUSHWAKE_OK) {
			pw_contacts_forget(table, aor, &request, &result);
			pw_execute_all(&result, contacts);
		}
		free(value.s);
	}
	free(asked);
	return status;
}

/* What a phone of this node says of push elsewhere than in its Contact is lost: as a REGISTER the Contact would say that it
 * wants none. */
static int says_push(const pw_contact_t *c)
{
	char rest[2048];

	return pushwake_contact_strip(rest, sizeof(rest), pw_in(&c->uri)) < (size_t)c->uri.len;
}

/* Keeps the one that the entry is about. */
static void keep(pw_contacts_t *contacts, const pw_pending_t *entry)
{
	pw_contact_t *c = pw_contact_find(contacts, &entry->ruid);

	if(c != NULL && entry->is_own && !says_push(c)) {
		c = NULL;
	}
	if(c != NULL) {
		contacts->v[0] = *c;
	}
	contacts->n = c != NULL;
}

void pw_replicated_take(void)
{
	pw_pending_t *entry;
	pw_contacts_t contacts;
	int i, status;

	for(i = 0; i < PW_REPLICATED_AT_ONCE && (entry = pw_pending_take()) != NULL; i++) {
		status = pw_contacts_get(&contacts, entry->table, &entry->aor);
		if(status == 0) {
			keep(&contacts, entry);
			status = contacts.n > 0 ? learn(&contacts, entry->table, &entry->aor) : PUSHWAKE_OK;
			pw_contacts_free(&contacts);
		}
		if(status == PUSHWAKE_ERR_UNAVAILABLE || status == PUSHWAKE_ERR_TIMEOUT) {
			pw_pending_put_back(entry);
			return;
		}
		shm_free(entry);
	}
	if(pw_pending_any() || pw_pending_search()) {
		pw_supervisor_wake();
	}
}
