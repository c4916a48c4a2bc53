/* SPDX-License-Identifier: MIT
 *
 * pushwake_send(), and the word that the engine is away.
 */
#include "core/fmsg.h"
#include "pushwake_functions.h"

void pw_engine_away(const char *what, int status)
{
	pushwake_str line;

	update_stat(pw_count.unavailable, 1);
	if(pushwake_client_warning(&line, pw_client, status) > 0) {
		LM_WARN("%s goes on without push: %.*s\n", what, PW_FMT(line));
	}
}

/* How many pushes were queued, -1 for none, -2 when the engine is away. */
static int send_push(sip_msg_t *msg, str *event, str *uri, str *text)
{
	pushwake_send_request request = PUSHWAKE_SEND_REQUEST_INIT;
	pushwake_header *headers = NULL;
	pushwake_str why;
	int queued;
	str aor;

	if(pw_aor(&aor, uri) < 0) {
		LM_ERR("pushwake_send: <%.*s> is not a SIP URI with a user\n", uri->len, uri->s);
		return -1;
	}
	request.event = pw_in(event);
	request.aor = pw_in(&aor);
	request.text = pw_in(text);
	if(msg != NULL && !faked_msg_match(msg) && msg->first_line.type == SIP_REQUEST
			&& parse_headers(msg, HDR_EOH_F, 0) == 0) {
		headers = pw_headers(msg, &request.header_count);
		request.headers = headers;
		request.shown = pw_shown(msg);
	}
	queued = pushwake_send(pw_client, &request);
	free((char *)request.shown.ptr);
	free(headers);
	why = pushwake_client_error(pw_client);
	if(queued == PUSHWAKE_ERR_INVALID_ARGUMENT) {
		LM_ERR("pushwake_send: %.*s\n", PW_FMT(why));
		return -1;
	}
	if(queued == PUSHWAKE_ERR_NOT_FOUND || queued == PUSHWAKE_ERR_REFUSED) {
		LM_NOTICE("pushwake_send: %s: %.*s\n", pushwake_status_name(queued), PW_FMT(why));
		return -1;
	}
	if(queued < 0) {
		pw_engine_away("pushwake_send", queued);
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
