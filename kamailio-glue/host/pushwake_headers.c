/* SPDX-License-Identifier: MIT
 *
 * The headers of a message as the library wants them, texts as Kamailio does, and memory for both.
 */
#include <string.h>

#include "core/trim.h"
#include "pushwake_host.h"

void *pw_alloc(size_t size)
{
	void *out = malloc(size);

	if(out == NULL) {
		SYS_MEM_ERROR;
	}
	return out;
}

int pw_copy(str *to, const char *from, size_t len)
{
	to->s = pw_alloc(len + 1);
	if(to->s == NULL) {
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
	headers = pw_alloc((n + 1) * sizeof(*headers));
	if(headers == NULL) {
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
