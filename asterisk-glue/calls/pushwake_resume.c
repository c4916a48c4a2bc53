/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief A new engine learns which calls wait here, and goes on where the old one ended.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/time.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"

/*! The leg that is out to this contact, or else that its phone has answered. The call is locked. */
static void find_leg(pushwake_contact *asked, struct pushwake__call *call, const char *uri)
{
	size_t index;

	for (index = AST_VECTOR_SIZE(&call->legs); index > 0; index--) {
		const struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index - 1);

		if (strcmp(leg->contact.uri, uri) || (leg->state == PUSHWAKE__LEG_OVER && (leg->heard < 300 || asked->leg))) {
			continue;
		}
		asked->leg = leg->number;
		asked->leg_status = leg->heard;
		if (leg->state != PUSHWAKE__LEG_OVER) {
			return;
		}
	}
}

/*!
 * Adds what legs go to and the registrar does not have: phones that have registered at another node, whom nobody rings once
 * more. The call is locked.
 */
static void add_elsewhere(struct pushwake__contacts *contacts, struct pushwake__call *call)
{
	size_t index;

	for (index = 0; index < AST_VECTOR_SIZE(&call->legs); index++) {
		const struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);
		struct pushwake__contact copy;

		if (leg->state == PUSHWAKE__LEG_OVER || pushwake__contact_find(contacts, leg->contact.uri)
			|| pushwake__contact_copy(&copy, &leg->contact)) {
			continue;
		}
		if (AST_VECTOR_APPEND(contacts, copy)) {
			pushwake__contact_free(copy);
		}
	}
}

static int ask(struct pushwake__call *call)
{
	pushwake_resume_request request = PUSHWAKE_RESUME_REQUEST_INIT;
	struct pushwake__contacts contacts;
	pushwake_contact *asked;
	int status = PUSHWAKE_ERR_UNAVAILABLE;
	size_t index;

	pushwake__contacts_get(&contacts, call->aor);
	ao2_lock(call);
	add_elsewhere(&contacts, call);
	asked = ast_calloc(AST_VECTOR_SIZE(&contacts) + 1, sizeof(*asked));
	if (asked) {
		for (index = 0; index < AST_VECTOR_SIZE(&contacts); index++) {
			const struct pushwake__contact *contact = AST_VECTOR_GET_ADDR(&contacts, index);

			pushwake__contact_describe(&asked[index], contact);
			/* Its node is a proxy. */
			asked[index].behind_proxy |= contact->path != NULL;
			find_leg(&asked[index], call, contact->uri);
		}
		request.pushed = call->pushed;
		request.last_leg = call->last_leg;
		call->turn = 0;
	}
	ao2_unlock(call);
	if (asked) {
		request.handle = call->handle;
		request.ticket = (pushwake_str) { call->ticket, call->ticket_len };
		request.age_ms = ast_tvdiff_ms(ast_tvnow(), call->began);
		request.contacts = asked;
		request.contact_count = AST_VECTOR_SIZE(&contacts);
		status = pushwake_resume(pushwake__client(), &request);
	}
	ast_free(asked);
	pushwake__contacts_free(&contacts);
	return status;
}

/*! What has become of a round. */
struct round {
	int taken;
	/*! The engine is silent: the others are not asked about now. */
	int left;
};

static void resume(struct pushwake__call *call, void *context)
{
	struct round *round = context;
	int is_next, status;

	ao2_lock(call);
	call->resumes = call->resumes && !call->ended;
	is_next = call->resumes;
	ao2_unlock(call);
	if (!is_next || round->left) {
		round->left += is_next;
		return;
	}
	status = ask(call);
	if (status == PUSHWAKE_ERR_TIMEOUT || status == PUSHWAKE_ERR_UNAVAILABLE) {
		round->left = 1;
		return;
	}
	ao2_lock(call);
	call->resumes = 0;
	ao2_unlock(call);
	round->taken += status == PUSHWAKE_OK;
}

int pushwake__calls_resume_on(void)
{
	static int taken;
	struct round round = { 0, 0 };

	pushwake__calls_each(NULL, resume, &round);
	taken += round.taken;
	if (taken && !round.left) {
		ast_log(LOG_NOTICE, "%d calls that wait go on with the new engine\n", taken);
		taken = 0;
	}
	return round.left;
}

static void mark(struct pushwake__call *call, void *context)
{
	ao2_lock(call);
	call->resumes = call->watched && !call->ended && call->ticket;
	ao2_unlock(call);
}

void pushwake__calls_resume(void)
{
	pushwake__calls_each(NULL, mark, NULL);
}
