/* SPDX-License-Identifier: MIT
 *
 * event_route[pushwake:upstream] runs for each REGISTER that the gateway sends, in the
 * process that sends it. $du is where it goes, and the script may set another: with
 * dispatcher, the server that answers. tm's own event for local requests comes too
 * late: the destination is resolved by then.
 */
#include <string.h>

#include "core/dset.h"
#include "core/fmsg.h"
#include "core/parser/msg_parser.h"
#include "core/route.h"
#include "pushwake_functions.h"

#define PW_MAX_URI 512

static pw_event_t event = {"pushwake:upstream", -1};

void pw_server_init(void)
{
	pw_event_init(&event);
}

static void run(sip_msg_t *msg)
{
	int before = get_route_type();

	/* ORDER: no callbacks around it. tm's would give back the transaction of the request that this process has in hand. */
	set_route_type(EVENT_ROUTE);
	pw_event_run(&event, msg);
	set_route_type(before);
}

str pw_server_of(const pushwake_upstream *order)
{
	static char text[PW_MAX_URI];
	const pushwake_str *known = order->next_hop.len > 0 ? &order->next_hop : &order->request_uri;
	str hop = {(char *)order->next_hop.ptr, (int)order->next_hop.len};
	str first = {(char *)known->ptr, (int)known->len};
	pw_ruri_state_t ruri = pw_ruri_keep();
	sip_msg_t *msg;

	if(!pw_event_has_route(&event)) {
		return hop;
	}
	msg = faked_msg_next();
	if(set_dst_uri(msg, &first) < 0) {
		return hop;
	}
	run(msg);
	if(msg->dst_uri.len > 0 && msg->dst_uri.len <= PW_MAX_URI
			&& (msg->dst_uri.len != first.len || memcmp(msg->dst_uri.s, first.s, first.len) != 0)) {
		memcpy(text, msg->dst_uri.s, msg->dst_uri.len);
		hop.s = text;
		hop.len = msg->dst_uri.len;
	}
	reset_dst_uri(msg);
	pw_ruri_put_back(&ruri);
	return hop;
}
