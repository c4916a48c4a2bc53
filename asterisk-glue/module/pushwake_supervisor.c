/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief The thread that keeps the engine running and hands on its events.
 */
#include "asterisk.h"

#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "asterisk/lock.h"
#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_calls.h"
#include "pushwake_legs.h"
#include "pushwake_module.h"

/*! How long Asterisk's start, or a reload with other settings, waits for the engine. */
#define START_WAIT_MS 2000
/*! How long an engine that did not say how a phone stands is left alone. */
#define PROBE_MS 1000

static pthread_t thread = AST_PTHREADT_NULL;
static int stop_fd = -1;
static int engine_pid;
static pushwake_supervisor *supervisor;

static void on_result(void *context, const pushwake_result *result)
{
	char aor[256];

	pushwake__manager_result(result);
	if (result->binding_removed) {
		pushwake__copy(aor, sizeof(aor), result->aor);
		pushwake__devstate_changed(aor);
		pushwake__companion_check(aor);
	}
}

static void on_verb(void *context, const pushwake_verb *verb)
{
	pushwake__verb_execute(verb);
}

static void on_engine(void *context)
{
	pushwake__devstates_ask_again(0);
	pushwake__companion_check(NULL);
}

static void on_log(void *context, int level, pushwake_str message)
{
	switch (level) {
	case PUSHWAKE_LOG_ERROR:
		ast_log(LOG_ERROR, "%.*s\n", PUSHWAKE__PRINT(message));
		break;
	case PUSHWAKE_LOG_WARNING:
		ast_log(LOG_WARNING, "%.*s\n", PUSHWAKE__PRINT(message));
		break;
	case PUSHWAKE_LOG_NOTICE:
		ast_log(LOG_NOTICE, "%.*s\n", PUSHWAKE__PRINT(message));
		break;
	case PUSHWAKE_LOG_INFO:
		ast_verb(3, "%.*s\n", PUSHWAKE__PRINT(message));
		break;
	default:
		ast_debug(1, "%.*s\n", PUSHWAKE__PRINT(message));
	}
}

/*! How long it is until `pause` milliseconds have passed since then. */
static int left_ms(struct timeval then, int pause)
{
	return MAX(0, pause - (int) ast_tvdiff_ms(ast_tvnow(), then));
}

/*! How long the thread may wait: as the library says, or until a state is asked for. */
static int pause_ms(struct timeval probed)
{
	int pause = pushwake_supervisor_timeout_ms(supervisor);
	int legs;

	pause = pause < 0 ? INT_MAX : pause;
	pause = pushwake__devstates_unknown() ? MIN(pause, left_ms(probed, PROBE_MS)) : pause;
	legs = pushwake__legs_timeout_ms();
	return legs < 0 ? pause : MIN(pause, legs);
}

static void *run(void *data)
{
	struct pollfd fds[4] = { { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };
	struct timeval probed = ast_tvnow();
	eventfd_t count;

	fds[0].fd = stop_fd;
	fds[2].fd = pushwake__devstates_fd();
	fds[3].fd = pushwake__legs_fd();
	for (;;) {
		pushwake_supervisor_process(supervisor);
		pushwake__legs_process();
		__atomic_store_n(&engine_pid, pushwake_supervisor_engine_pid(supervisor), __ATOMIC_RELEASE);
		if (!left_ms(probed, PROBE_MS)) {
			pushwake__devstates_ask_again(1);
			probed = ast_tvnow();
		}
		fds[1].fd = pushwake_supervisor_fd(supervisor);
		poll(fds, ARRAY_LEN(fds), pause_ms(probed));
		if (fds[0].revents) {
			return NULL;
		}
		if (fds[2].revents) {
			eventfd_read(fds[2].fd, &count);
		}
	}
}

int pushwake__supervisor_engine_pid(void)
{
	return __atomic_load_n(&engine_pid, __ATOMIC_ACQUIRE);
}

int pushwake__supervisor_start(void)
{
	pushwake_supervisor_config config = PUSHWAKE_SUPERVISOR_CONFIG_INIT;

	if (!pushwake__settings()) {
		return 0;
	}
	config.on_result = on_result;
	config.on_log = on_log;
	config.on_verb = on_verb;
	config.on_engine = on_engine;
	pushwake_supervisor_new(&supervisor, pushwake__settings(), &config); /* fails for wrong arguments alone */
	pushwake__legs_use(pushwake__settings(), supervisor);
	stop_fd = eventfd(0, EFD_CLOEXEC);
	if (stop_fd < 0 || ast_pthread_create_background(&thread, NULL, run, NULL)) {
		thread = AST_PTHREADT_NULL;
		ast_log(LOG_ERROR, "Cannot start the thread that supervises the engine\n");
		pushwake__supervisor_stop();
		return -1;
	}
	/* A phone that registers before the engine listens would go without push until its next REGISTER. */
	if (pushwake_client_wait_for_engine(pushwake__client(), START_WAIT_MS) < 0) {
		ast_debug(1, "No engine yet; going on without it\n");
	}
	pushwake__devstates_renew();
	return 0;
}

void pushwake__supervisor_stop(void)
{
	if (thread != AST_PTHREADT_NULL) {
		eventfd_write(stop_fd, 1);
		pthread_join(thread, NULL);
		thread = AST_PTHREADT_NULL;
	}
	if (stop_fd >= 0) {
		close(stop_fd);
		stop_fd = -1;
	}
	pushwake_supervisor_free(supervisor);
	supervisor = NULL;
	__atomic_store_n(&engine_pid, 0, __ATOMIC_RELEASE);
}
