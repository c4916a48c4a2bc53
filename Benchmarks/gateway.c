/* SPDX-License-Identifier: MIT
 *
 * gateway: an HTTP/1.1 server that takes every POST with 200 and checks nothing, as the push gateway that
 * scripts of SIP servers post to. Plain TCP, connections stay open.
 *
 * usage: gateway [--port N] [--tell PORT]
 * Prints "listening PORT"; at SIGTERM one JSON line of counters. With --tell it sends what follows the last /
 * of each path to that UDP port of this host.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "tell.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { BUFFER = 16384, EVENTS = 64 };

typedef struct connection {
    int fd;
    size_t len;
    char data[BUFFER + 1];
} connection;

static int poller, tell_port;
static long connections, requests;

/* The length of the request at the beginning of the data, 0 when it is not complete. */
static size_t request_length(const connection *c)
{
    const char *end = strstr(c->data, "\r\n\r\n"), *field = strcasestr(c->data, "\r\nContent-Length:");
    if (!end) return 0;
    size_t head = (size_t)(end + 4 - c->data), body = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
    return body > BUFFER || c->len < head + body ? 0 : head + body;
}

static void serve_request(connection *c)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"result\":true}";
    const char *path = memchr(c->data, ' ', c->len);
    if (path) {
        int len = (int)strcspn(path + 1, " \r\n");
        const char *token = memrchr(path + 1, '/', (size_t)len);
        if (token) tell(tell_port, token + 1, len - (int)(token - path));
    }
    requests++;
    (void)!write(c->fd, ok, sizeof ok - 1);
}

/* 0 when the connection has ended. */
static int receive(connection *c)
{
    for (;;) {
        ssize_t n = read(c->fd, c->data + c->len, BUFFER - c->len);
        if (n < 0 && errno == EAGAIN) return 1;
        if (n <= 0) return 0;
        c->len += (size_t)n, c->data[c->len] = '\0';
        for (size_t length; (length = request_length(c)) > 0;) {
            serve_request(c);
            c->len -= length;
            memmove(c->data, c->data + length, c->len + 1);
        }
    }
}

static void accept_all(int listener)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *c = calloc(1, sizeof *c);
        if (!c) die("gateway: out of memory");
        c->fd = fd;
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = c });
        connections++;
    }
}

static int listen_on(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 1024) < 0) die("gateway: cannot listen");
    getsockname(fd, (struct sockaddr *)&address, &len);
    printf("listening %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "port", 1, 0, 'p' }, { "tell", 1, 0, 't' }, { 0 } };
    int port = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == 'p') port = atoi(optarg);
        else if (o == 't') tell_port = atoi(optarg);
        else return 2;
    }
    sigset_t stop;
    sigemptyset(&stop), sigaddset(&stop, SIGTERM), sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    signal(SIGPIPE, SIG_IGN);

    int listener = listen_on(port), signals = signalfd(-1, &stop, 0), stopped = 0;
    poller = epoll_create1(0);
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = &poller });
    epoll_ctl(poller, EPOLL_CTL_ADD, signals, &(struct epoll_event){ .events = EPOLLIN, .data.ptr = NULL });
    while (!stopped) {
        struct epoll_event events[EVENTS];
        int n = epoll_wait(poller, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            connection *c = events[i].data.ptr;
            if (!c) stopped = 1;
            else if ((void *)c == (void *)&poller) accept_all(listener);
            else if (!receive(c)) close(c->fd), free(c);
        }
    }
    printf("{\"connections\":%ld,\"requests\":%ld,\"cpu_seconds\":%.3f}\n", connections, requests, cpu_us() / 1e6);
    return 0;
}
