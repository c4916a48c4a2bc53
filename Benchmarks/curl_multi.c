/* SPDX-License-Identifier: MIT
 *
 * curl_multi: the same pushes through libcurl's multi interface with
 * curl_multi_socket_action(). By default as Kamailio's http_async_client sets it
 * up: no multiplexing and a new easy handle for each request. With --multiplex
 * one connection carries all of them.
 *
 * usage: curl_multi --port N --ca FILE [--jwt TOKEN] [--topic TOPIC] [--count N]
 *                   [--concurrency N] [--multiplex]
 */
#include "bench.h"

#include <curl/curl.h>
#include <getopt.h>
#include <sys/epoll.h>
#include <unistd.h>

static CURLM *multi;
static int poller, port, multiplex;
static long count = 20000, concurrency = 100, sent, done, ok, opened, timeout_ms = -1;
static uint32_t *latency;
static int64_t *started;
static char body[300], authorization[1024];
static const char *ca, *jwt, *topic = "com.example.phone.voip";

typedef struct push {
    long index;
    struct curl_slist *headers;
} push;

static size_t ignore(char *data, size_t size, size_t n, void *context)
{
    (void)data, (void)context;
    return size * n;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
    (void)easy, (void)context;
    struct epoll_event event = { .data.fd = fd };
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL);
        return 0;
    }
    event.events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    epoll_ctl(poller, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
    if (!known) curl_multi_assign(multi, fd, &multi);
    return 0;
}

static int on_timer(CURLM *m, long ms, void *context)
{
    (void)m, (void)context;
    timeout_ms = ms;
    return 0;
}

static void submit(long i)
{
    char url[160], line[64], topic_line[128], path[80], id[40];
    device_path(path, (uint64_t)i), push_id(id, (uint64_t)i);
    snprintf(url, sizeof url, "https://127.0.0.1:%d%s", port, path);
    snprintf(line, sizeof line, "apns-id: %s", id);
    snprintf(topic_line, sizeof topic_line, "apns-topic: %s", topic);
    push *p = calloc(1, sizeof *p);
    p->index = i;
    p->headers = curl_slist_append(p->headers, authorization);
    p->headers = curl_slist_append(p->headers, line);
    p->headers = curl_slist_append(p->headers, topic_line);
    p->headers = curl_slist_append(p->headers, "apns-push-type: voip");
    p->headers = curl_slist_append(p->headers, "apns-priority: 10");
    p->headers = curl_slist_append(p->headers, "apns-expiration: 0");
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, p->headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)sizeof body);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, p);
    if (multiplex) curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    started[i] = now_us();
    curl_multi_add_handle(multi, easy);
}

static void collect(void)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        long status = 0, connects = 0;
        push *p = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&p);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connects);
        if (message->data.result == CURLE_OK && status == 200) ok++;
        opened += connects, done++;
        latency[p->index] = (uint32_t)(now_us() - started[p->index]);
        curl_multi_remove_handle(multi, easy);
        curl_easy_cleanup(easy);
        curl_slist_free_all(p->headers);
        free(p);
    }
}

static void run(void)
{
    struct epoll_event events[256];
    int running;
    while (done < count) {
        while (sent < count && sent - done < concurrency) submit(sent++);
        int n = epoll_wait(poller, events, 256, timeout_ms < 0 ? 1000 : (int)timeout_ms);
        if (n == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        for (int i = 0; i < n; i++) {
            int flags = (events[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                        (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0);
            curl_multi_socket_action(multi, events[i].data.fd, flags, &running);
        }
        collect();
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "port", 1, 0, 'p' }, { "ca", 1, 0, 'a' }, { "jwt", 1, 0, 'j' },
                                             { "topic", 1, 0, 't' }, { "count", 1, 0, 'n' },
                                             { "concurrency", 1, 0, 'c' }, { "multiplex", 0, 0, 'm' }, { 0 } };
    jwt = getenv("BENCH_JWT");
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'p': port = atoi(optarg); break;
        case 'a': ca = optarg; break;
        case 'j': jwt = optarg; break;
        case 't': topic = optarg; break;
        case 'n': count = atol(optarg); break;
        case 'c': concurrency = atol(optarg); break;
        case 'm': multiplex = 1; break;
        default: return 2;
        }
    }
    if (port == 0 || !ca || count < 1) die("usage: curl_multi --port N --ca FILE [options], see curl_multi.c");
    snprintf(authorization, sizeof authorization, "authorization: bearer %s", jwt ? jwt : "unset");
    latency = calloc((size_t)count, sizeof *latency);
    started = calloc((size_t)count, sizeof *started);
    fill_payload(body);

    curl_global_init(CURL_GLOBAL_DEFAULT);
    poller = epoll_create1(0);
    multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)(multiplex ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING));
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);

    int64_t cpu = cpu_us(), wall = now_us();
    run();
    cpu = cpu_us() - cpu, wall = now_us() - wall;
    report(latency, count, ok, opened, wall, cpu);
    return ok == count ? 0 : 1;
}
