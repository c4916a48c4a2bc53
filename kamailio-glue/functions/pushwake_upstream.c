/* SPDX-License-Identifier: MIT
 *
 * pushwake_save_upstream(): a phone's REGISTER is held, the gateway registers at the
 * phone's SIP server, and the answer goes on with the phone. What the engine says is
 * done in whichever process hears of it: the worker that asked, the one that got the
 * server's answer, or the supervisor.
 */
#include <string.h>

#include "core/data_lump_rpl.h"
#include "core/parser/parse_to.h"
#include "core/parser/parse_uri.h"
#include "core/socket_info.h"
#include "core/trim.h"
#include "core/ut.h"
#include "pushwake_functions.h"

#define PW_TABLES 8
#define PW_TABLE_SIZE 64
/* Longer than the server's answer may take: the phone then hears what became of it. */
#define PW_REGISTER_WAIT_S 45
#define PW_MOST_ORDERS 64

/* Made before the fork, the same in all processes: a handle has the number. */
static char tables[PW_TABLES][PW_TABLE_SIZE] = {"location"};
static int table_count = 1;

/* Its number, or -1. */
static int number_of(const str *table)
{
	int i;

	for(i = 0; i < table_count; i++) {
		if((int)strlen(tables[i]) == table->len && memcmp(tables[i], table->s, table->len) == 0) {
			return i;
		}
	}
	return -1;
}

int pw_upstream_table(const str *table)
{
	if(number_of(table) >= 0) {
		return 0;
	}
	if(table_count == PW_TABLES || table->len <= 0 || table->len >= PW_TABLE_SIZE) {
		return -1;
	}
	memcpy(tables[table_count++], table->s, table->len);
	return 0;
}

int pw_upstream_table_param(modparam_t type, void *value)
{
	str table = {value, value != NULL ? (int)strlen(value) : 0};

	if(pw_upstream_table(&table) < 0) {
		LM_ERR("modparam upstream_table: write the name of one of at most %d tables\n", PW_TABLES - 1);
		return -1;
	}
	return 0;
}

int pw_upstream_init(void)
{
	udomain_t *domain;
	int i;

	/* those of modparams; what a script names is registered when it is read */
	for(i = 1; i < table_count; i++) {
		if(pw.usrloc.register_udomain(tables[i], &domain) < 0) {
			LM_ERR("usrloc has no table %s\n", tables[i]);
			return -1;
		}
	}
	pw_server_init();
	return pw_registers_init() < 0 ? -1 : pw_continue_init();
}

/* Where the SIP server reaches this host: prefer UDP, since a connection that the
 * server lost takes the phone's registration with it. */
static void local_address(pushwake_str *out, sip_msg_t *msg)
{
	static char text[128];
	struct socket_info *s = msg->rcv.bind_address;
	str *host, *port;

	if((s == NULL || s->proto != PROTO_UDP) && udp_listen != NULL) {
		s = udp_listen;
	}
	if(s == NULL) {
		return;
	}
	host = s->useinfo.name.len > 0 ? &s->useinfo.name : &s->address_str;
	port = s->useinfo.port_no > 0 ? &s->useinfo.port_no_str : &s->port_no_str;
	if(host->len + port->len + 2 > (int)sizeof(text)) {
		return;
	}
	memcpy(text, host->s, host->len);
	text[host->len] = ':';
	memcpy(text + host->len + 1, port->s, port->len);
	out->ptr = text;
	out->len = (size_t)(host->len + 1 + port->len);
}

/* An order in memory of its own: what carries it out may ask the engine again. */
static pushwake_upstream *copy(const pushwake_upstream *order)
{
	pushwake_upstream copied = *order, *out;
	pushwake_str *texts[] = {&copied.account, &copied.uri, &copied.request_uri, &copied.next_hop, &copied.call_id,
			&copied.from_tag, &copied.reason, &copied.headers};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	size_t size = sizeof(copied), i;
	char *at;

	for(i = 0; i < count; i++) {
		size += texts[i]->len;
	}
	out = pw_alloc(size);
	if(out == NULL) {
		return NULL;
	}
	at = (char *)(out + 1);
	for(i = 0; i < count; i++) {
		if(texts[i]->len > 0) {
			memcpy(at, texts[i]->ptr, texts[i]->len);
			texts[i]->ptr = at;
			at += texts[i]->len;
		}
	}
	*out = copied;
	return out;
}

static void execute_all(const pushwake_upstream_result *result)
{
	pushwake_upstream *orders[PW_MOST_ORDERS];
	size_t i, n = 0;

	for(i = 0; i < result->count && n < PW_MOST_ORDERS; i++) {
		orders[n] = copy(&result->actions[i]);
		if(orders[n] != NULL) {
			n++;
		}
	}
	for(i = 0; i < n; i++) {
		pw_upstream_execute(orders[i]);
		free(orders[i]);
	}
}

