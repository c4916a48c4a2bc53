/* SPDX-License-Identifier: MIT
 *
 * Where branches lead that wait: a UDP socket on loopback, of the supervisor's process, which outlives the engine. Nobody
 * else can send to it: the request must come from a socket of this Kamailio, and its URI has a key that no phone sees. What
 * comes back is sent to this Kamailio's own socket, and its workers look where it is from.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "core/ip_addr.h"
#include "core/parser/parse_methods.h"
#include "core/socket_info.h"
#include "pushwake_waiting.h"

#define MAX_URI 1000
#define MAX_REQUEST 65536
/* How many are taken before something else has its turn. */
#define MOST_AT_ONCE 256
#define RECEIVE_BUFFER (8 * 1024 * 1024)

int pw_waits_in_leg = 0;

static int place_fd = -1;
static unsigned short place_port;
static char key[33];
/* What no other URI has. */
static char mark[64];
static pushwake_legs *legs = NULL;
static struct sockaddr_in answers_to;

int pw_wait_param(modparam_t type, void *value)
{
	const char *name = value;

	if(strcmp(name, "leg") != 0 && strcmp(name, "branch") != 0) {
		LM_ERR("modparam wait: \"%s\" is neither branch nor leg\n", name);
		return -1;
	}
	pw_waits_in_leg = strcmp(name, "leg") == 0;
	return 0;
}

/* Answers go to the first socket that can be reached from an IPv4 address. */
static int find_socket(void)
{
	struct socket_info *si;

	for(si = udp_listen; si != NULL; si = si->next) {
		if(si->address.af == AF_INET && !(si->flags & SI_IS_MCAST)) {
			answers_to.sin_family = AF_INET;
			answers_to.sin_port = htons(si->port_no);
			answers_to.sin_addr.s_addr =
					ip_addr_any(&si->address) ? htonl(INADDR_LOOPBACK) : si->address.u.addr32[0];
			return 0;
		}
	}
	LM_ERR("wait=leg needs a UDP socket of IPv4: write listen=udp:127.0.0.1:5060, or leave wait as it is\n");
	return -1;
}

static int make_key(void)
{
	unsigned char bytes[16];
	size_t i;

	if(getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
		LM_ERR("getrandom: %s\n", strerror(errno));
		return -1;
	}
	for(i = 0; i < sizeof(bytes); i++) {
		snprintf(key + 2 * i, 3, "%02x", bytes[i]);
	}
	snprintf(mark, sizeof(mark), ";key=%s;call=", key);
	return 0;
}

