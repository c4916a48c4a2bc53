/* SPDX-License-Identifier: MIT
 *
 * Contacts of a user: copied out of usrloc, made into branches.
 */
#include "pushwake_contact.h"

#include <stdio.h>
#include <string.h>

#include "core/hashes.h"
#include "core/ip_addr.h"
#include "core/forward.h"
#include "core/globals.h"
#include "core/parser/parse_rr.h"
#include "core/parser/parse_uri.h"
#include "core/resolve.h"
#include "core/tcp_conn.h"
#include "core/ut.h"

/* The registrar's lookup takes it. */
static int is_usable(const ucontact_t *c, time_t now)
{
	return VALID_CONTACT(c, now) || pw_expired_counts();
}

static size_t text_size(const ucontact_t *c)
{
	return (size_t)c->c.len + c->ruid.len + c->instance.len + c->received.len + c->path.len
		   + c->user_agent.len + c->callid.len + 7;
}

int pw_contact_connection(const pw_contact_t *c, struct receive_info *out)
{
#ifdef USE_TCP
	struct tcp_connection *connection;
	int open;

	if(c->tcpconn_id > 0) {
		connection = tcpconn_get(c->tcpconn_id, 0, 0, 0, 0);
		if(connection != NULL) {
			open = connection->state == S_CONN_OK;
			if(open && out != NULL) {
				*out = connection->rcv;
			}
			tcpconn_put(connection);
			return open;
		}
	}
#endif
	return 0;
}

/* It registered from the far end of the connection that has this number now. */
static int is_its_connection(const pw_contact_t *c)
{
	const str *from = c->received.len > 0 ? &c->received : &c->uri;
	struct receive_info far;
	struct ip_addr *ip;
	sip_uri_t uri;

	return pw_contact_connection(c, &far) && parse_uri(from->s, from->len, &uri) == 0 && uri.port_no == far.src_port
		   && (ip = str2ipx(&uri.host)) != NULL && ip_addr_cmp(ip, &far.src_ip);
}

/* Its connection is another node's, where nodes share the table. In that mode usrloc also keeps the number beyond a
 * restart, though the count begins anew: somebody else may have it now. */
static int is_connection_known(const ucontact_t *from, const pw_contact_t *c)
{
	return from->server_id == server_id
		   && (pw.usrloc.db_mode != DB_ONLY || from->last_modified > up_since || is_its_connection(c));
}

static void copy_contact(pw_contact_t *to, const ucontact_t *from, char **at)
{
	to->uri = pw_put(at, pw_in(&from->c));
	to->ruid = pw_put(at, pw_in(&from->ruid));
	to->instance = pw_put(at, pw_in(&from->instance));
	to->received = pw_put(at, pw_in(&from->received));
	to->path = pw_put(at, pw_in(&from->path));
	to->user_agent = pw_put(at, pw_in(&from->user_agent));
	to->callid = pw_put(at, pw_in(&from->callid));
	to->cseq = from->cseq;
	to->q = from->q;
	to->cflags = from->cflags;
	to->reg_id = from->reg_id;
	to->methods = from->methods;
	to->flow[0] = '\0';
	to->tcpconn_id = from->tcpconn_id;
	to->tcpconn_id = is_connection_known(from, to) ? from->tcpconn_id : -1;
	to->sock = from->server_id == server_id ? from->sock : NULL;
	to->expires = from->expires;
	to->modified = from->last_modified;
}

static int copy_record(pw_contacts_t *out, const urecord_t *record)
{
	const ucontact_t *c;
	time_t now = time(NULL);
	size_t size = 0;
	int n = 0;
	char *at;

	for(c = record->contacts; c != NULL; c = c->next) {
		if(is_usable(c, now)) {
			size += sizeof(pw_contact_t) + text_size(c);
			n++;
		}
	}
	if(n == 0) {
		return 0;
	}
	out->v = pw_alloc(size);
	if(out->v == NULL) {
		return -1;
	}
	at = (char *)(out->v + n);
	for(c = record->contacts; c != NULL && out->n < n; c = c->next) {
		if(is_usable(c, now)) {
			copy_contact(&out->v[out->n++], c, &at);
		}
	}
	return 0;
}

