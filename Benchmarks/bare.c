/* SPDX-License-Identifier: MIT
 *
 * bare: the least that can send APNs pushes: nghttp2, OpenSSL, epoll and nothing
 * else. It is the yardstick for `pushwake load`. The frames of all streams that
 * are ready go into one TLS record per write.
 *
 * usage: bare --port N [--ip 127.0.0.1] --ca FILE [--jwt TOKEN] [--topic TOPIC]
 *             [--count N] [--concurrency N] [--one-by-one | --burst]
 *        (the token may come in the environment as BENCH_JWT)
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { RECORD = 16384, DEFAULT_COUNT = 100000 };

static SSL *ssl;
static nghttp2_session *session;
static long count = DEFAULT_COUNT, concurrency = 100, sent, done, ok;
static uint32_t *latency;
static int64_t *started, now;
static char body[300], authorization[1024], authority[64];
static const char *topic = "com.example.phone.voip";

static ssize_t read_body(nghttp2_session *s, int32_t stream, uint8_t *out, size_t room, uint32_t *flags,
                         nghttp2_data_source *source, void *context)
{
    (void)s, (void)stream, (void)source, (void)context;
    if (room < sizeof body) return NGHTTP2_ERR_DEFERRED;
    memcpy(out, body, sizeof body);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return sizeof body;
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name, size_t name_len,
                     const uint8_t *value, size_t value_len, uint8_t flags, void *context)
{
    (void)s, (void)frame, (void)flags, (void)context;
    if (name_len == 7 && !memcmp(name, ":status", 7) && value_len == 3 && !memcmp(value, "200", 3)) ok++;
    return 0;
}

static int on_close(nghttp2_session *s, int32_t stream, uint32_t error, void *context)
{
    (void)error, (void)context;
    long i = (long)(intptr_t)nghttp2_session_get_stream_user_data(s, stream);
    latency[i] = (uint32_t)(now - started[i]);
    done++;
    return 0;
}

#define NV(n, v, len, flags) \
    { (uint8_t *)(n), (uint8_t *)(v), sizeof(n) - 1, (size_t)(len), \
      NGHTTP2_NV_FLAG_NO_COPY_NAME | (flags) }

static void submit(long i)
{
    char path[80], id[40];
    int path_len = device_path(path, (uint64_t)i), id_len = push_id(id, (uint64_t)i);
    nghttp2_nv headers[] = {
        NV(":method", "POST", 4, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV(":scheme", "https", 5, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV(":authority", authority, strlen(authority), NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV(":path", path, path_len, NGHTTP2_NV_FLAG_NO_INDEX),
        NV("authorization", authorization, strlen(authorization), NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV("apns-id", id, id_len, NGHTTP2_NV_FLAG_NO_INDEX),
        NV("apns-topic", topic, strlen(topic), NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV("apns-push-type", "voip", 4, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV("apns-priority", "10", 2, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
        NV("apns-expiration", "0", 1, NGHTTP2_NV_FLAG_NO_COPY_VALUE),
    };
    nghttp2_data_provider data = { { 0 }, read_body };
    started[i] = now;
    if (nghttp2_submit_request(session, NULL, headers, sizeof headers / sizeof *headers, &data, (void *)(intptr_t)i) < 0)
        die("bare: cannot submit");
}

static void connect_tls(const char *ip, int port, const char *ca)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    inet_pton(AF_INET, ip, &peer.sin_addr);
    if (connect(fd, (struct sockaddr *)&peer, sizeof peer) < 0) die("bare: cannot connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    if (!ca || !SSL_CTX_load_verify_locations(context, ca, NULL)) die("bare: cannot read the --ca file");
    ssl = SSL_new(context);
    SSL_set_alpn_protos(ssl, (const uint8_t *)"\x02h2", 3);
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), ip);
    SSL_set_fd(ssl, fd);
    if (SSL_connect(ssl) != 1) die("bare: TLS handshake failed");
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* Writes what the session has, a full record at a time. Returns 1 when the
 * socket takes no more. */
