/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Phones that register while no engine answers join the calls that wait for their user.
 */
#include "asterisk.h"

#include "asterisk/astobj2.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"

/*! The leg that is out to the phone of this contact: its number, 0 for none, -1 when it is out to this very contact. */
static int find_same(struct pushwake__call *call, const struct pushwake__contact *contact)
{
	size_t index;
	int number = 0;

	for (index = 0; number >= 0 && index < AST_VECTOR_SIZE(&call->legs); index++) {
		const struct pushwake__leg *leg = AST_VECTOR_GET_ADDR(&call->legs, index);

		if (leg->state == PUSHWAKE__LEG_OVER) {
			continue;
		}
		if (!strcmp(leg->contact.uri, contact->uri)) {
			number = ast_strlen_zero(leg->contact.flow) || !strcmp(leg->contact.flow, contact->flow) ? -1 : leg->number;
		} else if (!strcmp(S_OR(leg->contact.registration, ""), contact->registration)) {
			number = leg->number;
		}
	}
	return number;
}

static void join(struct pushwake__call *call, void *context)
{
	const struct pushwake__contact *contact = context;
	int old;

	ao2_lock(call);
	old = call->ended || call->joins >= PUSHWAKE__MAX_JOINS ? -1 : find_same(call, contact);
	ao2_unlock(call);
	if (old >= 0) {
		pushwake__leg_queue(call, PUSHWAKE__LEG_NEXT, contact, old, NULL);
		pushwake__call_look(call);
	}
}

void pushwake__calls_join(const char *aor, const struct pushwake__contact *contact)
{
	pushwake__calls_each(aor, join, (void *) contact);
}
