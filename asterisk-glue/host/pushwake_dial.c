/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Contacts as Dial() and MessageSend() take them.
 */
#include "asterisk.h"

#include "asterisk/strings.h"
#include "asterisk/uri.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"

/*! Bytes of a variable that a dialplan can read. */
#define MAX_VARIABLE 4095

/*! Where the host of a URI begins and ends when it is an IPv6 reference; both NULL when it is none. */
static void find_reference(const char *uri, const char **begin, const char **end)
{
	const char *at = strchr(uri, '@');
	const char *colon = strchr(uri, ':');

	*begin = at ? at + 1 : colon ? colon + 1 : uri;
	*end = **begin == '[' ? strchr(*begin, ']') : NULL;
	*begin = *end ? *begin : NULL;
}

void pushwake__dial_append(struct ast_str **dial, const struct pushwake__contact *contact)
{
	const char *byte, *begin, *end;

	find_reference(contact->uri, &begin, &end);
	ast_str_append(dial, 0, "%sPJSIP/%s/", ast_str_strlen(*dial) ? "&" : "", contact->endpoint);
	for (byte = contact->uri; *byte; byte++) {
		/* '&' parts the devices of Dial(), ',' its arguments, and the others steer how
		 * those are taken apart. */
		if (byte != begin && byte != end && (strchr("&,()[]\"\\^|", *byte) || *byte <= ' ')) {
			ast_str_append(dial, 0, "%%%02X", (unsigned char) *byte);
		} else {
			ast_str_append(dial, 0, "%c", *byte);
		}
	}
}

int pushwake__dial_fit(struct ast_str **dial, const struct pushwake__contact *contact)
{
	size_t before = ast_str_strlen(*dial);

	pushwake__dial_append(dial, contact);
	if (before && ast_str_strlen(*dial) > MAX_VARIABLE) {
		ast_str_truncate(*dial, before);
		return 0;
	}
	return 1;
}

void pushwake__text_append(struct ast_str **dial, const struct pushwake__contact *contact)
{
	size_t size = strlen(S_OR(contact->path, "")) * 3 + 1;
	struct pushwake__contact routed = *contact;
	char *route = ast_alloca(size);
	char *uri = NULL;

	if (!ast_strlen_zero(contact->path)) {
		ast_uri_encode(contact->path, route, size, ast_uri_http);
		if (ast_asprintf(&uri, "%s;" PUSHWAKE__ROUTE_PARAMETER "=%s", contact->uri, route) < 0) {
			return;
		}
		routed.uri = uri;
	}
	pushwake__dial_append(dial, &routed);
	ast_free(uri);
}
