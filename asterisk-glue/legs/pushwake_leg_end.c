/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief How a leg ends that Asterisk hangs up.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/datastore.h"
#include "asterisk/module.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_early_wake.h"
#include "pushwake_legs.h"

void pushwake__leg_hung_up(struct pushwake__waiter *waiter, struct ast_channel *chan, const char *said)
{
	struct pushwake__early_wake *early = chan ? pushwake__early_wake_of(chan, waiter->aor) : NULL;
	int is_elsewhere = chan && ast_channel_hangupcause(chan) == AST_CAUSE_ANSWERED_ELSEWHERE;
	int how = PUSHWAKE_CALL_CANCELLED;
	char *reason = NULL;

	if (!waiter->handle) {
		/* The library has yet to ask who it is, and the CANCEL tells it. */
		ao2_cleanup(early);
		return;
	}
	if (is_elsewhere) {
		said = "SIP;cause=200";
	} else if (early) {
		how = pushwake__early_wake_leg_end(early, &reason);
	}
	pushwake__waiter_end(waiter, how, how == PUSHWAKE_CALL_FAILED ? 480 : 487, S_OR(reason, said));
	ast_free(reason);
	ao2_cleanup(early);
}

/*! On the channel: a phone that says nothing keeps Asterisk from sending a CANCEL when it hangs up. */
struct hung {
	struct pushwake__waiter *waiter;
	/*! No reference: it goes with the channel. */
	struct ast_channel *chan;
};

static void hung_free(void *data)
{
	struct hung *hung = data;

	pushwake__leg_hung_up(hung->waiter, hung->chan, "");
	ao2_ref(hung->waiter, -1);
	ast_free(hung);
	ast_module_unref(AST_MODULE_SELF);
}

static void hung_moved(void *data, struct ast_channel *from, struct ast_channel *to)
{
	((struct hung *) data)->chan = to;
}

static const struct ast_datastore_info hung_info = {
	.type = "pushwake waiter",
	.destroy = hung_free,
	.chan_fixup = hung_moved,
};

void pushwake__leg_watch(struct ast_channel *chan, struct pushwake__waiter *waiter)
{
	struct ast_datastore *store = ast_datastore_alloc(&hung_info, NULL);
	struct hung *hung = ast_calloc(1, sizeof(*hung));

	if (!store || !hung) {
		ast_datastore_free(store);
		ast_free(hung);
		return;
	}
	hung->waiter = ao2_bump(waiter);
	hung->chan = chan;
	store->data = hung;
	/* The channel holds pointers into this module until it goes. */
	ast_module_ref(AST_MODULE_SELF);
	ast_channel_lock(chan);
	ast_channel_datastore_add(chan, store);
	ast_channel_unlock(chan);
}
