/* SPDX-License-Identifier: MIT
 *
 * threads.c - a client that many threads use at once: each reads its own answers and errors, what has no answer comes
 * in its order, other settings count for all of them, and the connections stay few. The engine is played by a thread that
 * answers what lies before it in the wrong order. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "pushwake.h"

#define THREADS 12
#define ROUNDS 400
/* As many idle connections as the library keeps, and one for what has no answer. */
#define MOST_CONNECTIONS 17
#define MOST_PEERS 256
#define LONGEST 65536
/* Of the protocol between library and engine (EngineProtocol.swift). */
#define HEADER 6
#define KIND_REGISTER 1
#define KIND_PROGRESSED 10
#define KIND_REPLY 64
#define TAG_AOR 1
#define TAG_PROBLEM 34
#define TAG_HANDLE 71
#define TAG_LEG 72

static int failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            if (__atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED) < 20)                                               \
                fprintf(stderr, "threads-check: threads.c:%d: %s\n", __LINE__, #condition);                           \
        }                                                                                                              \
    } while (0)

static pushwake_str text(const char *characters)
{
    pushwake_str str = { characters, strlen(characters) };
    return str;
}

/* ---- The engine */

struct engine {
    char path[96];
    int listener;
    int stop[2];
    int peers[MOST_PEERS];
    int count;
    int most;
    int64_t last_leg[THREADS];
    int posts;
    pthread_t thread;
};

struct question {
    int peer;
    unsigned char id[4];
    char aor[64];
    size_t length;
};

static int64_t number(const unsigned char *at)
{
    uint64_t value = 0;
    for (int index = 7; index >= 0; index--)
        value = value << 8 | at[index];
    return (int64_t)value;
}

/* What follows a tag in a message; NULL where there is no such field. */
static const unsigned char *find(const unsigned char *message, ssize_t size, int tag, size_t *length)
{
    ssize_t at = HEADER;
    while (at + 5 <= size) {
        size_t count = message[at + 1] | message[at + 2] << 8 | message[at + 3] << 16;
        if (message[at] == tag) {
            *length = count;
            return message + at + 5;
        }
        at += 5 + (ssize_t)count;
    }
    return NULL;
}

static void answer(const struct question *question)
{
    unsigned char reply[HEADER + 5 + sizeof(question->aor)] = { 1, KIND_REPLY };
    memcpy(reply + 2, question->id, 4);
    reply[HEADER] = TAG_PROBLEM;
    reply[HEADER + 1] = (unsigned char)question->length;
    memcpy(reply + HEADER + 5, question->aor, question->length);
    CHECK(send(question->peer, reply, HEADER + 5 + question->length, MSG_NOSIGNAL) > 0);
}

/* Progress of a call must come in the order of its legs. */
static void take_post(struct engine *engine, const unsigned char *message, ssize_t size)
{
    size_t length = 0;
    const unsigned char *handle = find(message, size, TAG_HANDLE, &length);
    const unsigned char *leg = find(message, size, TAG_LEG, &length);
    CHECK(handle != NULL && leg != NULL && number(handle) >= 1 && number(handle) <= THREADS);
    if (handle == NULL || leg == NULL)
        return;
    CHECK(number(leg) == engine->last_leg[number(handle) - 1] + 1);
    engine->last_leg[number(handle) - 1] = number(leg);
    engine->posts++;
}

/* 1: the message was a question. */
static int take(struct engine *engine, int peer, const unsigned char *message, ssize_t size, struct question *question)
{
    size_t length = 0;
    const unsigned char *aor = find(message, size, TAG_AOR, &length);
    if (message[1] == KIND_PROGRESSED)
        take_post(engine, message, size);
    if (message[1] != KIND_REGISTER || aor == NULL || length > sizeof(question->aor))
        return 0;
    question->peer = peer;
    question->length = length;
    memcpy(question->id, message + 2, 4);
    memcpy(question->aor, aor, length);
    return 1;
}

