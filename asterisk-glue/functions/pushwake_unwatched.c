/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Endpoints whose phones register over connections that nobody watches.
 *
 * The registrar deletes a contact when its connection drops, and so says that the phone is awake until then, only where
 * the endpoint has rewrite_contact (or the transport allows nothing else, as with WebSockets). Elsewhere each call to
 * such a phone begins with a push.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/strings.h"

#include "pushwake_request.h"

/*! Names of endpoints that the log has. */
static struct ao2_container *said;

static int is_new(const char *endpoint)
{
	char *name = said ? ao2_find(said, endpoint, OBJ_SEARCH_KEY) : NULL;

	if (name) {
		ao2_ref(name, -1);
		return 0;
	}
	return said && !ast_str_container_add(said, endpoint);
}

void pushwake__unwatched_check(const struct pushwake__request *request, struct pushwake__contacts *contacts)
{
	size_t index;

	for (index = 0; request->is_stream && index < AST_VECTOR_SIZE(contacts); index++) {
		const struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (contact->reach != PUSHWAKE_REACH_OPEN && !contact->behind_proxy && is_new(contact->endpoint)) {
			ast_log(LOG_NOTICE, "Phones of endpoint '%s' that register over TCP or TLS count as asleep, and each call "
				"pushes them first: set rewrite_contact = yes in pjsip.conf\n", contact->endpoint);
		}
	}
}

int pushwake__unwatched_start(void)
{
	said = ast_str_container_alloc(53);
	return said ? 0 : -1;
}

void pushwake__unwatched_stop(void)
{
	ao2_cleanup(said);
	said = NULL;
}
