/* SPDX-License-Identifier: MIT
 *
 * RPC: pushwake.stats, .list, .show, .trace, .send, .remove, .reload.
 */
#include <stdio.h>
#include <string.h>

#include "core/rpc.h"
#include "pushwake_contact.h"
#include "pushwake_module.h"

/* Module ctl sends no answer of more than 32 kB (binrpc_max_body_size) and no fault of more than 255 bytes. A trace
 * takes up to 17 kB, so none is begun behind this much. */
#define STORIES_BEGIN_WITHIN (12 * 1024)
#define LONGEST_FAULT 200
#define MOST_WORDS 65

stat_export_t pw_stats[] = {
	{"stored",      0,             &pw_count.stored},
	{"ignored",     0,             &pw_count.ignored},
	{"unavailable", 0,             &pw_count.unavailable},
	{"refused",     0,             &pw_count.refused},
	{"held",        0,             &pw_count.held},
	{"holding",     STAT_NO_RESET, &pw_count.holding},
	{"joined",      0,             &pw_count.joined},
	{"answered",    0,             &pw_count.answered},
	{"cancelled",   0,             &pw_count.cancelled},
	{"timed_out",   0,             &pw_count.timed_out},
	{0, 0, 0}
};

typedef struct pw_reply {
	rpc_t *rpc;
	void *context;
	/* The struct that all fields go into; NULL: each row has one of its own. */
	void *whole;
	int failed;
	/* Bytes so far, and those behind which no request is begun; 0 for no end. */
	size_t size;
	size_t enough;
} pw_reply_t;

/* Says why the engine did not do it. */
static void fault(rpc_t *rpc, void *c, int status)
{
	pushwake_str why = pushwake_client_error(pw_client);

	if(why.len > LONGEST_FAULT) why.len = LONGEST_FAULT;
	rpc->fault(c,
			status == PUSHWAKE_ERR_NOT_FOUND ? 404 : status == PUSHWAKE_ERR_INVALID_ARGUMENT ? 400 : 500, "%s: %.*s", pushwake_status_name(status), PW_FMT(why));
}

/* Kamailio wants names with a NUL and integers of 32 bits. */
static int add_field(pw_reply_t *reply, void *row, const pushwake_field *field)
{
	char name[64], number[32];
	str text;

	snprintf(name, sizeof(name), "%.*s", PW_FMT(field->name));
	if(field->text.ptr != NULL) {
		text.s = (char *)field->text.ptr;
		text.len = (int)field->text.len;
		return reply->rpc->struct_add(row, "S", name, &text);
	}
	if(field->number == (int64_t)(int)field->number) {
		return reply->rpc->struct_add(row, "d", name, (int)field->number);
	}
	snprintf(number, sizeof(number), "%lld", (long long)field->number);
	return reply->rpc->struct_add(row, "s", name, number);
}

/* A line of a request's trace, and not the row that begins a request. */
static int is_line(const pushwake_field *fields, size_t count)
{
	static const char first[] = "at_ms";

	return count > 0 && fields[0].name.len == sizeof(first) - 1
		   && memcmp(fields[0].name.ptr, first, sizeof(first) - 1) == 0;
}

static int on_row(void *context, const pushwake_field *fields, size_t count)
{
	pw_reply_t *reply = context;
	void *row = reply->whole;
	size_t i;

	if(reply->enough > 0 && reply->size > reply->enough && !is_line(fields, count)) {
		return 1;
	}
	if(row == NULL && reply->rpc->add(reply->context, "{", &row) < 0) {
		reply->failed = 1;
		return 1;
	}
	for(i = 0; i < count; i++) {
		if(add_field(reply, row, &fields[i]) < 0) {
			reply->failed = 1;
			return 1;
		}
		reply->size += fields[i].name.len + fields[i].text.len + 8;
	}
	return 0;
}

static int ask(pw_reply_t *reply, const pushwake_str *words, int count)
{
	int rows = pushwake_command(pw_client, words, (size_t)count, on_row, NULL, reply);

	if(rows < 0) {
		fault(reply->rpc, reply->context, rows);
	} else if(reply->failed) {
		reply->rpc->fault(reply->context, 500, "answer too large");
		rows = -1;
	}
	return rows;
}

typedef struct pw_words {
	pushwake_str v[MOST_WORDS];
	/* jsonrpcs has one place for all numbers that it makes texts of */
	char numbers[MOST_WORDS][INT2STR_MAX_LEN];
} pw_words_t;

