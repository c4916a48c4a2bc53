/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What the engine says is done here: in the thread of a REGISTER, or in the supervisor's.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_ahead.h"
#include "pushwake_call.h"

/*! The contact that the verb names: of this registrar, at another node, or without endpoint when another registrar has
 * this AoR. Not 0: there is none. */
static int find_contact(struct pushwake__contact *found, const char *aor, const pushwake_verb *verb)
{
	struct pushwake__contacts contacts;
	struct pushwake__contact *contact;
	char uri[PUSHWAKE__MAX_URI];
	struct pushwake__contact elsewhere = { .uri = uri, .endpoint = "" };
	int res = -1;

	/* Another registrar may keep push parameters. */
	pushwake_contact_strip(uri, sizeof(uri), verb->contact);
	pushwake__contacts_get(&contacts, aor);
	contact = pushwake__contact_find(&contacts, uri);
	if (contact) {
		res = pushwake__contact_copy(found, contact);
	} else if (verb->contact_uri.len) {
		res = pushwake__node_contact(found, aor, verb);
	} else if (!AST_VECTOR_SIZE(&contacts)) {
		res = pushwake__contact_copy(found, &elsewhere);
	}
	pushwake__contacts_free(&contacts);
	return res;
}

static void ring(struct pushwake__call *call, const pushwake_verb *verb)
{
	struct pushwake__contact contact;
	char reason[256];

	pushwake__copy(reason, sizeof(reason), verb->reason);
	if (call->joins >= PUSHWAKE__MAX_JOINS) {
		pushwake__leg_refuse(call, verb->leg);
		return;
	}
	if (find_contact(&contact, call->aor, verb)) {
		/* It has left in this moment. */
		pushwake__leg_refuse(call, verb->leg);
		return;
	}
	pushwake__leg_queue(call, verb->leg, &contact, verb->replaced_leg, reason);
	pushwake__call_look(call);
	pushwake__contact_free(contact);
	if (call->ended) {
		pushwake__legs_refuse_queued(call);
	}
}

static int resend_task(void *data)
{
	struct ast_sip_session *session = data;
	pjsip_inv_session *inv = session->inv_session;

	if (inv) {
		pjsip_dlg_inc_lock(inv->dlg);
		if (inv->invite_tsx && inv->invite_tsx->state == PJSIP_TSX_STATE_CALLING) {
			pjsip_tsx_retransmit_no_state(inv->invite_tsx, NULL);
		}
		pjsip_dlg_dec_lock(inv->dlg);
	}
	ao2_ref(session, -1);
	return 0;
}

static void resend(struct pushwake__call *call, int number)
{
	struct ast_channel *chan = pushwake__leg_channel(call, number);
	struct ast_sip_channel_pvt *pvt;
	struct ast_sip_session *session = NULL;

	if (!chan) {
		return;
	}
	ast_channel_lock(chan);
	pvt = strcmp(ast_channel_tech(chan)->type, "PJSIP") ? NULL : ast_channel_tech_pvt(chan);
	if (pvt) {
		session = ao2_bump(pvt->session);
	}
	ast_channel_unlock(chan);
	ast_channel_unref(chan);
	if (session && ast_sip_push_task(session->serializer, resend_task, session)) {
		ao2_ref(session, -1);
	}
}

/*! Another thread may have been told of a leg, or of more to wait for, after this was said and before it is heard. */
static void give_up(struct pushwake__call *call, const pushwake_verb *verb)
{
	int is_late;

	ao2_lock(call);
	is_late = (verb->leg > 0 && verb->leg == call->unsent_leg) || (verb->sequence > 0 && verb->sequence < call->turn);
	call->given_up |= !is_late;
	if (!is_late && verb->reason.len && !call->reason) {
		call->reason = ast_strndup(verb->reason.ptr, verb->reason.len);
	}
	ao2_unlock(call);
	if (is_late) {
		return;
	}
	pushwake__call_alert(call);
	pushwake__call_look(call);
	if (call->has_waited) {
		pushwake__devstate_changed(call->aor);
	}
}

/*! A run of PushWake() stays until it is told to give up. A phone that is silent has been pushed, and rings for queues now. */
static void hold(struct pushwake__call *call, const pushwake_verb *verb)
{
	int is_new;

	ao2_lock(call);
	call->turn = MAX(call->turn, verb->sequence);
	is_new = call->event == PUSHWAKE_EVENT_CALL && !call->ended && !call->given_up && !call->has_waited;
	if (is_new) {
		call->has_waited = 1;
	}
	ao2_unlock(call);
	if (is_new) {
		pushwake__devstate_changed(call->aor);
	}
}

static void tell(struct pushwake__call *call, int status)
{
	ao2_lock(call);
	call->tell = status;
	ao2_unlock(call);
	pushwake__call_alert(call);
}

void pushwake__verb_execute(const pushwake_verb *verb)
{
	struct pushwake__call *call;

	if (verb->kind == PUSHWAKE_VERB_RING_AND_CANCEL) {
		pushwake__show_end(verb);
		return;
	}
	call = pushwake__ahead_execute(verb) ? NULL : pushwake__call_find(verb->handle);
	if (!call) {
		return;
	}
	switch (verb->kind) {
	case PUSHWAKE_VERB_RING:
		ring(call, verb);
		break;
	case PUSHWAKE_VERB_RESEND:
		resend(call, verb->leg);
		break;
	case PUSHWAKE_VERB_CLOSE:
		pushwake__leg_close(call, verb->leg);
		break;
	case PUSHWAKE_VERB_GIVE_UP:
		give_up(call, verb);
		break;
	case PUSHWAKE_VERB_PUSHED:
		if (verb->leg >= 0 && verb->leg < 64) {
			ao2_lock(call);
			call->pushed |= (uint64_t) 1 << verb->leg;
			ao2_unlock(call);
		}
		break;
	case PUSHWAKE_VERB_PROVISIONAL:
		tell(call, verb->status);
		break;
	case PUSHWAKE_VERB_HOLD:
		hold(call, verb);
		break;
	default:
		ast_debug(1, "Verb %d is of a later release\n", verb->kind);
	}
	ao2_ref(call, -1);
}
