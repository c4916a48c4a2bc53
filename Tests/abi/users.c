/* SPDX-License-Identifier: MIT
 *
 * users.c - pushwake_may_wake() and REGISTERs with files that no engine has written.
 *
 * Usage: users LIBRARY. Says what a look costs; exits 1 when a file that cannot
 * be believed is, or when a look leaves something open. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pushwake.h"

#define HEADER_WORDS 8
#define FILTER_WORDS 2048
#define WORDS (HEADER_WORDS + FILTER_WORDS)
#define MAGIC UINT64_C(0x505746494c545201)
#define IN_USE 2
#define DEAD 3
#define WORKERS 4
#define LOOKS 1000000
#define LOOK_LIMIT_NS 1000

static int failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            fprintf(stderr, "users-check: users.c:%d: %s\n", __LINE__, #condition);                                    \
        }                                                                                                              \
    } while (0)

static int (*may_wake)(pushwake_client *, pushwake_str);
static int (*run)(pushwake_register_result *, pushwake_client *, pushwake_register_request *);
static char socket_path[64], file_path[80], new_path[80];

static pushwake_str text(const char *characters)
{
    pushwake_str str = { characters, strlen(characters) };
    return str;
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int descriptors(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory != NULL && readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

/* Puts a file in place of the one before and leaves it mapped. */
static uint64_t *put(const uint64_t *words, size_t size)
{
    int fd = open(new_path, O_RDWR | O_CREAT | O_EXCL, 0600);
    uint64_t *mapped;
    if (fd < 0 || write(fd, words, size) != (ssize_t)size) {
        perror("users-check: write");
        exit(1);
    }
    mapped = (uint64_t *)mmap(NULL, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED || rename(new_path, file_path) != 0) {
        perror("users-check: put");
        exit(1);
    }
    return mapped;
}

static void fill(uint64_t *words, uint64_t bits)
{
    memset(words, 0, WORDS * 8);
    words[0] = MAGIC;
    words[1] = IN_USE;
    words[2] = 42;
    words[3] = FILTER_WORDS;
    for (int index = HEADER_WORDS; index < WORDS; index++)
        words[index] = bits;
}

/* What the client says once it has looked at the name again; the answer that is
 * not expected has half a second to go away. */
static int settled(pushwake_client *client, int expected)
{
    int64_t end = nanoseconds() + 500 * 1000000;
    while (may_wake(client, text("alice")) != expected && nanoseconds() < end)
        ;
    return may_wake(client, text("alice"));
}

static void check_content(pushwake_client *client)
{
    static uint64_t words[2 * WORDS];
    const uint64_t counts[] = { 0, 1, 3, FILTER_WORDS / 2, FILTER_WORDS - 1, FILTER_WORDS + 1, 2 * FILTER_WORDS,
                                UINT64_C(1) << 63, UINT64_MAX };
    const size_t sizes[] = { 0, 1, 8, 63, 64, 72, 4096, WORDS * 8 - 8, WORDS * 8 - 1, WORDS * 8 + 1, WORDS * 8 + 8 };
    fill(words, 0);
    for (size_t index = 0; index < sizeof(counts) / sizeof(*counts); index++) {
        words[3] = counts[index];
        put(words, WORDS * 8);
        CHECK(settled(client, 1) == 1);
    }
    fill(words, 0);
    for (size_t index = 0; index < sizeof(sizes) / sizeof(*sizes); index++) {
        put(words, sizes[index]);
        CHECK(settled(client, 1) == 1);
    }
    for (uint64_t state = 0; state < 5; state++) {
        words[1] = state;
        put(words, WORDS * 8);
        CHECK(settled(client, state == IN_USE ? 0 : 1) == (state == IN_USE ? 0 : 1));
    }
    memset(words, 0xff, sizeof(words));
    put(words, WORDS * 8);
    CHECK(settled(client, 1) == 1);
    unlink(file_path);
    CHECK(mkfifo(file_path, 0600) == 0);
    CHECK(settled(client, 1) == 1);
    unlink(file_path);
    CHECK(symlink("/dev/zero", file_path) == 0);
    CHECK(settled(client, 1) == 1);
    unlink(file_path);
}

