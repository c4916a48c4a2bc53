/* SPDX-License-Identifier: MIT
 *
 * pushwake_save(): a REGISTER is saved, its push binding stored, then answered.
 */
#include <stdio.h>
#include <string.h>

#include "core/data_lump_rpl.h"
#include "core/parser/parse_cseq.h"
#include "core/parser/parse_to.h"
#include "core/parser/parse_uri.h"
#include "core/trim.h"
#include "core/ut.h"
#include "modules/registrar/rerrno.h"
#include "pushwake_functions.h"

#define PW_SAVE_NO_REPLY 0x02
#define PW_SAVE_PREPARE 0x10
#define PW_LOG_SIZE 256

/* The REGISTER as the library wants it. */
typedef struct pw_register {
	pushwake_register_request request;
	pushwake_header *headers;
	str aor;
	str callid;
	char text[PW_AOR_SIZE];
} pw_register_t;

/* `uri`: the user it is for, where that is not To. */
static int register_read(pw_register_t *r, sip_msg_t *msg, str *uri)
{
	pushwake_register_request empty = PUSHWAKE_REGISTER_REQUEST_INIT;
	unsigned int cseq = 0;

	r->request = empty;
	if(msg->REQ_METHOD != METHOD_REGISTER || parse_headers(msg, HDR_EOH_F, 0) < 0 || msg->callid == NULL
			|| msg->cseq == NULL || parse_to_header(msg) < 0) {
		return -1;
	}
	if(str2int(&get_cseq(msg)->number, &cseq) < 0) {
		return -1;
	}
	/* Kamailio keeps what it has parsed of To: save() asks for it next */
	if((uri != NULL ? pw_aor(&r->aor, uri) : pw_aor_of(&r->aor, parse_to_uri(msg))) < 0) {
		return -1;
	}
	r->headers = pw_headers(msg, &r->request.header_count);
	if(r->headers == NULL) {
		return -1;
	}
	r->request.headers = r->headers;
	r->aor.s = memcpy(r->text, r->aor.s, r->aor.len);
	r->callid = msg->callid->body;
	trim_trailing(&r->callid);
	r->request.aor = pw_in(&r->aor);
	r->request.call_id = pw_in(&r->callid);
	r->request.cseq = cseq;
	return 0;
}

static void register_free(pw_register_t *r)
{
	free(r->headers);
}

static void warn_problems(const pw_register_t *r, const pushwake_register_result *result)
{
	char callid[PW_LOG_SIZE], user[PW_LOG_SIZE];
	size_t i;

	for(i = 0; i < result->problem_count; i++) {
		pushwake_log_value(callid, sizeof(callid), pw_in(&r->callid));
		pushwake_log_value(user, sizeof(user), pw_in(&r->aor));
		LM_WARN("REGISTER call-id=%s user=%s %.*s\n", callid, user, PW_FMT(result->problems[i]));
	}
}

/* What is to be done next with a REGISTER. 0, or the status of an engine that is away. */
static int run(pushwake_register_result *out, pw_register_t *r)
{
	int status = pushwake_register_run(out, pw_client, &r->request);

	if(status < 0) {
		pw_engine_away("pushwake_save", status);
	}
	warn_problems(r, out);
	return status;
}

/* What the library wants in the reply. */
static void add_headers(sip_msg_t *msg, const pushwake_register_result *result)
{
	char text[1024];
	size_t i;
	int n;

	for(i = 0; i < result->reply_header_count; i++) {
		n = snprintf(text, sizeof(text), "%.*s: %.*s\r\n", PW_FMT(result->reply_headers[i].name),
				PW_FMT(result->reply_headers[i].value));
		if(n > 0 && n < (int)sizeof(text)) {
			add_lump_rpl(msg, text, n, LUMP_RPL_HDR);
		}
	}
}

static int refuse(sip_msg_t *msg, const pushwake_register_result *result, int flags)
{
	str reason = pw_out(result->reply_reason);

	add_headers(msg, result);
	if(flags & PW_SAVE_NO_REPLY) {
		LM_INFO("not saved; the script replies: %d %.*s\n", result->reply_code, reason.len, reason.s);
	} else {
		pw.sl.freply(msg, result->reply_code, &reason);
	}
	return -1;
}

/* save() was told not to reply, so its failures are answered here, the way plain
 * save() does: with the registrar's own code and headers. */
static void reply_failure(sip_msg_t *msg)
{
	str reason = str_init("Server Internal Error");

	if(pw.registrar_reply != NULL) {
		pw.registrar_reply(msg);
	} else {
		pw.sl.freply(msg, 500, &reason);
	}
}

static void reply_success(sip_msg_t *msg)
{
	str ok = str_init("OK");
	str extension = str_init("Bad Extension");

	if(pw.registrar_error != NULL && *pw.registrar_error == R_PATH_UNSUP) {
		pw.sl.freply(msg, 420, &extension);
	} else {
		pw.sl.freply(msg, 200, &ok);
	}
}