int pw_place_init(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int size = RECEIVE_BUFFER;

	if(find_socket() < 0 || make_key() < 0) {
		return -1;
	}
	place_fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if(place_fd < 0 || bind(place_fd, (struct sockaddr *)&at, sizeof(at)) < 0
			|| getsockname(place_fd, (struct sockaddr *)&at, &len) < 0) {
		LM_ERR("the socket for requests that wait: %s\n", strerror(errno));
		return -1;
	}
	if(setsockopt(place_fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0) {
		setsockopt(place_fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	}
	place_port = ntohs(at.sin_port);
	return 0;
}

/* Escapes what a user part may not have. -1: no room. */
static int put_escaped(char *out, size_t room, const str *text)
{
	static const char plain[] = "-_.!~*'()";
	size_t used = 0;
	int i;

	for(i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->s[i];
		int is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
					   || (c != '\0' && strchr(plain, c) != NULL);

		if(used + 4 > room) {
			return -1;
		}
		used += (size_t)snprintf(out + used, room - used, is_plain ? "%c" : "%%%02X", c);
	}
	return (int)used;
}

str pw_place_uri(const pw_waiting_t *waiting)
{
	static char text[MAX_URI];
	char user[MAX_URI / 2], table[128];
	str uri = {text, 0};
	int n, user_len = put_escaped(user, sizeof(user), &waiting->aor);
	int table_len = put_escaped(table, sizeof(table), &waiting->table);

	if(user_len < 0 || table_len < 0) {
		return uri;
	}
	n = snprintf(text, sizeof(text), "sip:%.*s@127.0.0.1:%u;domain=%.*s%s%llx", user_len, user, place_port,
			table_len, table, mark, (unsigned long long)(waiting->handle & ~PW_WAIT_MARK));
	uri.len = n > 0 && n < (int)sizeof(text) ? n : 0;
	return uri;
}

uint64_t pw_place_handle(const str *uri)
{
	const char *at = place_fd >= 0 && uri->len > 0 ? memmem(uri->s, (size_t)uri->len, mark, strlen(mark)) : NULL;
	uint64_t handle = 0;
	const char *end = uri->s + uri->len;

	if(at == NULL) {
		return 0;
	}
	for(at += strlen(mark); at < end && isxdigit((unsigned char)*at); at++) {
		handle = handle << 4 | (uint64_t)(*at <= '9' ? *at - '0' : (*at | 0x20) - 'a' + 10);
	}
	return handle | PW_WAIT_MARK;
}

int pw_place_is(const struct receive_info *from)
{
	return from->src_port == place_port && from->proto == PROTO_UDP && from->src_ip.af == AF_INET
		   && from->src_ip.u.addr32[0] == htonl(INADDR_LOOPBACK);
}

/* ---- What other processes tell */

void pw_place_progressed(const pw_waiting_t *waiting, int leg, int status, int from_phone)
{
	pushwake_verb note = {.kind = PW_NOTE_PROGRESSED};

	note.handle = waiting->handle;
	note.leg = leg;
	note.status = status;
	note.replaced_leg = from_phone;
	pw_verb_later(&note);
}

void pw_place_sent(const pw_waiting_t *waiting, int leg, struct dest_info *over)
{
	pushwake_verb note = {.kind = PW_NOTE_SENT};
	struct ip_addr ip;

	if(over->proto == PROTO_UDP) {
		return;
	}
	su2ip_addr(&ip, &over->to);
	note.handle = waiting->handle;
	note.leg = leg;
	note.milliseconds = over->id;
	note.replaced_leg = su_getport(&over->to);
	note.contact.ptr = (const char *)&ip;
	note.contact.len = sizeof(ip);
	pw_verb_later(&note);
}

void pw_place_ended(const pw_waiting_t *waiting, int how, int status)
{
	pushwake_verb note = {.kind = PW_NOTE_ENDED};

	note.handle = waiting->handle;
	note.leg = how;
	note.status = status;
	pw_verb_later(&note);
}

void pw_place_registered(str *table, str *aor, pw_contacts_t *contacts)
{
	pushwake_verb note = {.kind = PW_NOTE_REGISTERED};
	pushwake_contact *described = pw_waits_in_leg && contacts->n > 0 ? pw_contacts_describe(contacts) : NULL;
	int i;

	note.domain = pw_in(table);
	note.aor = pw_in(aor);
	for(i = 0; described != NULL && i < contacts->n; i++) {
		note.contact = described[i].key;
		note.contact_uri = described[i].uri;
		note.contact_path = described[i].path;
		note.contact_flow = described[i].flow;
		note.reason = described[i].instance;
		note.status = described[i].reach;
		pw_verb_later(&note);
	}
	free(described);
}

int pw_place_take(const pushwake_verb *note)
{
	pushwake_contact contact = {.key = note->contact};

	switch(note->kind) {
		case PW_NOTE_SENT:
			pw_connection_watch(note);
			return 1;
		case PW_NOTE_PROGRESSED:
			pw_connection_forget(note->handle, note->leg);
			pushwake_legs_progressed(legs, note->handle, note->leg, note->status, note->replaced_leg);
			return 1;
		case PW_NOTE_ENDED:
			pw_connection_forget(note->handle, 0);
			pushwake_legs_ended(legs, note->handle, note->leg, note->status, note->reason);
			return 1;
		case PW_NOTE_REGISTERED:
			contact.uri = note->contact_uri;
			contact.path = note->contact_path;
			contact.flow = note->contact_flow;
			contact.instance = note->reason;
			contact.reach = note->status;
			pushwake_legs_registered(legs, note->aor, note->domain, &contact);
			return 1;
		default:
			return 0;
	}
}

int pw_place_scan(void)
{
	uint64_t handle;
	int leg;

	while(pw_connection_lost(&handle, &leg)) {
		pushwake_legs_progressed(legs, handle, leg, 503, 0);
	}
	return pw_connections_are_young();
}

/* ---- In the supervisor */

/* Whether this Kamailio has sent it. */
static int is_own(const struct sockaddr_in *from)
{
	struct socket_info *si;

	for(si = udp_listen; si != NULL; si = si->next) {
		if(si->address.af == AF_INET && si->port_no == ntohs(from->sin_port)
				&& (ip_addr_any(&si->address) ? from->sin_addr.s_addr == htonl(INADDR_LOOPBACK)
											  : si->address.u.addr32[0] == from->sin_addr.s_addr)) {
			return 1;
		}
	}
	return 0;
}

static void on_answer(void *context, pushwake_str message)
{
	if(sendto(place_fd, message.ptr, message.len, 0, (struct sockaddr *)&answers_to, sizeof(answers_to)) < 0) {
		LM_WARN("an answer of a request that waits was not sent: %s\n", strerror(errno));
	}
}

/* Who the user of a request is: contacts as the registrar has them. */
static void describe(const pushwake_leg_order *order)
{
	pushwake_wake_request user = PUSHWAKE_WAKE_REQUEST_INIT;
	pw_contacts_t known = {.n = 0};
	pushwake_contact *described = NULL;
	unsigned int method = METHOD_UNDEF;
	str table, aor, name = pw_out(order->method);

	if(pw_copy(&table, order->domain.ptr, order->domain.len) < 0) {
		return;
	}
	if(pw_copy(&aor, order->aor.ptr, order->aor.len) == 0) {
		if(pw_contacts_get(&known, &table, &aor) == 0) {
			parse_method_name(&name, (enum request_method *)&method);
			pw_contacts_keep_method(&known, method);
			described = pw_contacts_describe(&known);
		}
		user.contacts = described;
		user.contact_count = described != NULL ? (size_t)(known.n + known.refusing) : 0;
		pushwake_legs_described(legs, order->handle, &user, pushwake_may_wake(pw_client, order->aor) != 0);
		free(described);
		pw_contacts_free(&known);
		free(aor.s);
	}
	free(table.s);
}

static void on_order(void *context, const pushwake_leg_order *order)
{
	if(order->kind == PUSHWAKE_LEG_DESCRIBE) {
		describe(order);
	}
}

int pw_place_fd(void)
{
	return place_fd;
}

void pw_place_use(pushwake_settings *settings, pushwake_supervisor *supervisor)
{
	pushwake_legs_config config = PUSHWAKE_LEGS_CONFIG_INIT;

	if(!pw_waits_in_leg) {
		return;
	}
	config.on_answer = on_answer;
	config.on_order = on_order;
	config.host = PUSHWAKE_HOST_PROXY;
	config.key = pw_text(key);
	if(pushwake_legs_new(&legs, settings, &config) < 0 || pushwake_legs_use(legs, settings, supervisor) < 0) {
		LM_ERR("no memory for requests that wait\n");
	}
}

void pw_place_process(int has_come)
{
	static char text[MAX_REQUEST];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	pushwake_str message = {text, 0};
	ssize_t n;
	int i;

	if(legs == NULL) {
		return;
	}
	for(i = 0; has_come && i < MOST_AT_ONCE && (n = recvfrom(place_fd, text, sizeof(text), 0, (struct sockaddr *)&from, &len)) >= 0; i++) {
		message.len = (size_t)n;
		if(is_own(&from)) {
			pushwake_legs_receive(legs, message);
		}
		len = sizeof(from);
	}
	pushwake_legs_process(legs);
}

int pw_place_timeout_ms(void)
{
	return legs != NULL ? pushwake_legs_timeout_ms(legs) : -1;
}
