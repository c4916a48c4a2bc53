/* SPDX-License-Identifier: MIT
 *
 * contract.c - every function of pushwake.h, called as a careless host would.
 *
 * Compiles as C99 and as C++11 without a warning. No engine runs: a question to one is PUSHWAKE_ERR_UNAVAILABLE. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "pushwake.h"

static int failures, checks;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            fprintf(stderr, "contract.c:%d: %s\n", __LINE__, #condition);                                              \
        }                                                                                                              \
    } while (0)
#define INVALID(call) CHECK((call) == PUSHWAKE_ERR_INVALID_ARGUMENT)

static pushwake_str text(const char *characters)
{
    pushwake_str str = { characters, strlen(characters) };
    return str;
}

static int equals(pushwake_str str, const char *characters)
{
    return str.len == strlen(characters) && (str.len == 0 || memcmp(str.ptr, characters, str.len) == 0);
}

static const pushwake_str nothing = { NULL, 0 };
/* A length without a pointer: what a host makes of an unset variable. */
static const pushwake_str broken = { NULL, 5 };

static void count_problem(void *context, int level, pushwake_str setting, pushwake_str message)
{
    CHECK(level >= PUSHWAKE_LOG_ERROR && level <= PUSHWAKE_LOG_DEBUG);
    CHECK(setting.len > 0 && message.len > 0);
    ++*(int *)context;
}

static int refuse_row(void *context, const pushwake_field *fields, size_t count)
{
    CHECK(fields != NULL && count > 0);
    ++*(int *)context;
    return 1;
}

static void check_names(void)
{
    CHECK(pushwake_abi_version() == PUSHWAKE_ABI_VERSION);
    CHECK(pushwake_version() != NULL && strlen(pushwake_version()) >= 5);
    for (int status = -100; status <= 100; status++)
        CHECK(pushwake_status_name(status) != NULL && pushwake_status_name(status)[0] != '\0');
    for (int outcome = -10; outcome <= 100; outcome++)
        CHECK(pushwake_outcome_name(outcome) != NULL && pushwake_outcome_name(outcome)[0] != '\0');
    CHECK(strcmp(pushwake_outcome_name(PUSHWAKE_ACCEPTED), "accepted") == 0);
    CHECK(strcmp(pushwake_outcome_name(PUSHWAKE_TOKEN_GONE), "token-gone") == 0);
    CHECK(pushwake_better_answer(486, 603) == 603 && pushwake_better_answer(0, 486) == 486);
    CHECK(pushwake_is_about_way(503) == 1 && pushwake_is_about_way(486) == 0 && pushwake_is_about_way(-1) == 0);
    CHECK(strcmp(pushwake_event_name(-1), "unknown") == 0 && strcmp(pushwake_event_name(999), "unknown") == 0);
}

static void check_setting_rows(void)
{
    pushwake_setting row = PUSHWAKE_SETTING_INIT;
    size_t count = 0;
    for (; pushwake_setting_at(&row, count) == PUSHWAKE_OK; count++) {
        CHECK(row.name != NULL && row.name[0] != '\0');
        CHECK(row.type >= PUSHWAKE_SETTING_TEXT && row.type <= PUSHWAKE_SETTING_REMOVED);
        CHECK(row.default_value != NULL && row.unit != NULL && row.help != NULL && row.help[0] != '\0');
    }
    CHECK(count > 10 && pushwake_setting_at(&row, count) == PUSHWAKE_ERR_NOT_FOUND);
    CHECK(pushwake_setting_at(&row, SIZE_MAX) == PUSHWAKE_ERR_NOT_FOUND);
    INVALID(pushwake_setting_at(NULL, 0));
    row.size = sizeof(row) - 1;
    INVALID(pushwake_setting_at(&row, 0));
    row.size = 0;
    INVALID(pushwake_setting_at(&row, 0));
}

