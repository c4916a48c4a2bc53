// SPDX-License-Identifier: MIT
// Loaded before the C library: days pass at once for the process that has it. Time since the machine started passes with
// them, so that the clock was not put right; what waits for milliseconds goes on as before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static const volatile long long *seconds;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void)
{
	static const long long none;
	int file = open(getenv("LATER_CLOCK"), O_RDONLY | O_CLOEXEC);
	void *page = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(*seconds), PROT_READ, MAP_SHARED, file, 0);

	seconds = page == MAP_FAILED ? &none : page;
	real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	int result = real(clock, time);

	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME))
		time->tv_sec += *seconds;
	return result;
}
