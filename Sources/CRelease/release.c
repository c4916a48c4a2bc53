/* SPDX-License-Identifier: MIT
 *
 * The release, in a file of its own: another commit compiles this one anew, and links. */
#include "crelease.h"

const char *crelease_version(void) { return PUSHWAKE_VERSION; }
