/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The companion: an AoR of which a phone sleeps and has no contact has one that leads to the place where requests
 * wait. So everything that dials the AoR, or all its contacts, finds it.
 *
 * Where there is no room for it beside phones it goes before the registrar counts contacts.
 */
#include "asterisk.h"

#include <pjsip.h>

#include "asterisk/astobj2.h"
#include "asterisk/lock.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
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

/*! Milliseconds that the registrar may take from its first look at a REGISTER until it has saved the contact. */
#define REGISTER_MS 1000

/*! One after the other: each looks at what is there. */
static struct ast_taskprocessor *worker;

/*! An AoR for which the registrar has a REGISTER in hand: its place stays free for the phone. */
struct registering {
	struct timeval since;
	char name[];
};
static struct ao2_container *all_registering;
/*! Held from the look whether one registers until the companion is there, and from the note that one does until it is gone. */
AST_MUTEX_DEFINE_STATIC(place_lock);

/*! AoRs of which a phone sleeps and has no contact, as far as is known. */
static struct ao2_container *asleep;
/*! AoRs that have a binding, as far as is known: with their last contact they get a companion though no engine be there. */
static struct ao2_container *bound;

AO2_STRING_FIELD_HASH_FN(registering, name)
AO2_STRING_FIELD_CMP_FN(registering, name)

static void note_register(const char *name)
{
	struct registering *registering = ao2_alloc(sizeof(*registering) + strlen(name) + 1, NULL);

	if (registering) {
		strcpy(registering->name, name); /* safe: allocated for it */
		registering->since = ast_tvnow();
		ao2_find(all_registering, name, OBJ_SEARCH_KEY | OBJ_UNLINK | OBJ_NODATA);
		ao2_link(all_registering, registering);
		ao2_ref(registering, -1);
	}
}

/*! Milliseconds for which the registrar may have a REGISTER in hand. */
static int left_of_register(const char *name)
{
	struct registering *registering = ao2_find(all_registering, name, OBJ_SEARCH_KEY);
	int left = registering ? REGISTER_MS - (int) ast_tvdiff_ms(ast_tvnow(), registering->since) : 0;

	ao2_cleanup(registering);
	return left;
}

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

static void check_later(const char *name);

static int is_in(struct ao2_container *names, const char *name)
{
	void *found = ao2_find(names, name, OBJ_SEARCH_KEY);

	ao2_cleanup(found);
	return found != NULL;
}

static void put(struct ao2_container *names, const char *name, int is)
{
	ao2_lock(names);
	ast_str_container_remove(names, name);
	if (is) {
		ast_str_container_add(names, name);
	}
	ao2_unlock(names);
}

/*! Makes or removes the companion by what is known: with the last contact of a phone that has a binding it sleeps. */
static void settle(const char *name)
{
	struct ast_sip_aor *aor = ast_sip_location_retrieve_aor(name);
	struct ast_sip_contact *own;
	int phones = 0, is_wanted;

	if (!aor) {
		return;
	}
	ast_mutex_lock(&place_lock);
	own = look(aor, &phones);
	is_wanted = is_in(phones ? asleep : bound, name) && phones < MAX(1, (int) aor->max_contacts);
	if (own && !is_wanted) {
		ast_sip_location_delete_contact(own);
	} else if (!own && is_wanted) {
		if (left_of_register(name) > 0) {
			check_later(name);
		} else {
			make(aor);
		}
	}
	ast_mutex_unlock(&place_lock);
	ao2_cleanup(own);
	ao2_ref(aor, -1);
}

/*! How many bindings there are whose phones have no contact, of so many that have; below 0 no engine says anything. */
static int count_sleepers(const char *name, size_t *phones)
{
	struct pushwake__contacts contacts;
	pushwake_contact *asked;
	int count = 0;

	*phones = 0;
	if (!pushwake_may_wake(pushwake__client(), pushwake__str(name))) {
		return 0;
	}
	pushwake__contacts_get(&contacts, name);
	asked = pushwake__contacts_describe(phones, &contacts, NULL);
	if (asked) {
		count = pushwake_bindings(pushwake__client(), pushwake__str(name), asked, *phones, sizeof(*asked), NULL, NULL);
	}
	ast_free(asked);
	pushwake__contacts_free(&contacts);
	return count;
}

static void check(const char *name)
{
	size_t phones;
	int count = count_sleepers(name, &phones);

	/* Below 0: the next engine is asked about all. */
	if (count >= 0) {
		put(asleep, name, count > 0);
	}
	if (count > 0 || (!count && !phones)) {
		put(bound, name, count > 0);
	}
	settle(name);
}

static int check_task(void *data)
{
	check(data);
	ast_free(data);
	return 0;
}

static int later_task(void *data)
{
	check_task(data);
	ast_module_unref(AST_MODULE_SELF);
	return 0;
}

