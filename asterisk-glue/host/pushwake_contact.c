/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Contacts of an AoR, as the registrar has them.
 *
 * It keeps their URIs without push parameters (see pushwake_register.c): a token may be
 * longer than PJSIP lets a URI be, and an '&' in it would split a dial string.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_host.h"

/*!
 * Where the REGISTER came from. With rewrite_contact the URI says it: the parameter is there when the phone gave another
 * address, and then its Via gave that too, until the phone corrects both. Behind an edge proxy the Path says it, which has
 * the proxy and the connection (RFC 5626, 5.1) while the phone's own address stays.
 */
static char *flow_of(const struct ast_sip_contact *contact)
{
	const char *at = strchr(contact->uri, '@');
	const char *host = at ? at + 1 : contact->uri;
	const char *transport = strcasestr(host, ";transport=");
	int host_len = (int) strcspn(host, ";?");
	char *flow = NULL;
	char via[256];

	if (strstr(host, ";x-ast-orig-host=")) {
		snprintf(via, sizeof(via), "%.*s", host_len, host);
	} else {
		snprintf(via, sizeof(via), "%s:%d", contact->via_addr, contact->via_port);
	}
	if (ast_asprintf(&flow, "%.*s%.*s %s %s", host_len, host, transport ? (int) strcspn(transport + 1, ";?") + 1 : 0,
		S_OR(transport, ""), via, S_OR(contact->path, "")) < 0) {
		return NULL;
	}
	return flow;
}

void pushwake__contact_free(struct pushwake__contact contact)
{
	ast_free(contact.uri);
	ast_free(contact.endpoint);
	ast_free(contact.flow);
	ast_free(contact.registration);
}

int pushwake__contact_copy(struct pushwake__contact *to, const struct pushwake__contact *from)
{
	*to = *from;
	to->uri = ast_strdup(from->uri);
	to->endpoint = ast_strdup(from->endpoint);
	to->flow = ast_strdup(S_OR(from->flow, ""));
	to->registration = ast_strdup(S_OR(from->registration, ""));
	if (to->uri && to->endpoint && to->flow && to->registration) {
		return 0;
	}
	pushwake__contact_free(*to);
	memset(to, 0, sizeof(*to));
	return -1;
}

struct ast_sip_endpoint *pushwake__contact_endpoint(const struct ast_sip_contact *contact)
{
	/* One that stands in pjsip.conf names none. */
	return ast_strlen_zero(contact->endpoint_name) ? pushwake__endpoint_of(contact->aor)
		: ast_sorcery_retrieve_by_id(ast_sip_get_sorcery(), "endpoint", contact->endpoint_name);
}

static void add(struct ast_sip_contact *contact, struct pushwake__contacts *contacts)
{
	char *flow = flow_of(contact);
	struct ast_sip_endpoint *endpoint = pushwake__contact_endpoint(contact);
	int behind_proxy = !ast_strlen_zero(contact->path) || (endpoint && !ast_strlen_zero(endpoint->outbound_proxy));
	struct pushwake__contact entry;
	struct pushwake__contact known = {
		.uri = (char *) contact->uri,
		.endpoint = (char *) (endpoint ? ast_sorcery_object_get_id(endpoint) : S_OR(contact->endpoint_name, contact->aor)),
		.flow = flow,
		.registration = (char *) contact->call_id,
		/* Such a contact is deleted when its connection drops. A proxy's connection does not show that the phone is awake. */
		.reach = contact->prune_on_boot && !behind_proxy ? PUSHWAKE_REACH_OPEN : PUSHWAKE_REACH_DATAGRAM,
		.behind_proxy = behind_proxy,
	};

	if (!pushwake__contact_copy(&entry, &known) && AST_VECTOR_APPEND(contacts, entry)) {
		pushwake__contact_free(entry);
	}
	ast_free(flow);
	ao2_cleanup(endpoint);
}

static int add_contact(void *obj, void *arg, int flags)
{
	struct ast_sip_contact *contact = obj;

	if (!pushwake__companion_is(contact->uri)) {
		add(contact, arg);
	}
	return 0;
}

int pushwake__companion_is(const char *uri)
{
	return strstr(uri, ";transport=pushwake") != NULL;
}

struct pushwake__contact *pushwake__contact_find(struct pushwake__contacts *contacts, const char *uri)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(contacts); index++) {
		struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(contacts, index);

