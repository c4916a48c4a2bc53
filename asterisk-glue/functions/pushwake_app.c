/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief PushWake(): wakes the phones of an AoR and waits until one has registered.
 */
#include "asterisk.h"

#include <limits.h>

#include <pjsip.h>

#include "asterisk/app.h"
#include "asterisk/astobj2.h"
#include "asterisk/causes.h"
#include "asterisk/channel.h"
#include "asterisk/logger.h"
#include "asterisk/max_forwards.h"
#include "asterisk/module.h"
#include "asterisk/pbx.h"
#include "asterisk/res_pjsip.h"
#include "asterisk/stasis_channels.h"
#include "asterisk/utils.h"

#include "pushwake_call.h"
#include "pushwake_legs.h"
#include "pushwake_wake.h"

static const char app_name[] = "PushWake";

static const char synopsis[] = "Wake the sleeping phones of a user and wait for the first.";

static const char description[] =
	"PushWake(aor[&aor...][,timeout[,options]])\n"
	"\n"
	"  Sends a push to each phone of the AoRs that sleeps. Returns at once when\n"
	"  another phone of them is awake, else as soon as one has registered.\n"
	"  The dialplan always goes on, except when the caller hangs up.\n"
	"\n"
	"  aor      Name of the PJSIP AoR, or several joined by '&'. PJSIP/ENDPOINT, as\n"
	"           Dial() has it, stands for the AoRs of that endpoint.\n"
	"  timeout  Seconds to wait; the setting wake_timeout when left out.\n"
	"  options  j  join: wait for the next phone of a call that PushWake() has\n"
	"              begun: one that wakes, that has lost its connection or comes\n"
	"              back from another address. For the context to which Dial()\n"
	"              forks with Local/. Without an AoR: for all that the call is for.\n"
	"              When none is left, HANGUPCAUSE says what the phones answered.\n"
	"           m  message: push the text of the MESSAGE in hand. Does not wait\n"
	"              unless a timeout is given, since Asterisk handles one message\n"
	"              at a time.\n"
	"           r  ring: let the caller hear ringing while it waits.\n"
	"\n"
	"  Sets PUSHWAKE_STATUS:\n"
	"           AWAKE        a phone is awake: dial it\n"
	"           WOKEN        a phone has registered: dial it\n"
	"           TIMEOUT      no phone came in time, or all have declined\n"
	"           NOBINDING    the AoR has no contact and no phone that can be pushed\n"
	"           FAILED       no push service took the push; what could be reached without\n"
	"                        is in PUSHWAKE_CONTACTS. Or the arguments are wrong\n"
	"           UNAVAILABLE  the push engine does not answer\n"
	"  PUSHWAKE_CONTACTS   what to Dial(); empty when there is nothing\n"
	"  PUSHWAKE_WOKEN_MS   milliseconds from the push to the REGISTER, or 0\n";

static void set_result(struct ast_channel *chan, const struct pushwake__wake *wake)
{
	char number[24];

	snprintf(number, sizeof(number), "%d", wake->woken_ms);
	ast_channel_lock(chan);
	ast_channel_stage_snapshot(chan);
	pbx_builtin_setvar_helper(chan, "PUSHWAKE_STATUS", wake->status);
	pbx_builtin_setvar_helper(chan, "PUSHWAKE_CONTACTS", wake->contacts ? ast_str_buffer(wake->contacts) : "");
	pbx_builtin_setvar_helper(chan, "PUSHWAKE_WOKEN_MS", number);
	ast_channel_stage_snapshot_done(chan);
	ast_channel_unlock(chan);
}

/* The first releases of Asterisk 20 have none. */
#pragma weak ast_sip_hangup_sip2cause
int ast_sip_hangup_sip2cause(int cause);

/*!
 * No phone is left that could join: the leg that forked for them ends, about when the last phone's does, and Dial() tells its
 * caller the cause of that which ended last.
 */
static void set_cause(struct ast_channel *chan, int answer)
{
	int cause = answer && ast_sip_hangup_sip2cause ? ast_sip_hangup_sip2cause(answer) : AST_CAUSE_SUBSCRIBER_ABSENT;

	ast_channel_lock(chan);
	ast_channel_hangupcause_set(chan, cause);
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

/*! Each phone that joins forks once more, and Dial() takes one of the channel's 20 forwards for that. It is no loop as long as
 * a run hands a phone over, and that happens so often and no more. */
static void renew_forwards(struct ast_channel *chan)
{
	ast_channel_lock(chan);
	ast_max_forwards_reset(chan);
	ast_channel_unlock(chan);
}

/*! AMI's Redirect and the like look like a hang-up, and so does a TIMEOUT(absolute), which leads to the extension T. */
static int is_led_elsewhere(struct ast_channel *chan)
{
	int flags = ast_channel_softhangup_internal_flag(chan);

	return flags == AST_SOFTHANGUP_ASYNCGOTO || flags == AST_SOFTHANGUP_TIMEOUT;
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

static int run(struct pushwake__wake *wake)
{
	if (wake->is_message || !pushwake__legs_are_on()) {
		return pushwake__wake_run(wake);
	}
	pushwake__wake_ahead(wake);
	return 0;
}

static int exec(struct ast_channel *chan, const char *data)
{
	struct pushwake__wake wake = { .chan = chan, .status = "FAILED" };
	char *copy = ast_strdupa(S_OR(data, ""));
	int is_gone = 0;

	if (!read_arguments(&wake, copy) && !is_over(chan, &wake)) {
		wake.contacts = ast_str_create(256);
		is_gone = wake.contacts ? run(&wake) : 0;
		if (wake.joins && wake.joins < PUSHWAKE__MAX_JOINS) {
			renew_forwards(chan);
		}
	}
	if (is_gone && is_led_elsewhere(chan)) {
		pushwake__calls_abandon(chan);
	}
	set_result(chan, &wake);
	if (wake.is_joining && !is_gone && !(wake.contacts && ast_str_strlen(wake.contacts))) {
		set_cause(chan, wake.answer);
	}
	ast_free(wake.contacts);
	return is_gone ? -1 : 0;
}

int pushwake__app_start(void)
{
	return ast_register_application2(app_name, exec, synopsis, description, AST_MODULE_SELF);
}

void pushwake__app_stop(void)
{
	ast_unregister_application(app_name);
}
