/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Contacts of an AoR: as the registrar has them, and as Dial() can take them.
 *
 * The registrar keeps contact URIs without push parameters (see pushwake_register.c):
 * a token may be longer than PJSIP lets a URI be, and an '&' in it would split a
 * dial string.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/time.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"

/*! The longest span that a setting asks about is an hour. */
#define SEEN_SECONDS 3600
#define SEEN_BUCKETS 1021

/*! When a contact last registered: sorcery does not say. */
struct seen {
	struct timeval at;
	/*! "aor uri" */
	char key[0];
};

static struct ao2_container *seen_contacts;
static struct timeval last_sweep;

AO2_STRING_FIELD_HASH_FN(seen, key)
AO2_STRING_FIELD_CMP_FN(seen, key)

static int is_old(void *obj, void *arg, int flags)
{
	struct seen *seen = obj;

	return ast_tvdiff_ms(*(struct timeval *) arg, seen->at) > SEEN_SECONDS * 1000 ? CMP_MATCH : 0;
}

static void sweep(struct timeval now)
{
	ao2_lock(seen_contacts);
	if (ast_tvdiff_ms(now, last_sweep) > 60000) {
		last_sweep = now;
		ao2_callback(seen_contacts, OBJ_UNLINK | OBJ_NODATA | OBJ_MULTIPLE | OBJ_NOLOCK, is_old, &now);
	}
	ao2_unlock(seen_contacts);
}

static char *make_key(struct ast_str **key, const char *aor, const char *uri)
{
	ast_str_set(key, 0, "%s %s", aor, uri);
	return ast_str_buffer(*key);
}

void pushwake__contact_seen(const char *aor, const char *uri)
{
	struct ast_str *key = ast_str_create(256);
	struct timeval now = ast_tvnow();
	struct seen *seen;

	if (!key) {
		return;
	}
	make_key(&key, aor, uri);
	sweep(now);
	ao2_find(seen_contacts, ast_str_buffer(key), OBJ_SEARCH_KEY | OBJ_UNLINK | OBJ_NODATA);
	seen = ao2_alloc_options(sizeof(*seen) + ast_str_strlen(key) + 1, NULL, AO2_ALLOC_OPT_LOCK_NOLOCK);
	if (seen) {
		seen->at = now;
		strcpy(seen->key, ast_str_buffer(key)); /* Safe */
		ao2_link(seen_contacts, seen);
		ao2_ref(seen, -1);
	}
	ast_free(key);
}

static int seconds_since_seen(const char *aor, const char *uri)
{
	struct ast_str *key = ast_str_create(256);
	struct seen *seen = NULL;
	int seconds = -1;

	if (key) {
		seen = ao2_find(seen_contacts, make_key(&key, aor, uri), OBJ_SEARCH_KEY);
		ast_free(key);
	}
	if (seen) {
		seconds = ast_tvdiff_ms(ast_tvnow(), seen->at) / 1000;
		ao2_ref(seen, -1);
	}
	return seconds;
}

int pushwake__is_push_parameter(const char *name, size_t len)
{
	static const char *const prefixes[] = { "pn-", "push-token-" };
	size_t index;

	for (index = 0; index < ARRAY_LEN(prefixes); index++) {
		size_t prefix = strlen(prefixes[index]);

		if (len >= prefix && !strncasecmp(name, prefixes[index], prefix)) {
			return 1;
		}
	}
	/* Older Linphone names the app beside pn-type and pn-tok. */
	return len == 6 && !strncasecmp(name, "app-id", 6);
}

void pushwake__uri_strip(char *uri)
{
	char *at = strchr(uri, '@');
	char *from = strchr(at ? at : uri, ';');
	char *to = from;

	while (from && *from == ';') {
		size_t len = 1 + strcspn(from + 1, ";?>");

		if (!pushwake__is_push_parameter(from + 1, strcspn(from + 1, "=;?>"))) {
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	if (from) {
		memmove(to, from, strlen(from) + 1);
	}
}

static int add_contact(void *obj, void *arg, int flags)
{
	struct ast_sip_contact *contact = obj;
	struct pushwake__contacts *contacts = arg;
	struct pushwake__contact entry = {
		.uri = ast_strdup(contact->uri),
		.endpoint = ast_strdup(S_OR(contact->endpoint_name, contact->aor)),
		/* Such a contact is deleted when its connection drops. */
		.reachable = contact->prune_on_boot,
		.registered_ago = seconds_since_seen(contact->aor, contact->uri),
	};

	if (!entry.uri || !entry.endpoint || AST_VECTOR_APPEND(contacts, entry)) {
		ast_free(entry.uri);
		ast_free(entry.endpoint);
	}
	return 0;
}

/*! The contacts of an AoR as the registrar has them; a reference, or NULL. */
static struct ao2_container *retrieve(const char *aor)
{
	struct ast_sip_aor *object = ast_sip_location_retrieve_aor(aor);
	struct ao2_container *list;

	if (!object) {
		return NULL;
	}
	list = ast_sip_location_retrieve_aor_contacts(object);
	ao2_ref(object, -1);
	return list;
}

void pushwake__contacts_get(struct pushwake__contacts *contacts, const char *aor)
{
	struct ao2_container *list = retrieve(aor);

	AST_VECTOR_INIT(contacts, 0);
	if (list) {
		ao2_callback(list, OBJ_NODATA, add_contact, contacts);
		ao2_ref(list, -1);
	}
}

static void contact_free(struct pushwake__contact contact)
{
	ast_free(contact.uri);
	ast_free(contact.endpoint);
}

void pushwake__contacts_free(struct pushwake__contacts *contacts)
{
	AST_VECTOR_CALLBACK_VOID(contacts, contact_free);
	AST_VECTOR_FREE(contacts);
}

static int forget(void *obj, void *arg, int flags)
{
	struct ast_sip_contact *contact = obj;

	if (!strcmp(contact->uri, arg)) {
		ast_sip_location_delete_contact(contact);
		ast_verb(3, "Removed contact '%s' from AOR '%s': its phone has registered elsewhere\n",
			contact->uri, contact->aor);
	}
	return 0;
}

void pushwake__contact_forget(const char *aor, const char *uri)
{
	struct ao2_container *list = retrieve(aor);

	if (list) {
		ao2_callback(list, OBJ_NODATA, forget, (void *) uri);
		ao2_ref(list, -1);
	}
}

void pushwake__dial_append(struct ast_str **dial, const struct pushwake__contact *contact)
{
	const char *byte;

	ast_str_append(dial, 0, "%sPJSIP/%s/", ast_str_strlen(*dial) ? "&" : "", contact->endpoint);
	for (byte = contact->uri; *byte; byte++) {
		/* '&' parts the devices of Dial(), ',' its arguments, and the others steer how
		 * those are taken apart. */
		if (strchr("&,()\"\\^|", *byte) || *byte <= ' ') {
			ast_str_append(dial, 0, "%%%02X", (unsigned char) *byte);
		} else {
			ast_str_append(dial, 0, "%c", *byte);
		}
	}
}

int pushwake__contacts_start(void)
{
	last_sweep = ast_tvnow();
	seen_contacts = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, SEEN_BUCKETS,
		seen_hash_fn, NULL, seen_cmp_fn);
	return seen_contacts ? 0 : -1;
}

void pushwake__contacts_stop(void)
{
	ao2_cleanup(seen_contacts);
	seen_contacts = NULL;
}
