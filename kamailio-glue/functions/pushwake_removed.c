/* SPDX-License-Identifier: MIT
 *
 * A contact that somebody removes at the registrar (ul.rm, ul.rm_contact) is pushed no
 * more (RFC 8599, 5.5). What phones, time and other nodes remove is none of this: a
 * binding outlives its registration.
 */
#include <stdio.h>
#include <string.h>

#include "core/pt.h"
#include "pushwake_functions.h"

#define PW_CONDITIONS_SIZE 4096

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

/* Under usrloc's lock: the supervisor asks the engine. */
static void on_delete(ucontact_t *contact, int type, void *param)
{
	pushwake_verb note;

	if(!is_by_hand()) {
		return;
	}
	memset(&note, 0, sizeof(note));
	note.kind = PW_NOTE_REMOVED;
	note.aor = pw_in(contact->aor);
	note.contact = pw_in(&contact->c);
	pw_verb_later(&note);
}

int pw_removed_init(void)
{
	return pw.usrloc.register_ulcb(UL_CONTACT_DELETE, on_delete, NULL) < 0 ? -1 : 0;
}

static int ignore_row(void *context, const pushwake_field *fields, size_t count)
{
	return 0;
}

void pw_removed_tell(const pushwake_verb *note)
{
	char text[PW_CONDITIONS_SIZE];
	str conditions = {text, 0};
	int status;

	conditions.len = snprintf(text, sizeof(text), "aor=%.*s\ncontact=%.*s\n", PW_FMT(note->aor), PW_FMT(note->contact));
	if(note->aor.len == 0 || note->contact.len == 0 || conditions.len >= (int)sizeof(text)) {
		LM_WARN("a contact was removed whose push binding stays: its URI is too long; see pushwake.remove\n");
		return;
	}
	status = pushwake_query(pw_client, PUSHWAKE_QUERY_REMOVE_FOUND, pw_in(&conditions), ignore_row, NULL);
	if(status < 0) {
		/* without the contact: it has the token */
		LM_WARN("a contact of %.*s was removed, and its push binding stays: %s; see pushwake.remove\n", PW_FMT(note->aor),
				pushwake_status_name(status));
	}
}