static int flush(void)
{
    static uint8_t record[RECORD];
    static size_t filled, rest_len;
    static const uint8_t *rest;
    for (;;) {
        while (filled < RECORD) {
            if (rest_len == 0) {
                ssize_t n = nghttp2_session_mem_send(session, &rest);
                if (n < 0) die("bare: cannot make frames");
                if (n == 0) break;
                rest_len = (size_t)n;
            }
            size_t n = rest_len < RECORD - filled ? rest_len : RECORD - filled;
            memcpy(record + filled, rest, n);
            filled += n, rest += n, rest_len -= n;
        }
        if (filled == 0) return 0;
        int n = SSL_write(ssl, record, (int)filled);
        if (n <= 0) {
            if (SSL_get_error(ssl, n) == SSL_ERROR_WANT_WRITE) return 1;
            die("bare: connection lost while writing");
        }
        filled = 0;
    }
}

static void receive(void)
{
    static uint8_t record[RECORD];
    for (;;) {
        int n = SSL_read(ssl, record, sizeof record);
        if (n <= 0) {
            if (SSL_get_error(ssl, n) == SSL_ERROR_WANT_READ) return;
            die("bare: connection lost while reading");
        }
        if (nghttp2_session_mem_recv(session, record, (size_t)n) < 0) die("bare: protocol error");
    }
}

static void run(void)
{
    int poll = epoll_create1(0), want_write = 0;
    struct epoll_event watch = { .events = EPOLLIN };
    epoll_ctl(poll, EPOLL_CTL_ADD, SSL_get_fd(ssl), &watch);
    while (done < count) {
        while (sent < count && sent - done < concurrency) submit(sent++);
        int blocked = flush();
        if (blocked != want_write) {
            want_write = blocked;
            watch.events = EPOLLIN | (blocked ? EPOLLOUT : 0);
            epoll_ctl(poll, EPOLL_CTL_MOD, SSL_get_fd(ssl), &watch);
        }
        struct epoll_event event;
        if (epoll_wait(poll, &event, 1, 10000) == 0) die("bare: no answer for 10 s");
        now = now_us();
        receive();
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        { "ip", 1, 0, 'i' }, { "port", 1, 0, 'p' }, { "ca", 1, 0, 'a' }, { "jwt", 1, 0, 'j' }, { "topic", 1, 0, 't' },
        { "count", 1, 0, 'n' }, { "concurrency", 1, 0, 'c' }, { "one-by-one", 0, 0, '1' }, { "burst", 0, 0, 'b' }, { 0 }
    };
    const char *ip = "127.0.0.1", *ca = NULL, *jwt = getenv("BENCH_JWT");
    int port = 0, burst = 0;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'i': ip = optarg; break;
        case 'p': port = atoi(optarg); break;
        case 'a': ca = optarg; break;
        case 'j': jwt = optarg; break;
        case 't': topic = optarg; break;
        case 'n': count = atol(optarg); break;
        case 'c': concurrency = atol(optarg); break;
        case '1': concurrency = 1; break;
        case 'b': burst = 1; break;
        default: return 2;
        }
    }
    if (port == 0 || count < 1 || concurrency < 1) die("usage: bare --port N --ca FILE [options], see bare.c");
    if (burst) concurrency = count;
    latency = calloc((size_t)count, sizeof *latency);
    started = calloc((size_t)count, sizeof *started);
    fill_payload(body);
    snprintf(authority, sizeof authority, "%s:%d", ip, port);
    snprintf(authorization, sizeof authorization, "bearer %s", jwt ? jwt : "unset");

    nghttp2_session_callbacks *callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&session, callbacks, NULL);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    connect_tls(ip, port, ca);

    int64_t cpu = cpu_us(), wall = now = now_us();
    run();
    cpu = cpu_us() - cpu, wall = now_us() - wall;
    report(latency, count, ok, 1, wall, cpu);
    return ok == count ? 0 : 1;
}