int pw_contacts_get(pw_contacts_t *out, str *table, str *aor)
{
	udomain_t *domain;
	urecord_t *record;
	int status = 0;
	int found;

	out->v = NULL;
	out->n = out->refusing = 0;
	if(pw.usrloc.get_udomain(table->s, &domain) < 0) {
		LM_ERR("usrloc has no table [%.*s]\n", table->len, table->s);
		return -1;
	}
	pw.usrloc.lock_udomain(domain, aor);
	found = pw.usrloc.get_urecord(domain, aor, &record);
	if(found == 0) {
		status = copy_record(out, record);
		pw.usrloc.release_urecord(record);
	} else if(found < 0) {
		status = -1;
	}
	pw.usrloc.unlock_udomain(domain, aor);
	return status;
}

void pw_contacts_free(pw_contacts_t *list)
{
	free(list->v);
	list->v = NULL;
	list->n = list->refusing = 0;
}

pw_contact_t *pw_contact_find(pw_contacts_t *list, const str *ruid)
{
	int i;

	for(i = 0; list != NULL && i < list->n; i++) {
		if(STR_EQ(list->v[i].ruid, *ruid)) {
			return &list->v[i];
		}
	}
	return NULL;
}

void pw_contacts_keep(pw_contacts_t *list, str *callid, int cseq)
{
	int i, n = 0;

	for(i = 0; i < list->n; i++) {
		if(list->v[i].cseq == cseq && STR_EQ(list->v[i].callid, *callid)) {
			list->v[n++] = list->v[i];
		}
	}
	list->n = n;
}

static int names_stream(const pw_contact_t *c)
{
	const char *at = c->uri.s;
	sip_uri_t uri;

	if(c->tcpconn_id > 0 && strncasecmp(at, "sips:", 5) == 0) {
		return 1;
	}
	/* few name a transport, and parsing a URI with push parameters takes 3,000 instructions */
	while((at = strchr(at, ';')) != NULL && strncasecmp(++at, "transport=", 10) != 0) {
	}
	return at != NULL && parse_uri(c->uri.s, c->uri.len, &uri) == 0
		   && (uri.proto == PROTO_TCP || uri.proto == PROTO_TLS || uri.proto == PROTO_WS || uri.proto == PROTO_WSS);
}

/* Its connection is open, and nothing that it registered says that requests go over that. */
static int is_unnamed_connection(const pw_contact_t *c, struct receive_info *far)
{
	return c->tcpconn_id > 0 && c->received.len == 0 && strstr(c->uri.s, ";alias=") == NULL && !names_stream(c)
		   && pw_contact_connection(c, far);
}

static int names_host_of(const pw_contact_t *c, const struct receive_info *far)
{
	struct ip_addr *ip;
	sip_uri_t uri;

	return parse_uri(c->uri.s, c->uri.len, &uri) == 0 && (ip = str2ipx(&uri.host)) != NULL
		   && ip_addr_cmp(ip, &far->src_ip);
}

int pw_contact_hides_connection(const pw_contact_t *c)
{
	struct receive_info far;

	return c->path.len == 0 && is_unnamed_connection(c, &far) && names_host_of(c, &far);
}

/* A connection from another host than its URI names is that of a proxy, which need not lead to the phone. */
static int needs_connection(const pw_contact_t *c)
{
	struct receive_info far;

	return c->tcpconn_id > 0 ? !is_unnamed_connection(c, &far) || names_host_of(c, &far) : names_stream(c);
}

/* The registrar's path_check_local: a Path whose first hop is this server begins with
 * the second. */
static void skip_own_path(str *path, str *next)
{
	sip_uri_t uri;

	if(pw.path_check_local == NULL || *pw.path_check_local <= 0 || parse_uri(next->s, next->len, &uri) < 0
			|| !check_self(&uri.host, 0, 0)) {
		return;
	}
	if(path->len > next->len + 3) {
		path->s += next->len + 3;
		path->len -= next->len + 3;
		if(get_path_dst_uri(path, next) == 0) {
			return;
		}
	}
	path->len = 0;
	next->len = 0;
}

