/* SPDX-License-Identifier: MIT
 *
 * Contacts that the engine has not been told of yet: replicated ones, which may come faster
 * than it takes them, and all that come while it is away. Each is in the list once, however
 * often it is refreshed. Those for which the list has no room are found in usrloc later, a portion
 * of its slots at a time: usrloc locks one slot while it is read, as for nathelper.
 */
#include <string.h>

#include "core/globals.h"
#include "core/hashes.h"
#include "core/locking.h"
#include "core/mem/mem.h"
#include "core/mem/shm_mem.h"
#include "pushwake_functions.h"

/* Some 2 MB (docs/nodes.md). */
#define PW_MOST_UNREAD 20000
#define PW_BUCKETS 4096
/* dmq_usrloc knows one. */
#define PW_MOST_TABLES 4
/* usrloc has 1024 slots unless its hash_size says otherwise. */
#define PW_PORTIONS 1024
/* When memory is short one search follows another. */
#define PW_SEARCH_AGAIN_MS 10000

typedef struct pw_pending_list {
	gen_lock_t lock;
	int count;
	int is_short;       /* contacts of other nodes have come for which there was no room */
	time_t short_since; /* last_modified of the first of this node for which there was none; 0: there was room */
	int table_count;
	str *tables[PW_MOST_TABLES]; /* usrloc's own, as in the entries */
	pw_pending_t *first;
	pw_pending_t *last;
	pw_pending_t *buckets[PW_BUCKETS];
} pw_pending_list_t;

static pw_pending_list_t *list = NULL;

/* Of the supervisor's process. */
static struct {
	int portion; /* 0: none is under way */
	int found;
	int is_for_others; /* is_short and short_since, as they were when it began */
	time_t since;
	int64_t next_ms;
	char *buffer;
	int size;
} search;

