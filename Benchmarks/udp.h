/* SPDX-License-Identifier: MIT
 *
 * UDP sockets on loopback, and when a packet arrived.
 */
#ifndef UDP_H
#define UDP_H

#include "bench.h"
#include "tell.h"

#include <netinet/in.h>
#include <sys/socket.h>

static inline int open_socket(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), on = 1, size = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) die("cannot bind a UDP port");
    return fd;
}

static inline int port_of(int fd)
{
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &len);
    return ntohs(address.sin_port);
}

/* Whether the system took it. */
static inline int send_to_port(int fd, const char *data, size_t len, int port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    return sendto(fd, data, len, 0, (struct sockaddr *)&to, sizeof to) >= 0;
}

/* The kernel's time of arrival, so that what this program waits for a core does not count. */
static inline int64_t arrival(struct msghdr *h)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
        }
    }
    return wall_us();
}

#endif