		if (!strcmp(contact->uri, uri)) {
			return contact;
		}
	}
	return NULL;
}

void pushwake__contact_describe(pushwake_contact *out, const struct pushwake__contact *contact)
{
	out->uri = pushwake__str(contact->uri);
	out->flow = pushwake__str(contact->flow);
	out->register_call_id = pushwake__str(contact->registration);
	out->age_s = -1;
	out->reach = contact->reach;
	out->behind_proxy = contact->behind_proxy;
}

pushwake_contact *pushwake__contacts_describe(size_t *count, struct pushwake__contacts *contacts, const char *uri)
{
	pushwake_contact *all = ast_calloc(AST_VECTOR_SIZE(contacts) + 1, sizeof(*all));
	size_t index;

	*count = 0;
	for (index = 0; all && index < AST_VECTOR_SIZE(contacts); index++) {
		if (!uri || !strcmp(AST_VECTOR_GET_ADDR(contacts, index)->uri, uri)) {
			pushwake__contact_describe(&all[(*count)++], AST_VECTOR_GET_ADDR(contacts, index));
		}
	}
	return all;
}

/*! The contacts of an AoR as the registrar has them, and how many it takes; a reference, or NULL. */
static struct ao2_container *retrieve_limited(const char *aor, int *most)
{
	struct ast_sip_aor *object = ast_sip_location_retrieve_aor(aor);
	struct ao2_container *list;

	if (!object) {
		return NULL;
	}
	list = ast_sip_location_retrieve_aor_contacts(object);
	*most = (int) object->max_contacts;
	ao2_ref(object, -1);
	return list;
}

static struct ao2_container *retrieve(const char *aor)
{
	int most;

	return retrieve_limited(aor, &most);
}

void pushwake__contacts_get(struct pushwake__contacts *contacts, const char *aor)
{
	struct ao2_container *list = retrieve(aor);

	AST_VECTOR_INIT(contacts, 0);
	if (list) {
		ao2_callback(list, OBJ_NODATA, add_contact, contacts);
		ao2_ref(list, -1);
	}
}

void pushwake__contacts_free(struct pushwake__contacts *contacts)
{
	AST_VECTOR_CALLBACK_VOID(contacts, pushwake__contact_free);
	AST_VECTOR_FREE(contacts);
}

static int has_text(void *obj, void *arg, int flags)
{
	return strcmp(((struct ast_sip_contact *) obj)->uri, arg) ? 0 : CMP_MATCH | CMP_STOP;
}

struct ast_sip_contact *pushwake__contact_named(const char *aor, const char *uri)
{
	struct ao2_container *list = retrieve(aor);
	struct ast_sip_contact *contact = list ? ao2_callback(list, 0, has_text, (void *) uri) : NULL;

	ao2_cleanup(list);
	return contact;
}

void pushwake__contact_forget(const char *aor, const char *uri)
{
	struct ast_sip_contact *contact = pushwake__contact_named(aor, uri);

	if (contact) {
		ast_sip_location_delete_contact(contact);
		ast_verb(3, "Removed contact '%s' from AOR '%s': its phone has registered elsewhere\n", uri, aor);
		ao2_ref(contact, -1);
	}
}

/*! The sender of a REGISTER: the last Via. */
static const pjsip_via_hdr *sender_of(const pjsip_rx_data *rdata)
{
	const pjsip_via_hdr *via = rdata->msg_info.via;
	const pjsip_via_hdr *next = via;

	while (next) {
		via = next;
		next = pjsip_msg_find_hdr(rdata->msg_info.msg, PJSIP_H_VIA, via->next);
	}
	return via;
}

/*! The contact is that of another run of its app, and becomes this one's. */
static void renew(struct ast_sip_contact *contact, const char *call_id, const pjsip_via_hdr *via)
{
	struct ast_sip_contact *copy = ast_sorcery_copy(ast_sip_get_sorcery(), contact);
	char host[256];

	if (!copy) {
		return;
	}
	ast_copy_pj_str(host, &via->sent_by.host, sizeof(host));
	ast_string_field_set(copy, call_id, call_id);
	ast_string_field_set(copy, via_addr, host);
	copy->via_port = via->sent_by.port;
	ast_sip_location_update_contact(copy);
	ao2_ref(copy, -1);
}

