/* SPDX-License-Identifier: MIT
 *
 * What the registrar was told: how it writes its keys, and whether contacts count beyond their time.
 */
#include <string.h>

#include "core/cfg/cfg_ctx.h"
#include "core/parser/parse_uri.h"
#include "core/strutils.h"
#include "core/ut.h"
#include "pushwake_contact.h"

#define PW_AOR_SIZE 512

static struct {
	int known;
	int case_sensitive;
	str realm_prefix;
} keys;

/* The value of one of its parameters now, NULL if it has none of this name and type. */
static void *parameter(const char *name, unsigned int wanted)
{
	static str group = str_init("registrar");
	static cfg_ctx_t *ctx = NULL;
	str text = {(char *)name, (int)strlen(name)};
	void *value = NULL;
	unsigned int type = 0;

	if(ctx == NULL && cfg_register_ctx(&ctx, NULL) < 0) {
		return NULL;
	}
	return cfg_get_by_name(ctx, &group, NULL, &text, &value, &type) == 0 && type == wanted ? value : NULL;
}

static void learn_keys(void)
{
	str *realm = parameter("realm_pref", CFG_VAR_STR);

	keys.known = 1;
	keys.case_sensitive = (int)(long)parameter("case_sensitive", CFG_VAR_INT);
	if(realm == NULL) {
		realm = parameter("realm_prefix", CFG_VAR_STR);
	}
	if(realm != NULL) {
		keys.realm_prefix = *realm;
	}
}

/* Capitals of the domain never count, those of its first `user_len` bytes, the user, if the registrar was told so. */
static void lower(str *aor, int user_len)
{
	str part = *aor;

	if(!keys.known) {
		learn_keys();
	}
	if(keys.case_sensitive) {
		part.s += user_len;
		part.len -= user_len;
	}
	strlower(&part);
}

int pw_expired_counts(void)
{
	return parameter("use_expired_contacts", CFG_VAR_INT) != NULL;
}

int pw_aor(str *aor, str *uri)
{
	static char buffer[PW_AOR_SIZE];
	sip_uri_t parsed;
	str host;
	int user_len;

	if(!keys.known) {
		learn_keys();
	}
	if(uri == NULL || uri->s == NULL || parse_uri(uri->s, uri->len, &parsed) < 0) {
		return -1;
	}
	if(parsed.user.len <= 0 || parsed.user.len + parsed.host.len + 1 > PW_AOR_SIZE) {
		return -1;
	}
	aor->s = buffer;
	aor->len = parsed.user.len;
	if(un_escape(&parsed.user, aor) < 0) {
		return -1;
	}
	user_len = aor->len;
	if(pw.usrloc.use_domain) {
		host = parsed.host;
		if(keys.realm_prefix.len > 0 && keys.realm_prefix.len < host.len
				&& memcmp(keys.realm_prefix.s, host.s, keys.realm_prefix.len) == 0) {
			host.s += keys.realm_prefix.len;
			host.len -= keys.realm_prefix.len;
		}
		buffer[aor->len++] = '@';
		memcpy(buffer + aor->len, host.s, host.len);
		aor->len += host.len;
	}
	lower(aor, user_len);
	return 0;
}

int pw_aor_typed(str *aor, const pushwake_str *typed)
{
	static char buffer[PW_AOR_SIZE];
	int user_len;

	if(typed->len == 0 || typed->len > PW_AOR_SIZE) {
		return -1;
	}
	aor->s = memcpy(buffer, typed->ptr, typed->len);
	aor->len = user_len = (int)typed->len;
	while(pw.usrloc.use_domain && user_len > 0 && buffer[user_len - 1] != '@') {
		user_len--;
	}
	lower(aor, user_len);
	return 0;
}
