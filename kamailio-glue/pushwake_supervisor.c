/* SPDX-License-Identifier: MIT
 *
 * One child process of Kamailio. It runs the engine through the library, hands its
 * results to the script and its log to Kamailio's, and takes what workers have to
 * tell the engine without waiting for it. Kamailio stops when a child ends, so
 * this one never does: an engine that cannot be started is tried again.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/cfg/cfg_struct.h"
#include "core/pt.h"
#include "pushwake_hold.h"

#define PW_RETRY_MS 1000
#define PW_LONGEST_WAIT_MS 1000
#define PW_MAX_NOTE 2048
#define PW_START_WAIT_MS 2000
#define PW_START_STEP_MS 10

/* What a worker leaves to this process. */
enum pw_note_kind {
	PW_NOTE_ENDED, /* a call is over: AoR, Call-ID */
	PW_NOTE_JOIN   /* phones registered since then may join: table, AoR */
};

typedef struct pw_note {
	int kind;
	int how;
	time_t since;
	int first_len;
	int second_len;
	char text[PW_MAX_NOTE];
} pw_note_t;

static int line_fds[2] = {-1, -1};
static volatile sig_atomic_t stopping = 0;

int pw_supervisor_prepare(void)
{
	if(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, line_fds) < 0) {
		LM_ERR("socketpair: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

static void leave(pw_note_t *note, str *first, str *second)
{
	size_t len = (size_t)first->len + second->len;

	if(len >= sizeof(note->text)) {
		return;
	}
	note->first_len = first->len;
	note->second_len = second->len;
	memcpy(note->text, first->s, first->len);
	memcpy(note->text + first->len, second->s, second->len);
	/* a full line loses it: a push ends with its own deadline, a held call with its timer */
	if(send(line_fds[1], note, offsetof(pw_note_t, text) + len, 0) < 0) {
		LM_DBG("supervisor is behind: %s\n", strerror(errno));
	}
}

void pw_call_ended(str *aor, str *call_id, int how)
{
	pw_note_t note;

	note.kind = PW_NOTE_ENDED;
	note.how = how;
	leave(&note, aor, call_id);
}

void pw_join_later(str *table, str *aor, time_t since)
{
	pw_note_t note;

	note.kind = PW_NOTE_JOIN;
	note.since = since;
	leave(&note, table, aor);
}

static void join_since(pw_note_t *note)
{
	char name[PW_MAX_NOTE];
	str table, aor;
	pw_contacts_t contacts;
	int i, n = 0;

	memcpy(name, note->text, note->first_len);
	name[note->first_len] = '\0';
	table.s = name;
	table.len = note->first_len;
	aor.s = note->text + note->first_len;
	aor.len = note->second_len;
	if(pw_contacts_get(&contacts, &table, &aor) < 0) {
		return;
	}
	for(i = 0; i < contacts.n; i++) {
		if(contacts.v[i].modified >= note->since) {
			contacts.v[n++] = contacts.v[i];
		}
	}
	contacts.n = n;
	pw_join(&table, &aor, &contacts, 0);
	pw_contacts_free(&contacts);
}

static void take_notes(void)
{
	pw_note_t note;
	pushwake_str aor, callid;
	ssize_t n;

	while((n = recv(line_fds[0], &note, sizeof(note), 0)) > 0) {
		if(n < (ssize_t)offsetof(pw_note_t, text)) {
			continue;
		}
		if(note.kind == PW_NOTE_JOIN) {
			join_since(&note);
			continue;
		}
		aor.ptr = note.text;
		aor.len = (size_t)note.first_len;
		callid.ptr = note.text + note.first_len;
		callid.len = (size_t)note.second_len;
		pushwake_call_ended(pw_client, aor, callid, note.how);
	}
}

static void on_result(void *context, const pushwake_result *result)
{
	pw_result_run(result);
}

static void on_log(void *context, int level, pushwake_str message)
{
	if(pw_was_said(message)) {
		return;
	}
	switch(level) {
		case PUSHWAKE_LOG_ERROR:
			LM_ERR("%.*s\n", PW_FMT(message));
			break;
		case PUSHWAKE_LOG_WARNING:
			LM_WARN("%.*s\n", PW_FMT(message));
			break;
		case PUSHWAKE_LOG_NOTICE:
			LM_NOTICE("%.*s\n", PW_FMT(message));
			break;
		case PUSHWAKE_LOG_INFO:
			LM_INFO("%.*s\n", PW_FMT(message));
			break;
		default:
			LM_DBG("%.*s\n", PW_FMT(message));
	}
}

static pushwake_supervisor *engine_start(void)
{
	pushwake_supervisor_config config = PUSHWAKE_SUPERVISOR_CONFIG_INIT;
	pushwake_supervisor *supervisor = NULL;
	static int said = 0;
	pushwake_str why;
	int status;

	config.on_result = on_result;
	config.on_log = on_log;
	status = pushwake_supervisor_new(&supervisor, pw_settings, &config);
	if(status == PUSHWAKE_OK) {
		said = 0;
		return supervisor;
	}
	if(!said) {
		why = pushwake_settings_error(pw_settings);
		LM_ERR("cannot run the engine: %s: %.*s; trying again every second\n", pushwake_status_name(status),
				PW_FMT(why));
		said = 1;
	}
	return NULL;
}

static void on_term(int signo)
{
	stopping = 1;
}

static void follow_engine(pushwake_supervisor *supervisor)
{
	struct pollfd fds[2];
	int timeout;

	fds[0].fd = line_fds[0];
	fds[0].events = POLLIN;
	fds[1].fd = pushwake_supervisor_fd(supervisor);
	fds[1].events = POLLIN;
	timeout = pushwake_supervisor_timeout_ms(supervisor);
	if(timeout < 0 || timeout > PW_LONGEST_WAIT_MS) {
		timeout = PW_LONGEST_WAIT_MS;
	}
	if(poll(fds, 2, timeout) < 0 && errno != EINTR) {
		LM_ERR("poll: %s\n", strerror(errno));
	}
	cfg_update();
	if(!stopping) {
		pushwake_supervisor_process(supervisor);
		take_notes();
	}
}

static void run(void)
{
	pushwake_supervisor *supervisor = NULL;
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = on_term;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	/* kill -9 of the main process ends the engine too */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while(!stopping) {
		if(supervisor == NULL) {
			supervisor = engine_start();
		}
		if(supervisor != NULL) {
			follow_engine(supervisor);
		} else {
			poll(NULL, 0, PW_RETRY_MS);
			take_notes();
		}
	}
	pushwake_supervisor_free(supervisor);
	_exit(0);
}

static int ignore_row(void *context, const pushwake_field *fields, size_t count)
{
	return 0;
}

/* What is said before the engine listens would be lost: a worker takes its first
 * request when the engine is there, or after two seconds without it. The kernel
 * keeps what comes meanwhile. */
void pw_engine_await(void)
{
	const struct timespec step = {0, PW_START_STEP_MS * 1000000L};
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		if(pushwake_query(pw_client, PUSHWAKE_QUERY_STATS, pw_in(NULL), ignore_row, NULL) >= 0) {
			return;
		}
		nanosleep(&step, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < PW_START_WAIT_MS);
	LM_DBG("no engine yet; going on without it\n");
}

int pw_supervisor_start(void)
{
	int pid = fork_process(PROC_RPC, "PushWake supervisor", 1);

	if(pid < 0) {
		LM_ERR("cannot fork the supervisor\n");
		return -1;
	}
	if(pid == 0) {
		if(cfg_child_init() < 0) {
			return -1;
		}
		run();
	}
	return 0;
}
