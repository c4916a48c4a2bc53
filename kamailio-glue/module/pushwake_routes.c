/* SPDX-License-Identifier: MIT
 *
 * A second child process of Kamailio, for those of the engine's verbs that may take long: a failure_route of the script
 * runs when nobody came, and contacts may be names that DNS is slow with. It executes one after the other, as tm's timer
 * does.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "core/cfg/cfg_struct.h"
#include "core/receive.h"
#include "pushwake_module.h"

void pw_routes_run(void)
{
	struct pollfd fd = {.fd = pw_notes_fd(PW_LINE_ROUTES), .events = POLLIN};
	pw_note_t note;

	pw_execute_at_length();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* connected, it tells the engine of a request's end before its phone can register */
	pw_engine_await();
	for(;;) {
		if(poll(&fd, 1, pw_verbs_wait() ? PW_TRY_MS : -1) < 0 && errno != EINTR) {
			LM_ERR("poll: %s\n", strerror(errno));
		}
		cfg_update();
		while(pw_note_take(PW_LINE_ROUTES, &note)) {
			pw_verbs_do(&note.verb, note.since_ms);
		}
		pw_verbs_try();
		ksr_msg_env_reset(); /* variables that routes have left */
	}
}
