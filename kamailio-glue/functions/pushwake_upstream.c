/* SPDX-License-Identifier: MIT
 *
 * pushwake_save_upstream(): a phone's REGISTER is held, the gateway registers at the
 * phone's SIP server, and the answer goes on with the phone. What the engine says is
 * done in whichever process hears of it: the worker that asked, the one that got the
 * server's answer, or the supervisor.
 */
#include <string.h>

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

static void on_action(void *context, const pushwake_upstream *action)
{
	pw_upstream_execute(action);
}

static void tell_answer(uint64_t id, int status, sip_msg_t *reply)
{
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
	told = pushwake_upstream_answered(pw_client, &answer, on_action, NULL);
	free(headers);
	if(told < 0) {
		pw_engine_away("pushwake_save_upstream", told);
	}
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

static void send_register(const pushwake_upstream *action)
{
	str method = str_init("REGISTER");
	str headers = pw_out(action->headers);
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	str hop = pw_server_of(action);
	uac_req_t request;
	dlg_t dialog;
	int sent;

	memset(&dialog, 0, sizeof(dialog));
	dialog.id.call_id = pw_out(action->call_id);
	dialog.id.loc_tag = pw_out(action->from_tag);
	dialog.loc_seq.value = action->cseq - 1; /* tm adds one */
	dialog.loc_seq.is_set = 1;
	dialog.loc_uri = pw_out(action->server_user);
	dialog.rem_uri = dialog.loc_uri;
	dialog.rem_target = pw_out(action->request_uri);
	dialog.dst_uri = hop;
	dialog.state = DLG_CONFIRMED;
	set_uac_req(&request, &method, &headers, NULL, &dialog, TMCB_LOCAL_COMPLETED, on_answer,
			(void *)(uintptr_t)action->id);
	sent = pw.tm.t_request_within(&request);
	pw.tm.t_sett(before, branch);
	if(sent < 0) {
		LM_WARN("cannot send a REGISTER to %.*s\n", PW_FMT(hop.len > 0 ? pw_in(&hop) : action->request_uri));
		tell_answer(action->id, 503, NULL);
	}
}

void pw_upstream_execute(const pushwake_upstream *action)
{
	unsigned int number = (unsigned int)(action->handle >> 56);
	str table;

	if(action->kind == PUSHWAKE_UPSTREAM_SEND) {
		send_register(action);
	} else if(number < PW_TABLES && pw_register_over(action->handle)) {
		table.s = tables[number];
		table.len = (int)strlen(table.s);
		pw_continue(action, &table, (unsigned int)(action->handle >> 32) & 0xffffff, (unsigned int)action->handle);
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

static int ask(sip_msg_t *msg, uint64_t handle, int is_resumed, pushwake_upstream_fn then, void *context)
{
	pushwake_upstream_request request = PUSHWAKE_UPSTREAM_REQUEST_INIT;
	pushwake_header *headers = pw_headers(msg, &request.header_count);
	str call_id = msg->callid->body;
	int status;

	trim(&call_id);
	request.handle = handle;
	request.is_retry = (uint64_t)is_resumed;
	request.headers = headers;
	request.request_uri = pw_in(GET_RURI(msg));
	request.to_uri = pw_in(&get_to(msg)->uri);
	request.call_id = pw_in(&call_id);
	request.route = pw_in(&msg->dst_uri);
	local_address(&request.local_address, msg);
	status = pushwake_upstream_register(pw_client, &request, then, context);
	free(headers);
	return status;
}

/* A REGISTER that is being held, with the script that holds it at work. */
typedef struct pw_held_register {
	sip_msg_t *msg;
	uint64_t handle;
	unsigned int index;
	unsigned int label;
	int is_refused;
} pw_held_register_t;

/* It is not held after all: the script's own message is answered, unless another process has done it meanwhile. */
static void refuse(pw_held_register_t *held, const pushwake_upstream *refusal)
{
	if(pw_register_over(held->handle)) {
		pw.tm.t_cancel_suspend(held->index, held->label);
		pw_refuse_register(held->msg, refusal);
		held->is_refused = 1;
	}
}

static void on_first_action(void *context, const pushwake_upstream *action)
{
	pw_held_register_t *held = context;

	if(action->kind == PUSHWAKE_UPSTREAM_REFUSE && action->handle == held->handle && !held->is_refused) {
		refuse(held, action);
	} else {
		pw_upstream_execute(action);
	}
}

int ki_pushwake_save_upstream(sip_msg_t *msg, str *table)
{
	pw_held_register_t one = {.msg = msg};
	int number = number_of(table);
	int held, asked;

	if(!pw_may_hold("pushwake_save_upstream")) {
		return -1;
	}
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
	held = hold(msg, &one.index, &one.label);
	if(held != 0) {
		return held == PW_HELD ? PW_HELD : answer_locally(msg, 500, "Server Internal Error");
	}
	one.handle = (uint64_t)number << 56 | (uint64_t)(one.index & 0xffffff) << 32 | one.label;
	/* before the engine hears of it: the answer may be done in another process */
	pw_register_held(one.handle);
	asked = ask(msg, one.handle, 0, on_first_action, &one);
	if(asked < 0) {
		pw_engine_away("pushwake_save_upstream", asked);
	}
	return one.is_refused ? -1 : PW_HELD;
}

/* What became of it is not known any more; it has been held since before this engine. 0: the engine is silent. */
static int ask_again(uint64_t handle)
{
	tm_cell_t *t = NULL;
	int asked;

	if(pw.tm.t_lookup_ident(&t, (unsigned int)(handle >> 32) & 0xffffff, (unsigned int)handle) < 0 || t == NULL) {
		pw_register_over(handle);
		return 1;
	}
	if(t->uas.status >= 200) {
		pw.tm.unref_cell(t);
		pw_register_over(handle);
		return 1;
	}
	asked = ask(t->uas.request, handle, 1, on_action, NULL);
	pw.tm.unref_cell(t);
	if(asked == PUSHWAKE_ERR_UNAVAILABLE || asked == PUSHWAKE_ERR_TIMEOUT) {
		return 0;
	}
	if(asked < 0) {
		pw_engine_away("pushwake_save_upstream", asked);
	}
	return 1;
}

/* How long it is told of them in a row: verbs of other requests wait meanwhile. */
#define PW_RESUME_MS 50

/* Those that a new engine has to hear of, and how many it has taken. */
static uint64_t *resumed = NULL;
static int resumed_count = 0;
static int taken = 0;

void pw_upstream_resume(void)
{
	free(resumed);
	resumed = pw_registers_all(&resumed_count);
	taken = 0;
	pw_upstream_resume_on();
}

void pw_upstream_resume_on(void)
{
	tm_cell_t *before = pw.tm.t_gett();
	int branch = pw.tm.t_gett_branch();
	int64_t until = pw_now_ms() + PW_RESUME_MS;
	int is_silent = 0;

	while(resumed != NULL && taken < resumed_count && !is_silent && pw_now_ms() < until) {
		is_silent = !ask_again(resumed[taken]);
		taken += !is_silent;
		pw.tm.t_sett(before, branch);
	}
	if(resumed == NULL || taken < resumed_count) {
		return;
	}
	if(resumed_count > 0) {
		LM_NOTICE("%d held REGISTERs go on with the new engine\n", resumed_count);
	}
	free(resumed);
	resumed = NULL;
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