static void *serve(void *context)
{
    static __thread unsigned char message[LONGEST];
    static __thread struct question questions[MOST_PEERS];
    struct engine *engine = (struct engine *)context;
    for (;;) {
        struct pollfd fds[MOST_PEERS + 2];
        int asked = 0, alive = 0;
        for (int index = 0; index < engine->count; index++)
            fds[index] = (struct pollfd){ engine->peers[index], POLLIN, 0 };
        fds[engine->count] = (struct pollfd){ engine->listener, POLLIN, 0 };
        fds[engine->count + 1] = (struct pollfd){ engine->stop[0], POLLIN, 0 };
        poll(fds, (nfds_t)engine->count + 2, -1);
        if (fds[engine->count + 1].revents != 0)
            return NULL;
        int known = engine->count;
        if (fds[known].revents != 0 && known < MOST_PEERS)
            engine->peers[engine->count++] = accept(engine->listener, NULL, NULL);
        for (int index = 0; index < known; index++) {
            ssize_t size = -1;
            errno = EAGAIN;
            /* All that lies there, as the engine does: a line that nobody empties loses what has no answer. */
            while (fds[index].revents != 0
                   && (size = recv(engine->peers[index], message, sizeof(message), MSG_DONTWAIT)) >= HEADER)
                asked += take(engine, engine->peers[index], message, size, &questions[asked]);
            if (size >= 0 || errno != EAGAIN) {
                close(engine->peers[index]);
                engine->peers[index] = -1;
            }
        }
        while (asked > 0)
            answer(&questions[--asked]);
        for (int index = 0; index < engine->count; index++) {
            if (engine->peers[index] >= 0)
                engine->peers[alive++] = engine->peers[index];
        }
        engine->count = alive;
        engine->most = alive > engine->most ? alive : engine->most;
    }
}

