/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Whom PushWake() is to wake: AoRs, or endpoints as Dial() names them.
 *
 * Push bindings belong to AoRs. Endpoint and AoR of a phone often have one name, so what
 * people write for Dial() is understood where it names phones of this server.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_wake.h"

/*! Adds an AoR once; not 0 when memory is short. */
static int add(struct pushwake__aors *aors, const char *aor)
{
	char *copy;
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(aors); index++) {
		if (!strcmp(AST_VECTOR_GET(aors, index), aor)) {
			return 0;
		}
	}
	copy = ast_strdup(aor);
	if (!copy || AST_VECTOR_APPEND(aors, copy)) {
		ast_free(copy);
		return -1;
	}
	return 0;
}

/*! The AoRs of an endpoint, comma separated: empty when it has none; NULL when there is no such endpoint. */
static char *aors_of(const char *name)
{
	struct ast_sip_endpoint *endpoint = ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "endpoint", name);
	char *list = endpoint ? ast_strdup(S_OR(endpoint->aors, "")) : NULL;

	ao2_cleanup(endpoint);
	return list;
}

/*! There is no endpoint of this name. */
static void say_unknown(const char *device, const char *name, int has_contact)
{
	const char *at = strchr(name, '@');

	if (at && !has_contact) {
		ast_log(LOG_WARNING, "PushWake(%s): the endpoint %s sends to another server, whose phones cannot be woken here; "
			"write the AoR that registers here, such as PushWake(100)\n", device, at + 1);
	} else {
		ast_log(LOG_WARNING, "PushWake(%s): there is no endpoint %s; write the name of an AoR, such as PushWake(100)\n",
			device, name);
	}
}

/*! PJSIP/ENDPOINT, with a contact behind it or not. As for Dial(), alice@example.com may be the name of an endpoint. */
static int add_endpoint(struct pushwake__aors *aors, const char *device)
{
	char *contact = ast_strdupa(device + strlen("PJSIP/"));
	const char *name = strsep(&contact, "/");
	char *list = aors_of(name);
	char *rest, *aor;
	int res = 0;

	if (!list) {
		say_unknown(device, name, contact != NULL);
		return 0;
	}
	if (ast_strlen_zero(list)) {
		ast_log(LOG_WARNING, "PushWake(%s): the endpoint %s has no AoR, so no phone registers for it; give it aors= in "
			"pjsip.conf, or write another one\n", device, name);
	}
	for (rest = list; !res && (aor = strsep(&rest, ","));) {
		aor = ast_strip(aor);
		if (!ast_strlen_zero(aor)) {
			res = add(aors, aor);
		}
	}
	ast_free(list);
	return res;
}

/*! A name alone: an AoR, though it may be another server's that shares the store. */
static int add_name(struct pushwake__aors *aors, const char *name)
{
	char *list = pushwake__is_aor(name) ? NULL : aors_of(name);

	if (!ast_strlen_zero(list)) {
		ast_log(LOG_WARNING, "PushWake(%s): there is no AoR %s, but the endpoint %s has the AoR %s; write PushWake(PJSIP/%s)\n",
			name, name, name, list, name);
	}
	ast_free(list);
	return add(aors, name);
}

static int add_target(struct pushwake__aors *aors, const char *target)
{
	const char *slash = strchr(target, '/');

	if (!slash || pushwake__is_aor(target)) {
		return add_name(aors, target);
	}
	if (!strncasecmp(target, "PJSIP/", strlen("PJSIP/"))) {
		return add_endpoint(aors, target);
	}
	ast_log(LOG_WARNING, "PushWake(%s): only PJSIP phones can be woken; write the name of their AoR, such as "
		"PushWake(%.*s)\n", target, (int) strcspn(S_OR(slash + 1, "100"), "@/"), S_OR(slash + 1, "100"));
	return 0;
}

int pushwake__aors_read(struct pushwake__aors *aors, const char *text)
{
	char *rest = ast_strdupa(text);
	char *target;

	AST_VECTOR_INIT(aors, 0);
	while ((target = strsep(&rest, "&"))) {
		target = ast_strip(target);
		if (!ast_strlen_zero(target) && add_target(aors, target)) {
			return -1;
		}
	}
	return 0;
}

void pushwake__aors_free(struct pushwake__aors *aors)
{
	AST_VECTOR_CALLBACK_VOID(aors, ast_free);
	AST_VECTOR_FREE(aors);
}
