/* SPDX-License-Identifier: MIT
 *
 * load.c - a SIP server as the library sees it: loads, forks workers, calls.
 *
 * Usage: load LIBRARY. Says what it measured; exits 1 when the library did
 * something to its host that docs/abi.md rules out. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pushwake.h"

#define WORKERS 8
/* 3.5 to 4.2 MB where the file is in memory page by page; the kernel maps more of it at once where it keeps it in larger
 * pieces, which depends on what else was written when the file was: 5.4 MB have been seen for the same file. */
#define RSS_LIMIT_KB (6 * 1024)

static int failures;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            fprintf(stderr, "load-check: ");                                                                           \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

/* What a library must leave alone. */
struct host {
    struct sigaction actions[NSIG];
    sigset_t mask;
    int threads;
    int descriptors;
};

static int entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    if (directory == NULL)
        return -1;
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static struct host look(void)
{
    struct host host;
    memset(&host, 0, sizeof(host));
    for (int number = 1; number < NSIG; number++)
        sigaction(number, NULL, &host.actions[number]);
    sigprocmask(SIG_SETMASK, NULL, &host.mask);
    host.threads = entries("/proc/self/task");
    host.descriptors = entries("/proc/self/fd");
    return host;
}

static void compare(const struct host *before, const char *when)
{
    struct host after = look();
    for (int number = 1; number < NSIG; number++)
        CHECK(before->actions[number].sa_handler == after.actions[number].sa_handler,
              "signal %d has another handler after %s", number, when);
    for (int number = 1; number < NSIG; number++)
        CHECK(sigismember(&before->mask, number) == sigismember(&after.mask, number),
              "signal %d is masked otherwise after %s", number, when);
    CHECK(before->threads == after.threads, "%d threads started by %s", after.threads - before->threads, when);
    CHECK(before->descriptors == after.descriptors, "%d descriptors left open by %s",
          after.descriptors - before->descriptors, when);
}

/* A figure of /proc/self/smaps_rollup in kB. */
static long memory(const char *name)
{
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            kilobytes = atol(line + strlen(name) + 1);
    fclose(file);
    return kilobytes;
}

static long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

static pushwake_str text(const char *characters)
{
    pushwake_str str = { characters, strlen(characters) };
    return str;
}

/* The functions of the header that a worker calls. */
struct library {
    int (*abi_version)(void);
    int (*settings_new)(pushwake_settings **);
    void (*settings_free)(pushwake_settings *);
    int (*settings_set)(pushwake_settings *, pushwake_str, pushwake_str);
    int (*client_new)(pushwake_client **, pushwake_settings *);
    void (*client_free)(pushwake_client *);
    int (*register_run)(pushwake_register_result *, pushwake_client *, pushwake_register_request *);
    int (*wake)(pushwake_wake_result *, pushwake_client *, pushwake_wake_request *);
};

static void *find(void *handle, const char *name)
{
    void *symbol = dlsym(handle, name);
    CHECK(symbol != NULL, "%s is missing", name);
    if (symbol == NULL)
        exit(1);
    return symbol;
}

static struct library bind_library(void *handle)
{
    struct library library;
    *(void **)&library.abi_version = find(handle, "pushwake_abi_version");
    *(void **)&library.settings_new = find(handle, "pushwake_settings_new");
    *(void **)&library.settings_free = find(handle, "pushwake_settings_free");
    *(void **)&library.settings_set = find(handle, "pushwake_settings_set");
    *(void **)&library.client_new = find(handle, "pushwake_client_new");
    *(void **)&library.client_free = find(handle, "pushwake_client_free");
    *(void **)&library.register_run = find(handle, "pushwake_register_run");
    *(void **)&library.wake = find(handle, "pushwake_wake");
    return library;
}

