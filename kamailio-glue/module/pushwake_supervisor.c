/* SPDX-License-Identifier: MIT
 *
 * One child process of Kamailio. It runs the engine through the library, hands its
 * results to the script and its log to Kamailio's, and takes what workers have to
 * tell the engine without waiting for it. All held requests need it, so what may take long is
 * done elsewhere. Kamailio stops when a child ends, so this one never does: the library starts
 * an engine again that has ended, or could not be started.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/cfg/cfg_struct.h"
#include "core/receive.h"
#include "pushwake_module.h"

/* How often legs are looked at that tm may have given up. */
#define PW_SCAN_MS 250
/* How often connections are looked at that a request has just gone into. */
#define PW_STREAM_MS 20
#define PW_START_WAIT_MS 2000

static volatile sig_atomic_t stopping = 0;
/* Requests have just gone into connections. */
static int is_scanning = 0;

static void take_notes(void)
{
	pw_note_t note;

	while(pw_note_take(PW_LINE_SUPERVISOR, &note)) {
		if(!pw_place_take(&note.verb)) {
			pw_verbs_do(&note.verb, note.since_ms);
		}
	}
}

static void on_verb(void *context, const pushwake_verb *verb)
{
	/* those for requests that wait the library has executed, but for one that is over */
	if((verb->handle & PW_WAIT_MARK) == 0 || verb->kind == PUSHWAKE_VERB_RING_AND_CANCEL) {
		pw_verbs_do(verb, pw_now_ms());
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
	ksr_msg_env_reset(); /* variables that event_route[pushwake:upstream] has left */
}

static void on_result(void *context, const pushwake_result *result)
{
	pw_result_run(result);
	ksr_msg_env_reset(); /* variables that event_route[pushwake:result] has left, in shared memory */
}

static void on_log(void *context, int level, pushwake_str message)
{
	pw_log(level, "", message);
}

static pushwake_supervisor *engine_start(void)
{
	pushwake_supervisor_config config = PUSHWAKE_SUPERVISOR_CONFIG_INIT;
	pushwake_supervisor *supervisor = NULL;

	config.on_result = pw_result_has_route() ? on_result : NULL;
	config.on_log = on_log;
	config.on_verb = on_verb;
	config.on_engine = on_engine;
	config.on_upstream = on_upstream;
	pushwake_supervisor_new(&supervisor, pw_settings, &config); /* fails for wrong arguments alone */
	return supervisor;
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
		pw_upstream_resume_on();
	}
	if(is_due || is_woken || (is_scanning && now >= stream_at)) {
		stream_at = now + PW_STREAM_MS;
		is_scanning = pw_stream_scan() | pw_place_scan();
	}
}

/* How long nothing need be done, as far as the library knows. */
static int library_timeout(pushwake_supervisor *supervisor)
{
	int engine = pushwake_supervisor_timeout_ms(supervisor), place = pw_place_timeout_ms();

	return engine < 0 || (place >= 0 && place < engine) ? place : engine;
}

static void follow_engine(pushwake_supervisor *supervisor)
{
	struct pollfd fds[4];
	uint64_t wakes;
	int timeout;

	fds[0].fd = pw_notes_fd(PW_LINE_SUPERVISOR);
	fds[0].events = POLLIN;
	fds[1].fd = pushwake_supervisor_fd(supervisor);
	fds[1].events = POLLIN;
	fds[2].fd = pw_wake_fd();
	fds[2].events = POLLIN;
	fds[3].fd = pw_place_fd();
	fds[3].events = POLLIN;
	timeout = library_timeout(supervisor);
	if(timeout < 0 || timeout > PW_SCAN_MS) {
		timeout = PW_SCAN_MS;
	}
	if(is_scanning && timeout > PW_STREAM_MS) {
		timeout = PW_STREAM_MS;
	}
	if(pw_verbs_wait()) {
		timeout = PW_TRY_MS;
	}
	if(poll(fds, 4, timeout) < 0 && errno != EINTR) {
		LM_ERR("poll: %s\n", strerror(errno));
	}
	cfg_update();
	if(!stopping) {
		pushwake_supervisor_process(supervisor);
		if(fds[0].revents != 0) {
			take_notes();
			is_scanning |= pw_connections_are_young();
		}
		pw_place_process(fds[3].revents != 0);
		pw_verbs_try();
		scan(fds[2].revents != 0 && read(fds[2].fd, &wakes, sizeof(wakes)) > 0);
		pw_replicated_take();
		ksr_msg_env_reset(); /* and routes of other modules, for what was sent in these turns */
	}
}

void pw_supervisor_run(void)
{
	pushwake_supervisor *supervisor;
	struct sigaction action;

	pw_execute_briefly();
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_term;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	/* kill -9 of the main process ends the engine too */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	supervisor = engine_start();
	pw_place_use(pw_settings, supervisor);
	while(!stopping) {
		follow_engine(supervisor);
	}
	pushwake_supervisor_free(supervisor);
	_exit(0);
}

/* What is said before the engine listens would be lost: a worker takes its first
 * request when the engine is there, or after two seconds without it. The kernel
 * keeps what comes meanwhile. */
void pw_engine_await(void)
{
	if(pushwake_client_wait_for_engine(pw_client, PW_START_WAIT_MS) < 0) {
		LM_DBG("no engine yet; going on without it\n");
	}
}