/*! The registrar may refuse the phone, and then nothing else brings the companion back. */
static void check_later(const char *name)
{
	char *copy = ast_strdup(name);
	struct ast_sip_sched_task *task = NULL;

	if (copy) {
		ast_module_ref(AST_MODULE_SELF);
		/* Without a name it has one of its own: of two with the same name PJSIP's scheduler keeps no reference to the second. */
		task = ast_sip_schedule_task(worker, REGISTER_MS, later_task, NULL, copy, AST_SIP_SCHED_TASK_ONESHOT);
	}
	if (copy && !task) {
		ast_module_unref(AST_MODULE_SELF);
		ast_free(copy);
	}
	ao2_cleanup(task);
}

static void for_all(void (*run)(const char *name))
{
	struct ao2_container *aors = ast_sorcery_retrieve_by_fields(ast_sip_get_sorcery(), "aor",
		AST_RETRIEVE_FLAG_MULTIPLE | AST_RETRIEVE_FLAG_ALL, NULL);
	struct ao2_iterator all;
	void *aor;

	if (!aors) {
		return;
	}
	all = ao2_iterator_init(aors, 0);
	while ((aor = ao2_iterator_next(&all))) {
		run(ast_sorcery_object_get_id(aor));
		ao2_ref(aor, -1);
	}
	ao2_iterator_destroy(&all);
	ao2_ref(aors, -1);
}

static int check_all_task(void *data)
{
	for_all(check);
	return 0;
}

void pushwake__companion_check(const char *aor)
{
	char *copy;

	if (!worker || !pushwake__legs_wake_all()) {
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

/*! `coming`: contacts that the registrar is about to add; with room for them the companion stays. */
static void leave(const char *name, int coming)
{
	struct ast_sip_aor *aor = ast_sip_location_retrieve_aor(name);
	struct ast_sip_contact *own;
	int phones;

	if (!aor) {
		return;
	}
	own = look(aor, &phones);
	if (own && phones + coming >= (int) aor->max_contacts) {
		ast_sip_location_delete_contact(own);
	}
	ao2_cleanup(own);
	ao2_ref(aor, -1);
}

void pushwake__companion_leave(const char *name, int coming)
{
	if (pushwake__legs_wake_all()) {
		ast_mutex_lock(&place_lock);
		note_register(name);
		leave(name, coming);
		ast_mutex_unlock(&place_lock);
	}
}

void pushwake__companion_return(const char *name)
{
	if (pushwake__legs_wake_all()) {
		ast_mutex_lock(&place_lock);
		ao2_find(all_registering, name, OBJ_SEARCH_KEY | OBJ_UNLINK | OBJ_NODATA);
		ast_mutex_unlock(&place_lock);
		settle(name);
	}
}

void pushwake__companion_know(const char *name)
{
	if (pushwake__legs_wake_all()) {
		put(bound, name, 1);
	}
}

static void created(const void *object)
{
	const struct ast_sip_contact *contact = object;

	if (!pushwake__companion_is(contact->uri)) {
		pushwake__companion_check(contact->aor);
	}
}

/*! ORDER: at once, since a call that finds no contact fails. */
static void deleted(const void *object)
{
	const struct ast_sip_contact *contact = object;

	if (pushwake__legs_wake_all() && !pushwake__companion_is(contact->uri)) {
		settle(contact->aor);
		pushwake__companion_check(contact->aor);
	}
}

static const struct ast_sorcery_observer observer = { .created = created, .deleted = deleted };

/*! AoRs have been read again, and some may be new. */
static void loaded(const char *type)
{
	pushwake__companion_check(NULL);
}

static const struct ast_sorcery_observer aor_observer = { .loaded = loaded };

int pushwake__companion_start(void)
{
	worker = ast_sip_create_serializer("pushwake/companion");
	all_registering = ao2_container_alloc_hash(AO2_ALLOC_OPT_LOCK_MUTEX, 0, 251, registering_hash_fn, NULL, registering_cmp_fn);
	asleep = ast_str_container_alloc(1021);
	bound = ast_str_container_alloc(1021);
	if (!worker || !all_registering || !asleep || !bound || ast_sorcery_observer_add(ast_sip_get_sorcery(), "contact", &observer)
		|| ast_sorcery_observer_add(ast_sip_get_sorcery(), "aor", &aor_observer)) {
		return -1;
	}
	return 0;
}

static void leave_for_good(const char *name)
{
	leave(name, INT_MAX / 2);
}

/*! Nobody would take what is sent to them. */
static int leave_all_task(void *data)
{
	for_all(leave_for_good);
	return 0;
}

void pushwake__companion_stop(void)
{
	ast_sorcery_observer_remove(ast_sip_get_sorcery(), "aor", &aor_observer);
	ast_sorcery_observer_remove(ast_sip_get_sorcery(), "contact", &observer);
	/* After what has been begun. */
	ast_sip_push_task_wait_serializer(worker, leave_all_task, NULL);
	ast_taskprocessor_unreference(worker);
	worker = NULL;
	ao2_cleanup(all_registering);
	ao2_cleanup(asleep);
	ao2_cleanup(bound);
	all_registering = asleep = bound = NULL;
}
