/* SPDX-License-Identifier: MIT
 *
 * pushwake_lookup(): who is awake rings, who sleeps is pushed and waited for.
 */
#include <string.h>

#include "core/parser/parse_content.h"
#include "core/parser/parse_cseq.h"
#include "core/parser/parse_from.h"
#include "core/parser/parse_to.h"
#include "core/parser/parse_uri.h"
#include "core/route.h"
#include "core/ut.h"
#include "pushwake_functions.h"

int pw_may_hold(const char *function)
{
	/* what goes on after t_suspend() counts as a failure_route */
	if((get_route_type() & (REQUEST_ROUTE | FAILURE_ROUTE)) != 0) {
		return 1;
	}
	LM_ERR("%s() is for a request_route or failure_route, and for what they call\n", function);
	return 0;
}

static int plain(sip_msg_t *msg, str *table, str *uri)
{
	int found = uri != NULL ? pw.registrar.lookup_uri(msg, table, uri) : pw.registrar.lookup(msg, table);

	if(found > 0) {
		pw_quiet_over(msg);
		return PW_AWAKE;
	}
	return found == -3 ? PW_ERROR : PW_NOBODY;
}

/* A GRUU names one phone, and the registrar knows best which. */
static int is_gruu(str *uri)
{
	sip_uri_t parsed;

	return parse_uri(uri->s, uri->len, &parsed) == 0 && parsed.gr.s != NULL;
}

/* Whether a request of this kind may wake anybody. Only headers that every request's
 * way needs are looked at. */
static int is_initial(sip_msg_t *msg)
{
	return pushwake_method_wakes(pw_client, pw_in(&msg->first_line.u.request.method), 0)
		   && (msg->to != NULL || parse_headers(msg, HDR_TO_F, 0) == 0) && msg->to != NULL && parse_to_header(msg) == 0
		   && get_to(msg)->tag_value.len == 0;
}

static int has_headers(sip_msg_t *msg)
{
	return parse_headers(msg, HDR_EOH_F, 0) == 0 && msg->callid != NULL && parse_from_header(msg) == 0;
}

int pw_ask(pw_hold_plan_t *plan, pushwake_contact *asked, sip_msg_t *msg, str *table, str *aor, pw_contacts_t *known)
{
	pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
	pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
	pushwake_header *headers;
	int status;

	headers = pw_headers(msg, &request.header_count);
	if(headers == NULL) {
		return 0;
	}
	plan->handle = pw_hold_handle();
	request.headers = headers;
	request.shown = pw_shown(msg);
	request.request_uri = pw_in(&msg->first_line.u.request.uri);
	request.method = pw_in(&msg->first_line.u.request.method);
	request.from_tag = pw_in(&get_from(msg)->tag_value);
	request.aor = pw_in(aor);
	request.domain = pw_in(table);
	request.handle = plan->handle;
	if(msg->cseq != NULL) {
		str2int(&get_cseq(msg)->number, &request.cseq);
	}
	request.text.ptr = get_body(msg);
	if(request.text.ptr != NULL) {
		request.text.len = msg->buf + msg->len - request.text.ptr;
	}
	request.contacts = asked;
	request.contact_count = (size_t)(known->n + known->refusing);
	status = pushwake_wake(&result, pw_client, &request);
	if(status < 0) {
		pw_engine_away("pushwake_lookup", status);
	}
	free((char *)request.shown.ptr);
	free(headers);
	plan->table = *table;
	plan->aor = *aor;
	plan->ticket = result.ticket;
	plan->is_held = result.hold_ms > 0;
	plan->deadline_ms = result.deadline_ms;
	plan->contacts = known;
	plan->asked = asked;
	return status >= 0 && result.watched;
}

static int is_held(const str *ruid, const pw_contacts_t *known, const pushwake_contact *asked)
{
	int i;

	for(i = 0; i < known->n; i++) {
		if(STR_EQ(known->v[i].ruid, *ruid)) {
			return asked[i].action == PUSHWAKE_HOLD;
		}
	}
	return 0;
}

