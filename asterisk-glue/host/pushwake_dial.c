/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Contacts as Dial() takes them.
 */
#include "asterisk.h"

#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"

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

int pushwake__dial_fit(struct ast_str **dial, size_t room, const struct pushwake__contact *contact)
{
	size_t before = ast_str_strlen(*dial);

	pushwake__dial_append(dial, contact);
	if (ast_str_strlen(*dial) > room) {
		ast_str_truncate(*dial, before);
		return 0;
	}
	return 1;
}
