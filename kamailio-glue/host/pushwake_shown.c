/* SPDX-License-Identifier: MIT
 *
 * Who calls, as phones will see it. What a script does to the headers of a message is
 * in none of them before the message is sent: it is a list of cuts and insertions
 * beside it.
 */
#include <string.h>
#include <strings.h>

#include "core/data_lump.h"
#include "pushwake_host.h"

/* Whether a cut, or an insertion where `len` is 0, is in a header that says who calls. */
static int is_in_caller(sip_msg_t *msg, int start, int len)
{
	hdr_field_t *h;
	int at;

	for(h = msg->headers; h != NULL; h = h->next) {
		at = (int)(h->name.s - msg->buf);
		if((h->type == HDR_FROM_T || h->type == HDR_PRIVACY_T) && start < at + h->len
				&& (len > 0 ? start + len > at : start > at)) {
			return 1;
		}
	}
	return 0;
}

static int begins_with(const char *text, int len, const char *name)
{
	int n = (int)strlen(name);

	return len > n && strncasecmp(text, name, (size_t)n) == 0 && strchr(": \t", text[n]) != NULL;
}

/* Whether lines that are inserted have such a header among them. */
static int has_caller(const struct lump *l)
{
	const char *at = l->op == LUMP_ADD ? l->u.value : NULL;
	const char *end = at != NULL ? at + l->len : NULL;

	for(; at != NULL && at < end; at = at != NULL ? at + 1 : NULL) {
		if(begins_with(at, (int)(end - at), "From") || begins_with(at, (int)(end - at), "f")
				|| begins_with(at, (int)(end - at), "Privacy")) {
			return 1;
		}
		at = memchr(at, '\n', (size_t)(end - at));
	}
	return 0;
}

static int is_place(const struct lump *l)
{
	return l->op == LUMP_DEL || l->op == LUMP_NOP;
}

/* Adds how much is inserted to `added`; 1: something of it says who calls. */
static int is_changed(sip_msg_t *msg, size_t *added)
{
	const struct lump *l, *r;
	int is_callers = 0;

	for(l = msg->add_rm; l != NULL; l = l->next) {
		is_callers |= is_place(l) ? is_in_caller(msg, l->u.offset, l->op == LUMP_DEL ? l->len : 0) : has_caller(l);
		*added += l->op == LUMP_ADD ? (size_t)l->len : 0;
		for(r = l->before; r != NULL; r = r->before) {
			is_callers |= has_caller(r);
			*added += (size_t)r->len;
		}
		for(r = l->after; r != NULL; r = r->after) {
			is_callers |= has_caller(r);
			*added += (size_t)r->len;
		}
	}
	return is_callers;
}

static void put(char **out, const char *text, int len)
{
	if(len > 0) {
		memcpy(*out, text, (size_t)len);
		*out += len;
	}
}

static void put_added(char **out, const struct lump *l)
{
	if(l->op == LUMP_ADD) {
		put(out, l->u.value, l->len);
	}
}

/* The headers with all that is done to them. */
static void put_headers(char **out, sip_msg_t *msg)
{
	int at = (int)(msg->headers->name.s - msg->buf), end = (int)(msg->eoh - msg->buf);
	const struct lump *l, *r;

	for(l = msg->add_rm; l != NULL; l = l->next) {
		if(is_place(l) && (l->u.offset < at || l->u.offset > end)) {
			continue; /* within what has been cut out already */
		}
		if(is_place(l)) {
			put(out, msg->buf + at, l->u.offset - at);
			at = l->u.offset;
		}
		for(r = l->before; r != NULL; r = r->before) {
			put_added(out, r);
		}
		put_added(out, l);
		at += l->op == LUMP_DEL ? l->len : 0;
		for(r = l->after; r != NULL; r = r->after) {
			put_added(out, r);
		}
	}
	put(out, msg->buf + at, end - at);
}

pushwake_str pw_shown(sip_msg_t *msg)
{
	pushwake_str shown = {NULL, 0};
	size_t added = 0;
	char *text, *at;

	if(msg->headers == NULL || msg->eoh == NULL || !is_changed(msg, &added)) {
		return shown;
	}
	text = pw_alloc((size_t)(msg->eoh - msg->headers->name.s) + added + 1);
	if(text == NULL) {
		return shown;
	}
	at = text;
	put_headers(&at, msg);
	shown.ptr = text;
	shown.len = (size_t)(at - text);
	return shown;
}