/* Asks the registrar, and says what it says; below 0: it has not saved. */
static int save_quietly(sip_msg_t *msg, str *table, int flags, pw_register_t *r, str *uri)
{
	int quiet = flags | PW_SAVE_NO_REPLY | PW_SAVE_PREPARE;
	int saved;

	if(pw.registrar_error != NULL) {
		*pw.registrar_error = R_UL_GET_R; /* what a save() that fails without a word means */
	}
	saved = uri != NULL ? pw.registrar.save_uri(msg, table, quiet, uri) : pw.registrar.save(msg, table, quiet);
	r->request.registrar = saved >= 0 ? PUSHWAKE_REGISTRAR_SAVED : PUSHWAKE_REGISTRAR_FULL;
	return saved;
}

/* Its max_contacts: the contact that this phone leaves makes room. */
static int is_full(void)
{
	return pw.registrar_error != NULL && *pw.registrar_error == R_TOO_MANY;
}

/* Tells the engine of a REGISTER that the registrar has, answers it, and does what the engine says of requests that are held. */
static void store_and_reply(sip_msg_t *msg, str *table, int flags, pw_register_t *r)
{
	pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
	pushwake_contact *asked;
	pw_contacts_t contacts;
	int i, status;

	if(pw_contacts_get(&contacts, table, &r->aor) == 0) {
		pw_contacts_keep(&contacts, &r->callid, (int)r->request.cseq);
	}
	for(i = 0; i < contacts.n; i++) {
		pw_flow_print(contacts.v[i].flow, &msg->rcv);
	}
	asked = pw_contacts_describe(&contacts);
	r->request.contacts = asked;
	r->request.contact_count = asked != NULL ? (size_t)contacts.n : 0;
	r->request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
	status = run(&result, r);
	if(result.outcome == PUSHWAKE_REGISTER_STORED) {
		update_stat(pw_count.stored, 1);
	} else if(result.outcome == PUSHWAKE_REGISTER_IGNORED) {
		update_stat(pw_count.ignored, 1);
	}
	add_headers(msg, &result);
	pw_contacts_forget(table, &r->aor, &r->request, &result);
	if(!(flags & PW_SAVE_NO_REPLY)) {
		reply_success(msg);
	}
	/* ORDER: after the 200, so that the phone is done with its REGISTER when the
	 * INVITE comes, and outside of the usrloc lock */
	pw_leg_in_hand(msg);
	if(status < 0) {
		pw_join(table, &r->aor, &contacts);
		pw_place_registered(table, &r->aor, &contacts);
		/* an engine that answers keeps what its store does not take; an account's is told by its server's next answer */
		if((status == PUSHWAKE_ERR_UNAVAILABLE || status == PUSHWAKE_ERR_TIMEOUT) && r->request.account.len == 0) {
			pw_pending_add_all(table, &r->aor, &contacts);
		}
	} else {
		pw_execute_all(&result, &contacts);
	}
	pw_leg_in_hand(NULL);
	free(asked);
	pw_contacts_free(&contacts);
}

static int save_and_store(sip_msg_t *msg, str *table, int flags, pw_register_t *r, str *uri)
{
	pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
	int saved;

	pw_admission_register();
	r->request.domain = pw_in(table);
	run(&result, r);
	if(result.step == PUSHWAKE_REGISTER_REFUSE) {
		return refuse(msg, &result, flags);
	}
	saved = save_quietly(msg, table, flags, r, uri);
	if(saved < 0 && is_full() && run(&result, r) == PUSHWAKE_OK
			&& pw_contacts_forget(table, &r->aor, &r->request, &result) > 0) {
		saved = save_quietly(msg, table, flags, r, uri);
	}
	if(saved < 0) {
		if(!(flags & PW_SAVE_NO_REPLY)) {
			reply_failure(msg);
		}
		return saved;
	}
	/* ORDER: the registrar has it, so that whoever begins to wait for this user finds it there */
	run(&result, r);
	if(result.step == PUSHWAKE_REGISTER_DESCRIBE) {
		pw_hold_await_asked(&r->aor);
		store_and_reply(msg, table, flags, r);
	} else if(!(flags & PW_SAVE_NO_REPLY)) {
		reply_success(msg);
	}
	return saved;
}

int ki_pushwake_save_flags(sip_msg_t *msg, str *table, int flags)
{
	pw_register_t r;
	int ret;

	if(register_read(&r, msg, NULL) < 0) {
		return pw.registrar.save(msg, table, flags);
	}
	ret = save_and_store(msg, table, flags, &r, NULL);
	if(ret < 0 && !(flags & PW_SAVE_NO_REPLY)) {
		msg->msg_flags |= FL_MSG_NOREPLY; /* it has been answered, whatever sl_reply_error() thinks */
	}
	register_free(&r);
	return ret;
}

int pw_save_for(sip_msg_t *msg, str *table, str *uri, pushwake_str account)
{
	pw_register_t r;
	int ret;

	if(register_read(&r, msg, uri) < 0) {
		LM_ERR("a REGISTER that its server accepted is not saved: cannot read <%.*s>\n", STR_FMT(uri));
		return -1;
	}
	r.request.account = account;
	ret = save_and_store(msg, table, 0, &r, uri);
	register_free(&r);
	return ret;
}

int ki_pushwake_save(sip_msg_t *msg, str *table)
{
	return ki_pushwake_save_flags(msg, table, 0);
}