static int has_branch(unsigned int first, const str *wanted)
{
	unsigned int i;
	branch_t *b;
	str ruid;

	for(i = first; i < nr_branches; i++) {
		b = get_sip_branch((int)i);
		if(b != NULL && pw_branch_ruid(b, &ruid) && STR_EQ(ruid, *wanted)) {
			return 1;
		}
	}
	return 0;
}

/* Those who are awake and have no branch yet, `most` at the most. */
static void append_awake(
		sip_msg_t *msg, unsigned int first, const pw_contacts_t *known, const pushwake_contact *asked, int most)
{
	int i;

	for(i = 0; i < known->n && most > 0; i++) {
		if(asked[i].action != PUSHWAKE_HOLD && !has_branch(first, &known->v[i].ruid)) {
			if(pw_contact_append(msg, &known->v[i], NULL) < 0) {
				return;
			}
			most--;
		}
	}
}

/* Looks up all contacts as branches, drops those of sleeping phones, and makes the
 * first that is left the Request-URI. Returns how many are awake, -1 on error. */
static int lookup_awake(
		sip_msg_t *msg, str *table, str *uri, const pw_contacts_t *known, const pushwake_contact *asked)
{
	unsigned int first = nr_branches, i;
	branch_t *b;
	str ruid;
	str target = uri != NULL ? *uri : *GET_RURI(msg);
	int found, is_full;

	if(pw.registrar.lookup_to_dset(msg, table, &target) <= 0) {
		return 0;
	}
	is_full = nr_branches + 1 >= sr_dst_max_branches;
	for(i = first; i < nr_branches;) {
		b = get_sip_branch((int)i);
		if(b != NULL && pw_branch_ruid(b, &ruid) && is_held(&ruid, known, asked)) {
			drop_sip_branch((int)i);
		} else {
			i++;
		}
	}
	if(is_full) { /* sleepers took the branches of others */
		append_awake(msg, first, known, asked, known->n);
	} else if(nr_branches == first) { /* append_branches=0: the registrar gives one contact at most */
		append_awake(msg, first, known, asked, 1);
	}
	found = (int)(nr_branches - first);
	if(found > 0) {
		b = get_sip_branch((int)first);
		if(b == NULL || pw_branch_to_ruri(msg, b) < 0) {
			return -1;
		}
		drop_sip_branch((int)first);
	}
	return found;
}

/* Puts contacts that are awake into the destination set; returns how many, -1 on error. */
static int ring_awake(sip_msg_t *msg, str *uri, const pw_hold_plan_t *plan)
{
	str table = plan->table;
	int i, n = 0;

	for(i = 0; i < plan->contacts->n; i++) {
		n += plan->asked[i].action != PUSHWAKE_HOLD;
	}
	if(n == 0) {
		return 0;
	}
	/* nobody is waited for, so far: the registrar's own lookup does the rest as well (xavp_rcd) */
	return n == plan->contacts->n ? plain(msg, &table, uri) == PW_AWAKE
								  : lookup_awake(msg, &table, uri, plan->contacts, plan->asked);
}

/* All phones of this user sleep; those that the script has found before, for the same request, ring meanwhile. */
static int ring_others(sip_msg_t *msg)
{
	branch_t *first = nr_branches > 0 ? get_sip_branch(0) : NULL;

	if(first == NULL || pw_branch_to_ruri(msg, first) < 0) {
		return 0;
	}
	drop_sip_branch(0);
	return 1;
}

