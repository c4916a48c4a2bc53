/* SPDX-License-Identifier: MIT
 *
 * The timers of the load generator: a heap, the earliest on top.
 */
#ifndef TIMERS_H
#define TIMERS_H

#include "bench.h"

/* RFC 3261, 17.1.1.1: what was not answered is sent again after T1, then after twice as long, up to T2. */
enum { T1_US = 500000, T2_US = 4000000, MAX_TRIES = 11 };

typedef struct timer {
    int64_t due; /* microseconds of now_us() */
    uint32_t call;
    uint8_t what, tries;
} timer;

static timer *timer_heap;
static size_t timer_count, timer_size;

static inline int64_t timer_next(void)
{
    return timer_count > 0 ? timer_heap[0].due : INT64_MAX;
}

static inline void timer_add(int64_t delay, int what, uint32_t call, int tries)
{
    if (timer_count == timer_size) {
        timer_size = timer_size ? timer_size * 2 : 1024;
        timer_heap = realloc(timer_heap, timer_size * sizeof *timer_heap);
        if (!timer_heap) die("no memory for timers");
    }
    timer new = { now_us() + delay, call, (uint8_t)what, (uint8_t)tries };
    size_t at = timer_count++;
    for (; at > 0 && timer_heap[(at - 1) / 2].due > new.due; at = (at - 1) / 2) timer_heap[at] = timer_heap[(at - 1) / 2];
    timer_heap[at] = new;
}

static inline timer timer_pop(void)
{
    timer first = timer_heap[0], last = timer_heap[--timer_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < timer_count; at = child) {
        if (child + 1 < timer_count && timer_heap[child + 1].due < timer_heap[child].due) child++;
        if (last.due <= timer_heap[child].due) break;
        timer_heap[at] = timer_heap[child];
    }
    timer_heap[at] = last;
    return first;
}

/* For what is sent for the nth time, counted from 0. */
static inline void timer_repeat(int what, uint32_t call, int tries)
{
    int64_t delay = (int64_t)T1_US << (tries < 3 ? tries : 3);
    if (tries < MAX_TRIES) timer_add(delay < T2_US ? delay : T2_US, what, call, tries + 1);
}

#endif
