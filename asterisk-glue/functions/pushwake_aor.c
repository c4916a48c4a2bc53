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
#include "asterisk/config.h"
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

/*! By the name in the phone's credentials. */
static int find_by_login(char *aor, size_t size, const char *list, pjsip_rx_data *rdata)
{
	pjsip_authorization_hdr *header = NULL;

	while ((header = pjsip_msg_find_hdr(rdata->msg_info.msg, PJSIP_H_AUTHORIZATION, header ? header->next : NULL))) {
		if (!pj_stricmp2(&header->scheme, "digest")
			&& find(aor, size, list, &header->credential.digest.username, &header->credential.digest.realm)) {
			return 1;
		}
	}
	return 0;
}

/*! By the name in To. */
static int find_by_name(char *aor, size_t size, const char *list, pjsip_rx_data *rdata)
{
	const pjsip_sip_uri *uri = pjsip_uri_get_uri(rdata->msg_info.to->uri);
	pj_str_t user = uri->user;

	if (ast_sip_get_ignore_uri_user_options()) {
		user.slen = pj_strcspn2(&user, ";");
	}
	return find(aor, size, list, &user, &uri->host);
}

/*!
 * The setting identify_by as text, to be freed. Not from the structure: what follows the texts of an endpoint moves within
 * a series (22.10 has put two ports before it), and a module may run with a release that it was not built with.
 */
static char *read_identify_by(const struct ast_sip_endpoint *endpoint)
{
	struct ast_variable *all = ast_sorcery_objectset_create(ast_sip_get_sorcery(), endpoint);
	const char *value = ast_variable_find_in_list(all, "identify_by");
	char *copy = ast_strdup(S_OR(value, ""));

	ast_variables_destroy(all);
	return copy;
}

/*! Which of both counts: the first in the endpoint's setting; none of them perhaps. */
static void choose(char *aor, size_t size, const struct ast_sip_endpoint *endpoint, const char *by_name, const char *by_login)
{
	char *order = read_identify_by(endpoint);
	char *rest = order, *item;
	const char *found = "";

	while (ast_strlen_zero(found) && (item = ast_strip(strsep(&rest, ",")))) {
		found = !strcasecmp(item, "username") ? by_name : !strcasecmp(item, "auth_username") ? by_login : "";
	}
	ast_copy_string(aor, found, size);
	ast_free(order);
}

void pushwake__register_aor(char *aor, size_t size, const struct ast_sip_endpoint *endpoint, pjsip_rx_data *rdata)
{
	char by_name[MAX_NAME] = "", by_login[MAX_NAME] = "";

	aor[0] = '\0';
	if (ast_strlen_zero(endpoint->aors)
		|| (!PJSIP_URI_SCHEME_IS_SIP(rdata->msg_info.to->uri) && !PJSIP_URI_SCHEME_IS_SIPS(rdata->msg_info.to->uri))) {
		return;
	}
	find_by_name(by_name, sizeof(by_name), endpoint->aors, rdata);
	find_by_login(by_login, sizeof(by_login), endpoint->aors, rdata);
	if (!strcmp(by_name, by_login) || ast_strlen_zero(by_login)) { /* nearly always, and the setting costs a look at all of them */
		ast_copy_string(aor, by_name, size);
	} else {
		choose(aor, size, endpoint, by_name, by_login);
	}
}
