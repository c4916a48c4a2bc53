/* SPDX-License-Identifier: MIT
 *
 * What Kamailio loads: exports, parameters, the supervisor.
 */
#ifndef PUSHWAKE_MODULE_H
#define PUSHWAKE_MODULE_H

#include "core/kemi.h"
#include "core/rpc.h"
#include "pushwake_functions.h"

/* pushwake_param.c */
int pw_params_init(void);

/* Hands the numbered parameters to the settings, once all are read. */
int pw_params_accounts(void);
extern param_export_t pw_params[];
extern pushwake_settings *pw_settings;
/* The script goes on with a request that is held, and its t_relay() sends nothing. */
extern int pw_lookup_goes_on;

/* pushwake_supervisor.c: a process. */
void pw_supervisor_run(void);
void pw_engine_await(void);

/* pushwake_routes.c: a process. */
void pw_routes_run(void);

/* pushwake_verbs.c: of a process that executes verbs which no worker asked for. */

/* How often a verb is tried whose request is not ready. */
#define PW_TRY_MS 1

/* Executes a verb of that time, or keeps it. */
void pw_verbs_do(const pushwake_verb *verb, int64_t since_ms);

/* Tries those that are kept; whether there are any. */
void pw_verbs_try(void);
int pw_verbs_wait(void);

/* pushwake_rpc.c, pushwake_kemi.c */
extern rpc_export_t pw_rpcs[];

/* Names of the counters. */
extern stat_export_t pw_stats[];
extern sr_kemi_t pw_kemi[];

#endif /* PUSHWAKE_MODULE_H */
