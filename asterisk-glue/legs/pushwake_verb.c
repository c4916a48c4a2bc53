/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What the engine says is done here: in the thread of a REGISTER, or in the supervisor's.
 *
 * Verbs for waiting legs go to the library.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_early_wake.h"
#include "pushwake_legs.h"

/*! A phone that was made to show a call and comes after its end. */
struct shown {
	char *aor;
	char *uri;
	char *reason;
	char *call_id;
	/*! The caller's number. */
	char *from;
};

static void shown_free(struct shown *shown)
{
	ast_free(shown->aor);
	ast_free(shown->uri);
	ast_free(shown->reason);
	ast_free(shown->call_id);
	ast_free(shown->from);
	ast_free(shown);
}

/*! Which call it is, and whose. Its own Call-ID is another one (Acrobits, Push Notification Mediator). */
static void describe(pjsip_tx_data *tdata, const struct shown *shown, const struct ast_sip_contact *contact)
{
	pjsip_sip_uri *from = pjsip_uri_get_uri(PJSIP_MSG_FROM_HDR(tdata->msg)->uri);

	if (!ast_strlen_zero(shown->from)) {
		pj_strdup2(tdata->pool, &from->user, shown->from);
	}
	if (!ast_strlen_zero(contact->path)) {
		ast_sip_set_outbound_proxy(tdata, contact->path);
	}
	ast_sip_add_header(tdata, "X-Push-ID", shown->call_id);
}

/*! Nothing else takes the call from its screen than INVITE and CANCEL. */
static int show_task(void *data)
{
	struct shown *shown = data;
	struct ast_sip_contact *contact = pushwake__contact_named(shown->aor, shown->uri);
	struct ast_sip_endpoint *endpoint = contact ? pushwake__contact_endpoint(contact) : NULL;
	pjsip_tx_data *tdata;

	if (endpoint && !ast_sip_create_request("INVITE", NULL, endpoint, contact->uri, NULL, &tdata)) {
		describe(tdata, shown, contact);
		pushwake__follow_show(tdata, shown->reason);
	}
	ao2_cleanup(endpoint);
	ao2_cleanup(contact);
	shown_free(shown);
	return 0;
}

static void show_end(const pushwake_verb *verb)
{
	struct shown *shown = ast_calloc(1, sizeof(*shown));

	if (!shown) {
		return;
	}
	shown->aor = pushwake__dup(verb->aor);
	shown->uri = pushwake__dup(verb->contact);
	shown->reason = pushwake__dup(verb->reason);
	shown->call_id = pushwake__dup(verb->call_id);
	shown->from = pushwake__dup(verb->from_user);
	if (!shown->aor || !shown->uri || !shown->reason || !shown->call_id || !shown->from
		|| ast_sip_push_task(NULL, show_task, shown)) {
		shown_free(shown);
	}
}

void pushwake__verb_execute(const pushwake_verb *verb)
{
	if (verb->kind == PUSHWAKE_VERB_RING_AND_CANCEL) {
		show_end(verb);
	} else {
		pushwake__early_wake_execute(verb);
	}
}
