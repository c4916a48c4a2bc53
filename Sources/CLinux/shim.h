/* SPDX-License-Identifier: MIT
 *
 * What Swift cannot import of Linux's headers: macros, variadic functions, unions.
 */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline int clinux_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }
/* All from this one on; a kernel before 5.9 is asked for one at a time. */
static inline void clinux_close_from(int first)
{
    struct rlimit limit;
    if (syscall(SYS_close_range, first, ~0U, 0) == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    for (rlim_t fd = (rlim_t)first; fd < limit.rlim_cur; fd++) (void)close((int)fd);
}

/* errno is a macro; the socket calls take a transparent union under _GNU_SOURCE. */
static inline int clinux_errno(void) { return errno; }
static inline int clinux_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    return connect(fd, address, length);
}
static inline int clinux_bind(int fd, const struct sockaddr *address, socklen_t length)
{
    return bind(fd, address, length);
}
static inline int clinux_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }
static inline int clinux_local_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}
static inline ssize_t clinux_send(int fd, const void *bytes, size_t count)
{
    return send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}
static inline int clinux_stream_pair(int *ends) { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends); }
static inline int clinux_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
static inline ssize_t clinux_send_to(int fd, const void *bytes, size_t count, const struct sockaddr *to, socklen_t length)
{
    return sendto(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, to, length);
}
static inline ssize_t clinux_receive(int fd, void *bytes, size_t count)
{
    return recv(fd, bytes, count, MSG_DONTWAIT | MSG_TRUNC);
}

/* File of the executable or library that this code was linked into, or NULL. */
static void clinux_anchor(void) {}
static inline const char *clinux_own_file(void)
{
    Dl_info info;
    return dladdr((void *)clinux_anchor, &info) != 0 ? info.dli_fname : NULL;
}
/* A PBX may run at real-time priority, where a busy engine would take the processor from it. */
static inline void clinux_ordinary_priority(void)
{
    struct sched_param parameters = { 0 };
    (void)sched_setscheduler(0, SCHED_OTHER, &parameters);
    (void)setpriority(PRIO_PROCESS, 0, 0);
}
static inline int clinux_exited(int status) { return WIFEXITED(status); }
static inline int clinux_exit_code(int status) { return WEXITSTATUS(status); }
static inline int clinux_signal(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

static inline int clinux_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
static inline void clinux_set_nonblocking(int fd) { fcntl(fd, F_SETFL, O_NONBLOCK); }
static inline char **clinux_environment(void) { return environ; }

static inline int clinux_tcp_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}
static inline int clinux_udp_socket(int family)
{
    return socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}
static inline int clinux_accept_from(int fd, struct sockaddr_storage *address, socklen_t *length)
{
    *length = sizeof *address;
    return accept4(fd, (struct sockaddr *)address, length, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
static inline void clinux_local_address(int fd, struct sockaddr_storage *address, socklen_t *length)
{
    *length = sizeof *address;
    if (getsockname(fd, (struct sockaddr *)address, length) != 0) *length = 0;
}
static inline void clinux_peer_address(int fd, struct sockaddr_storage *address, socklen_t *length)
{
    *length = sizeof *address;
    if (getpeername(fd, (struct sockaddr *)address, length) != 0) *length = 0;
}
static inline int clinux_set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}
static inline int clinux_socket_error(int fd)
{
    int code = 0;
    socklen_t length = sizeof code;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno;
}
/* Bytes that the other end's kernel has not confirmed. */
static inline int clinux_unacknowledged(int fd)
{
    int count = 0;
    return ioctl(fd, SIOCOUTQ, &count) == 0 && count > 0 ? count : 0;
}
/* The next close() sends RST in place of FIN. */
static inline void clinux_linger_reset(int fd)
{
    struct linger linger = { 1, 0 };
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}
static inline int clinux_epoll_set(int epoll, int operation, int fd, unsigned int events, unsigned long long tag)
{
    struct epoll_event event = { .events = events, .data = { .u64 = tag } };
    return epoll_ctl(epoll, operation, fd, &event);
}
static inline unsigned long long clinux_epoll_tag(const struct epoll_event *event) { return event->data.u64; }

/* Those that a failed write may bring: of a closed connection, and of a file past its size limit. */
static inline void clinux_ignore_write_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}
/* nohup and the like leave it ignored in all that they start, and then not even a signalfd sees it. */
static inline void clinux_take_sighup(void) { signal(SIGHUP, SIG_DFL); }
/* A script that runs another one is sent the signal alone. */
static inline void clinux_hang_up_with_parent(void) { (void)prctl(PR_SET_PDEATHSIG, SIGHUP, 0, 0, 0); }

/* Not blocking: a FIFO that nobody writes to must not stop who asks. */
static inline int clinux_open_for_reading(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }
/* A name that is a struct too in C. */
static inline int clinux_stat(const char *path, struct stat *status) { return stat(path, status); }
static inline int clinux_lstat(const char *path, struct stat *status) { return lstat(path, status); }
static inline const char *clinux_entry_name(const struct dirent *entry) { return entry->d_name; }
/* Variadic, which Swift does not import. */
static inline int clinux_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

/* What a descriptor leads to, opened anew: not blocking, while its other users keep what they have. */
static inline int clinux_reopen_for_writing(int fd)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}
static inline int clinux_fstat(int fd, struct stat *status) { return fstat(fd, status); }

static inline void clinux_wipe(void *bytes, size_t count) { explicit_bzero(bytes, count); }
static inline void clinux_forbid_core(void) { (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
/* Its first parameter is an enum in C. */
static inline int clinux_descriptor_limit(struct rlimit *limit) { return getrlimit(RLIMIT_NOFILE, limit); }
/* As many descriptors as the hard limit allows. */
static inline void clinux_raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* A file as memory that its writer and its readers share; NULL on failure. */
static inline void *clinux_map(int fd, size_t size, int is_writable)
{
    void *start = mmap(NULL, size, is_writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    return start != MAP_FAILED ? start : NULL;
}
/* Words in such memory, at a multiple of eight. */
static inline unsigned long long clinux_load_relaxed(const void *word)
{
    return __atomic_load_n((const unsigned long long *)word, __ATOMIC_RELAXED);
}
static inline unsigned long long clinux_load_acquire(const void *word)
{
    return __atomic_load_n((const unsigned long long *)word, __ATOMIC_ACQUIRE);
}
static inline void clinux_store_release(void *word, unsigned long long value)
{
    __atomic_store_n((unsigned long long *)word, value, __ATOMIC_RELEASE);
}
static inline unsigned long long clinux_fetch_or(void *word, unsigned long long bits)
{
    return __atomic_fetch_or((unsigned long long *)word, bits, __ATOMIC_ACQ_REL);
}
