/* SPDX-License-Identifier: MIT
 *
 * A contact that somebody removes at the registrar (ul.rm, ul.rm_contact) is pushed no
 * more (RFC 8599, 5.5). What phones, time and other nodes remove is none of this: a
 * binding outlives its registration.
 */
#include <string.h>

#include "core/pt.h"
#include "pushwake_functions.h"

/* Whether this process answers RPC, and does nothing else. Its rank does not say so: PROC_RPC are also DMQ's workers, those
 * that go on with suspended requests, and the supervisor. What SIP workers are asked over HTTP cannot be told from SIP. */
static int is_by_hand(void)
{
	static const char *names[] = {"ctl handler", "JSONRPCS "};
	size_t i;

	for(i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if(strncmp(my_desc(), names[i], strlen(names[i])) == 0) {
			return 1;
		}
	}
	return 0;
}

/* Under usrloc's lock. */
static void on_delete(ucontact_t *contact, int type, void *param)
{
	int status;

	/* without an address it would stand for all that the user has */
	if(contact->c.len <= 0 || !is_by_hand()) {
		return;
	}
	status = pushwake_contact_removed(pw_client, pw_in(contact->aor), pw_in(&contact->c));
	if(status < 0) {
		/* without the contact: it has the token */
		LM_WARN("a contact of %.*s was removed, and its push binding stays: %s; see pushwake.remove\n", STR_FMT(contact->aor),
				pushwake_status_name(status));
	}
}

int ki_pushwake_remove(sip_msg_t *msg, str *uri)
{
	int status;
	str aor;

	if(pw_aor(&aor, uri) < 0) {
		LM_ERR("pushwake_remove: <%.*s> is no SIP URI with a user\n", STR_FMT(uri));
		return -1;
	}
	status = pushwake_contact_removed(pw_client, pw_in(&aor), pw_in(NULL));
	if(status < 0) {
		pw_engine_away("pushwake_remove", status);
		return -2;
	}
	return 1;
}

int pw_removed_init(void)
{
	return pw.usrloc.register_ulcb(UL_CONTACT_DELETE, on_delete, NULL) < 0 ? -1 : 0;
}
