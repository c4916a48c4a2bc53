/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The library's waiting legs: told what has come, and their orders executed.
 *
 * All in the supervisor's thread. What touches a session is a task of its serializer.
 */
#include "asterisk.h"

#include <pjsip.h>
#include <pjsip_ua.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/res_pjsip_session.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_caller.h"
#include "pushwake_legs.h"

static pushwake_legs *legs;

static void with_dialog(struct pushwake__leg_task *task,
	void (*run)(struct pushwake__waiter *waiter, pjsip_inv_session *inv))
{
	pjsip_inv_session *inv = task->waiter->session->inv_session;

	if (inv) {
		pjsip_dlg_inc_lock(inv->dlg);
		if (task->waiter->leg == task->leg && inv->state < PJSIP_INV_STATE_CONNECTING && !inv->cancelling) {
			run(task->waiter, inv);
		}
		pjsip_dlg_dec_lock(inv->dlg);
	}
	pushwake__leg_task_free(task);
}

/*! The INVITE waits again, and its phone hears no more of it. */
static int close_task(void *data)
{
	with_dialog(data, pushwake__follow_back);
	return 0;
}

static void resend(struct pushwake__waiter *waiter, pjsip_inv_session *inv)
{
	if (inv->invite_tsx && inv->invite_tsx->state == PJSIP_TSX_STATE_CALLING) {
		pjsip_tsx_retransmit_no_state(inv->invite_tsx, NULL);
	}
}

static int resend_task(void *data)
{
	with_dialog(data, resend);
	return 0;
}

/*! For the phone of this leg, which may be in a channel of its own. */
static void push(struct pushwake__waiter *waiter, int leg, int (*run)(void *task))
{
	struct pushwake__waiter *beside = pushwake__beside_find(waiter->handle, leg);
	struct pushwake__waiter *phone = beside ? beside : waiter;

	pushwake__leg_task_push(phone->session, phone, leg, "", run);
	ao2_cleanup(beside);
}

/*! Who the user of a request is: contacts as the registrar has them, and who calls. */
static void describe(const pushwake_leg_order *order)
{
	pushwake_wake_request user = PUSHWAKE_WAKE_REQUEST_INIT;
	struct pushwake__contacts contacts;
	struct pushwake__waiter *waiter;
	char aor[256], call_id[512];
	pushwake_contact *asked;

	pushwake__copy(aor, sizeof(aor), order->aor);
	pushwake__copy(call_id, sizeof(call_id), order->call_id);
	waiter = pushwake__waiter_named(call_id);
	if (waiter && waiter->is_late) {
		ao2_ref(waiter, -1);
		pushwake_legs_ended(legs, order->handle, PUSHWAKE_CALL_CANCELLED, 487, pushwake__str(""));
		return;
	}
	pushwake__contacts_get(&contacts, aor);
	if (waiter && waiter->scope == PUSHWAKE_SCOPE_CONTACTS && !waiter->handle
		&& !pushwake__contact_find(&contacts, S_OR(waiter->dialled, ""))) {
		/* It has gone since it was dialled. */
		waiter->scope = PUSHWAKE_SCOPE_OTHERS;
	}
	user.scope = waiter ? waiter->scope : PUSHWAKE_SCOPE_USER;
	asked = pushwake__contacts_describe(&user.contact_count, &contacts,
		user.scope == PUSHWAKE_SCOPE_CONTACTS ? S_OR(waiter->dialled, "") : NULL);
	user.contacts = asked;
	if (waiter) {
		pushwake__waiter_name(waiter, order->handle);
		pushwake__caller_fill(&user, waiter->caller);
		user.call_id = pushwake__str(waiter->push_id);
		user.hold_seconds = waiter->seconds;
	}
	pushwake_legs_described(legs, order->handle, &user, 1);
	ast_free(asked);
	pushwake__contacts_free(&contacts);
	ao2_cleanup(waiter);
}

static void on_order(void *context, const pushwake_leg_order *order)
{
	struct pushwake__waiter *waiter;
	char uri[PUSHWAKE__MAX_URI], path[1024];

	if (order->kind == PUSHWAKE_LEG_DESCRIBE) {
		describe(order);
		return;
	}
	if (order->kind == PUSHWAKE_LEG_FORWARD) {
		pushwake__forward(order);
		return;
	}
	waiter = pushwake__waiter_find(order->handle);
	switch (order->kind) {
	case PUSHWAKE_LEG_PROBE:
		pushwake__copy(uri, sizeof(uri), order->contact);
		pushwake__copy(path, sizeof(path), order->contact_path);
		if (waiter) {
			pushwake__probe(waiter, order->leg, uri, path);
		}
		break;
	case PUSHWAKE_LEG_CLOSE:
		if (!pushwake__beside_end_named(order->handle, order->leg) && waiter) {
			push(waiter, order->leg, close_task);
		}
		break;
	case PUSHWAKE_LEG_DIAL:
		pushwake__copy(uri, sizeof(uri), order->contact);
		if (waiter) {
			pushwake__beside_dial(waiter, order->leg, uri);
		}
		break;
	case PUSHWAKE_LEG_FORGET:
		pushwake__beside_end_named(order->handle, 0);
		break;
	case PUSHWAKE_LEG_RESEND:
		if (waiter) {
			push(waiter, order->leg, resend_task);
		}
		break;
	default:
		ast_debug(3, "Order %d for a waiting request\n", order->kind);
	}
	ao2_cleanup(waiter);
}

static void on_answer(void *context, pushwake_str message)
{
	pushwake__place_answer(message);
}

static void tell(const struct pushwake__told *told)
{
	pushwake_contact contact = { .reach = 0 };

	switch (told->kind) {
	case PUSHWAKE__TOLD_MESSAGE:
		pushwake_legs_receive(legs, told->text);
		break;
	case PUSHWAKE__TOLD_PROGRESS:
		pushwake_legs_progressed(legs, told->handle, told->leg, told->status, told->from_phone);
		break;
	case PUSHWAKE__TOLD_PROBED:
		pushwake_legs_probed(legs, told->handle, told->leg, told->status);
		break;
	case PUSHWAKE__TOLD_END:
		pushwake_legs_ended(legs, told->handle, told->leg, told->status, told->text);
		break;
	case PUSHWAKE__TOLD_REGISTERED:
		pushwake__contact_describe(&contact, &told->contact);
		pushwake_legs_registered(legs, told->text, pushwake__str(""), &contact);
		break;
	}
}

void pushwake__legs_process(void)
{
	struct pushwake__told *told;

	if (!legs) {
		return;
	}
	while ((told = pushwake__legs_next_told())) {
		tell(told);
		pushwake__told_free(told);
	}
	pushwake_legs_process(legs);
}

int pushwake__legs_timeout_ms(void)
{
	return legs ? pushwake_legs_timeout_ms(legs) : -1;
}

void pushwake__legs_use(pushwake_settings *settings, pushwake_supervisor *supervisor)
{
	pushwake_legs_config config = PUSHWAKE_LEGS_CONFIG_INIT;

	if (!pushwake__legs_are_on()) {
		return;
	}
	config.on_answer = on_answer;
	config.on_order = on_order;
	config.host = PUSHWAKE_HOST_DIALPLAN;
	config.is_reliable = 1;
	if (!legs && pushwake_legs_new(&legs, settings, &config) < 0) {
		ast_log(LOG_ERROR, "Out of memory for waiting legs\n");
		return;
	}
	pushwake_legs_use(legs, settings, supervisor);
}

void pushwake__legs_drop(void)
{
	pushwake_legs_free(legs);
	legs = NULL;
}
