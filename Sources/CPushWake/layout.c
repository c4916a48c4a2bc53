/* SPDX-License-Identifier: MIT
 *
 * Freezes the layout of the public structs on 64-bit hosts: a change here is a
 * change of the ABI (docs/abi.md). */
#include "pushwake.h"

#if defined(__LP64__)
_Static_assert(sizeof(pushwake_str) == 16, "pushwake_str");
_Static_assert(sizeof(pushwake_setting) == 48, "pushwake_setting");
_Static_assert(sizeof(pushwake_header) == 32, "pushwake_header");
_Static_assert(sizeof(pushwake_register_request) == 136, "pushwake_register_request");
_Static_assert(sizeof(pushwake_register_result) == 104, "pushwake_register_result");
_Static_assert(sizeof(pushwake_contact) == 128, "pushwake_contact");
_Static_assert(sizeof(pushwake_wake_request) == 360, "pushwake_wake_request");
_Static_assert(sizeof(pushwake_wake_result) == 64, "pushwake_wake_result");
_Static_assert(sizeof(pushwake_verb) == 248, "pushwake_verb");
_Static_assert(sizeof(pushwake_resume_request) == 80, "pushwake_resume_request");
_Static_assert(sizeof(pushwake_send_request) == 88, "pushwake_send_request");
_Static_assert(sizeof(pushwake_field) == 40, "pushwake_field");
_Static_assert(sizeof(pushwake_result) == 136, "pushwake_result");
_Static_assert(sizeof(pushwake_supervisor_config) == 56, "pushwake_supervisor_config");
_Static_assert(sizeof(pushwake_upstream_request) == 120, "pushwake_upstream_request");
_Static_assert(sizeof(pushwake_upstream) == 192, "pushwake_upstream");
_Static_assert(sizeof(pushwake_upstream_answer) == 56, "pushwake_upstream_answer");
_Static_assert(sizeof(pushwake_leg_order) == 200, "pushwake_leg_order");
_Static_assert(sizeof(pushwake_legs_config) == 64, "pushwake_legs_config");
_Static_assert(sizeof(pushwake_admission) == 128, "pushwake_admission");
_Static_assert(sizeof(pushwake_host_load) == 48, "pushwake_host_load");
#endif