static void tell_answer(uint64_t id, int status, sip_msg_t *reply)
{
	pushwake_upstream_result result = PUSHWAKE_UPSTREAM_RESULT_INIT;
	pushwake_upstream_answer answer = PUSHWAKE_UPSTREAM_ANSWER_INIT;
	pushwake_header *headers = NULL;
	int told;

	answer.id = id;
	answer.status = status;
	if(reply != NULL && reply != FAKED_REPLY && parse_headers(reply, HDR_EOH_F, 0) == 0) {
		headers = pw_headers(reply, &answer.header_count);
		answer.headers = headers;
		answer.from_server = 1;
		answer.reason = pw_in(&reply->first_line.u.reply.reason);
	}
	told = pushwake_upstream_answered(&result, pw_client, &answer);
	free(headers);
	if(told < 0) {
		pw_engine_away("pushwake_save_upstream", told);
		return;
	}
	execute_all(&result);
}

/* Runs in the worker that got the answer, or in tm's timer. */
static void on_answer(tm_cell_t *t, int type, struct tmcb_params *params)
{
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();

	if(params->code < 200) {
		return;
	}
	tell_answer((uint64_t)(uintptr_t)*params->param, params->code, params->rpl);
	pw.tm.t_sett(before, branch);
}

static void send_register(const pushwake_upstream *order)
{
	str method = str_init("REGISTER");
	str headers = pw_out(order->headers);
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	str hop = pw_server_of(order);
	uac_req_t request;
	dlg_t dialog;
	int sent;

	memset(&dialog, 0, sizeof(dialog));
	dialog.id.call_id = pw_out(order->call_id);
	dialog.id.loc_tag = pw_out(order->from_tag);
	dialog.loc_seq.value = order->cseq - 1; /* tm adds one */
	dialog.loc_seq.is_set = 1;
	dialog.loc_uri = pw_out(order->uri);
	dialog.rem_uri = dialog.loc_uri;
	dialog.rem_target = pw_out(order->request_uri);
	dialog.dst_uri = hop;
	dialog.state = DLG_CONFIRMED;
	set_uac_req(&request, &method, &headers, NULL, &dialog, TMCB_LOCAL_COMPLETED, on_answer,
			(void *)(uintptr_t)order->id);
	sent = pw.tm.t_request_within(&request);
	pw.tm.t_sett(before, branch);
	if(sent < 0) {
		LM_WARN("cannot send a REGISTER to %.*s\n", PW_FMT(hop.len > 0 ? pw_in(&hop) : order->request_uri));
		tell_answer(order->id, 503, NULL);
	}
}

void pw_upstream_execute(const pushwake_upstream *order)
{
	unsigned int number = (unsigned int)(order->handle >> 56);
	str table;

	if(order->kind == PUSHWAKE_UPSTREAM_SEND) {
		send_register(order);
	} else if(number < PW_TABLES && pw_register_over(order->handle)) {
		table.s = tables[number];
		table.len = (int)strlen(table.s);
		pw_continue(order, &table, (unsigned int)(order->handle >> 32) & 0xffffff, (unsigned int)order->handle);
	}
}

static int answer_locally(sip_msg_t *msg, int code, char *text)
{
	str reason = {text, (int)strlen(text)};

	pw.sl.freply(msg, code, &reason);
	return -1;
}

/* Holds the REGISTER; PW_HELD for one that tm knows already. */
static int hold(sip_msg_t *msg, unsigned int *index, unsigned int *label)
{
	tm_cell_t *t = pw.tm.t_gett();
	int made;

	if(t == NULL || t == T_UNDEFINED) {
		made = pw.tm.t_newtran(msg);
		if(made <= 0) {
			return made == 0 ? PW_HELD : -1;
		}
		t = pw.tm.t_gett();
		if(t == NULL || t == T_UNDEFINED) {
			return -1;
		}
	}
	t->fr_timeout = S_TO_TICKS(PW_REGISTER_WAIT_S);
	return pw.tm.t_suspend(msg, index, label) == 0 ? 0 : -1;
}

static int ask(pushwake_upstream_result *result, sip_msg_t *msg, uint64_t handle)
{
	pushwake_upstream_request request = PUSHWAKE_UPSTREAM_REQUEST_INIT;
	pushwake_header *headers = pw_headers(msg, &request.header_count);
	str call_id = msg->callid->body;
	int status;

	if(headers == NULL) {
		return PUSHWAKE_ERR_TOO_LARGE;
	}
	trim(&call_id);
	request.handle = handle;
	request.headers = headers;
	request.request_uri = pw_in(GET_RURI(msg));
	request.to_uri = pw_in(&get_to(msg)->uri);
	request.call_id = pw_in(&call_id);
	request.route = pw_in(&msg->dst_uri);
	local_address(&request.local, msg);
	status = pushwake_upstream_register(result, pw_client, &request);
	free(headers);
	return status;
}