/* A Path that leads no further than here is no proxy of the phone's: nodes that share a location table have one each. */
static int is_behind_proxy(const pw_contact_t *c)
{
	str path = c->path, next = STR_NULL;

	if(path.len > 0 && get_path_dst_uri(&path, &next) == 0) {
		skip_own_path(&path, &next);
	}
	return path.len > 0;
}

/* enum pushwake_reach */
static int reach(const pw_contact_t *c)
{
	/* behind a Path the connection is the edge proxy's, not the phone's */
	if(is_behind_proxy(c) || !needs_connection(c)) {
		return PUSHWAKE_REACH_DATAGRAM;
	}
	if(pw_contact_connection(c, NULL)) {
		return PUSHWAKE_REACH_OPEN;
	}
	/* behind a NAT nobody but the phone can open another; the URI ends in NUL */
	return c->received.len > 0 || strstr(c->uri.s, ";alias=") != NULL ? PUSHWAKE_REACH_LOST : PUSHWAKE_REACH_CLOSED;
}

int pw_contact_takes(const pw_contact_t *c, unsigned int method)
{
	return pw.method_filtering == NULL || *pw.method_filtering == 0 || (method & c->methods) != 0;
}

void pw_contacts_keep_method(pw_contacts_t *list, unsigned int method)
{
	pw_contact_t taking;
	int i, n = 0;

	for(i = 0; i < list->n; i++) {
		if(pw_contact_takes(&list->v[i], method)) {
			taking = list->v[i];
			list->v[i] = list->v[n];
			list->v[n++] = taking;
		}
	}
	list->refusing = list->n - n;
	list->n = n;
}

static const char *proto_name(int proto)
{
	switch(proto) {
		case PROTO_TCP:
			return "tcp";
		case PROTO_TLS:
			return "tls";
		case PROTO_SCTP:
			return "sctp";
		case PROTO_WS:
		case PROTO_WSS:
			return "ws";
		default:
			return "udp";
	}
}

void pw_flow_print(char flow[PW_FLOW_SIZE], struct receive_info *from)
{
	int is_v6 = from->src_ip.af == AF_INET6;

	snprintf(flow, PW_FLOW_SIZE, "sip:%s%s%s:%u;transport=%s", is_v6 ? "[" : "", ip_addr2a(&from->src_ip),
			is_v6 ? "]" : "", from->src_port, proto_name(from->proto));
}

str pw_contact_target(pw_contact_t *c, char flow[PW_FLOW_SIZE])
{
	struct receive_info from;
	str path = c->path, next = STR_NULL;

	if(path.len > 0 && get_path_dst_uri(&path, &next) == 0) {
		skip_own_path(&path, &next);
		if(next.len > 0) {
			return next;
		}
	}
	if(c->received.len > 0) {
		return c->received;
	}
	next.s = flow;
	next.len = 0;
	/* tm takes the number of a connection only from lookup(); an address it finds by itself */
	if(pw_contact_connection(c, &from)) {
		pw_flow_print(flow, &from);
		next.len = (int)strlen(flow);
	}
	return next;
}

/* Where it is sent. 0: that is a name. */
static int is_address(sip_uri_t *uri, pw_contact_t *c, char flow[PW_FLOW_SIZE])
{
	str target = pw_contact_target(c, flow);

	if(target.len == 0) {
		target = c->uri;
	}
	return parse_uri(target.s, target.len, uri) < 0 || str2ipx(&uri->host) != NULL;
}

int pw_contact_is_address(pw_contact_t *c)
{
	char flow[PW_FLOW_SIZE];
	sip_uri_t uri;

	return is_address(&uri, c, flow);
}

int pw_contact_resolve(pw_contact_t *c)
{
	char flow[PW_FLOW_SIZE];
	union sockaddr_union to;
	sip_uri_t uri;
	char proto;

	if(is_address(&uri, c, flow)) {
		return 0;
	}
	proto = (char)(uri.type == SIPS_URI_T && uri.proto != PROTO_WS ? PROTO_TLS : uri.proto);
	return sip_hostport2su(&to, &uri.host, uri.port_no, &proto);
}

