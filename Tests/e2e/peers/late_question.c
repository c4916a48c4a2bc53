// SPDX-License-Identifier: MIT
// Loaded before the C library: a process that asks the engine about an INVITE has no turn for a while before it does.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t send(int socket, const void *data, size_t size, int flags)
{
	static ssize_t (*real)(int, const void *, size_t, int);
	int file;

	if (real == NULL)
		real = (ssize_t (*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	if (memmem(data, size, "INVITE", 6) != NULL) {
		// Says that it is about to ask.
		file = open(getenv("LATE_QUESTION"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		close(file);
		usleep(50000);
	}
	return real(socket, data, size, flags);
}
