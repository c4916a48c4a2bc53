/* SPDX-License-Identifier: MIT
 *
 * What processes leave for the supervisor's, and that one for the process of routes, without waiting for it.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pushwake_host.h"

static int line_fds[PW_LINES][2];
static int wake_fd = -1;

int pw_notes_init(void)
{
	int i;

	for(i = 0; i < PW_LINES; i++) {
		if(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, line_fds[i]) < 0) {
			LM_ERR("socketpair: %s\n", strerror(errno));
			return -1;
		}
	}
	wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if(wake_fd < 0) {
		LM_ERR("eventfd: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

#define PW_TEXTS 12

/* All texts of a verb, in the order in which a note has them. */
static void texts_of(pushwake_verb *verb, pushwake_str *texts[PW_TEXTS])
{
	pushwake_str *all[PW_TEXTS] = {&verb->aor, &verb->domain, &verb->contact, &verb->reason, &verb->call_id,
			&verb->from_uri, &verb->from_tag, &verb->to_uri, &verb->contact_uri, &verb->contact_path,
			&verb->contact_flow, &verb->from_user};

	memcpy(texts, all, sizeof(all));
}

/* Points the texts of a note to those behind it. */
static char *relocate(pw_note_t *note)
{
	pushwake_str *texts[PW_TEXTS];
	char *at = note->text;
	int i;

	texts_of(&note->verb, texts);
	for(i = 0; i < PW_TEXTS; i++) {
		texts[i]->ptr = texts[i]->len > 0 ? at : NULL;
		at += texts[i]->len;
	}
	return at;
}

/* All of it or nothing: a contact without its Path would lead elsewhere. Returns the size of the note, 0: too large. */
static size_t write_note(pw_note_t *note, const pushwake_verb *verb, int64_t since_ms)
{
	pushwake_str *texts[PW_TEXTS];
	char *at = note->text;
	int i;

	note->verb = *verb;
	note->since_ms = since_ms;
	texts_of(&note->verb, texts);
	for(i = 0; i < PW_TEXTS; i++) {
		if(texts[i]->len > (size_t)(note->text + sizeof(note->text) - at)) {
			return 0;
		}
		if(texts[i]->len > 0) {
			memcpy(at, texts[i]->ptr, texts[i]->len);
			at += texts[i]->len;
		}
	}
	return (size_t)(relocate(note) - (char *)note);
}

pw_note_t *pw_note_copy(const pushwake_verb *verb, int64_t since_ms)
{
	pw_note_t note, *out;
	size_t size = write_note(&note, verb, since_ms);

	out = size > 0 ? pw_alloc(size) : NULL;
	if(out != NULL) {
		memcpy(out, &note, size);
		relocate(out);
	}
	return out;
}

static int leave(enum pw_line line, const pushwake_verb *verb, int64_t since_ms)
{
	pw_note_t note;
	size_t size = write_note(&note, verb, since_ms);

	if(size == 0) {
		errno = EMSGSIZE;
	}
	return size == 0 || send(line_fds[line][1], &note, size, 0) < 0 ? -1 : 0;
}

int pw_verb_elsewhere(const pushwake_verb *verb, int64_t since_ms)
{
	return leave(PW_LINE_ROUTES, verb, since_ms);
}

void pw_verb_later(const pushwake_verb *verb)
{
	/* a full line loses it: the request then ends with its own timer */
	if(leave(PW_LINE_SUPERVISOR, verb, pw_now_ms()) < 0) {
		LM_WARN("the supervisor is behind: %s; a phone may ring late\n", strerror(errno));
		if(verb->kind == PUSHWAKE_VERB_RING) {
			pushwake_progressed(pw_client, verb->handle, verb->leg, 503, 0);
		}
	}
}

void pw_supervisor_wake(void)
{
	const uint64_t one = 1;

	if(write(wake_fd, &one, sizeof(one)) < 0) {
		LM_DBG("the supervisor is awake: %s\n", strerror(errno));
	}
}

int pw_notes_fd(enum pw_line line)
{
	return line_fds[line][0];
}

int pw_wake_fd(void)
{
	return wake_fd;
}

int pw_note_take(enum pw_line line, pw_note_t *note)
{
	ssize_t n;

	do {
		n = recv(line_fds[line][0], note, sizeof(*note), 0);
	} while(n > 0 && n < (ssize_t)offsetof(pw_note_t, text));
	if(n <= 0) {
		return 0;
	}
	relocate(note);
	return 1;
}
