/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What PJSIP's threads hand over to the supervisor's, in the order in which they see it.
 */
#include "asterisk.h"

#include <sys/eventfd.h>

#include "asterisk/linkedlists.h"
#include "asterisk/lock.h"
#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_legs.h"

struct entry {
	struct pushwake__told told;
	AST_LIST_ENTRY(entry) next;
};

static AST_LIST_HEAD_STATIC(entries, entry);
static int alert = -1;

void pushwake__told_free(struct pushwake__told *told)
{
	struct entry *entry = (struct entry *) told;

	pushwake__contact_free(told->contact);
	ast_free((char *) told->text.ptr);
	ast_free(entry);
}

void pushwake__legs_tell(const struct pushwake__told *told)
{
	struct entry *entry = ast_calloc(1, sizeof(*entry));
	int is_first;

	if (!entry) {
		return;
	}
	entry->told = *told;
	entry->told.text.ptr = NULL;
	memset(&entry->told.contact, 0, sizeof(entry->told.contact));
	if ((told->text.len && !(entry->told.text.ptr = ast_malloc(told->text.len)))
		|| (told->contact.uri && pushwake__contact_copy(&entry->told.contact, &told->contact))) {
		pushwake__told_free(&entry->told);
		return;
	}
	if (told->text.len) {
		memcpy((char *) entry->told.text.ptr, told->text.ptr, told->text.len);
	}
	AST_LIST_LOCK(&entries);
	is_first = AST_LIST_EMPTY(&entries);
	AST_LIST_INSERT_TAIL(&entries, entry, next);
	AST_LIST_UNLOCK(&entries);
	if (is_first && eventfd_write(alert, 1)) {
		ast_debug(1, "The waiting legs are alert already\n");
	}
}

void pushwake__legs_tell_progress(uint64_t handle, int leg, int status, int from_phone)
{
	struct pushwake__told told = {
		.kind = PUSHWAKE__TOLD_PROGRESS, .handle = handle, .leg = leg, .status = status, .from_phone = from_phone,
	};

	pushwake__legs_tell(&told);
}

int pushwake__legs_fd(void)
{
	return alert;
}

struct pushwake__told *pushwake__legs_next_told(void)
{
	struct entry *entry;
	eventfd_t count;

	AST_LIST_LOCK(&entries);
	entry = AST_LIST_REMOVE_HEAD(&entries, next);
	if (!entry && eventfd_read(alert, &count)) {
		ast_debug(5, "Nothing to be told\n");
	}
	AST_LIST_UNLOCK(&entries);
	return entry ? &entry->told : NULL;
}

int pushwake__tell_start(void)
{
	alert = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return alert < 0 ? -1 : 0;
}

void pushwake__tell_stop(void)
{
	struct pushwake__told *told;

	while (alert >= 0 && (told = pushwake__legs_next_told())) {
		pushwake__told_free(told);
	}
	if (alert >= 0) {
		close(alert);
		alert = -1;
	}
}
