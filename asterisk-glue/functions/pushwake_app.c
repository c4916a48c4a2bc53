/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief PushWake(): wakes the phones of an AoR before they are dialled.
 */
#include "asterisk.h"

#include "asterisk/app.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/module.h"
#include "asterisk/pbx.h"
#include "asterisk/stasis_channels.h"
#include "asterisk/utils.h"

#include "pushwake_wake.h"

static const char app_name[] = "PushWake";

static const char synopsis[] = "Wake the sleeping phones of a user before they are dialled.";

static const char description[] =
	"PushWake(aor[&aor...][,timeout[,options]])\n"
	"\n"
	"  Sends a push to each phone of the AoRs that sleeps, and returns at once. The\n"
	"  Dial() that follows waits for them.\n"
	"\n"
	"  aor      Name of the PJSIP AoR, or several joined by '&'. PJSIP/ENDPOINT, as\n"
	"           Dial() has it, stands for the AoRs of that endpoint.\n"
	"  timeout  Seconds from now that the Dial() may wait; the setting wake_timeout\n"
	"           when left out.\n"
	"  options  m  message: push the text of the MESSAGE in hand. With a timeout it\n"
	"              is pushed and waits when MessageSend() sends it.\n"
	"           r  ring: let the caller hear ringing from now on.\n"
	"           j  Of older releases: does nothing, and leaves PUSHWAKE_CONTACTS empty.\n"
	"\n"
	"  Sets PUSHWAKE_STATUS:\n"
	"           AWAKE        a phone is awake: dial it\n"
	"           WAKING       phones sleep, and are pushed: dial them\n"
	"           NOBINDING    the AoR has no contact and no phone that can be pushed\n"
	"           FAILED       nobody can be reached, or the arguments are wrong\n"
	"           UNAVAILABLE  the push engine does not answer\n"
	"           TIMEOUT      with j\n"
	"  PUSHWAKE_CONTACTS   what to Dial(); empty when there is nothing\n"
	"  PUSHWAKE_WOKEN_MS   0\n";

static void set_result(struct ast_channel *chan, const struct pushwake__wake *wake)
{
	ast_channel_lock(chan);
	ast_channel_stage_snapshot(chan);
	pbx_builtin_setvar_helper(chan, "PUSHWAKE_STATUS", wake->status);
	pbx_builtin_setvar_helper(chan, "PUSHWAKE_CONTACTS", wake->contacts ? ast_str_buffer(wake->contacts) : "");
	pbx_builtin_setvar_helper(chan, "PUSHWAKE_WOKEN_MS", "0");
	if (wake->is_joining) {
		/* The leg of Local/join ends with it: that of the phones is the last one, whose cause Dial() tells its caller. */
		ast_channel_hangupcause_set(chan, AST_CAUSE_SUBSCRIBER_ABSENT);
	}
	ast_channel_stage_snapshot_done(chan);
	ast_channel_unlock(chan);
}

/*! Reads "seconds"; 0 for none, -1 when it is not a number. */
static int read_timeout(const char *text)
{
	char *end;
	long seconds;

	if (ast_strlen_zero(text)) {
		return 0;
	}
	seconds = strtol(text, &end, 10);
	return *end || seconds < 1 || seconds > 600 ? -1 : (int) seconds;
}

/*! Without the blanks that Dial(100, 30, r) may have, too. */
static const char *trimmed(char *argument)
{
	return argument ? ast_strip(argument) : "";
}

/*! Fills in what is asked for; not 0 when the arguments are wrong. */
static int read_arguments(struct pushwake__wake *wake, char *data)
{
	const char *aor, *timeout, *options;
	AST_DECLARE_APP_ARGS(args,
		AST_APP_ARG(aor);
		AST_APP_ARG(timeout);
		AST_APP_ARG(options);
	);

	AST_STANDARD_APP_ARGS(args, data);
	aor = trimmed(args.aor);
	timeout = trimmed(args.timeout);
	options = trimmed(args.options);
	if (ast_strlen_zero(aor) && !strchr(options, 'j')) {
		ast_log(LOG_WARNING, "PushWake() needs the name of an AoR: PushWake(aor[&aor...][,timeout[,options]])\n");
		return -1;
	}
	wake->timeout = read_timeout(timeout);
	if (wake->timeout < 0) {
		ast_log(LOG_WARNING, "PushWake(%s): timeout '%s' is not a number of seconds from 1 to 600\n",
			aor, timeout);
		return -1;
	}
	if (options[strspn(options, "jmr")]) {
		ast_log(LOG_WARNING, "PushWake(%s): options '%s' are not known; use j, m or r\n", aor, options);
		return -1;
	}
	wake->aors = aor;
	wake->is_joining = strchr(options, 'j') != NULL;
	wake->is_message = strchr(options, 'm') != NULL;
	wake->is_ringing = strchr(options, 'r') != NULL;
	return 0;
}

/*! In the extension h and in hangup handlers there is nobody to wait with, and a phone that is pushed would show a call that is
 * over. A text may still go out. */
static int is_over(struct ast_channel *chan, const struct pushwake__wake *wake)
{
	if (wake->is_message || !(ast_channel_softhangup_internal_flag(chan) & AST_SOFTHANGUP_HANGUP_EXEC)) {
		return 0;
	}
	ast_log(LOG_WARNING, "PushWake(%s) wakes nobody once its caller has hung up; move it out of the extension h or the hangup "
		"handler\n", wake->aors);
	return 1;
}

static int exec(struct ast_channel *chan, const char *data)
{
	struct pushwake__wake wake = { .chan = chan, .status = "FAILED", .contacts = ast_str_create(256) };
	char *copy = ast_strdupa(S_OR(data, ""));

	if (wake.contacts && !read_arguments(&wake, copy) && !is_over(chan, &wake)) {
		pushwake__wake_run(&wake);
	}
	set_result(chan, &wake);
	ast_free(wake.contacts);
	return 0;
}

int pushwake__app_start(void)
{
	return ast_register_application2(app_name, exec, synopsis, description, AST_MODULE_SELF);
}

void pushwake__app_stop(void)
{
	ast_unregister_application(app_name);
}
