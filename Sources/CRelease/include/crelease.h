/* SPDX-License-Identifier: MIT */
#pragma once

/* Which release this was built as, such as "0.1.0+37.gabc1234"; never NULL. */
const char *crelease_version(void);
