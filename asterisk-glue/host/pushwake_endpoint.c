/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief AoRs: the endpoints that have them, and their device state.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/devicestate.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"

int pushwake__is_aor(const char *name)
{
	struct ast_sip_aor *aor = ast_sip_location_retrieve_aor(name);

	ao2_cleanup(aor);
	return aor != NULL;
}

static int has_aor(void *obj, void *arg, int flags)
{
	const struct ast_sip_endpoint *endpoint = obj;
	char *rest = ast_strdupa(S_OR(endpoint->aors, ""));
	char *name;

	while ((name = ast_strip(strsep(&rest, ",")))) {
		if (!strcmp(name, arg)) {
			return CMP_MATCH | CMP_STOP;
		}
	}
	return 0;
}

int pushwake__endpoint_has(const char *name, const char *aor)
{
	struct ast_sip_endpoint *endpoint = ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "endpoint", name);
	int has = endpoint && has_aor(endpoint, (void *) aor, 0);

	ao2_cleanup(endpoint);
	return has;
}

struct ast_sip_endpoint *pushwake__endpoint_of(const char *aor)
{
	struct ao2_container *all;
	struct ast_sip_endpoint *endpoint;

	if (pushwake__endpoint_has(aor, aor)) {
		return ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "endpoint", aor);
	}
	all = ast_sip_get_endpoints();
	endpoint = all ? ao2_callback(all, 0, has_aor, (void *) aor) : NULL;
	ao2_cleanup(all);
	return endpoint;
}

void pushwake__devstate_changed(const char *aor)
{
	ast_devstate_changed(AST_DEVICE_UNKNOWN, AST_DEVSTATE_CACHABLE, PUSHWAKE__DEVICE ":%s", aor);
}
