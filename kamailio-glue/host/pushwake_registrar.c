/* SPDX-License-Identifier: MIT
 *
 * What the registrar was told: how it writes its keys, and whether contacts count beyond their time.
 */
#include <string.h>

#include "core/cfg/cfg_struct.h"
#include "core/parser/parse_uri.h"
#include "core/strutils.h"
#include "core/ut.h"
#include "pushwake_contact.h"

/* One of its parameters. Its value is read each time: an operator may change it while Kamailio runs (cfg.set_now_int). */
typedef struct pw_parameter {
	const char *names[2]; /* in some series it has the second */
	unsigned int type;
	int is_known;
	cfg_group_t *group; /* NULL: there is none of these names and this type */
	cfg_mapping_t *place;
} pw_parameter_t;

static pw_parameter_t case_sensitive = {.names = {"case_sensitive"}, .type = CFG_VAR_INT};
static pw_parameter_t realm_prefix = {.names = {"realm_pref", "realm_prefix"}, .type = CFG_VAR_STR};
static pw_parameter_t use_expired = {.names = {"use_expired_contacts"}, .type = CFG_VAR_INT};

static void find(pw_parameter_t *parameter)
{
	static str module = str_init("registrar");
	str name;
	int i;

	parameter->is_known = 1;
	for(i = 0; i < 2 && parameter->names[i] != NULL && parameter->group == NULL; i++) {
		name.s = (char *)parameter->names[i];
		name.len = (int)strlen(name.s);
		if(cfg_lookup_var(&module, &name, &parameter->group, &parameter->place) != 0
				|| CFG_VAR_TYPE(parameter->place) != parameter->type || parameter->group->handle == NULL) {
			parameter->group = NULL;
		}
	}
}

static const void *value_of(pw_parameter_t *parameter)
{
	if(!parameter->is_known) {
		find(parameter);
	}
	return parameter->group != NULL ? (const char *)*parameter->group->handle + parameter->place->offset : NULL;
}

static int is_on(pw_parameter_t *parameter)
{
	const int *value = value_of(parameter);

	return value != NULL && *value != 0;
}

/* Capitals of the domain never count, those of its first `user_len` bytes, the user, if the registrar was told so. */
static void lower(str *aor, int user_len)
{
	str part = *aor;

	if(is_on(&case_sensitive)) {
		part.s += user_len;
		part.len -= user_len;
	}
	strlower(&part);
}

int pw_expired_counts(void)
{
	return is_on(&use_expired);
}

static void skip_realm_prefix(str *host)
{
	const str *prefix = value_of(&realm_prefix);

	if(prefix != NULL && prefix->len > 0 && prefix->len < host->len && memcmp(prefix->s, host->s, prefix->len) == 0) {
		host->s += prefix->len;
		host->len -= prefix->len;
	}
}

int pw_aor(str *aor, str *uri)
{
	sip_uri_t parsed;

	if(uri == NULL || uri->s == NULL || parse_uri(uri->s, uri->len, &parsed) < 0) {
		return -1;
	}
	return pw_aor_of(aor, &parsed);
}

int pw_aor_of(str *aor, sip_uri_t *uri)
{
	static char buffer[PW_AOR_SIZE];
	str host;
	int user_len;

	if(uri == NULL || uri->user.len <= 0 || uri->user.len + uri->host.len + 1 > PW_AOR_SIZE) {
		return -1;
	}
	aor->s = buffer;
	aor->len = uri->user.len;
	if(un_escape(&uri->user, aor) < 0) {
		return -1;
	}
	user_len = aor->len;
	if(pw.usrloc.use_domain) {
		host = uri->host;
		skip_realm_prefix(&host);
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
