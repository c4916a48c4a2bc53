/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Who calls or writes, for the phone's screen.
 */
#include "asterisk.h"

#include "asterisk/callerid.h"
#include "asterisk/channel.h"
#include "asterisk/format_cap.h"
#include "asterisk/pbx.h"
#include "asterisk/strings.h"
#include "asterisk/utils.h"

#include "pushwake_caller.h"
#include "pushwake_host.h"

static void read_variable(struct ast_channel *chan, const char *function, char *buf, size_t size)
{
	if (ast_func_read(chan, function, buf, size)) {
		buf[0] = '\0';
	}
}

/*! Whether a From header is the one that MESSAGE(from) was made of: that has a blank in place of each byte beyond ASCII. */
static int is_blanked(const char *from, const char *header)
{
	while (*from && (*from == *header || (*from == ' ' && (*header & 0x80)))) {
		from++;
		header++;
	}
	return !*from;
}

/*! The sender that the dialplan has, with the letters of the name that Asterisk takes out of it. */
static void read_sender(char *from, size_t size, struct ast_channel *chan)
{
	char header[2048];

	read_variable(chan, "MESSAGE(from)", from, size);
	read_variable(chan, "MESSAGE_DATA(From)", header, sizeof(header));
	if (is_blanked(from, header)) {
		ast_copy_string(from, header, size);
	}
}

static void read_message(struct pushwake__caller *caller, struct ast_channel *chan)
{
	caller->kind = PUSHWAKE_CALLER_FROM;
	read_variable(chan, "MESSAGE(body)", caller->text, sizeof(caller->text));
	read_variable(chan, "MESSAGE_DATA(Content-Type)", caller->type, sizeof(caller->type));
	read_variable(chan, "MESSAGE_DATA(Content-Encoding)", caller->encoding, sizeof(caller->encoding));
	if (ast_strlen_zero(caller->encoding)) {
		read_variable(chan, "MESSAGE_DATA(e)", caller->encoding, sizeof(caller->encoding));
	}
	read_variable(chan, "MESSAGE_DATA(Privacy)", caller->privacy, sizeof(caller->privacy));
	read_sender(caller->from, sizeof(caller->from), chan);
}

static int is_pjsip(struct ast_channel *chan)
{
	return !strcmp(ast_channel_tech(chan)->type, "PJSIP");
}

static int has_number(struct ast_channel *chan, const char *number)
{
	int has;

	ast_channel_lock(chan);
	has = ast_channel_caller(chan)->id.number.valid && !strcmp(S_OR(ast_channel_caller(chan)->id.number.str, ""), number);
	ast_channel_unlock(chan);
	return has;
}

/*!
 * The PJSIP channel of who calls: this one, or that for which a Local channel is there. A reference, or NULL. The number
 * tells: the first channel of what is linked may be that of somebody else, whom the caller has talked to.
 */
static struct ast_channel *caller_channel(struct ast_channel *chan, const char *linked, const char *number)
{
	struct ast_channel *first;

	if (chan && is_pjsip(chan)) {
		return ast_channel_ref(chan);
	}
	first = ast_strlen_zero(linked) ? NULL : ast_channel_get_by_name(linked);
	if (first && !(is_pjsip(first) && has_number(first, number))) {
		first = ast_channel_unref(first);
	}
	return first;
}

/*! The PJSIP channel of a phone that was called, and calls somebody itself by keys. A reference, or NULL. */
static struct ast_channel *called_channel(const char *linked, const char *number)
{
	struct ast_channel_iterator *all = ast_strlen_zero(number) ? NULL : ast_channel_iterator_by_name_new("PJSIP/", 6);
	struct ast_channel *chan = NULL;
	int is_linked = 0;

	while (all && !is_linked && (chan = ast_channel_iterator_next(all))) {
		ast_channel_lock(chan);
		is_linked = ast_channel_state(chan) == AST_STATE_UP && !strcmp(ast_channel_linkedid(chan), linked);
		ast_channel_unlock(chan);
		is_linked = is_linked && has_number(chan, number);
		if (!is_linked) {
			ast_channel_unref(chan);
		}
	}
	if (all) {
		ast_channel_iterator_destroy(all);
	}
	return is_linked ? chan : NULL;
}

