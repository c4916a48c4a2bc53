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
#include <sys/socket.h>
#include <unistd.h>

#include "core/cfg/cfg_struct.h"
#include "core/pt.h"
#include "pushwake_mod.h"

#define PW_RETRY_MS 1000
#define PW_LONGEST_WAIT_MS 1000
#define PW_MAX_ENDED 2048

/* What a worker says: a call is over. */
typedef struct pw_ended {
	int how;
	int aor_len;
	int callid_len;
	char text[PW_MAX_ENDED];
} pw_ended_t;

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

void pw_call_ended(str *aor, str *call_id, int how)
{
	pw_ended_t ended;
	size_t len = (size_t)aor->len + call_id->len;

	if(len > sizeof(ended.text)) {
		return;
	}
	ended.how = how;
	ended.aor_len = aor->len;
	ended.callid_len = call_id->len;
	memcpy(ended.text, aor->s, aor->len);
	memcpy(ended.text + aor->len, call_id->s, call_id->len);
	/* a full line loses it: the push then ends with its own deadline */
	if(send(line_fds[1], &ended, sizeof(ended) - sizeof(ended.text) + len, 0) < 0) {
		LM_DBG("supervisor is behind: %s\n", strerror(errno));
	}
}

static void take_ended(void)
{
	pw_ended_t ended;
	pushwake_str aor, callid;
	ssize_t n;

	while((n = recv(line_fds[0], &ended, sizeof(ended), 0)) > 0) {
		if(n < (ssize_t)(sizeof(ended) - sizeof(ended.text))) {
			continue;
		}
		aor.ptr = ended.text;
		aor.len = (size_t)ended.aor_len;
		callid.ptr = ended.text + ended.aor_len;
		callid.len = (size_t)ended.callid_len;
		pushwake_call_ended(pw_client, aor, callid, ended.how);
	}
}

static void on_result(void *context, const pushwake_result *result)
{
	pw_result_run(result);
}

static void on_log(void *context, int level, pushwake_str message)
{
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
		take_ended();
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
			take_ended();
		}
	}
	pushwake_supervisor_free(supervisor);
	_exit(0);
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
