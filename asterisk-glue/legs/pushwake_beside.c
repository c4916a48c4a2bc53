/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Phones that ring beside the one at which an INVITE is (ring_all): each in a channel of its own.
 *
 * The first that answers takes the place of the channel that Asterisk has dialled, as a pickup does. Nobody reads such a
 * channel before: what it has to say comes as SIP.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/cdr.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/stream.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

/*! All of them. */
static struct ao2_container *besides;

struct key {
	uint64_t handle;
	/*! 0: any. */
	int leg;
};

static int is_named(void *obj, void *arg, int flags)
{
	const struct pushwake__waiter *waiter = obj;
	const struct key *key = arg;

	return waiter->handle == key->handle && (!key->leg || waiter->leg == key->leg) ? CMP_MATCH | CMP_STOP : 0;
}

struct pushwake__waiter *pushwake__beside_find(uint64_t handle, int leg)
{
	struct key key = { handle, leg };

	return ao2_container_count(besides) ? ao2_callback(besides, 0, is_named, &key) : NULL;
}

/*! Its channel for one who will hang it up; NULL: another one has it. */
static struct ast_channel *take_channel(struct pushwake__waiter *waiter)
{
	struct ast_channel *chan;

	ao2_lock(waiter);
	chan = waiter->chan;
	waiter->chan = NULL;
	ao2_unlock(waiter);
	ao2_unlink(besides, waiter);
	return chan;
}

static void hang_up(struct ast_channel *chan, int cause)
{
	ast_channel_lock(chan);
	ast_channel_hangupcause_set(chan, cause);
	ast_channel_unlock(chan);
	ast_hangup(chan);
}

/*! In the dialled channel's place: who calls, what for. Both are locked. */
static void dress(struct ast_channel *chan, struct ast_channel *like)
{
	ast_party_connected_line_copy(ast_channel_connected(chan), ast_channel_connected(like));
	ast_party_redirecting_copy(ast_channel_redirecting(chan), ast_channel_redirecting(like));
	ast_party_caller_copy(ast_channel_caller(chan), ast_channel_caller(like));
	ast_party_dialed_copy(ast_channel_dialed(chan), ast_channel_dialed(like));
	ast_channel_language_set(chan, ast_channel_language(like));
	ast_channel_req_accountcodes(chan, like, AST_CHANNEL_REQUESTOR_REPLACEMENT);
}

static struct ast_channel *request(struct ast_sip_session *session, const char *address)
{
	struct ast_stream_topology *topology;
	struct ast_channel *chan;
	int cause;

	ast_channel_lock(session->channel);
	topology = ast_stream_topology_clone(ast_channel_get_stream_topology(session->channel));
	ast_channel_unlock(session->channel);
	chan = topology ? ast_request_with_stream_topology("PJSIP", topology, NULL, session->channel, address, &cause) : NULL;
	ast_stream_topology_free(topology);
	return chan;
}

/*! Dials it; 0: it is on its way, and belongs to its waiter. */
static int call(const struct pushwake__leg_task *dial, struct ast_sip_session *session)
{
	struct ast_sip_channel_pvt *pvt;
	struct pushwake__waiter *waiter;
	struct ast_channel *chan;
	char *address = NULL;

	if (!session->channel || ast_asprintf(&address, "%s/%s", ast_sorcery_object_get_id(session->endpoint), dial->uri) < 0) {
		return -1;
	}
	chan = request(session, address);
	pvt = chan ? ast_channel_tech_pvt(chan) : NULL;
	waiter = pvt ? pushwake__waiter_new(pvt->session, dial->waiter->aor) : NULL;
	if (!waiter) {
		if (chan) {
			ast_hangup(chan);
		}
		ast_free(address);
		return -1;
	}
	waiter->beside = ao2_bump(dial->waiter);
	ast_free(waiter->push_id);
	waiter->push_id = ast_strdup(S_OR(dial->waiter->push_id, ""));
	waiter->handle = dial->waiter->handle;
	waiter->leg = dial->leg;
	waiter->chan = chan;
	ast_cdr_set_property(ast_channel_name(chan), AST_CDR_FLAG_DISABLE_ALL);
	ast_channel_lock_both(chan, session->channel);
	dress(chan, session->channel);
	ast_channel_unlock(session->channel);
	ast_channel_unlock(chan);
	ao2_link(besides, waiter);
	if (ast_call(chan, address, 0) && (chan = take_channel(waiter))) {
		ast_hangup(chan);
	}
	ao2_ref(waiter, -1);
	ast_free(address);
	return chan ? 0 : -1;
}

static int dial_task(void *data)
{
	struct pushwake__leg_task *dial = data;

	if (dial->waiter->has_ended || call(dial, dial->waiter->session)) {
		pushwake__legs_tell_progress(dial->waiter->handle, dial->leg, PJSIP_SC_SERVICE_UNAVAILABLE, 0);
	}
	pushwake__leg_task_free(dial);
	return 0;
}