/*! `chan`: it, or the one that it is there for, calls; NULL: somebody else of what is linked does. */
static void read_uri(struct pushwake__caller *to, struct ast_channel *chan, const char *linked)
{
	struct ast_channel *caller;
	/* That of a phone that was called is where it can be reached; its domain is the one that it was called from. */
	const char *function = "CHANNEL(pjsip,remote_uri)";

	caller = caller_channel(chan, linked, to->number);
	if (caller && ast_custom_function_find("PJSIP_HEADER")) {
		read_variable(caller, "PJSIP_HEADER(read,Privacy)", to->privacy, sizeof(to->privacy));
	} else if (!caller) {
		caller = called_channel(linked, to->number);
		function = "CHANNEL(pjsip,local_uri)";
	}
	if (caller) {
		read_variable(caller, function, to->from, sizeof(to->from));
		ast_channel_unref(caller);
	}
}

/*! `id`: who calls, of the locked channel; the PJSIP channel of theirs is `own`, or what the channel is linked with. */
static void read_party(struct pushwake__caller *caller, struct ast_channel *chan, const struct ast_party_id *id,
	struct ast_channel *own)
{
	int is_withheld = (id->number.valid || id->name.valid)
		&& (ast_party_id_presentation(id) & AST_PRES_RESTRICTION) != AST_PRES_ALLOWED;
	char linked[AST_MAX_UNIQUEID];

	ast_copy_string(caller->number, S_COR(id->number.valid, id->number.str, ""), sizeof(caller->number));
	ast_copy_string(caller->name, S_COR(id->name.valid, id->name.str, ""), sizeof(caller->name));
	/* Of what was offered, this is what the channel's own endpoint may have: no phone is called with more. */
	if (ast_format_cap_has_type(ast_channel_nativeformats(chan), AST_MEDIA_TYPE_VIDEO)) {
		caller->media = PUSHWAKE_MEDIA_VIDEO;
	}
	ast_copy_string(linked, ast_channel_linkedid(chan), sizeof(linked));
	ast_channel_unlock(chan);
	caller->kind = is_withheld ? PUSHWAKE_CALLER_WITHHELD : PUSHWAKE_CALLER_NUMBER;
	if (!is_withheld) { /* nobody is told of one, and a task of PJSIP reads it */
		read_uri(caller, own, linked);
	}
}

static void begin(struct pushwake__caller *caller, const char *aor)
{
	memset(caller, 0, sizeof(*caller));
	snprintf(caller->to, sizeof(caller->to), "sip:%s", aor);
}

void pushwake__caller_read(struct pushwake__caller *caller, struct ast_channel *chan, int is_message, const char *aor)
{
	begin(caller, aor);
	if (is_message) {
		read_message(caller, chan);
		return;
	}
	ast_channel_lock(chan);
	read_party(caller, chan, &ast_channel_caller(chan)->id, chan);
}

void pushwake__caller_read_dialled(struct pushwake__caller *caller, struct ast_channel *chan, const char *aor)
{
	begin(caller, aor);
	ast_channel_lock(chan);
	read_party(caller, chan, &ast_channel_connected(chan)->id, NULL);
}

/*! The channel that calls: the first of what this one is linked with. A reference, or NULL. */
static struct ast_channel *first_channel(struct ast_channel *chan)
{
	char linked[AST_MAX_UNIQUEID];
	int is_first;

	ast_channel_lock(chan);
	ast_copy_string(linked, ast_channel_linkedid(chan), sizeof(linked));
	is_first = !strcmp(linked, ast_channel_uniqueid(chan));
	ast_channel_unlock(chan);
	return is_first || ast_strlen_zero(linked) ? NULL : ast_channel_get_by_name(linked);
}

char *pushwake__caller_push_id(struct ast_channel *chan)
{
	struct ast_channel *first = first_channel(chan);
	char *id = pushwake__caller_call_id(first ? first : chan);

	if (first) {
		ast_channel_unref(first);
	}
	return id;
}

void pushwake__caller_fill(pushwake_wake_request *request, const struct pushwake__caller *caller)
{
	request->caller = caller->kind;
	request->caller_number = pushwake__str(caller->number);
	request->from = pushwake__str(caller->from);
	request->from_display = pushwake__str(caller->name);
	request->to_uri = pushwake__str(caller->to);
	request->content_type = pushwake__str(caller->type);
	request->content_encoding = pushwake__str(caller->encoding);
	request->privacy = pushwake__str(caller->privacy);
	request->text = pushwake__str(caller->text);
	request->media = caller->media;
	request->host = PUSHWAKE_HOST_DIALPLAN;
}

char *pushwake__caller_call_id(struct ast_channel *chan)
{
	char id[256] = "";

	if (is_pjsip(chan)
		&& !ast_func_read(chan, "CHANNEL(pjsip,call-id)", id, sizeof(id)) && !ast_strlen_zero(id)) {
		return ast_strdup(id);
	}
	return ast_strdup(ast_channel_uniqueid(chan));
}
