/* SPDX-License-Identifier: MIT
 *
 * Contacts that a phone has left are taken out of usrloc.
 */
#include <string.h>

#include "pushwake_contact.h"

static int is_same(const str *a, pushwake_str b)
{
	return (size_t)a->len == b.len && memcmp(a->s, b.ptr, b.len) == 0;
}

/* The REGISTER in hand has brought it. */
static int is_brought(const ucontact_t *c, const pushwake_register_request *brought)
{
	return (uint32_t)c->cseq == brought->cseq && is_same(&c->callid, brought->call_id);
}

static int forget_one(urecord_t *record, pushwake_str uri, const pushwake_register_request *brought)
{
	ucontact_t *c, *next;
	int n = 0;

	for(c = record->contacts; c != NULL; c = next) {
		next = c->next;
		if(is_same(&c->c, uri) && !is_brought(c, brought)) {
			pw.usrloc.delete_ucontact(record, c);
			n++;
		}
	}
	return n;
}

int pw_contacts_forget(str *table, str *aor, const pushwake_register_request *brought,
		const pushwake_register_result *left)
{
	udomain_t *domain;
	urecord_t *record;
	size_t i;
	int n = 0;

	if(left->left_contact_count == 0 || pw.usrloc.get_udomain(table->s, &domain) < 0) {
		return 0;
	}
	pw.usrloc.lock_udomain(domain, aor);
	if(pw.usrloc.get_urecord(domain, aor, &record) == 0) {
		for(i = 0; i < left->left_contact_count; i++) {
			n += forget_one(record, left->left_contacts[i], brought);
		}
		pw.usrloc.release_urecord(record);
	}
	pw.usrloc.unlock_udomain(domain, aor);
	return n;
}
