/* SPDX-License-Identifier: MIT
 *
 * Contacts that a phone has left are taken out of usrloc.
 */
#include <string.h>

#include "pushwake_contact.h"

/* A phone with several flows (RFC 5626) has a contact for each; the registrar itself
 * replaces the one whose reg-id comes again. */
static int is_one_of_several_flows(const urecord_t *record, const ucontact_t *flow)
{
	const ucontact_t *c;

	if(flow->reg_id <= 0 || flow->instance.len <= 0) {
		return 0;
	}
	for(c = record->contacts; c != NULL; c = c->next) {
		if(c->reg_id > 0 && c->reg_id != flow->reg_id && STR_EQ(c->instance, flow->instance)) {
			return 1;
		}
	}
	return 0;
}

static int is_same(const str *a, pushwake_str b)
{
	return (size_t)a->len == b.len && memcmp(a->s, b.ptr, b.len) == 0;
}

/* Whether the REGISTER in hand has not brought it, and the phone has no other flow. Before it is saved
 * nobody knows which flow it brings, and the registrar replaces that one itself. */
static int is_left(const urecord_t *record, const ucontact_t *c, const pushwake_register_request *brought, int is_saved)
{
	if(!is_saved) {
		return c->reg_id <= 0;
	}
	return !((uint32_t)c->cseq == brought->cseq && is_same(&c->callid, brought->call_id))
		   && !is_one_of_several_flows(record, c);
}

static int forget_one(urecord_t *record, pushwake_str uri, const pushwake_register_request *brought, int is_saved)
{
	ucontact_t *c, *next;
	int n = 0;

	for(c = record->contacts; c != NULL; c = next) {
		next = c->next;
		if(is_same(&c->c, uri) && is_left(record, c, brought, is_saved)) {
			pw.usrloc.delete_ucontact(record, c);
			n++;
		}
	}
	return n;
}

int pw_contacts_forget(str *table, str *aor, const pushwake_register_request *brought,
		const pushwake_register_result *left, int is_saved)
{
	udomain_t *domain;
	urecord_t *record;
	size_t i;
	int n = 0;

	if(left->stale_count == 0 || pw.usrloc.get_udomain(table->s, &domain) < 0) {
		return 0;
	}
	pw.usrloc.lock_udomain(domain, aor);
	if(pw.usrloc.get_urecord(domain, aor, &record) == 0) {
		for(i = 0; i < left->stale_count; i++) {
			n += forget_one(record, left->stale_list[i], brought, is_saved);
		}
		pw.usrloc.release_urecord(record);
	}
	pw.usrloc.unlock_udomain(domain, aor);
	return n;
}