void pushwake__beside_dial(struct pushwake__waiter *main, int leg, const char *uri)
{
	pushwake__leg_task_push(main->session, main, leg, uri, dial_task);
}

static int end_task(void *data)
{
	struct pushwake__leg_task *task = data;
	struct pushwake__waiter *waiter = task->waiter;
	const struct pushwake__waiter *main = waiter->beside;
	struct ast_channel *chan = take_channel(waiter);

	if (chan) {
		hang_up(chan, main->is_elsewhere ? AST_CAUSE_ANSWERED_ELSEWHERE : AST_CAUSE_NORMAL_CLEARING);
	}
	pushwake__leg_task_free(task);
	return 0;
}

void pushwake__beside_end(struct pushwake__waiter *waiter)
{
	pushwake__leg_task_push(waiter->session, waiter, 0, "", end_task);
}

int pushwake__beside_end_named(uint64_t handle, int leg)
{
	struct pushwake__waiter *waiter;
	int count = 0;

	while ((waiter = pushwake__beside_find(handle, leg))) {
		ao2_unlink(besides, waiter);
		pushwake__beside_end(waiter);
		ao2_ref(waiter, -1);
		count++;
	}
	return count;
}

/*!
 * The channel that is moved brings its name along. It has that of the one that was dialled before: the records of the call
 * know no other.
 */
static void take_name(struct ast_channel *chan, struct ast_channel *place)
{
	char *name, *left;

	ast_channel_lock(place);
	name = ast_strdupa(ast_channel_name(place));
	ast_channel_unlock(place);
	left = ast_alloca(strlen(name) + sizeof("<LEFT>"));
	sprintf(left, "%s<LEFT>", name); /* safe: allocated for it */
	ast_change_name(place, left);
	ast_change_name(chan, name);
}

/*! In the serializer of the session whose call it takes: no answer of that one's phone comes in between. */
static int take_task(void *data)
{
	struct pushwake__leg_task *task = data;
	struct pushwake__waiter *waiter = task->waiter, *main = waiter->beside;
	pjsip_inv_session *inv = main->session->inv_session;
	struct ast_channel *chan = take_channel(waiter), *place = main->session->channel;
	int is_free = place && inv && inv->state < PJSIP_INV_STATE_CONNECTING && !inv->cancelling;

	if (chan && is_free) {
		main->is_elsewhere = 1;
		ast_channel_ref(place);
		ast_channel_lock(chan);
		/* What the phone hears at which the INVITE is. */
		ast_channel_hangupcause_set(chan, AST_CAUSE_ANSWERED_ELSEWHERE);
		ast_channel_unlock(chan);
		take_name(chan, place);
		if (!ast_channel_move(place, chan)) {
			pushwake__legs_tell_progress(waiter->handle, waiter->leg, PJSIP_SC_OK, 1);
		}
		ast_channel_unref(place);
	}
	if (chan) {
		hang_up(chan, AST_CAUSE_ANSWERED_ELSEWHERE);
	}
	pushwake__leg_task_free(task);
	return 0;
}

void pushwake__beside_take(struct pushwake__waiter *waiter)
{
	pushwake__leg_task_push(waiter->beside->session, waiter, 0, "", take_task);
}

char *pushwake__beside_read_headers(pjsip_msg *msg)
{
	struct ast_str *lines = ast_str_create(256);
	pjsip_hdr *header;
	char line[1024], *copy;
	int len;

	for (header = msg->hdr.next; lines && header != (pjsip_hdr *) &msg->hdr; header = header->next) {
		len = header->type == PJSIP_H_OTHER ? pjsip_hdr_print_on(header, line, sizeof(line)) : 0;
		if (len > 0) {
			ast_str_append(&lines, 0, "%.*s\n", len, line);
		}
	}
	copy = lines ? ast_strdup(ast_str_buffer(lines)) : NULL;
	ast_free(lines);
	return copy;
}

void pushwake__beside_add_headers(pjsip_tx_data *tdata, const char *lines)
{
	char *rest = ast_strdupa(S_OR(lines, "")), *line;

	while ((line = strsep(&rest, "\n"))) {
		char *name = strsep(&line, ":");
		pj_str_t str = pj_str(name);

		if (line && !pjsip_msg_find_hdr_by_name(tdata->msg, &str, NULL)) {
			ast_sip_add_header(tdata, name, ast_skip_blanks(line));
		}
	}
}

int pushwake__beside_start(void)
{
	besides = ao2_container_alloc_list(AO2_ALLOC_OPT_LOCK_MUTEX, 0, NULL, NULL);
	return besides ? 0 : -1;
}

void pushwake__beside_stop(void)
{
	ao2_cleanup(besides);
	besides = NULL;
}