/* Whether the registrar's contacts are wanted for a REGISTER that it has. */
static int concerns(pushwake_client *client, pushwake_register_request request)
{
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    request.registrar = PUSHWAKE_REGISTRAR_SAVED;
    CHECK(run(&result, client, &request) == PUSHWAKE_OK);
    return result.step == PUSHWAKE_REGISTER_DESCRIBE;
}

/* REGISTERs of a user without bindings, while no engine could be asked. */
static void check_registers(pushwake_client *client)
{
    static const struct {
        const char *name, *value;
        int concerns;
    } headers[] = {
        { "Contact", "<sip:alice@192.0.2.1>;+sip.instance=\"<urn:uuid:f81d4fae>\";reg-id=1;expires=60", 0 },
        { "m", "\"A, B\" <sip:alice@192.0.2.1;transport=tcp;ob>, sip:alice@192.0.2.2;q=0.5", 0 },
        { "Expires", "0", 0 },
        { "X-MPUSH", "token=00aa11bb", 1 },
        { "Feature-Caps", "*;+sip.pns=\"apns\"", 1 },
        { "Contact", "<sip:alice@192.0.2.1;pn-provider=apns;pn-param=T.com.example.voip;pn-prid=00aa11bb>", 1 },
        { "Contact", "<sip:alice@192.0.2.1;PN-Provider>", 1 },
        { "Contact", "sip:alice@192.0.2.1;app-id=com.example", 1 },
        { "Contact", "<sip:alice@192.0.2.1>, <sip:alice@192.0.2.2;push-token-id=1>", 1 },
        { "Contact", "*", 1 },
        { "Contact", "<sip:alice@192.0.2.1", 1 },
        { "Contact", "<sip:alice@192.0.2.1;\r\n pn-provider>", 1 },
    };
    static uint64_t words[WORDS];
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    fill(words, 0);
    put(words, WORDS * 8);
    CHECK(settled(client, 0) == 0);
    request.aor = text("alice");
    request.call_id = text("1@192.0.2.1");
    request.header_count = 1;
    for (size_t index = 0; index < sizeof(headers) / sizeof(*headers); index++) {
        pushwake_header header = { text(headers[index].name), text(headers[index].value) };
        pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
        request.headers = &header;
        request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
        request.seen = 0;
        CHECK(concerns(client, request) == headers[index].concerns);
        CHECK(run(&result, client, &request) == (headers[index].concerns ? PUSHWAKE_ERR_UNAVAILABLE : PUSHWAKE_OK));
        CHECK(result.outcome == PUSHWAKE_REGISTER_PLAIN && result.step == PUSHWAKE_REGISTER_DONE);
    }
    request.account = text("of a gateway");
    request.header_count = 0;
    request.seen = 0;
    CHECK(concerns(client, request) == 1);
    fill(words, UINT64_MAX);
    put(words, WORDS * 8);
    CHECK(settled(client, 1) == 1);
    request.account = text("");
    request.seen = 0;
    CHECK(concerns(client, request) == 1);
    unlink(file_path);
}

