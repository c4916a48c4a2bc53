/* SPDX-License-Identifier: MIT
 *
 * pushwake_send(), and the word that the engine is away.
 */
#include "core/fmsg.h"
#include "core/parser/parse_from.h"
#include "core/timer.h"
#include "pushwake_contact.h"

#define PW_QUIET_SECONDS 10

void pw_engine_away(const char *what, int status)
{
	static ticks_t said = 0;
	static unsigned int unsaid = 0;
	ticks_t now = get_ticks();
	pushwake_str why = pushwake_client_error(pw_client);

	update_stat(pw_count.unavailable, 1);
	if(said != 0 && now - said < PW_QUIET_SECONDS) {
		unsaid++;
		return;
	}
	LM_WARN("%s goes on without push: %s: %.*s (%u more since the last such line of this process)\n", what,
			pushwake_status_name(status), PW_FMT(why), unsaid);
	said = now > 0 ? now : 1;
	unsaid = 0;
}

/* How many pushes were queued, -1 for none, -2 when the engine is away. */
static int send_push(sip_msg_t *msg, str *event, str *uri, str *text)
{
	pushwake_send_request request = PUSHWAKE_SEND_REQUEST_INIT;
	pushwake_str why;
	int queued = 0, status;
	str aor;

	request.event = pushwake_event_from_name(pw_in(event));
	if(request.event < 0) {
		LM_ERR("pushwake_send: no event is called \"%.*s\"; write %s\n", event->len, event->s, PW_EVENTS);
		return -1;
	}
	if(pw_aor(&aor, uri) < 0) {
		LM_ERR("pushwake_send: <%.*s> is no SIP URI with a user\n", uri->len, uri->s);
		return -1;
	}
	request.aor = pw_in(&aor);
	request.text = pw_in(text);
	if(msg != NULL && !faked_msg_match(msg) && msg->first_line.type == SIP_REQUEST
			&& parse_headers(msg, HDR_CALLID_F | HDR_FROM_F, 0) == 0 && msg->callid != NULL
			&& parse_from_header(msg) == 0) {
		request.call_id = pw_in(&msg->callid->body);
		request.from_uri = pw_in(&get_from(msg)->uri);
		request.from_display = pw_in(&get_from(msg)->display);
	}
	status = pushwake_send(&queued, pw_client, &request);
	if(status == PUSHWAKE_ERR_NOT_FOUND || status == PUSHWAKE_ERR_REFUSED) {
		why = pushwake_client_error(pw_client);
		LM_NOTICE("pushwake_send: %s: %.*s\n", pushwake_status_name(status), PW_FMT(why));
		return -1;
	}
	if(status < 0) {
		pw_engine_away("pushwake_send", status);
		return -2;
	}
	return queued > 0 ? queued : -1;
}

int ki_pushwake_send(sip_msg_t *msg, str *event, str *uri)
{
	return send_push(msg, event, uri, NULL);
}

int ki_pushwake_send_text(sip_msg_t *msg, str *event, str *uri, str *text)
{
	return send_push(msg, event, uri, text);
}
