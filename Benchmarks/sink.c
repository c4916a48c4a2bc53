/* SPDX-License-Identifier: MIT
 *
 * sink: an HTTP/2 server over TLS that answers every request with 200 and its
 * apns-id and checks nothing, so that it is not what a benchmark measures.
 *
 * usage: sink --cert FILE --key FILE [--port N] [--delay MS] [--max-streams N] [--tell PORT]
 * With --tell it sends what follows the last / of each path to that UDP port of this host.
 * Prints "listening PORT"; at SIGTERM one JSON line of counters.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "tell.h"

#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { RECORD = 16384, WINDOW = 1 << 24, EVENTS = 256 };

typedef struct connection {
    SSL *ssl;
    nghttp2_session *session;
    int fd, ready, want_write, dirty, closed;
    struct connection *next_dirty, *next_closed;
    uint8_t out[RECORD];
    size_t out_len, rest_len;
    const uint8_t *rest;
    long pending; /* answers that wait for --delay */
} connection;

typedef struct stream {
    connection *connection;
    int32_t id;
    int64_t due;
    int gone, token_len;
    size_t apns_id_len;
    uint8_t apns_id[40];
    char token[80];
    struct stream *next;
} stream;

static int poller, tell_port;
static int64_t delay_us;
static uint32_t max_streams = 1000;
static long connections, requests, resets, failed;
static stream *first_due, **last_due = &first_due; /* in order of due: the delay is constant */
static connection *dirty, *closed;

static void mark_dirty(connection *c)
{
    if (c->dirty || c->closed) return;
    c->dirty = 1, c->next_dirty = dirty, dirty = c;
}

static void answer(stream *s)
{
    nghttp2_nv headers[] = {
        { (uint8_t *)":status", (uint8_t *)"200", 7, 3, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE },
        { (uint8_t *)"apns-id", s->apns_id, 7, s->apns_id_len, NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_INDEX },
    };
    nghttp2_submit_response(s->connection->session, s->id, headers, s->apns_id_len ? 2 : 1, NULL);
    mark_dirty(s->connection);
}

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    stream *s = calloc(1, sizeof *s);
    s->connection = context, s->id = frame->hd.stream_id;
    nghttp2_session_set_stream_user_data(session, s->id, s);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *context)
{
    (void)flags, (void)context;
    stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (s && name_len == 7 && !memcmp(name, "apns-id", 7) && value_len <= sizeof s->apns_id) {
        memcpy(s->apns_id, value, value_len);
        s->apns_id_len = value_len;
    } else if (s && tell_port && name_len == 5 && !memcmp(name, ":path", 5)) {
        const uint8_t *token = memrchr(value, '/', value_len);
        size_t len = token ? (size_t)(value + value_len - ++token) : 0;
        if (len > 0 && len <= sizeof s->token) memcpy(s->token, token, len), s->token_len = (int)len;
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    (void)context;
    if (frame->hd.type == NGHTTP2_RST_STREAM) resets++;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    stream *s = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!s) return 0;
    requests++;
    if (s->token_len) tell(tell_port, s->token, s->token_len);
    if (delay_us == 0) {
        answer(s);
        return 0;
    }
    s->due = now_us() + delay_us;
    s->connection->pending++;
    *last_due = s, last_due = &s->next;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *context)
{
    (void)error, (void)context;
    stream *s = nghttp2_session_get_stream_user_data(session, id);
    if (!s) return 0;
    if (s->due) s->gone = 1; /* still in the queue, which frees it */
    else free(s);
    return 0;
}

static void answer_due(void)
{
    int64_t now = now_us();
    while (first_due && first_due->due <= now) {
        stream *s = first_due;
        first_due = s->next;
        if (!first_due) last_due = &first_due;
        s->due = 0, s->connection->pending--;
        if (!s->gone && !s->connection->closed) answer(s);
        else free(s);
    }
}

static void close_later(connection *c)
{
    if (c->closed) return;
    c->closed = 1, c->next_closed = closed, closed = c;
    epoll_ctl(poller, EPOLL_CTL_DEL, c->fd, NULL);
}

/* Frees closed connections that no waiting answer refers to. */
static void reap(void)
{
    for (connection **at = &closed; *at;) {
        connection *c = *at;
        if (c->pending || c->dirty) {
            at = &c->next_closed;
            continue;
        }
        *at = c->next_closed;
        if (c->session) nghttp2_session_del(c->session);
        SSL_free(c->ssl);
        close(c->fd);
        free(c);
    }
}

static void watch(connection *c, int want_write)
{
    if (c->want_write == want_write) return;
    c->want_write = want_write;
    struct epoll_event event = { .events = EPOLLIN | (want_write ? EPOLLOUT : 0), .data.ptr = c };
    epoll_ctl(poller, EPOLL_CTL_MOD, c->fd, &event);
}

