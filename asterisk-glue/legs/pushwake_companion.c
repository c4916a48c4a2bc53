/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The companion: an AoR whose phones can be woken and that has no other contact has one that leads to the place
 * where requests wait. So everything that dials the AoR finds somebody.
 *
 * It goes when a phone registers, before the registrar counts contacts; it comes back with the last contact's end.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/logger.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/sorcery.h"
#include "asterisk/strings.h"
#include "asterisk/taskprocessor.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

/*! Of `pjsip show contacts` and the like. */
#define USER_AGENT "PushWake: waits for a push"
/*! It is made anew at each start, so it need not last. */
#define LIFE_S (10 * 365 * 86400)

/*! One after the other: each looks at what is there. */
static struct ast_taskprocessor *worker;

/*! Counts the contacts of an AoR that are phones', and gives the companion, a reference; or NULL. */
static struct ast_sip_contact *look(struct ast_sip_aor *aor, int *phones)
{
	struct ao2_container *contacts = ast_sip_location_retrieve_aor_contacts(aor);
	struct ast_sip_contact *contact, *own = NULL;
	struct ao2_iterator all;

	*phones = 0;
	if (!contacts) {
		return NULL;
	}
	all = ao2_iterator_init(contacts, 0);
	while ((contact = ao2_iterator_next(&all))) {
		if (!pushwake__companion_is(contact->uri)) {
			++*phones;
			ao2_ref(contact, -1);
		} else if (own) {
			ast_sip_location_delete_contact(contact);
			ao2_ref(contact, -1);
		} else {
			own = contact;
		}
	}
	ao2_iterator_destroy(&all);
	ao2_ref(contacts, -1);
	return own;
}

static void make(struct ast_sip_aor *aor)
{
	const char *name = ast_sorcery_object_get_id(aor);
	struct ast_sip_endpoint *endpoint = pushwake__endpoint_of(name);
	char *uri = endpoint ? pushwake__place_uri(name) : NULL;
	struct ast_sip_contact *contact;

	if (uri) {
		contact = ast_sip_location_create_contact(aor, uri, ast_tvadd(ast_tvnow(), ast_tv(LIFE_S, 0)), "", USER_AGENT, "", 0,
			"pushwake", 1, endpoint);
		ao2_cleanup(contact);
	}
	ast_free(uri);
	ao2_cleanup(endpoint);
}

static void check(const char *name)
{
	struct ast_sip_aor *aor = ast_sip_location_retrieve_aor(name);
	struct ast_sip_contact *own;
	int phones, bindings;

	if (!aor) {
		return;
	}
	own = look(aor, &phones);
	bindings = phones || !pushwake_may_wake(pushwake__client(), pushwake__str(name)) ? 0
		: pushwake_bindings_count(pushwake__client(), pushwake__str(name));
	/* Below 0 no engine says anything: the next one is asked about all. */
	if (own && !bindings) {
		ast_sip_location_delete_contact(own);
	} else if (!own && bindings > 0) {
		make(aor);
	}
	ao2_cleanup(own);
	ao2_ref(aor, -1);
}

static int check_task(void *data)
{
	check(data);
	ast_free(data);
	return 0;
}

static int check_all_task(void *data)
{
	struct ao2_container *aors = ast_sorcery_retrieve_by_fields(ast_sip_get_sorcery(), "aor",
		AST_RETRIEVE_FLAG_MULTIPLE | AST_RETRIEVE_FLAG_ALL, NULL);
	struct ao2_iterator all;
	void *aor;

	if (!aors) {
		return 0;
	}
	all = ao2_iterator_init(aors, 0);
	while ((aor = ao2_iterator_next(&all))) {
		check(ast_sorcery_object_get_id(aor));
		ao2_ref(aor, -1);
	}
	ao2_iterator_destroy(&all);
	ao2_ref(aors, -1);
	return 0;
}

void pushwake__companion_check(const char *aor)
{
	char *copy;

	if (!worker || !pushwake__legs_are_on()) {
		return;
	}
	if (!aor) {
		if (ast_sip_push_task(worker, check_all_task, NULL)) {
			ast_log(LOG_WARNING, "AoRs whose phones sleep get no contact: out of memory\n");
		}
		return;
	}
	copy = ast_strdup(aor);
	if (copy && ast_sip_push_task(worker, check_task, copy)) {
		ast_free(copy);
	}
}

void pushwake__companion_leave(const char *name)
{
	struct ast_sip_aor *aor = pushwake__legs_are_on() ? ast_sip_location_retrieve_aor(name) : NULL;
	struct ast_sip_contact *own;
	int phones;

	if (!aor) {
		return;
	}
	own = look(aor, &phones);
	if (own) {
		ast_sip_location_delete_contact(own);
		ao2_ref(own, -1);
	}
	ao2_ref(aor, -1);
}

static void changed(const void *object)
{
	const struct ast_sip_contact *contact = object;

	pushwake__companion_check(contact->aor);
}

static const struct ast_sorcery_observer observer = { .created = changed, .deleted = changed };

int pushwake__companion_start(void)
{
	worker = ast_sip_create_serializer("pushwake/companion");
	if (!worker || ast_sorcery_observer_add(ast_sip_get_sorcery(), "contact", &observer)) {
		return -1;
	}
	return 0;
}

void pushwake__companion_stop(void)
{
	ast_sorcery_observer_remove(ast_sip_get_sorcery(), "contact", &observer);
	ast_taskprocessor_unreference(worker);
	worker = NULL;
}
