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
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cfg/cfg_struct.h"
#include "core/pt.h"
#include "core/receive.h"
#include "pushwake_hold.h"

#define PW_RETRY_MS 1000
#define PW_MAX_NOTE 2048
#define PW_MAX_WAITING 4096
/* How often a verb is tried whose request is not ready. */
#define PW_TRY_MS 1
/* How long the end of a request may take to reach the engine, by way of another process. */
#define PW_END_MS 20
/* How often legs are looked at that tm may have given up. */
#define PW_SCAN_MS 250
/* How often connections are looked at that a request has just gone into. */
#define PW_STREAM_MS 20
#define PW_START_WAIT_MS 2000

/* A verb that cannot be executed yet: its request is just being held, or its script
 * is at work. Texts follow one another. */
typedef struct pw_note {
	pushwake_verb verb;
	int64_t since_ms;
	char text[PW_MAX_NOTE];
} pw_note_t;

/* Verbs that wait here for their request. */
static pw_note_t *waiting[PW_MAX_WAITING];
static int waiting_count = 0;

static int line_fds[2] = {-1, -1};
static int wake_fd = -1;
static volatile sig_atomic_t stopping = 0;
/* Requests have just gone into connections. */
static int is_scanning = 0;

int pw_supervisor_prepare(void)
{
	if(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, line_fds) < 0) {
		LM_ERR("socketpair: %s\n", strerror(errno));
		return -1;
	}
	wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if(wake_fd < 0) {
		LM_ERR("eventfd: %s\n", strerror(errno));
		return -1;
	}
	return 0;
}

#define PW_TEXTS 11

