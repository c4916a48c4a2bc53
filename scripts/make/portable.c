/* SPDX-License-Identifier: MIT
 *
 * What the C++ library's archive takes from glibc 2.32, for C libraries before it: 0 says that there may be several
 * threads. Linked by scripts/make/portable_link.py. */
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
