#!/bin/bash
# SPDX-License-Identifier: MIT
# Writes anew in which order the library's functions stand, as a profile of its hot paths says.
set -euo pipefail
cd "$(dirname "$0")/../.."

stage=.build/stage
PUSHWAKE_SYMBOLS=1 "$MAKE" --no-print-directory build
# valgrind gives up on what Swift writes there
strip --strip-debug $stage/bin/pushwake $stage/lib/libpushwake.so.1
"$PYTHON" scripts/bench/function_order.py $stage/lib/libpushwake.so.1 > .build/functions.order
mv .build/functions.order Sources/PushWakeABI/functions.order
rm -f .build/dist/release/libPushWakeABI.so $stage/release