/* All texts of a verb, in the order in which a note has them. */
static void texts_of(pushwake_verb *verb, pushwake_str *texts[PW_TEXTS])
{
	pushwake_str *all[PW_TEXTS] = {&verb->aor, &verb->domain, &verb->contact, &verb->reason, &verb->call_id,
			&verb->from_uri, &verb->from_tag, &verb->to_uri, &verb->contact_uri, &verb->contact_path,
			&verb->contact_flow};

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

/* Copies a verb with its texts, but for those that do not fit; returns the size of the note. */
static size_t write_note(pw_note_t *note, const pushwake_verb *verb)
{
	pushwake_str *texts[PW_TEXTS];
	char *at = note->text;
	int i;

	note->verb = *verb;
	note->since_ms = pw_now_ms();
	texts_of(&note->verb, texts);
	for(i = 0; i < PW_TEXTS; i++) {
		if(texts[i]->len > (size_t)(note->text + sizeof(note->text) - at)) {
			texts[i]->len = 0;
		} else if(texts[i]->len > 0) {
			memcpy(at, texts[i]->ptr, texts[i]->len);
			at += texts[i]->len;
		}
	}
	return (size_t)(relocate(note) - (char *)note);
}

void pw_verb_later(const pushwake_verb *verb)
{
	pw_note_t note;
	size_t size = write_note(&note, verb);

	/* a full line loses it: the request then ends with its own timer */
	if(send(line_fds[1], &note, size, 0) < 0) {
		LM_WARN("the supervisor is behind: %s; a phone may ring late\n", strerror(errno));
	}
}

void pw_supervisor_wake(void)
{
	const uint64_t one = 1;

	if(write(wake_fd, &one, sizeof(one)) < 0) {
		LM_DBG("the supervisor is awake: %s\n", strerror(errno));
	}
}

static void wait_for_request(const pushwake_verb *verb, int64_t since_ms)
{
	pw_note_t *note;

	if(waiting_count == PW_MAX_WAITING || (note = pkg_malloc(sizeof(*note))) == NULL) {
		LM_WARN("too many verbs wait for their requests\n");
		return;
	}
	write_note(note, verb);
	note->since_ms = since_ms;
	waiting[waiting_count++] = note;
}

static void take_notes(void)
{
	pw_note_t note;
	ssize_t n;

	while((n = recv(line_fds[0], &note, sizeof(note), 0)) > 0) {
		if(n < (ssize_t)offsetof(pw_note_t, text)) {
			continue;
		}
		relocate(&note);
		if(note.verb.kind == PW_NOTE_REMOVED) {
			pw_removed_tell(&note.verb);
			continue;
		}
		if(pw_execute(&note.verb, NULL) != 0) {
			wait_for_request(&note.verb, note.since_ms);
		}
	}
}

/* Whether its time has not come. The phone that a request is over for has to hear of that:
 * the engine is told, once it knows of the end. */
static int must_wait(const pw_note_t *note, int64_t waited_ms)
{
	switch(waited_ms > 2 * PW_BUSY_MS ? PW_DONE : pw_execute(&note->verb, NULL)) {
		case PW_LATER:
			return 1;
		case PW_GONE:
			if(waited_ms < PW_END_MS) {
				return 1;
			}
			pushwake_progressed(pw_client, note->verb.handle, note->verb.leg, 503, 0);
			return 0;
		default:
			return 0;
	}
}

static void try_waiting(void)
{
	int64_t now = pw_now_ms();
	int i, n = 0, count = waiting_count;

	for(i = 0; i < count; i++) {
		if(must_wait(waiting[i], now - waiting[i]->since_ms)) {
			waiting[n++] = waiting[i];
		} else {
			pkg_free(waiting[i]);
		}
	}
	waiting_count = n;
}

static void on_verb(void *context, const pushwake_verb *verb)
{
	if(pw_execute(verb, NULL) != 0) {
		wait_for_request(verb, pw_now_ms());
	}
}

static void on_engine(void *context)
{
	pw_resume_all();
	pw_upstream_resume();
}

static void on_upstream(void *context, const pushwake_upstream *action)
{
	pw_upstream_execute(action);
	ksr_msg_env_reset(); /* what event_route[pushwake:upstream] has left */
}

static void on_result(void *context, const pushwake_result *result)
{
	pw_result_run(result);
}

void pw_log(int level, const char *name, pushwake_str message)
{
	static const int levels[] = {L_ERR, L_WARN, L_NOTICE, L_INFO, L_DBG};

	LOG(levels[level >= PUSHWAKE_LOG_ERROR && level <= PUSHWAKE_LOG_DEBUG ? level : PUSHWAKE_LOG_DEBUG], "%s%s%.*s\n",
			name, name[0] != '\0' ? ": " : "", PW_FMT(message));
}

static void on_log(void *context, int level, pushwake_str message)
{
	pw_log(level, "", message);
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
	config.on_verb = on_verb;
	config.on_engine = on_engine;
	config.on_upstream = on_upstream;
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

static void scan(int is_woken)
{
	static int64_t scan_at = 0, stream_at = 0;
	int64_t now = pw_now_ms();
	int is_due = now >= scan_at;

	if(is_due) {
		scan_at = now + PW_SCAN_MS;
		pw_watch_scan();
		pw_resume_on();
	}
	if(is_due || is_woken || (is_scanning && now >= stream_at)) {
		stream_at = now + PW_STREAM_MS;
		is_scanning = pw_stream_scan();
	}
}

static void follow_engine(pushwake_supervisor *supervisor)
{
	struct pollfd fds[3];
	uint64_t wakes;
	int timeout;

	fds[0].fd = line_fds[0];
	fds[0].events = POLLIN;
	fds[1].fd = pushwake_supervisor_fd(supervisor);
	fds[1].events = POLLIN;
	fds[2].fd = wake_fd;
	fds[2].events = POLLIN;
	timeout = pushwake_supervisor_timeout_ms(supervisor);
	if(timeout < 0 || timeout > PW_SCAN_MS) {
		timeout = PW_SCAN_MS;
	}
	if(is_scanning && timeout > PW_STREAM_MS) {
		timeout = PW_STREAM_MS;
	}
	if(waiting_count > 0) {
		timeout = PW_TRY_MS;
	}
	if(poll(fds, 3, timeout) < 0 && errno != EINTR) {
		LM_ERR("poll: %s\n", strerror(errno));
	}
	cfg_update();
	if(!stopping) {
		pushwake_supervisor_process(supervisor);
		if(fds[0].revents != 0) {
			take_notes();
		}
		try_waiting();
		scan(fds[2].revents != 0 && read(wake_fd, &wakes, sizeof(wakes)) > 0);
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

/* What is said before the engine listens would be lost: a worker takes its first
 * request when the engine is there, or after two seconds without it. The kernel
 * keeps what comes meanwhile. */
void pw_engine_await(void)
{
	if(pushwake_client_await(pw_client, PW_START_WAIT_MS) < 0) {
		LM_DBG("no engine yet; going on without it\n");
	}
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
