/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The AoR that a REGISTER is for, found as the registrar finds it.
 *
 * The registrar says it by the contact that it hands to its answer, but there is none when the last contact goes.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_request.h"

/*! Longer names than this are not looked for. */
#define MAX_NAME 256

/*! Whether the comma-separated list has this name; copies it when it does. */
static int pick(char *aor, size_t size, const char *list, const char *name)
{
	char *rest = ast_strdupa(list);
	char *item;

	while ((item = ast_strip(strsep(&rest, ",")))) {
		if (!ast_strlen_zero(item) && !strcmp(item, name)) {
			ast_copy_string(aor, item, size);
			return 1;
		}
	}
	return 0;
}

/*! Whether the list has user@domain; copies it when it does. */
static int pick_at(char *aor, size_t size, const char *list, const char *user, const char *domain)
{
	char full[2 * MAX_NAME];

	snprintf(full, sizeof(full), "%s@%s", user, domain);
	return pick(aor, size, list, full);
}

/*! "user@host", "user@alias of host" or "user" of the endpoint's AoRs. */
static int find(char *aor, size_t size, const char *list, const pj_str_t *user, const pj_str_t *host)
{
	struct ast_sip_domain_alias *alias;
	char name[MAX_NAME], domain[MAX_NAME];
	int is_found;

	if (user->slen >= MAX_NAME || host->slen >= MAX_NAME) {
		return 0;
	}
	ast_copy_pj_str(name, user, sizeof(name));
	ast_copy_pj_str(domain, host, sizeof(domain));
	if (pick_at(aor, size, list, name, domain)) {
		return 1;
	}
	alias = ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "domain_alias", domain);
	is_found = alias && pick_at(aor, size, list, name, alias->domain);
	ao2_cleanup(alias);
	return is_found || pick(aor, size, list, name);
}

/*! By the name in the phone's credentials, where the endpoint may be known by it. */
static void find_by_login(char *aor, size_t size, const struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata)
{
	pjsip_authorization_hdr *header = NULL;
	size_t index;
	int is_asked = 0;

	for (index = 0; index < AST_VECTOR_SIZE(&endpoint->ident_method_order); index++) {
		is_asked |= AST_VECTOR_GET(&endpoint->ident_method_order, index) == AST_SIP_ENDPOINT_IDENTIFY_BY_AUTH_USERNAME;
	}
	while (is_asked
		&& (header = pjsip_msg_find_hdr(rdata->msg_info.msg, PJSIP_H_AUTHORIZATION, header ? header->next : NULL))) {
		if (!pj_stricmp2(&header->scheme, "digest") && find(aor, size, endpoint->aors,
			&header->credential.digest.username, &header->credential.digest.realm)) {
			return;
		}
	}
}

void pushwake__register_aor(char *aor, size_t size, const struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata)
{
	const pjsip_sip_uri *uri;
	pj_str_t user;

	aor[0] = '\0';
	if (ast_strlen_zero(endpoint->aors)
		|| (!PJSIP_URI_SCHEME_IS_SIP(rdata->msg_info.to->uri) && !PJSIP_URI_SCHEME_IS_SIPS(rdata->msg_info.to->uri))) {
		return;
	}
	uri = pjsip_uri_get_uri(rdata->msg_info.to->uri);
	user = uri->user;
	if (ast_sip_get_ignore_uri_user_options()) {
		user.slen = pj_strcspn2(&user, ";");
	}
	if (!find(aor, size, endpoint->aors, &user, &uri->host)) {
		find_by_login(aor, size, endpoint, rdata);
	}
}
