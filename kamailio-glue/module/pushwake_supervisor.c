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
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/cfg/cfg_struct.h"
#include "core/pt.h"
#include "core/receive.h"
#include "pushwake_module.h"

#define PW_RETRY_MS 1000
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

/* Verbs that wait here for their request. */
static pw_note_t *waiting[PW_MAX_WAITING];
static int waiting_count = 0;

static volatile sig_atomic_t stopping = 0;
/* Requests have just gone into connections. */
static int is_scanning = 0;

static void wait_for_request(const pushwake_verb *verb, int64_t since_ms)
{
	pw_note_t *note;

	if(waiting_count == PW_MAX_WAITING || (note = pkg_malloc(sizeof(*note))) == NULL) {
		LM_WARN("too many verbs wait for their requests\n");
		return;
	}
	pw_note_write(note, verb);
	note->since_ms = since_ms;
	waiting[waiting_count++] = note;
}

static void take_notes(void)
{
	pw_note_t note;

	while(pw_note_take(&note)) {
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
	switch(pw_execute(&note->verb, NULL)) {
		case PW_LATER:
			/* however late this process is itself, it has tried */
			return waited_ms <= 2 * PW_BUSY_MS;
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

	fds[0].fd = pw_notes_fd();
	fds[0].events = POLLIN;
	fds[1].fd = pushwake_supervisor_fd(supervisor);
	fds[1].events = POLLIN;
	fds[2].fd = pw_wake_fd();
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
		scan(fds[2].revents != 0 && read(fds[2].fd, &wakes, sizeof(wakes)) > 0);
		pw_replicated_take();
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
