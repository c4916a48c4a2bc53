/* SPDX-License-Identifier: MIT */
#pragma once
/* As in CLinux: both modules must see the same struct definitions. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <hiredis/hiredis.h>