static void renew_if_other(struct ast_sip_contact *contact, const pjsip_rx_data *rdata)
{
	const pjsip_via_hdr *via = sender_of(rdata);
	pj_str_t id = rdata->msg_info.cid->id;
	char *call_id = ast_alloca(id.slen + 1);

	ast_copy_pj_str(call_id, &id, id.slen + 1);
	if (via && !ast_tvzero(contact->expiration_time) && strcmp(S_OR(contact->call_id, ""), call_id)) {
		renew(contact, call_id, via);
	}
}

/*! A URI of the REGISTER in hand, as PJSIP compares it. */
struct registered {
	pjsip_uri *uri;
	pj_pool_t *pool;
	/*! One has gone for it. */
	int has_room;
};

static int make_room(void *obj, void *arg, int flags)
{
	struct ast_sip_contact *contact = obj;
	struct registered *registered = arg;
	pjsip_uri *uri;
	pj_str_t copy;

	/* One that stands in pjsip.conf does not expire. */
	if (ast_tvzero(contact->expiration_time)) {
		return 0;
	}
	pj_strdup2_with_null(registered->pool, &copy, contact->uri);
	uri = pjsip_parse_uri(registered->pool, copy.ptr, copy.slen, 0);
	if (uri && pjsip_uri_cmp(PJSIP_URI_IN_CONTACT_HDR, uri, registered->uri) == PJ_SUCCESS) {
		ast_sip_location_delete_contact(contact);
		registered->has_room = 1;
	}
	return 0;
}

int pushwake__contact_make_room(const char *aor, const char *text, pjsip_rx_data *rdata)
{
	struct registered registered = { .pool = rdata->tp_info.pool };
	int most = 0;
	struct ao2_container *list = ast_strlen_zero(aor) ? NULL : retrieve_limited(aor, &most);
	struct ast_sip_contact *same = list ? ao2_callback(list, 0, has_text, (void *) text) : NULL;
	int room = list && !same ? most - ao2_container_count(list) : INT_MAX;
	pj_str_t copy;

	if (same) {
		renew_if_other(same, rdata);
	} else if (list) {
		pj_strdup2_with_null(registered.pool, &copy, text);
		registered.uri = pjsip_parse_uri(registered.pool, copy.ptr, copy.slen, 0);
		if (registered.uri) {
			ao2_callback(list, OBJ_NODATA, make_room, &registered);
		}
	}
	ao2_cleanup(same);
	ao2_cleanup(list);
	return registered.has_room ? INT_MAX : room;
}

int pushwake__uri_matches(pj_pool_t *pool, const pjsip_sip_uri *target, const char *contact)
{
	pjsip_sip_uri *uri, *same;
	pj_str_t copy;

	pj_strdup2_with_null(pool, &copy, contact);
	uri = (pjsip_sip_uri *) pjsip_parse_uri(pool, copy.ptr, copy.slen, 0);
	if (!uri || (!PJSIP_URI_SCHEME_IS_SIP(uri) && !PJSIP_URI_SCHEME_IS_SIPS(uri))) {
		return 0;
	}
	same = pjsip_uri_clone(pool, target);
	/* user_eq_phone adds it on the way out. */
	same->user_param.slen = uri->user_param.slen = 0;
	return pjsip_uri_cmp(PJSIP_URI_IN_CONTACT_HDR, uri, same) == PJ_SUCCESS;
}

static int is_target(void *obj, void *arg, int flags)
{
	const struct ast_sip_contact *contact = obj;
	pjsip_tx_data *tdata = arg;

	return !pushwake__companion_is(contact->uri)
		&& pushwake__uri_matches(tdata->pool, pjsip_uri_get_uri(tdata->msg->line.req.uri), contact->uri)
		? CMP_MATCH | CMP_STOP : 0;
}

struct ast_sip_contact *pushwake__contact_of_request(const struct ast_sip_endpoint *endpoint, pjsip_tx_data *tdata)
{
	char *rest = ast_strdupa(S_OR(endpoint->aors, ""));
	struct ast_sip_contact *contact = NULL;
	struct ao2_container *list;
	char *name;

	while (!contact && (name = ast_strip(strsep(&rest, ",")))) {
		list = ast_strlen_zero(name) ? NULL : retrieve(name);
		contact = list ? ao2_callback(list, 0, is_target, tdata) : NULL;
		ao2_cleanup(list);
	}
	return contact;
}