int ki_pushwake_save_upstream(sip_msg_t *msg, str *table)
{
	pushwake_upstream_result result = PUSHWAKE_UPSTREAM_RESULT_INIT;
	unsigned int index = 0, label = 0;
	int number = number_of(table);
	uint64_t handle;
	int held, asked;

	if(msg->REQ_METHOD != METHOD_REGISTER || parse_headers(msg, HDR_EOH_F, 0) < 0 || msg->callid == NULL
			|| parse_to_header(msg) < 0) {
		return answer_locally(msg, 400, "Bad Request");
	}
	if(number < 0) {
		LM_ERR("pushwake_save_upstream(%.*s): not all processes know this table; add modparam(\"pushwake\", "
			   "\"upstream_table\", \"%.*s\")\n", table->len, table->s, table->len, table->s);
		return answer_locally(msg, 500, "Server Internal Error");
	}
	if(!pw.usrloc.use_domain) {
		LM_ERR("set use_domain of usrloc to 1: users of several SIP servers would be one\n");
		return answer_locally(msg, 500, "Server Internal Error");
	}
	held = hold(msg, &index, &label);
	if(held != 0) {
		return held == PW_HELD ? PW_HELD : answer_locally(msg, 500, "Server Internal Error");
	}
	handle = (uint64_t)number << 56 | (uint64_t)(index & 0xffffff) << 32 | label;
	/* before the engine hears of it: the answer may be done in another process */
	pw_register_held(handle);
	asked = ask(&result, msg, handle);
	if(asked < 0 || (result.count > 0 && result.actions[0].kind == PUSHWAKE_UPSTREAM_REFUSE)) {
		pw_register_over(handle);
		pw.tm.t_cancel_suspend(index, label);
		if(asked == 0) {
			pw_refuse_register(msg, &result.actions[0]);
			return -1;
		}
		pw_engine_away("pushwake_save_upstream", asked);
		add_lump_rpl(msg, "Retry-After: 5\r\n", 16, LUMP_RPL_HDR);
		return answer_locally(msg, 503, "Gateway Not Ready");
	}
	execute_all(&result);
	return PW_HELD;
}

/* What became of it is not known any more; it has been held since before this engine. */
static void ask_again(uint64_t handle)
{
	pushwake_upstream_result result = PUSHWAKE_UPSTREAM_RESULT_INIT;
	pushwake_upstream refusal;
	tm_cell_t *t = NULL;
	int asked;

	if(pw.tm.t_lookup_ident(&t, (unsigned int)(handle >> 32) & 0xffffff, (unsigned int)handle) < 0 || t == NULL) {
		pw_register_over(handle);
		return;
	}
	if(t->uas.status >= 200) {
		pw.tm.unref_cell(t);
		pw_register_over(handle);
		return;
	}
	asked = ask(&result, t->uas.request, handle);
	pw.tm.unref_cell(t);
	if(asked == 0) {
		execute_all(&result);
		return;
	}
	pw_engine_away("pushwake_save_upstream", asked);
	memset(&refusal, 0, sizeof(refusal));
	refusal.kind = PUSHWAKE_UPSTREAM_REFUSE;
	refusal.handle = handle;
	refusal.status = 503;
	refusal.reason = pw_text("Gateway Not Ready");
	refusal.headers = pw_text("Retry-After: 5\r\n");
	pw_upstream_execute(&refusal);
}

void pw_upstream_resume(void)
{
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	int i, count;
	uint64_t *handles = pw_registers_all(&count);

	for(i = 0; i < count; i++) {
		ask_again(handles[i]);
		pw.tm.t_sett(before, branch);
	}
	if(count > 0) {
		LM_NOTICE("%d held REGISTERs go on with the new engine\n", count);
	}
	free(handles);
}

int ki_pushwake_lookup_upstream(sip_msg_t *msg, str *table)
{
	pushwake_str user = {NULL, 0};
	char text[512];
	str uri;

	if(parse_sip_msg_uri(msg) < 0 || pushwake_upstream_user(&user, pw_client, pw_in(&msg->parsed_uri.user)) < 0
			|| user.len == 0 || user.len >= sizeof(text)) {
		return PW_NOBODY;
	}
	memcpy(text, user.ptr, user.len);
	uri.s = text;
	uri.len = (int)user.len;
	return ki_pushwake_lookup_uri(msg, table, &uri);
}