/* The command and all parameters; -1 after a fault. */
static int read_words(rpc_t *rpc, void *c, const char *command, pw_words_t *words)
{
	str parameter = str_init("");
	int count = 1;

	words->v[0] = pw_text(command);
	for(; rpc->scan(c, "*.S", &parameter) == 1; count++) {
		if(count == MOST_WORDS) {
			rpc->fault(c, 400, "more than %d parameters", MOST_WORDS - 1);
			return -1;
		}
		if(parameter.len < INT2STR_MAX_LEN) {
			parameter.s = memcpy(words->numbers[count], parameter.s, parameter.len);
		}
		words->v[count] = pw_in(&parameter);
	}
	/* jsonrpcs returns the same for a value that it makes no text of as behind the last one */
	if(parameter.s == NULL) {
		rpc->fault(c, 400, "parameter %d is neither a text nor a number; write texts, such as \"provider=fcm\"", count);
		return -1;
	}
	return count;
}

/* A user may be typed with capitals, as for ul.lookup. */
static void read_aor(pushwake_str *word)
{
	str aor;

	if(pw_aor_typed(&aor, word) == 0 && memchr(aor.s, '=', (size_t)aor.len) == NULL) {
		*word = pw_in(&aor);
	}
}

/* `usage`: of a command that takes a user, else NULL. */
static void query(rpc_t *rpc, void *c, const char *command, const char *usage)
{
	int is_trace = strcmp(command, "trace") == 0;
	pw_reply_t reply = {.rpc = rpc, .context = c, .enough = is_trace ? STORIES_BEGIN_WITHIN : 0};
	pw_words_t words;
	int count = read_words(rpc, c, command, &words);

	if(count == 1 && usage != NULL) {
		rpc->fault(c, 400, "which user? %s", usage);
	} else if(count > 0) {
		if(count > 1 && !is_trace) { /* capitals of a Call-ID count */
			read_aor(&words.v[1]);
		}
		ask(&reply, words.v, count);
	}
}

static void rpc_stats(rpc_t *rpc, void *c)
{
	pw_reply_t reply = {.rpc = rpc, .context = c};
	const pushwake_str command = pw_text("stats");
	const stat_export_t *stat;
	char name[64];

	/* One struct: JSON-RPC keeps only the last one of an answer that is not an array. */
	if(rpc->add(c, "{", &reply.whole) < 0 || ask(&reply, &command, 1) < 0) {
		return;
	}
	for(stat = pw_stats; stat->name != NULL; stat++) {
		snprintf(name, sizeof(name), "kamailio_%s", stat->name);
		rpc->struct_add(reply.whole, "d", name, (int)get_stat_val(*stat->stat_pointer));
	}
}

#define PW_QUERY(name, usage)                  \
	static void rpc_##name(rpc_t *rpc, void *c) \
	{                                           \
		query(rpc, c, #name, usage);            \
	}

/* clang-format off */
PW_QUERY(list,   NULL)
PW_QUERY(show,   "pushwake.show AOR [NAME=VALUE ...]")
PW_QUERY(trace,  NULL)
PW_QUERY(remove, "pushwake.remove AOR [NAME=VALUE ...]")
PW_QUERY(reload, NULL)
/* clang-format on */

static void rpc_send(rpc_t *rpc, void *c)
{
	pw_words_t words;
	int queued, count = read_words(rpc, c, "send", &words);

	if(count < 0) {
		return;
	}
	if(count > 2) {
		read_aor(&words.v[2]);
	}
	queued = pushwake_command(pw_client, words.v, (size_t)count, NULL, NULL, NULL);
	if(queued < 0) {
		fault(rpc, c, queued);
		return;
	}
	rpc->add(c, "d", queued);
}

static const char *stats_doc[2] = {"Counters of the engine and of this module.", NULL};
static const char *list_doc[2] = {"Bindings of a user, or all. Parameters, all optional: AOR, and conditions NAME=VALUE (user, provider, verdict, age).", NULL};
static const char *show_doc[2] = {"Bindings of a user. Parameters: AOR, and conditions NAME=VALUE.", NULL};
static const char *trace_doc[2] = {"What happened to a request, line by line, or the newest ones. Parameter: Call-ID or AOR (optional).", NULL};
static const char *remove_doc[2] = {"Removes the bindings of a user. Parameters: AOR, and conditions NAME=VALUE (provider).", NULL};
static const char *reload_doc[2] = {"Reads keys, templates and the engine's settings file again; a row for each problem, doubt and setting.", NULL};
static const char *send_doc[2] = {"Pushes to a user or a token. Parameters: EVENT AOR [TEXT], or EVENT platform=... token=... and others by name.", NULL};

/* clang-format off */
rpc_export_t pw_rpcs[] = {
	{"pushwake.stats",  rpc_stats,  stats_doc,  0},
	{"pushwake.list",   rpc_list,   list_doc,   RET_ARRAY},
	{"pushwake.show",   rpc_show,   show_doc,   RET_ARRAY},
	{"pushwake.trace",  rpc_trace,  trace_doc,  RET_ARRAY},
	{"pushwake.remove", rpc_remove, remove_doc, 0},
	{"pushwake.reload", rpc_reload, reload_doc, RET_ARRAY},
	{"pushwake.send",   rpc_send,   send_doc,   0},
	{0, 0, 0, 0}
};
/* clang-format on */
