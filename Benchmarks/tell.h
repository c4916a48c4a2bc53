/* SPDX-License-Identifier: MIT
 *
 * How the provider's stand-in tells the load generator that a push has come: a datagram "TIME TOKEN".
 */
#ifndef TELL_H
#define TELL_H

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

/* Microseconds of the clock that the kernel stamps packets with. */
static inline int64_t wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Tells the program that listens at this UDP port; with port 0 nobody. */
static inline void tell(int port, const char *token, int len)
{
    static int fd = -1;
    if (port == 0) return;
    if (fd < 0) fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    char text[160];
    int n = snprintf(text, sizeof text, "%lld %.*s", (long long)wall_us(), len < 100 ? len : 100, token);
    (void)!sendto(fd, text, (size_t)n, 0, (struct sockaddr *)&to, sizeof to);
}

#endif
