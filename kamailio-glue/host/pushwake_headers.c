/* SPDX-License-Identifier: MIT
 *
 * The headers of a message as the library wants them, and texts as Kamailio does.
 */
#include <string.h>

#include "core/trim.h"
#include "pushwake_host.h"

int pw_copy(str *to, const char *from, size_t len)
{
	to->s = pkg_malloc(len + 1);
	if(to->s == NULL) {
		PKG_MEM_ERROR;
		return -1;
	}
	memcpy(to->s, from, len);
	to->s[len] = '\0';
	to->len = (int)len;
	return 0;
}

str pw_put(char **at, pushwake_str text)
{
	str out = {*at, (int)text.len};

	if(text.len > 0) {
		memcpy(*at, text.ptr, text.len);
	}
	(*at)[text.len] = '\0';
	*at += text.len + 1;
	return out;
}

pushwake_header *pw_headers(sip_msg_t *msg, size_t *count)
{
	pushwake_header *headers;
	struct hdr_field *h;
	size_t n = 0;
	str body;

	for(h = msg->headers; h != NULL; h = h->next) {
		n++;
	}
	headers = pkg_malloc((n + 1) * sizeof(*headers));
	if(headers == NULL) {
		PKG_MEM_ERROR;
		return NULL;
	}
	n = 0;
	for(h = msg->headers; h != NULL; h = h->next) {
		body = h->body;
		trim(&body);
		headers[n].name = pw_in(&h->name);
		headers[n].value = pw_in(&body);
		n++;
	}
	*count = n;
	return headers;
}