/* A client that was made, and has looked, before the fork. */
static void check_workers(pushwake_client *client)
{
    static uint64_t words[WORDS];
    uint64_t *mapped;
    int go[2], ready[2];
    char byte = 0;
    fill(words, 0);
    mapped = put(words, sizeof(words));
    CHECK(settled(client, 0) == 0);
    CHECK(pipe(go) == 0 && pipe(ready) == 0);
    for (int worker = 0; worker < WORKERS; worker++) {
        fflush(NULL);
        if (fork() != 0)
            continue;
        failures = 0;
        close(go[1]);
        CHECK(may_wake(client, text("alice")) == 0);
        CHECK(write(ready[1], &byte, 1) == 1);
        CHECK(read(go[0], &byte, 1) == 0); /* the end: the file is dead */
        CHECK(may_wake(client, text("alice")) == 1);
        _exit(failures == 0 ? 0 : 1);
    }
    for (int worker = 0; worker < WORKERS; worker++)
        CHECK(read(ready[0], &byte, 1) == 1);
    __atomic_store_n(&mapped[1], DEAD, __ATOMIC_RELEASE);
    close(go[0]);
    close(go[1]);
    close(ready[0]);
    close(ready[1]);
    for (int worker = 0; worker < WORKERS; worker++) {
        int status = 0;
        CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(may_wake(client, text("alice")) == 1);
}

/* Nanoseconds of one look, for users of whom the client says this. */
static double time_looks(pushwake_client *client, int expected)
{
    static char aors[1024][32];
    pushwake_str users[1024];
    int64_t begin, unexpected = 0;
    for (int user = 0; user < 1024; user++) {
        snprintf(aors[user], sizeof(aors[user]), "user%d@example.com", user);
        users[user] = text(aors[user]);
    }
    CHECK(settled(client, expected) == expected);
    begin = nanoseconds();
    for (int look = 0; look < LOOKS; look++)
        unexpected += may_wake(client, users[look % 1024]) != expected;
    CHECK(unexpected == 0);
    return (double)(nanoseconds() - begin) / LOOKS;
}

int main(int argc, char **argv)
{
    int (*settings_new)(pushwake_settings **);
    int (*settings_set)(pushwake_settings *, pushwake_str, pushwake_str);
    int (*client_new)(pushwake_client **, pushwake_settings *);
    void (*client_free)(pushwake_client *);
    char directory[] = "/tmp/pushwake-users-XXXXXX";
    static uint64_t words[WORDS];
    pushwake_settings *settings = NULL;
    pushwake_client *client = NULL;
    void *library;
    int before;
    double found, missing;
    if (argc != 2 || mkdtemp(directory) == NULL || (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) {
        fprintf(stderr, "usage: users LIBRARY\n");
        return 2;
    }
    snprintf(socket_path, sizeof(socket_path), "%s/e.sock", directory);
    snprintf(file_path, sizeof(file_path), "%s.users", socket_path);
    snprintf(new_path, sizeof(new_path), "%s.new", socket_path);
    *(void **)&settings_new = dlsym(library, "pushwake_settings_new");
    *(void **)&settings_set = dlsym(library, "pushwake_settings_set");
    *(void **)&client_new = dlsym(library, "pushwake_client_new");
    *(void **)&client_free = dlsym(library, "pushwake_client_free");
    *(void **)&may_wake = dlsym(library, "pushwake_may_wake");
    *(void **)&run = dlsym(library, "pushwake_register_run");
    if (settings_new(&settings) != 0 || settings_set(settings, text("engine_socket"), text(socket_path)) != 0
        || client_new(&client, settings) != 0 || may_wake == NULL || run == NULL) {
        fprintf(stderr, "users-check: no client\n");
        return 1;
    }
    before = descriptors();
    CHECK(may_wake(client, text("alice")) == 1);
    check_content(client);
    check_registers(client);
    check_workers(client);
    missing = time_looks(client, 1);
    fill(words, 0);
    put(words, sizeof(words));
    CHECK(may_wake(client, (pushwake_str){ NULL, 5 }) >= 0);
    found = time_looks(client, 0);
    CHECK(found < LOOK_LIMIT_NS);
    CHECK(missing < LOOK_LIMIT_NS);
    CHECK(descriptors() == before);
    client_free(client);
    unlink(file_path);
    rmdir(directory);
    if (failures == 0)
        printf("users-check: ok, a look takes %.0f ns, without a file %.0f ns\n", found, missing);
    return failures == 0 ? 0 : 1;
}