/* What a SIP worker does with a REGISTER and an INVITE while no engine runs. */
static void work(const struct library *library, pushwake_client *client)
{
    const char *contact = "<sip:alice@192.0.2.1:5060;pn-provider=apns;pn-param=ABCDE12345.com.example.phone.voip;"
                          "pn-prid=00fc13adff78512200fc13adff78512200fc13adff78512200fc13adff785122>";
    pushwake_header header = { text("Contact"), text(contact) };
    pushwake_register_request request = PUSHWAKE_REGISTER_REQUEST_INIT;
    pushwake_register_result result = PUSHWAKE_REGISTER_RESULT_INIT;
    pushwake_wake_request wake = PUSHWAKE_WAKE_REQUEST_INIT;
    pushwake_wake_result woken = PUSHWAKE_WAKE_RESULT_INIT;
    request.aor = text("alice@example.com");
    request.call_id = text("call-1");
    request.headers = &header;
    request.header_count = 1;
    request.cseq = 1;
    request.granted_expires = 3600;
    wake.aor = request.aor;
    wake.call_id = text("call-2");

    int status = library->register_run(&result, client, &request);
    CHECK(status == PUSHWAKE_OK && result.step == PUSHWAKE_REGISTER_SAVE, "a REGISTER begins with %d", status);
    long begin = milliseconds();
    request.registrar = PUSHWAKE_REGISTRAR_DESCRIBED;
    status = library->register_run(&result, client, &request);
    CHECK(status == PUSHWAKE_ERR_UNAVAILABLE, "a REGISTER without an engine gives %d", status);
    status = library->wake(&woken, client, &wake);
    CHECK(status == PUSHWAKE_ERR_UNAVAILABLE, "wake without an engine gives %d", status);
    CHECK(milliseconds() - begin < 1000, "two calls without an engine take %ld ms", milliseconds() - begin);
}

/* What the workers measure, written by them and read by the parent. */
struct figures {
    long rss;
    long anonymous;
};

/* Forks a worker that calls `client`, or one without a library, and waits for it. */
static void run_worker(struct figures *figures, const struct library *library, pushwake_client *client)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("load-check: fork");
        exit(1);
    }
    if (child == 0) {
        struct host mine = look();
        failures = 0;
        for (int round = 0; library != NULL && round < 50; round++)
            work(library, client);
        compare(&mine, "calls in a worker");
        figures->rss = memory("Rss");
        figures->anonymous = memory("Anonymous");
        _exit(failures == 0 ? 0 : 1);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a worker ends with %#x", (unsigned)status);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: load LIBRARY\n");
        return 2;
    }
    struct figures *figures = (struct figures *)mmap(NULL, 2 * sizeof(*figures), PROT_READ | PROT_WRITE,
                                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (figures == MAP_FAILED) {
        perror("load-check: mmap");
        return 1;
    }
    struct host before = look();
    run_worker(&figures[0], NULL, NULL);

    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fprintf(stderr, "load-check: %s\n", dlerror());
        return 1;
    }
    compare(&before, "dlopen");
    struct library library = bind_library(handle);
    CHECK(library.abi_version() == PUSHWAKE_ABI_VERSION, "ABI %d, the header has %d", library.abi_version(),
          PUSHWAKE_ABI_VERSION);

    /* As a SIP server does: made before the fork, used after it. */
    pushwake_settings *settings = NULL;
    pushwake_client *client = NULL;
    CHECK(library.settings_new(&settings) == PUSHWAKE_OK, "settings_new fails");
    CHECK(library.settings_set(settings, text("engine_socket"), text("/nonexistent/pushwake.sock")) == PUSHWAKE_OK,
          "engine_socket cannot be set");
    CHECK(library.client_new(&client, settings) == PUSHWAKE_OK, "client_new fails");
    compare(&before, "client_new");
    for (int worker = 0; worker < WORKERS; worker++)
        run_worker(&figures[1], &library, client);
    long added = figures[1].rss - figures[0].rss;
    long anonymous = figures[1].anonymous - figures[0].anonymous;
    CHECK(added < RSS_LIMIT_KB, "a worker has %ld kB more than without the library", added);

    work(&library, client);
    compare(&before, "calls");
    library.client_free(client);
    library.settings_free(settings);
    dlclose(handle);
    CHECK(library.abi_version() == PUSHWAKE_ABI_VERSION, "gone after dlclose");
    compare(&before, "dlclose");
    if (failures == 0)
        printf("load-check: ok, %d workers, each has %ld kB more with the library, %ld kB of that not from files\n",
               WORKERS, added, anonymous);
    return failures == 0 ? 0 : 1;
}