int pw_contact_append(sip_msg_t *msg, pw_contact_t *c, str *uri)
{
	char flow[PW_FLOW_SIZE];
	str path = c->path;
	str next = STR_NULL, target;
	branch_t *branch;

	if(path.len > 0) {
		if(get_path_dst_uri(&path, &next) < 0) {
			LM_ERR("bad Path of the contact with ruid %.*s\n", c->ruid.len, c->ruid.s); /* its URI has the token */
			return -1;
		}
		skip_own_path(&path, &next);
	}
	target = pw_contact_target(c, flow);
	if(uri != NULL && target.len == 0) {
		target = c->uri;
	}
	branch = ksr_push_branch(msg, uri != NULL ? uri : &c->uri, target.len > 0 ? &target : NULL, next.len > 0 ? &path : NULL, c->q,
			c->cflags, c->sock, c->instance.len > 0 ? &c->instance : NULL,
			c->instance.len > 0 ? c->reg_id : 0, &c->ruid, &c->user_agent);
	if(branch == NULL) {
		LM_ERR("no branch for the contact with ruid %.*s\n", c->ruid.len, c->ruid.s);
		return -1;
	}
	branch->otcpid = c->tcpconn_id;
	return 0;
}

/* Where it registered from, as far as the registrar remembers. */
static void learn_flow(pw_contact_t *c)
{
	struct receive_info from;

	if(c->flow[0] != '\0') {
		return;
	}
	if(pw_contact_connection(c, &from)) {
		pw_flow_print(c->flow, &from);
	} else if(c->received.len > 0 && c->received.len < PW_FLOW_SIZE - 16) {
		snprintf(c->flow, sizeof(c->flow), "%.*s%s", c->received.len, c->received.s,
				strstr(c->received.s, ";transport=") != NULL ? "" : ";transport=udp");
	}
}

pushwake_contact *pw_contacts_describe(pw_contacts_t *list)
{
	int i, n = list->n + list->refusing;
	pushwake_contact *out = pw_alloc((n + 1) * sizeof(*out));
	time_t now = time(NULL);

	if(out == NULL) {
		return NULL;
	}
	memset(out, 0, (n + 1) * sizeof(*out));
	for(i = 0; i < n; i++) {
		pw_contact_t *c = &list->v[i];

		learn_flow(c);
		out[i].uri = pw_in(&c->uri);
		out[i].instance = pw_in(&c->instance);
		out[i].key = pw_in(&c->ruid);
		out[i].flow = pw_text(c->flow);
		out[i].register_call_id = pw_in(&c->callid);
		out[i].age_s = c->modified > 0 && c->modified <= now ? (int32_t)(now - c->modified) : -1;
		out[i].reach = i < list->n ? reach(c) : PUSHWAKE_REACH_REFUSES;
		out[i].behind_proxy = is_behind_proxy(c);
		out[i].path = pw_in(&c->path);
		out[i].expires = c->expires == 0 ? -1 : MAX(c->expires - now, 1);
	}
	return out;
}

pw_contact_t *pw_contact_elsewhere(pw_contact_t *out, const pushwake_verb *verb)
{
	static char texts[4096];
	char *at = texts;

	if(verb->contact_uri.len == 0
			|| verb->contact_uri.len + verb->contact.len + verb->contact_path.len + verb->contact_flow.len + 4
					   > sizeof(texts)) {
		return NULL;
	}
	memset(out, 0, sizeof(*out));
	out->uri = pw_put(&at, verb->contact_uri);
	out->ruid = pw_put(&at, verb->contact);
	out->path = pw_put(&at, verb->contact_path);
	out->received = pw_put(&at, verb->contact_flow);
	if(out->path.len > 0) {
		out->received.len = 0;
	}
	out->q = Q_UNSPECIFIED;
	out->methods = ~0u;
	out->tcpconn_id = -1;
	return out;
}

/* The core's function reads before the text when there is none. */
static unsigned int hash_of(const str *text)
{
	return text->len > 0 ? get_hash1_raw(text->s, text->len) : 0;
}

unsigned int pw_place_of(const pw_contact_t *contact)
{
	unsigned int place = (unsigned int)contact->tcpconn_id;

	place = place * 31 + hash_of(&contact->uri);
	place = place * 31 + hash_of(&contact->received);
	place = place * 31 + hash_of(&contact->path);
	return place * 31 + hash_of(&contact->callid);
}

unsigned int pw_run_of(const pw_contact_t *contact)
{
	return hash_of(&contact->callid);
}
