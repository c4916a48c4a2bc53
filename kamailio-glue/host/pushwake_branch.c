/* SPDX-License-Identifier: MIT
 *
 * Branches of the destination set, which contacts become before a script relays.
 */
#include <string.h>

#include "core/dset.h"
#include "pushwake_contact.h"

static int fits(unsigned int len, const char *text, str *out)
{
	out->s = (char *)text;
	out->len = (int)len;
	return out->len > 0;
}

int pw_branch_ruid(const branch_t *b, str *ruid)
{
	return fits(b->ruid_len, b->ruid, ruid);
}

int pw_branch_to_ruri(sip_msg_t *msg, branch_t *b)
{
	str s;
	flag_t flags = 0;

	if(!fits(b->len, b->uri, &s) || rewrite_uri(msg, &s) < 0) {
		return -1;
	}
	reset_dst_uri(msg);
	if((fits(b->dst_uri_len, b->dst_uri, &s) && set_dst_uri(msg, &s) < 0)
			|| (fits(b->path_len, b->path, &s) && set_path_vector(msg, &s) < 0)
			|| (fits(b->instance_len, b->instance, &s) && set_instance(msg, &s) < 0)
			|| (fits(b->ruid_len, b->ruid, &s) && set_ruid(msg, &s) < 0)
			|| (fits(b->location_ua_len, b->location_ua, &s) && set_ua(msg, &s) < 0)) {
		return -1;
	}
	msg->reg_id = b->reg_id;
	msg->otcpid = b->otcpid;
	set_ruri_q(b->q);
	getbflagsval(0, &flags);
	setbflagsval(0, flags | b->flags);
	if(b->force_send_socket != NULL) {
		set_force_socket(msg, b->force_send_socket);
	}
	return 0;
}

void pw_branches_send_to(sip_msg_t *msg, const str *ruid, str *target)
{
	unsigned int i;
	branch_t *b;
	str own;

	if(STR_EQ(msg->ruid, *ruid) && msg->dst_uri.len == 0) {
		set_dst_uri(msg, target);
	}
	for(i = 0; i < nr_branches; i++) {
		b = get_sip_branch((int)i);
		if(b != NULL && pw_branch_ruid(b, &own) && STR_EQ(own, *ruid) && b->dst_uri_len == 0
				&& target->len < (int)sizeof(b->dst_uri)) {
			memcpy(b->dst_uri, target->s, target->len);
			b->dst_uri[target->len] = '\0';
			b->dst_uri_len = target->len;
		}
	}
}

pw_ruri_state_t pw_ruri_keep(void)
{
	pw_ruri_state_t kept = {ruri_get_forking_state(), 0};

	getbflagsval(0, &kept.flags);
	return kept;
}

void pw_ruri_put_back(const pw_ruri_state_t *kept)
{
	if(kept->is_new) {
		ruri_mark_new();
	} else {
		ruri_mark_consumed();
	}
	setbflagsval(0, kept->flags);
}
