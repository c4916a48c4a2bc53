/* SPDX-License-Identifier: MIT
 *
 * A script goes on although the request that it has held has nowhere to go: nothing is relayed then, and nothing replied.
 */
#include "core/dset.h"
#include "pushwake_held.h"

/* What of a transaction is quiet: the script that has held it may be another process's. */
static pw_hold_t *quiet_of(tm_cell_t *t)
{
	pw_hold_t *hold;

	for(hold = pw_hold_next(t, NULL); hold != NULL && !hold->quiet; hold = pw_hold_next(t, hold)) {
	}
	return hold;
}

/* A CANCEL has come: T_CANCELED, which pw_quiet() borrows. */
static int is_cancelled(tm_cell_t *t)
{
	const pw_hold_t *hold = quiet_of(t);

	return (hold == NULL || hold->cancelled) && (t->flags & T_CANCELED) != 0;
}

int pw_script_is_late(sip_msg_t *msg)
{
	tm_cell_t *t = pw.tm.t_gett();

	if(t == NULL || t == T_UNDEFINED) {
		return pw.xtm.t_check_trans(msg) == 0;
	}
	return t->uas.status >= 200 || is_cancelled(t);
}

/* FNV-1a: the core's hashes give the same for many numbers that differ in two digits. */
static uint64_t hash_of(const char *text, int len)
{
	uint64_t hash = 0xcbf29ce484222325u;
	int i;

	for(i = 0; i < len; i++) {
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	}
	return hash;
}

/* tm forwards nothing of a cancelled request, without a word in the log. A real CANCEL is known by hold->cancelled. */
void pw_quiet(tm_cell_t *t, pw_hold_t *hold, sip_msg_t *msg)
{
	pw.reply_lock(t);
	hold->quiet = !(t->flags & T_CANCELED); /* its CANCEL may have come first */
	hold->quiet_uri = hash_of(GET_RURI(msg)->s, GET_RURI(msg)->len);
	t->flags |= T_CANCELED;
	pw.reply_unlock(t);
	msg->msg_flags |= FL_MSG_NOREPLY;
}

int pw_quiet_begin(sip_msg_t *msg)
{
	const pw_opened_t *last = pw_opened_at(pw_opened_count() - 1);
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold = last != NULL && pw_opened_is_of(last, t) ? pw_hold_in(t, last->handle) : NULL;

	if(hold == NULL) {
		return -1;
	}
	pw_quiet(t, hold, msg);
	return 0;
}

void pw_quiet_end(tm_cell_t *t, pw_hold_t *hold)
{
	if(hold->quiet && !hold->cancelled) {
		t->flags &= ~T_CANCELED;
	}
	hold->quiet = 0;
}

/* append_branch() after a lookup that has left the Request-URI as it was: that one leads back here. */
static void drop_unresolved(uint64_t uri)
{
	unsigned int i;
	branch_t *b;

	for(i = 0; i < nr_branches;) {
		b = get_sip_branch((int)i);
		if(b != NULL && b->ruid_len == 0 && b->dst_uri_len == 0 && b->path_len == 0
				&& hash_of(b->uri, (int)b->len) == uri) {
			drop_sip_branch((int)i);
		} else {
			i++;
		}
	}
}

void pw_quiet_over(sip_msg_t *msg)
{
	tm_cell_t *t = pw.tm.t_gett();
	pw_hold_t *hold;

	if(t == NULL || t == T_UNDEFINED) {
		return;
	}
	while((hold = quiet_of(t)) != NULL) {
		pw.reply_lock(t);
		pw_quiet_end(t, hold);
		pw.reply_unlock(t);
		drop_unresolved(hold->quiet_uri);
	}
}