static void check_settings(pushwake_settings *settings)
{
    CHECK(pushwake_settings_set(settings, text("engine_timeout"), text("250")) == PUSHWAKE_OK);
    CHECK(pushwake_settings_integer(settings, text("engine_timeout")) == 250);
    CHECK(equals(pushwake_settings_text(settings, text("engine_timeout")), "250"));
    CHECK(pushwake_settings_set(settings, text("engine_timeout"), text("soon")) == PUSHWAKE_ERR_CONFIG);
    CHECK(pushwake_settings_error(settings).len > strlen("engine_timeout"));
    CHECK(pushwake_settings_integer(settings, text("engine_timeout")) == 250);
    CHECK(pushwake_settings_set(settings, text("no_such_setting"), text("1")) == PUSHWAKE_ERR_CONFIG);
    CHECK(pushwake_settings_set(settings, nothing, nothing) == PUSHWAKE_ERR_CONFIG);
    CHECK(pushwake_settings_set(settings, broken, broken) < 0);
    CHECK(pushwake_settings_integer(settings, text("no_such_setting")) == 0);
    CHECK(pushwake_settings_text(settings, text("no_such_setting")).len == 0);
    CHECK(pushwake_settings_text(settings, broken).len == 0);
    int problems = 0;
    CHECK(pushwake_settings_check(settings, count_problem, &problems) <= problems);
    CHECK(pushwake_settings_check(settings, NULL, NULL) >= 0);

    pushwake_settings *later = NULL;
    CHECK(pushwake_settings_new(&later) == PUSHWAKE_OK);
    INVALID(pushwake_settings_file(NULL, text("/nonexistent")));
    CHECK(pushwake_settings_file(later, text("/nonexistent/pushwake.conf")) == PUSHWAKE_ERR_CONFIG);
    CHECK(pushwake_settings_error(later).len > 0);
    CHECK(pushwake_settings_file(later, broken) == PUSHWAKE_ERR_CONFIG);
    CHECK(pushwake_settings_file(later, text("/dev/null")) == PUSHWAKE_OK);
    CHECK(pushwake_settings_file(later, text("/etc/passwd")) == PUSHWAKE_ERR_CONFIG);
    CHECK(pushwake_settings_replace(later, settings) == 0);
    CHECK(pushwake_settings_set(later, text("engine_timeout"), text("250")) == PUSHWAKE_OK);
    CHECK(pushwake_settings_replace(later, settings) == 1);
    CHECK(pushwake_settings_set(later, text("fcm_key1"), text("/a.json")) == PUSHWAKE_OK);
    CHECK(pushwake_settings_replace(later, settings) == 0);
    INVALID(pushwake_settings_replace(later, NULL));
    INVALID(pushwake_settings_trial(NULL, settings, count_problem, &problems));
    INVALID(pushwake_settings_trial(later, NULL, count_problem, &problems));
    INVALID(pushwake_settings_replace(NULL, settings));
    pushwake_settings_free(later);

    INVALID(pushwake_settings_new(NULL));
    INVALID(pushwake_settings_set(NULL, text("engine_timeout"), text("250")));
    INVALID(pushwake_settings_check(NULL, count_problem, &problems));
    CHECK(pushwake_settings_text(NULL, text("engine_timeout")).len == 0);
    CHECK(pushwake_settings_integer(NULL, text("engine_timeout")) == 0);
    CHECK(pushwake_settings_error(NULL).len == 0);
    pushwake_settings_free(NULL);
}

/* What is to be done next when the registrar has said this. */
static int next_step(pushwake_register_result *result, pushwake_client *client, pushwake_register_request *request,
                     int registrar)
{
    request->registrar = registrar;
    CHECK(pushwake_register_run(result, client, request) == PUSHWAKE_OK);
    return result->step;
}

static int store(pushwake_register_result *result, pushwake_client *client, pushwake_register_request *request)
{
    request->registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
    return pushwake_register_run(result, client, request);
}