int pw_pending_init(void)
{
	list = shm_malloc(sizeof(*list));
	if(list == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	memset(list, 0, sizeof(*list));
	return lock_init(&list->lock) == NULL ? -1 : 0;
}

static pw_pending_t **bucket_of(const str *ruid)
{
	return &list->buckets[ruid->len > 0 ? get_hash1_raw(ruid->s, ruid->len) % PW_BUCKETS : 0];
}

static pw_pending_t *find(const str *aor, const str *ruid)
{
	pw_pending_t *entry = *bucket_of(ruid);

	while(entry != NULL && !(STR_EQ(entry->ruid, *ruid) && STR_EQ(entry->aor, *aor))) {
		entry = entry->same_bucket;
	}
	return entry;
}

static pw_pending_t *entry_new(str *table, const str *aor, const str *ruid)
{
	pw_pending_t *entry = shm_malloc(sizeof(*entry) + aor->len + ruid->len + 2);
	char *at = (char *)(entry + 1);

	if(entry != NULL) {
		memset(entry, 0, sizeof(*entry));
		entry->table = table;
		entry->aor = pw_put(&at, pw_in(aor));
		entry->ruid = pw_put(&at, pw_in(ruid));
	}
	return entry;
}

static void learn_table(str *table)
{
	int i;

	for(i = 0; i < list->table_count && list->tables[i] != table; i++) {
	}
	if(i == list->table_count && i < PW_MOST_TABLES) {
		list->tables[list->table_count++] = table;
	}
}

static void link_entry(pw_pending_t *entry, int at_front)
{
	pw_pending_t **bucket = bucket_of(&entry->ruid);

	entry->same_bucket = *bucket;
	*bucket = entry;
	entry->next = at_front ? list->first : NULL;
	if(at_front || list->last == NULL) {
		list->first = entry;
	} else {
		list->last->next = entry;
	}
	if(!at_front || list->last == NULL) {
		list->last = entry;
	}
	list->count++;
}

/* `modified`: of a contact of this node; 0 for one of another. */
static void add(str *table, const str *aor, const str *ruid, time_t modified)
{
	pw_pending_t *entry = NULL;
	int is_new, is_first_left_out = 0;

	lock_get(&list->lock);
	learn_table(table);
	is_new = find(aor, ruid) == NULL;
	if(is_new && list->count < PW_MOST_UNREAD) {
		entry = entry_new(table, aor, ruid);
	}
	if(entry != NULL) {
		entry->is_own = modified != 0;
		link_entry(entry, 0);
	} else if(is_new) {
		is_first_left_out = !list->is_short && list->short_since == 0;
		if(modified == 0) {
			list->is_short = 1;
		} else if(list->short_since == 0 || modified < list->short_since) {
			list->short_since = modified;
		}
	}
	lock_release(&list->lock);
	if(entry != NULL) {
		pw_supervisor_wake();
	} else if(is_first_left_out) {
		LM_WARN("contacts come faster than the engine takes them, or it is away: those that come now are %s\n",
				pw.usrloc.db_mode == DB_ONLY ? "unknown to it until they are refreshed" : "looked for in usrloc later");
	}
}

void pw_pending_add(const ucontact_t *contact)
{
	add(contact->domain, contact->aor, &contact->ruid, contact->server_id != server_id ? 0 : contact->last_modified);
}

void pw_pending_add_all(const str *table, const str *aor, const pw_contacts_t *contacts)
{
	udomain_t *domain;
	int i;

	if(pw.usrloc.get_udomain(table->s, &domain) < 0) {
		return;
	}
	for(i = 0; i < contacts->n; i++) {
		add(((udomain_head_t *)domain)->name, aor, &contacts->v[i].ruid, contacts->v[i].modified);
	}
}

pw_pending_t *pw_pending_take(void)
{
	pw_pending_t *entry, **at;

	lock_get(&list->lock);
	entry = list->first;
	if(entry != NULL) {
		list->first = entry->next;
		list->last = list->first != NULL ? list->last : NULL;
		list->count--;
		for(at = bucket_of(&entry->ruid); *at != entry; at = &(*at)->same_bucket) {
		}
		*at = entry->same_bucket;
	}
	lock_release(&list->lock);
	return entry;
}

void pw_pending_put_back(pw_pending_t *entry)
{
	int is_known;

	lock_get(&list->lock);
	is_known = find(&entry->aor, &entry->ruid) != NULL; /* it was refreshed meanwhile */
	if(!is_known) {
		link_entry(entry, 1);
	}
	lock_release(&list->lock);
	if(is_known) {
		shm_free(entry);
	}
}

int pw_pending_any(void)
{
	return list->first != NULL;
}

/* Writes a portion of usrloc's contacts into the buffer. 0 or -1. */
static int fetch(int portion)
{
	int more = 1, tries;
	char *larger;

	/* others may come before it is asked again */
	for(tries = 0; more > 0 && tries < 4; tries++) {
		more = pw.usrloc.get_all_ucontacts(search.buffer, search.size, 0, portion, PW_PORTIONS, 0);
		if(more > 0) {
			larger = realloc(search.buffer, search.size + more + 1024);
			if(larger == NULL) {
				SYS_MEM_ERROR;
				return -1;
			}
			search.buffer = larger;
			search.size += more + 1024;
		}
	}
	return more == 0 ? 0 : -1;
}

static int is_searched(const ucontact_t *contact)
{
	return contact->server_id != server_id ? search.is_for_others : search.since != 0 && contact->last_modified >= search.since;
}

/* The contact's own table is not told. */
static void add_found(str *ruid, unsigned int aorhash)
{
	udomain_t *domain;
	urecord_t *record;
	ucontact_t *contact;
	str aor;
	int i;

	for(i = 0; i < list->table_count; i++) {
		/* it keeps the lock of what it finds */
		if(pw.usrloc.get_udomain(list->tables[i]->s, &domain) < 0
				|| pw.usrloc.get_urecord_by_ruid(domain, aorhash, ruid, &record, &contact) != 0) {
			continue;
		}
		if(is_searched(contact)) {
			pw_pending_add(contact);
			search.found++;
		}
		aor = record->aor;
		pw.usrloc.release_urecord(record);
		pw.usrloc.unlock_udomain(domain, &aor);
	}
}

static const char *skip_text(const char *at, str *out)
{
	memcpy(&out->len, at, sizeof(out->len));
	out->s = (char *)at + sizeof(out->len);
	return out->s + out->len;
}

/* As usrloc's dlist.c writes them: URI, received, socket, flags, Path, ruid, hash of the AoR. */
static void add_all_found(void)
{
	const char *at = search.buffer;
	unsigned int aorhash;
	str text, ruid;

	for(at = skip_text(at, &text); text.len > 0; at = skip_text(at, &text)) {
		at = skip_text(at, &text);
		at += sizeof(struct socket_info *) + sizeof(unsigned int);
		at = skip_text(at, &text);
		at = skip_text(at, &ruid);
		memcpy(&aorhash, at, sizeof(aorhash));
		at += sizeof(aorhash);
		add_found(&ruid, aorhash);
	}
}

static void end_search(void)
{
	free(search.buffer);
	search.buffer = NULL;
	search.size = 0;
	search.portion = 0;
}

int pw_pending_search(void)
{
	if(search.portion == 0) {
		/* a table that is in the database alone has no slots */
		if((!list->is_short && list->short_since == 0) || pw_now_ms() < search.next_ms || pw.usrloc.db_mode == DB_ONLY) {
			return 0;
		}
		search.next_ms = pw_now_ms() + PW_SEARCH_AGAIN_MS;
		search.found = 0;
		lock_get(&list->lock);
		search.is_for_others = list->is_short;
		search.since = list->short_since;
		list->is_short = 0;
		list->short_since = 0;
		lock_release(&list->lock);
	}
	if(fetch(search.portion) < 0) {
		end_search();
		lock_get(&list->lock);
		list->is_short |= search.is_for_others; /* again, later */
		if(search.since != 0 && (list->short_since == 0 || search.since < list->short_since)) {
			list->short_since = search.since;
		}
		lock_release(&list->lock);
		return 0;
	}
	add_all_found();
	search.portion++;
	if(search.portion == PW_PORTIONS) {
		end_search();
		LM_NOTICE("usrloc was searched: %d contacts that the engine has missed are reported to it\n", search.found);
	}
	return 1;
}