static int hold_and_ring(sip_msg_t *msg, str *uri, const pw_hold_plan_t *plan)
{
	str table = plan->table;
	int awake, held;

	/* ORDER: the transaction first, since its lumps and its request are copied
	 * before lookup changes the Request-URI */
	held = pw_hold(msg, plan);
	if(held <= 0) {
		pushwake_request_ended(pw_client, plan->handle, PUSHWAKE_CALL_FAILED, 500, 0, pw_in(NULL));
	}
	if(held == 0) {
		return PW_HELD; /* a retransmission: tm has answered it */
	}
	if(held < 0) {
		LM_ERR("cannot hold %.*s, routing it as it is\n", plan->aor.len, plan->aor.s);
		return plain(msg, &table, uri);
	}
	pw_quiet_over(msg);
	awake = ring_awake(msg, uri, plan);
	if(awake > 0 || (awake == 0 && ring_others(msg))) {
		return PW_AWAKE;
	}
	/* in a failure_route the caller may have heard more than that */
	if(msg->REQ_METHOD == METHOD_INVITE && pw.tm.t_gett()->uas.status < 100) {
		pw.tm.t_reply(msg, 100, "Trying");
	}
	return PW_HELD;
}

/* The registrar's lookup sends a datagram to a phone that has registered over TCP and did not say so in its Contact. It
 * listens where it registered from, and that is where it counts as awake. */
static void send_over_connections(sip_msg_t *msg, pw_contacts_t *known)
{
	char flow[PW_FLOW_SIZE];
	str target;
	int i;

	for(i = 0; i < known->n; i++) {
		if(pw_contact_hides_connection(&known->v[i])) {
			target = pw_contact_target(&known->v[i], flow);
			if(target.len > 0) {
				pw_branches_send_to(msg, &known->v[i].ruid, &target);
			}
		}
	}
}

static int lookup_aor(sip_msg_t *msg, str *table, str *uri, str *aor)
{
	pw_hold_plan_t plan = {.keeps_uri = 0};
	pushwake_contact *asked;
	pw_contacts_t known;
	int ret;

	if(pw_contacts_get(&known, table, aor) < 0) {
		return PW_ERROR;
	}
	pw_contacts_keep_method(&known, msg->REQ_METHOD);
	asked = pw_contacts_describe(&known);
	ret = asked != NULL && pw_ask(&plan, asked, msg, table, aor, &known) ? hold_and_ring(msg, uri, &plan)
																		 : plain(msg, table, uri);
	if(ret == PW_AWAKE) {
		send_over_connections(msg, &known);
	}
	free(asked);
	pw_contacts_free(&known);
	return ret;
}

static int lookup(sip_msg_t *msg, str *table, str *uri)
{
	str target, aor, key;
	int ret;

	if(!pw_may_hold("pushwake_lookup")) {
		return PW_ERROR;
	}
	if(!is_initial(msg)) {
		return plain(msg, table, uri);
	}
	target = uri != NULL ? *uri : *GET_RURI(msg);
	if(pw_aor(&aor, &target) < 0 || pushwake_may_wake(pw_client, pw_in(&aor)) == 0 || is_gruu(&target)
			|| !has_headers(msg)) {
		return plain(msg, table, uri);
	}
	if(pw_script_is_late(msg) || pw_refused(msg)) {
		return PW_HELD; /* nothing more is to be done */
	}
	/* pw_aor() has one buffer, and what is called below may use it */
	if(pw_copy(&key, aor.s, aor.len) < 0) {
		return plain(msg, table, uri);
	}
	/* ORDER: before the registrar is looked into, so that no REGISTER is told of before the request */
	pw_hold_asks(&key, 1);
	ret = pw_waits_in_leg && pw_wait(msg, table, &key) == 0 ? PW_AWAKE : lookup_aor(msg, table, uri, &key);
	pw_hold_asks(&key, -1);
	free(key.s);
	return ret;
}

int ki_pushwake_lookup(sip_msg_t *msg, str *table)
{
	return lookup(msg, table, NULL);
}

int ki_pushwake_lookup_uri(sip_msg_t *msg, str *table, str *uri)
{
	return lookup(msg, table, uri != NULL && uri->len > 0 ? uri : NULL);
}
