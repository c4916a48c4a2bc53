/* SPDX-License-Identifier: MIT */
#pragma once
/* As in CLinux: both modules must see the same struct definitions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <hiredis/hiredis.h>

/* The formatter counts in int up to 0.14 and in long long from 1.0 on. */
static inline long long chiredis_format(char **out, int count, const char **words, const size_t *lengths)
{
	return redisFormatCommandArgv(out, count, words, lengths);
}
