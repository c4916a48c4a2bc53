/* SPDX-License-Identifier: MIT
 *
 * What the benchmark programs share: clocks, percentiles and the report line.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* User and system time of this process. */
static inline int64_t cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return ((int64_t)u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static inline void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Prints name_p50_ms, name_p99_ms and name_max_ms of delays in microseconds, which it sorts; nothing of none. */
static inline void print_delays(const char *name, uint32_t *delays, long n)
{
    if (n == 0) return;
    qsort(delays, (size_t)n, sizeof *delays, compare_u32);
    printf("\"%s_p50_ms\":%.3f,\"%s_p99_ms\":%.3f,\"%s_max_ms\":%.3f,", name, delays[n / 2] / 1e3, name,
           delays[n - 1 - n / 100] / 1e3, name, delays[n - 1] / 1e3);
}

/* Prints the result line; sorts the latencies (in microseconds). */
static inline void report(uint32_t *latency, long count, long ok, long connections, int64_t wall, int64_t cpu)
{
    qsort(latency, (size_t)count, sizeof *latency, compare_u32);
    printf("{\"count\":%ld,\"ok\":%ld,\"connections\":%ld,\"seconds\":%.4f,\"cpu_us_per_push\":%.3f,"
           "\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n",
           count, ok, connections, wall / 1e6, (double)cpu / count, latency[count / 2] / 1e3,
           latency[count - 1 - count / 100] / 1e3);
}

/* 300 bytes, the size of a usual call push. */
static inline void fill_payload(char body[300])
{
    static const char head[] = "{\"aps\":{\"alert\":{\"loc-key\":\"IC_MSG\",\"loc-args\":[\"sip:alice@example.com\"]},"
                               "\"sound\":\"ring.caf\"},\"call-id\":\"a84b4c76e66710@pc33.example.com\",\"pad\":\"";
    memset(body, 'x', 300);
    memcpy(body, head, sizeof head - 1);
    memcpy(body + 297, "\"}", 2);
    body[299] = '\n';
}

/* The path of push i: 64 hexadecimal digits that differ from push to push. */
static inline int device_path(char out[80], uint64_t i)
{
    return snprintf(out, 80, "/3/device/%016llx%016llx%016llx%016llx", (unsigned long long)(i * 0x9e3779b97f4a7c15ull),
                    (unsigned long long)(i ^ 0xa5a5a5a5a5a5a5a5ull), (unsigned long long)(i + 1),
                    (unsigned long long)((i + 7) * 0xc2b2ae3d27d4eb4full));
}

/* A UUID that differs from push to push. */
static inline int push_id(char out[40], uint64_t i)
{
    return snprintf(out, 40, "%08llx-0000-4000-8000-%012llx", (unsigned long long)(i & 0xffffffff),
                    (unsigned long long)((i * 0x9e3779b97f4a7c15ull) & 0xffffffffffffull));
}

#endif