static void flush(connection *c)
{
    for (;;) {
        while (c->out_len < RECORD) {
            if (c->rest_len == 0) {
                ssize_t n = nghttp2_session_mem_send(c->session, &c->rest);
                if (n < 0) return close_later(c);
                if (n == 0) break;
                c->rest_len = (size_t)n;
            }
            size_t n = c->rest_len < RECORD - c->out_len ? c->rest_len : RECORD - c->out_len;
            memcpy(c->out + c->out_len, c->rest, n);
            c->out_len += n, c->rest += n, c->rest_len -= n;
        }
        if (c->out_len == 0) return watch(c, 0);
        int n = SSL_write(c->ssl, c->out, (int)c->out_len);
        if (n <= 0) {
            if (SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_WRITE) return watch(c, 1);
            return close_later(c);
        }
        c->out_len = 0;
    }
}

static void start_http2(connection *c, nghttp2_session_callbacks *callbacks)
{
    /* libcurl 7.88 resets each stream after its answer: let it. */
    static nghttp2_option *options;
    if (!options) {
        nghttp2_option_new(&options);
        nghttp2_option_set_stream_reset_rate_limit(options, 1u << 30, 1u << 30);
    }
    nghttp2_settings_entry settings[] = { { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, max_streams },
                                          { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20 } };
    nghttp2_session_server_new2(&c->session, callbacks, c, options);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, WINDOW);
    c->ready = 1;
    mark_dirty(c);
}

static void receive(connection *c, nghttp2_session_callbacks *callbacks)
{
    static uint8_t record[RECORD];
    if (!c->ready) {
        int n = SSL_accept(c->ssl);
        if (n != 1) {
            int error = SSL_get_error(c->ssl, n);
            if (error == SSL_ERROR_WANT_READ) return;
            failed++;
            return close_later(c);
        }
        start_http2(c, callbacks);
    }
    for (;;) {
        int n = SSL_read(c->ssl, record, sizeof record);
        if (n <= 0) {
            if (SSL_get_error(c->ssl, n) != SSL_ERROR_WANT_READ) close_later(c);
            return;
        }
        if (nghttp2_session_mem_recv(c->session, record, (size_t)n) < 0) return close_later(c);
        mark_dirty(c);
    }
}

static void accept_all(int listener, SSL_CTX *context)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        connection *c = calloc(1, sizeof *c);
        c->fd = fd, c->ssl = SSL_new(context);
        SSL_set_fd(c->ssl, fd);
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
        epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
        connections++;
    }
}

static int choose_h2(SSL *ssl, const uint8_t **out, uint8_t *out_len, const uint8_t *in, unsigned in_len, void *context)
{
    (void)ssl, (void)context;
    return nghttp2_select_next_protocol((uint8_t **)(uintptr_t)out, out_len, in, in_len) == 1 ? SSL_TLSEXT_ERR_OK
                                                                                  : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int listen_on(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 4096) < 0) die("sink: cannot listen");
    getsockname(fd, (struct sockaddr *)&address, &len);
    printf("listening %d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static void serve(int listener, int signals, SSL_CTX *context, nghttp2_session_callbacks *callbacks)
{
    struct epoll_event events[EVENTS], event = { .events = EPOLLIN, .data.ptr = &poller };
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    event.data.ptr = NULL;
    epoll_ctl(poller, EPOLL_CTL_ADD, signals, &event);
    for (;;) {
        int64_t wait = first_due ? first_due->due - now_us() : -1;
        int n = epoll_wait(poller, events, EVENTS, !first_due ? -1 : wait <= 0 ? 0 : (int)((wait + 999) / 1000));
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr == NULL) return;
            if (events[i].data.ptr == &poller) accept_all(listener, context);
            else {
                connection *c = events[i].data.ptr;
                if (events[i].events & EPOLLOUT) mark_dirty(c);
                if (!c->closed) receive(c, callbacks);
            }
        }
        answer_due();
        while (dirty) {
            connection *c = dirty;
            dirty = c->next_dirty, c->dirty = 0;
            if (!c->closed) flush(c);
        }
        reap();
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "cert", 1, 0, 'c' }, { "key", 1, 0, 'k' }, { "port", 1, 0, 'p' },
                                             { "delay", 1, 0, 'd' }, { "max-streams", 1, 0, 's' },
                                             { "tell", 1, 0, 't' }, { 0 } };
    const char *cert = NULL, *key = NULL;
    int port = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'c': cert = optarg; break;
        case 'k': key = optarg; break;
        case 'p': port = atoi(optarg); break;
        case 'd': delay_us = atol(optarg) * 1000; break;
        case 's': max_streams = (uint32_t)atol(optarg); break;
        case 't': tell_port = atoi(optarg); break;
        default: return 2;
        }
    }
    signal(SIGPIPE, SIG_IGN);
    sigset_t stop;
    sigemptyset(&stop), sigaddset(&stop, SIGTERM), sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, NULL);

    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
    if (!cert || !key || SSL_CTX_use_certificate_chain_file(context, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        die("sink: cannot read --cert and --key");

    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);

    poller = epoll_create1(0);
    serve(listen_on(port), signalfd(-1, &stop, 0), context, callbacks);
    printf("{\"connections\":%ld,\"requests\":%ld,\"resets\":%ld,\"tls_failures\":%ld,\"cpu_seconds\":%.3f}\n",
           connections, requests, resets, failed, cpu_us() / 1e6);
    return 0;
}