static void check_register(pushwake_client *client)
{
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    pushwake_header headers[3] = { { text("Contact"), text("<sip:alice@192.0.2.1;pn-provider=apns>") },
                                   { nothing, nothing },
                                   { broken, broken } };
    CHECK(next_step(&result, client, &request, PUSHWAKE_REGISTRAR_NOT_ASKED) == PUSHWAKE_REGISTER_SAVE);
    request.aor = text("alice@example.com");
    request.headers = headers;
    request.header_count = 3;
    CHECK(next_step(&result, client, &request, PUSHWAKE_REGISTRAR_NOT_ASKED) == PUSHWAKE_REGISTER_SAVE);
    CHECK(store(&result, client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(result.step == PUSHWAKE_REGISTER_DONE && pushwake_client_error(client).len > 0);
    request.registrar = PUSHWAKE_REGISTRAR_FULL;
    CHECK(pushwake_register_run(&result, client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(result.step == PUSHWAKE_REGISTER_DONE && result.left_contact_count == 0);
    /* No engine has said who has bindings. */
    CHECK(next_step(&result, client, &request, PUSHWAKE_REGISTRAR_SAVED) == PUSHWAKE_REGISTER_DESCRIBE);
    request.header_count = request.seen = 0;
    CHECK(next_step(&result, client, &request, PUSHWAKE_REGISTRAR_FULL) == PUSHWAKE_REGISTER_DONE);

    request.header_count = 3;
    request.seen = 0;
    request.aor = text("j\xf6rg@example.com");
    CHECK(next_step(&result, client, &request, PUSHWAKE_REGISTRAR_FULL) == PUSHWAKE_REGISTER_DONE);
    CHECK(next_step(&result, client, &request, PUSHWAKE_REGISTRAR_SAVED) == PUSHWAKE_REGISTER_DESCRIBE);
    CHECK(store(&result, client, &request) == PUSHWAKE_OK);
    CHECK(result.outcome == PUSHWAKE_REGISTER_IGNORED && result.problem_count == 1 && result.reply_header_count == 0);
    request.aor = broken;
    CHECK(store(&result, client, &request) <= 0);

    INVALID(pushwake_register_run(NULL, client, &request));
    INVALID(pushwake_register_run(&result, NULL, &request));
    INVALID(pushwake_register_run(&result, client, NULL));
    request.registrar = 4;
    INVALID(pushwake_register_run(&result, client, &request));
    request.registrar = -1;
    INVALID(pushwake_register_run(&result, client, &request));
    request.registrar = 0;
    request.headers = NULL;
    INVALID(pushwake_register_run(&result, client, &request));
    request.header_count = SIZE_MAX;
    INVALID(pushwake_register_run(&result, client, &request));
    request.header_count = 0;
    request.size--;
    INVALID(pushwake_register_run(&result, client, &request));
    request.size++;
    result.size--;
    INVALID(pushwake_register_run(&result, client, &request));
}

static void check_strip(void)
{
    char out[64] = "before";
    const char *stripped = "sip:a;b@192.0.2.1:5060;ob;transport=tcp";
    CHECK(pushwake_contact_strip(out, sizeof(out), text("sip:a;b@192.0.2.1:5060;ob;pn-prid=00AA;transport=tcp;PN-Param=x"))
          == strlen(stripped));
    CHECK(strcmp(out, stripped) == 0);
    CHECK(pushwake_contact_strip(out, strlen(stripped) + 1, text(stripped)) == strlen(stripped));
    CHECK(pushwake_contact_strip(out, strlen(stripped), text(stripped)) == 0 && out[0] == '\0');
    CHECK(pushwake_contact_strip(out, 1, nothing) == 0 && out[0] == '\0');
    CHECK(pushwake_contact_strip(out, sizeof(out), broken) == 0);
    CHECK(pushwake_contact_strip(out, 0, text(stripped)) == 0);
    CHECK(pushwake_contact_strip(NULL, 10, text(stripped)) == 0);
}

static void check_log_value(void)
{
    char out[32] = "before";
    CHECK(pushwake_log_value(out, sizeof(out), text("a@b")) == 3 && strcmp(out, "a@b") == 0);
    CHECK(pushwake_log_value(out, sizeof(out), text("x user=root\x1b[31m")) > 0);
    CHECK(strcmp(out, "\"x user=root?[31m\"") == 0);
    CHECK(pushwake_log_value(out, sizeof(out), nothing) == 1 && strcmp(out, "-") == 0);
    CHECK(pushwake_log_value(out, sizeof(out), text("\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"")) == strlen(out));
    CHECK(strlen(out) < sizeof(out) && out[0] == '"' && out[strlen(out) - 1] == '"');
    pushwake_log_value(out, sizeof(out), broken);
    CHECK(strlen(out) < sizeof(out));
    CHECK(pushwake_log_value(out, 1, text("x")) == 0 && out[0] == '\0');
    CHECK(pushwake_log_value(out, 0, text("x")) == 0);
    CHECK(pushwake_log_value(NULL, 10, text("x")) == 0);
}

static void check_node_user(pushwake_settings *settings)
{
    pushwake_client *client = NULL;
    pushwake_str aor = broken;
    CHECK(pushwake_settings_set(settings, text("node_uri"), text("sip:10.0.0.2:5060")) == PUSHWAKE_OK);
    CHECK(pushwake_client_new(&client, settings) == PUSHWAKE_OK);
    CHECK(pushwake_node_user(&aor, client, text("<sip:10.0.0.2:5060;lr;aor=bob%40example.com>")) == PUSHWAKE_OK);
    CHECK(equals(aor, "bob@example.com"));
    CHECK(pushwake_node_user(&aor, client, text("<sip:10.0.0.3:5060;lr;aor=bob>")) == PUSHWAKE_OK && aor.len == 0);
    CHECK(pushwake_node_user(&aor, client, nothing) == PUSHWAKE_OK && aor.len == 0);
    CHECK(pushwake_node_user(&aor, client, broken) == PUSHWAKE_OK && aor.len == 0);
    INVALID(pushwake_node_user(NULL, client, nothing));
    INVALID(pushwake_node_user(&aor, NULL, nothing));
    pushwake_client_free(client);
    CHECK(pushwake_settings_set(settings, text("node_uri"), nothing) == PUSHWAKE_OK);
}

/* Nobody says whether 423 is the answer: the registrar decides alone. */
static void check_refusal(pushwake_settings *settings)
{
    pushwake_client *strict = NULL;
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    pushwake_header header = { text("Contact"), text("<sip:alice@192.0.2.1;pn-provider=fcm;pn-param=p;pn-prid=t>;expires=60") };
    CHECK(pushwake_settings_set(settings, text("min_expires"), text("120")) == PUSHWAKE_OK);
    CHECK(pushwake_client_new(&strict, settings) == PUSHWAKE_OK);
    request.aor = text("alice@example.com");
    request.headers = &header;
    request.header_count = 1;
    CHECK(next_step(&result, strict, &request, PUSHWAKE_REGISTRAR_NOT_ASKED) == PUSHWAKE_REGISTER_SAVE);
    CHECK(result.reply_code == 0 && result.problem_count == 0);
    CHECK(pushwake_settings_set(settings, text("min_expires"), text("0")) == PUSHWAKE_OK);
    pushwake_client_free(strict);
}

static void take_line(void *context, pushwake_str line)
{
    CHECK(line.ptr != NULL);
    ++*(int *)context;
}

static void check_command(pushwake_client *client)
{
    static const char *const asked[][4] = {
        { "stats" }, { "list" }, { "list", "alice", "provider=apns" }, { "show", "alice" }, { "remove", "alice" },
        { "reload" }, { "trace" }, { "trace", "alice" }, { "send", "call", "alice", "hello" },
        { "send", "2", "platform=apns", "token=00" },
    };
    static const char *const wrong[][4] = {
        { NULL }, { "" }, { "wake" }, { "stats", "x", "y" }, { "list", "alice", "bob" }, { "list", "alice", "user=a\nb" },
        { "trace", "alice", "bob" }, { "send" }, { "send", "call" }, { "send", "nonsense", "alice" },
    };
    pushwake_str words[4], line = nothing;
    int said = 0;
    size_t index, count;
    for (index = 0; index < sizeof(asked) / sizeof(*asked); index++) {
        for (count = 0; count < 4 && asked[index][count] != NULL; count++)
            words[count] = text(asked[index][count]);
        CHECK(pushwake_command(client, words, count, refuse_row, take_line, &said) == PUSHWAKE_ERR_UNAVAILABLE);
        CHECK(pushwake_command(client, words, count, NULL, NULL, NULL) == PUSHWAKE_ERR_UNAVAILABLE);
        INVALID(pushwake_command(NULL, words, count, refuse_row, take_line, &said));
    }
    CHECK(pushwake_client_warning(&line, client, PUSHWAKE_ERR_UNAVAILABLE) == 1 && line.len > 0);
    CHECK(pushwake_client_warning(&line, client, PUSHWAKE_ERR_UNAVAILABLE) == 0 && line.len == 0);
    for (index = 0; index < sizeof(wrong) / sizeof(*wrong); index++) {
        for (count = 0; count < 4 && wrong[index][count] != NULL; count++)
            words[count] = text(wrong[index][count]);
        INVALID(pushwake_command(client, words, count, refuse_row, take_line, &said));
        CHECK(pushwake_client_error(client).len > strlen("to whom?"));
    }
    words[0] = broken;
    INVALID(pushwake_command(client, words, 1, refuse_row, take_line, &said));
    INVALID(pushwake_command(client, NULL, 2, refuse_row, take_line, &said));
    INVALID(pushwake_command(client, words, SIZE_MAX, refuse_row, take_line, &said));
    CHECK(said == 0);

    CHECK(pushwake_client_wait_for_engine(client, 0) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(pushwake_client_wait_for_engine(client, -5) == PUSHWAKE_ERR_UNAVAILABLE);
    INVALID(pushwake_client_wait_for_engine(NULL, 0));
    INVALID(pushwake_client_warning(NULL, client, -3));
    INVALID(pushwake_client_warning(&line, NULL, -3));
    INVALID(pushwake_client_make_shared(NULL));
    INVALID(pushwake_client_replace(NULL, NULL));
}

static void take_refusal(void *context, const pushwake_upstream *action)
{
    CHECK(action->kind == PUSHWAKE_UPSTREAM_REFUSE && action->handle == 7 && action->status == 503);
    CHECK(equals(action->reason, "Gateway Not Ready") && equals(action->headers, "Retry-After: 5\r\n"));
    ++*(int *)context;
}

static void check_upstream(pushwake_client *client)
{
    pushwake_upstream_request request = PUSHWAKE_UPSTREAM_REQUEST_INIT;
    pushwake_header header = { text("Expires"), text("60") };
    int refused = 0;
    request.handle = 7;
    INVALID(pushwake_upstream_register(client, &request, take_refusal, &refused));
    CHECK(refused == 1);
    request.headers = &header;
    request.header_count = 1;
    CHECK(pushwake_upstream_register(client, &request, take_refusal, &refused) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(refused == 2);
    request.is_retry = 1;
    CHECK(pushwake_upstream_register(client, &request, take_refusal, &refused) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(refused == 2);
    request.size--;
    INVALID(pushwake_upstream_register(client, &request, take_refusal, &refused));
    INVALID(pushwake_upstream_register(client, NULL, take_refusal, &refused));
    INVALID(pushwake_upstream_register(client, &request, NULL, &refused));
    INVALID(pushwake_upstream_register(NULL, &request, take_refusal, &refused));
    CHECK(refused == 2);
}

static void check_contact_removed(pushwake_client *client)
{
    const pushwake_str uri = text("sip:alice@192.0.2.1");
    CHECK(pushwake_contact_removed(client, text("alice"), uri) == PUSHWAKE_ERR_UNAVAILABLE);
    INVALID(pushwake_contact_removed(client, nothing, uri));
    CHECK(pushwake_contact_removed(client, text("alice"), nothing) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(pushwake_contact_removed(client, broken, uri) == PUSHWAKE_ERR_INVALID_ARGUMENT);
    INVALID(pushwake_contact_removed(NULL, text("alice"), uri));
}

static void check_may_wake(pushwake_client *client)
{
    /* No engine has run: nobody knows. */
    CHECK(pushwake_may_wake(client, text("alice@example.com")) == 1);
    /* Mended, such a name would be the name of others too. */
    CHECK(pushwake_may_wake(client, text("\xff\x80")) == 0);
    CHECK(pushwake_may_wake(client, text("j\xc3\xb6rg@example.com")) == 1);
    CHECK(pushwake_may_wake(client, nothing) == 1 && pushwake_may_wake(client, broken) == 1);
    INVALID(pushwake_may_wake(NULL, text("alice")));
}

static void check_admits(pushwake_client *client)
{
    pushwake_admission admission;
    pushwake_host_load load = PUSHWAKE_HOST_LOAD_INIT, older = PUSHWAKE_HOST_LOAD_INIT;
    pushwake_str note = nothing;

    memset(&admission, 0, sizeof admission);
    CHECK(pushwake_admits(&note, client, &admission, &load) == 1 && note.len == 0 && admission.taken == 1);
    load.memory = 1000000, load.held = 10;
    CHECK(pushwake_admits(&note, client, &admission, &load) == 0 && note.len > 0);
    CHECK(pushwake_admits(&note, client, &admission, &load) == 0 && note.len == 0);
    memset(&admission, 0xff, sizeof admission);
    memset((char *)&load + sizeof load.size, 0x7f, sizeof load - sizeof load.size);
    CHECK(pushwake_admits(&note, client, &admission, &load) >= 0);
    older.size = 8;
    INVALID(pushwake_admits(&note, client, &admission, &older));
    INVALID(pushwake_admits(NULL, client, &admission, &load));
    INVALID(pushwake_admits(&note, NULL, &admission, &load));
    INVALID(pushwake_admits(&note, client, NULL, &load));
    INVALID(pushwake_admits(&note, client, &admission, NULL));
}

static void check_wake(pushwake_client *client)
{
    pushwake_wake_request request = PUSHWAKE_WAKE_REQUEST_INIT;
    pushwake_wake_result result = PUSHWAKE_WAKE_RESULT_INIT;
    pushwake_contact contact;
    memset(&contact, 0, sizeof(contact));
    contact.uri = text("sip:alice@192.0.2.1");
    contact.age_s = -1;
    contact.action = 77;
    request.aor = text("alice@example.com");
    request.call_id = text("call-1");
    request.contacts = &contact;
    request.contact_count = 1;
    CHECK(pushwake_wake(&result, client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    request.aor = text("j\xf6rg@example.com");
    CHECK(pushwake_wake(&result, client, &request) == PUSHWAKE_OK);
    CHECK(result.watched == 0 && result.bindings == 0);
    request.aor = text("alice@example.com");
    request.event = 12345;
    CHECK(pushwake_wake(&result, client, &request) < 0);
    request.event = PUSHWAKE_EVENT_CALL;
    request.contacts = NULL;
    CHECK(pushwake_wake(&result, client, &request) < 0);
    request.contact_count = SIZE_MAX;
    CHECK(pushwake_wake(&result, client, &request) < 0);
    request.contact_count = 0;
    request.text = broken;
    request.hold_seconds = -5;
    CHECK(pushwake_wake(&result, client, &request) < 0);

    INVALID(pushwake_wake(NULL, client, &request));
    INVALID(pushwake_wake(&result, NULL, &request));
    INVALID(pushwake_wake(&result, client, NULL));
    request.size--; /* smaller than that of the first release */
    INVALID(pushwake_wake(&result, client, &request));
    request.size++;
    request.media = PUSHWAKE_MEDIA_VIDEO;
    CHECK(pushwake_wake(&result, client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    request.caller_number = broken;
    for (request.caller = 0; request.caller < 4; request.caller++)
        CHECK(pushwake_wake(&result, client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    request.from = broken;
    CHECK(pushwake_wake(&result, client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    result.size = 0;
    INVALID(pushwake_wake(&result, client, &request));
}

static void check_requests(pushwake_client *client)
{
    pushwake_send_request request = PUSHWAKE_SEND_REQUEST_INIT;
    pushwake_contact contact;
    int rows = 0;
    memset(&contact, 0, sizeof(contact));
    request.event = text("call");
    request.aor = text("alice@example.com");
    CHECK(pushwake_send(client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    request.text = broken;
    request.header_count = SIZE_MAX;
    CHECK(pushwake_send(client, &request) == PUSHWAKE_ERR_UNAVAILABLE);
    INVALID(pushwake_send(NULL, &request));
    INVALID(pushwake_send(client, NULL));
    request.event = broken;
    INVALID(pushwake_send(client, &request));
    request.event = text("call");
    request.size--;
    INVALID(pushwake_send(client, &request));

    CHECK(pushwake_bindings(client, text("alice"), NULL, 0, 0, refuse_row, &rows) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(pushwake_bindings(client, text("alice"), &contact, 1, sizeof(contact), NULL, NULL) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(pushwake_bindings(client, text("alice"), &contact, SIZE_MAX, 1, NULL, NULL) == PUSHWAKE_ERR_UNAVAILABLE);
    CHECK(pushwake_bindings(client, text("j\xf6rg"), NULL, 5, sizeof(contact), refuse_row, &rows) == 0);
    INVALID(pushwake_bindings(client, nothing, NULL, 0, 0, NULL, NULL));
    INVALID(pushwake_bindings(client, broken, NULL, 0, 0, NULL, NULL));
    INVALID(pushwake_bindings(NULL, text("alice"), NULL, 0, 0, NULL, NULL));
    CHECK(rows == 0);
}

static void check_tools(pushwake_settings *settings)
{
    const pushwake_str words[] = { text("file=/nonexistent"), nothing, broken };
    INVALID(pushwake_tool_run(NULL, text("check"), words, 1));
    INVALID(pushwake_tool_run(settings, nothing, words, 1));
    INVALID(pushwake_tool_run(settings, text("engine"), words, 1));
    INVALID(pushwake_tool_run(settings, text("check"), NULL, 1));
    INVALID(pushwake_tool_run(settings, text("check"), words, SIZE_MAX));
    INVALID(pushwake_tool_run(settings, text("check"), words, 3));
    INVALID(pushwake_tool_run(settings, text("load"), NULL, 0));
}

static int legs_answers, legs_orders;

static void on_leg_answer(void *context, pushwake_str message)
{
    CHECK(context == &legs_answers && message.len > 12 && !memcmp(message.ptr, "SIP/2.0 ", 8));
    legs_answers++;
}

static void on_leg_order(void *context, const pushwake_leg_order *order)
{
    CHECK(context == &legs_answers && order->size == sizeof(*order));
    legs_orders++;
}

static void check_legs(pushwake_settings *settings)
{
    static const char invite[] =
        "INVITE sip:100@waiting.invalid SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1;branch=z9hG4bK1\r\n"
        "From: <sip:a@b>;tag=1\r\nTo: <sip:100@b>\r\nCall-ID: 1\r\nCSeq: 1 INVITE\r\n\r\n";
    pushwake_legs_config config = PUSHWAKE_LEGS_CONFIG_INIT;
    pushwake_wake_request user = PUSHWAKE_WAKE_REQUEST_INIT;
    pushwake_legs *legs = NULL;

    config.context = &legs_answers;
    config.on_answer = on_leg_answer;
    config.on_order = on_leg_order;
    INVALID(pushwake_legs_new(NULL, settings, &config));
    INVALID(pushwake_legs_new(&legs, NULL, &config));
    INVALID(pushwake_legs_new(&legs, settings, NULL));
    INVALID(pushwake_legs_receive(NULL, text("")));
    INVALID(pushwake_legs_process(NULL));
    INVALID(pushwake_legs_use(NULL, settings, NULL));
    CHECK(pushwake_legs_timeout_ms(NULL) == -1);
    pushwake_legs_free(NULL);
    CHECK(pushwake_legs_takes_back(486) == 1 && pushwake_legs_takes_back(302) == 0);
    CHECK(pushwake_legs_new(&legs, settings, &config) == PUSHWAKE_OK);
    CHECK(pushwake_legs_receive(legs, text("what is this")) == PUSHWAKE_OK && legs_answers == 0);
    CHECK(pushwake_legs_receive(legs, text(invite)) == PUSHWAKE_OK);
    CHECK(legs_answers == 0 && legs_orders == 1 && pushwake_legs_timeout_ms(legs) > 0);
    /* A copy shows that its sender waits for an answer. */
    CHECK(pushwake_legs_receive(legs, text(invite)) == PUSHWAKE_OK && legs_answers == 1 && legs_orders == 1);
    CHECK(pushwake_legs_process(legs) == PUSHWAKE_OK);
    INVALID(pushwake_legs_described(legs, 1, NULL, 1));
    CHECK(pushwake_legs_described(legs, 1, &user, 1) == PUSHWAKE_OK);
    CHECK(pushwake_legs_probed(legs, 1, 1, 200) == PUSHWAKE_OK);
    CHECK(pushwake_legs_progressed(legs, 1, 1, 180, 1) == PUSHWAKE_OK);
    CHECK(pushwake_legs_ended(legs, 1, PUSHWAKE_CALL_CANCELLED, 487, text("")) == PUSHWAKE_OK);
    INVALID(pushwake_legs_registered(legs, text("100"), text(""), NULL));
    pushwake_legs_free(legs);
}

static void check_supervisor(pushwake_settings *settings)
{
    pushwake_supervisor_config config = PUSHWAKE_SUPERVISOR_CONFIG_INIT;
    pushwake_supervisor *supervisor = NULL;
    INVALID(pushwake_supervisor_new(NULL, settings, &config));
    INVALID(pushwake_supervisor_new(&supervisor, NULL, &config));
    config.size = 3;
    INVALID(pushwake_supervisor_new(&supervisor, settings, &config));
    CHECK(supervisor == NULL);
    CHECK(pushwake_supervisor_fd(NULL) < 0);
    (void)pushwake_supervisor_timeout_ms(NULL);
    INVALID(pushwake_supervisor_process(NULL));
    CHECK(pushwake_supervisor_engine_pid(NULL) <= 0);
    pushwake_supervisor_free(NULL);

    INVALID(pushwake_engine_run(NULL, 0));

    /* external: it starts nothing, finds nothing and goes on looking. */
    config.size = sizeof(config);
    CHECK(pushwake_settings_set(settings, text("engine_mode"), text("external")) == PUSHWAKE_OK);
    CHECK(pushwake_supervisor_new(&supervisor, settings, &config) == PUSHWAKE_OK);
    for (int round = 0; round < 5; round++)
        CHECK(pushwake_supervisor_process(supervisor) >= 0);
    CHECK(pushwake_supervisor_engine_pid(supervisor) == 0);
    pushwake_supervisor_free(supervisor);
}

int main(void)
{
    pushwake_settings *settings = NULL;
    pushwake_client *client = NULL;
    check_names();
    check_setting_rows();
    CHECK(pushwake_settings_new(&settings) == PUSHWAKE_OK);
    check_settings(settings);
    CHECK(pushwake_settings_set(settings, text("engine_socket"), text("/nonexistent/pushwake.sock")) == PUSHWAKE_OK);

    INVALID(pushwake_client_new(NULL, settings));
    INVALID(pushwake_client_new(&client, NULL));
    CHECK(pushwake_client_new(&client, settings) == PUSHWAKE_OK);
    CHECK(pushwake_client_error(NULL).len == 0);
    check_register(client);
    check_strip();
    check_log_value();
    check_node_user(settings);
    check_refusal(settings);
    check_command(client);
    check_upstream(client);
    check_contact_removed(client);
    check_may_wake(client);
    check_admits(client);
    check_wake(client);
    check_requests(client);
    check_tools(settings);
    check_legs(settings);
    check_supervisor(settings);

    /* A client has copied its settings. */
    pushwake_settings_free(settings);
    CHECK(pushwake_contact_removed(client, text("alice"), nothing) == PUSHWAKE_ERR_UNAVAILABLE);
    pushwake_client_free(client);
    pushwake_client_free(NULL);
    if (failures != 0)
        fprintf(stderr, "contract.c: %d of %d checks failed\n", failures, checks);
    return failures == 0 ? 0 : 1;
}