static void start(struct engine *engine, const char *directory, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memset(engine, 0, sizeof(*engine));
    snprintf(engine->path, sizeof(engine->path), "%s/%s", directory, name);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", engine->path);
    engine->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (bind(engine->listener, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(engine->listener, 64) != 0
        || pipe(engine->stop) != 0 || pthread_create(&engine->thread, NULL, serve, engine) != 0) {
        perror("threads-check: engine");
        exit(1);
    }
}

static void stop(struct engine *engine)
{
    CHECK(write(engine->stop[1], "", 1) == 1);
    pthread_join(engine->thread, NULL);
    for (int index = 0; index < engine->count; index++)
        close(engine->peers[index]);
    close(engine->listener);
    close(engine->stop[0]);
    close(engine->stop[1]);
    unlink(engine->path);
}

/* ---- The host */

struct worker {
    pushwake_client *client;
    int index;
    pthread_t thread;
};

/* Asks, and reads its own answer, also after a report that has none. */
static void ask(struct worker *worker, int round)
{
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    char aor[64];
    snprintf(aor, sizeof(aor), "user%d-%d@example.com", worker->index, round);
    request.aor = text(aor);
    request.call_id = text("call");
    request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
    int status = pushwake_register_run(&result, worker->client, &request);
    CHECK(status == PUSHWAKE_OK);
    CHECK(pushwake_progressed(worker->client, (uint64_t)worker->index + 1, round + 1, 180, 1) == PUSHWAKE_OK);
    CHECK(result.problem_count == 1 && result.problems[0].len == strlen(aor)
          && memcmp(result.problems[0].ptr, aor, strlen(aor)) == 0);
    CHECK(result.left_contact_count == 0 && result.left_contacts == NULL && result.reply_header_count == 0);
}

/* Other settings come between an answer and its reading: a report goes out with them, and the answer stays. */
static void read_after_replacing(pushwake_client *client, pushwake_settings *settings)
{
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    char longest[64];
    memset(longest, 'x', sizeof(longest));
    request.aor = (pushwake_str){ longest, sizeof(longest) };
    request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
    CHECK(pushwake_register_run(&result, client, &request) == PUSHWAKE_OK);
    CHECK(pushwake_client_replace(client, settings) == PUSHWAKE_OK);
    CHECK(pushwake_progressed(client, 1, ROUNDS + 1, 180, 1) == PUSHWAKE_OK);
    CHECK(result.problem_count == 1 && result.problems[0].len == sizeof(longest)
          && memcmp(result.problems[0].ptr, longest, sizeof(longest)) == 0);
}

/* An error is the thread's own: each makes another one. */
static void fail(struct worker *worker, int round)
{
    char name[64], expected[128];
    pushwake_str words[3] = { text("send") };
    snprintf(name, sizeof(name), "event%d-%d", worker->index, round);
    snprintf(expected, sizeof(expected), "'%s' is not an event", name);
    words[1] = text(name);
    words[2] = text("alice");
    CHECK(pushwake_command(worker->client, words, 3, NULL, NULL, NULL) == PUSHWAKE_ERR_INVALID_ARGUMENT);
    pushwake_str error = pushwake_client_error(worker->client);
    CHECK(error.len > strlen(expected) && memcmp(error.ptr, expected, strlen(expected)) == 0);
}

static void *work(void *context)
{
    struct worker *worker = (struct worker *)context;
    for (int round = 0; round < ROUNDS; round++) {
        ask(worker, round);
        fail(worker, round);
    }
    return NULL;
}

static void run_workers(pushwake_client *client)
{
    struct worker workers[THREADS];
    for (int index = 0; index < THREADS; index++) {
        workers[index] = (struct worker){ .client = client, .index = index };
        if (pthread_create(&workers[index].thread, NULL, work, &workers[index]) != 0)
            exit(1);
    }
    for (int index = 0; index < THREADS; index++)
        pthread_join(workers[index].thread, NULL);
}

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

static void set(pushwake_settings *settings, const char *name, const char *value)
{
    CHECK(pushwake_settings_set(settings, text(name), text(value)) == PUSHWAKE_OK);
}

/* Nobody answers: the first waits, and the others of the process learn from it. */
static void *ask_in_vain(void *context)
{
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    request.aor = text("alice");
    request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
    CHECK(pushwake_register_run(&result, (pushwake_client *)context, &request) == PUSHWAKE_ERR_TIMEOUT);
    return NULL;
}

static void check_warnings(pushwake_client *client)
{
    pushwake_str line;
    int said = 0;
    for (int round = 0; round < 100; round++)
        said += pushwake_client_warning(&line, client, PUSHWAKE_ERR_TIMEOUT);
    CHECK(said == 1);
}

int main(void)
{
    char directory[] = "/tmp/pushwake-threads-XXXXXX", mute[96];
    pushwake_settings *settings = NULL;
    pushwake_client *client = NULL;
    struct engine first, second;
    pthread_t thread;
    if (mkdtemp(directory) == NULL)
        return 2;
    start(&first, directory, "first.sock");
    start(&second, directory, "second.sock");
    CHECK(pushwake_settings_new(&settings) == PUSHWAKE_OK);
    set(settings, "engine_socket", first.path);
    set(settings, "engine_timeout", "9000");
    CHECK(pushwake_client_new(&client, settings) == PUSHWAKE_OK);
    CHECK(pushwake_client_replace(client, settings) == PUSHWAKE_ERR_INVALID_ARGUMENT);
    CHECK(pushwake_client_make_shared(client) == PUSHWAKE_OK);
    CHECK(pushwake_client_make_shared(client) == PUSHWAKE_OK);

    int64_t begin = milliseconds();
    run_workers(client);
    int64_t took = milliseconds() - begin;
    /* The last report may still be on its way when its thread has ended. */
    for (int tries = 0; tries < 200 && __atomic_load_n(&first.posts, __ATOMIC_ACQUIRE) < THREADS * ROUNDS; tries++)
        poll(NULL, 0, 10);
    CHECK(first.posts == THREADS * ROUNDS);
    CHECK(first.most <= MOST_CONNECTIONS);

    set(settings, "engine_socket", second.path);
    CHECK(pushwake_client_replace(client, settings) == PUSHWAKE_OK);
    run_workers(client);
    for (int tries = 0; tries < 200 && __atomic_load_n(&first.count, __ATOMIC_ACQUIRE) > 0; tries++)
        poll(NULL, 0, 10);
    CHECK(first.count == 0);
    read_after_replacing(client, settings);
    stop(&first);
    stop(&second);
    CHECK(first.posts == THREADS * ROUNDS);
    CHECK(second.most > 0 && second.most <= MOST_CONNECTIONS);

    /* A socket that nobody reads. */
    snprintf(mute, sizeof(mute), "%s/mute.sock", directory);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", mute);
    CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(listener, 64) == 0);
    set(settings, "engine_socket", mute);
    set(settings, "engine_timeout", "300");
    CHECK(pushwake_client_replace(client, settings) == PUSHWAKE_OK);
    begin = milliseconds();
    for (int index = 0; index < THREADS; index++) {
        CHECK(pthread_create(&thread, NULL, ask_in_vain, client) == 0);
        pthread_join(thread, NULL);
    }
    CHECK(milliseconds() - begin < 1000);
    check_warnings(client);
    CHECK(pushwake_client_wait_for_engine(client, 50) == PUSHWAKE_ERR_UNAVAILABLE);

    pushwake_client_free(client);
    pushwake_settings_free(settings);
    close(listener);
    unlink(mute);
    rmdir(directory);
    if (failures == 0)
        printf("threads-check: ok, %d threads, %d questions in %lld ms over %d connections\n", THREADS, THREADS * ROUNDS,
               (long long)took, first.most);
    return failures == 0 ? 0 : 1;
}
