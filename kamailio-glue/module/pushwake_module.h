/* SPDX-License-Identifier: MIT
 *
 * What Kamailio loads: exports, parameters, the supervisor.
 */
#ifndef PUSHWAKE_MODULE_H
#define PUSHWAKE_MODULE_H

#include "core/kemi.h"
#include "core/rpc.h"
#include "pushwake_functions.h"

/* Names of the counters. */
extern stat_export_t pw_stats[];

/* pushwake_param.c */
int pw_params_init(void);

/* Hands the numbered parameters to the settings, once all are read. */
int pw_params_accounts(void);
extern param_export_t pw_params[];
extern pushwake_settings *pw_settings;
/* The script goes on with a request that is held, and its t_relay() sends nothing. */
extern int pw_lookup_goes_on;

/* pushwake_supervisor.c */
int pw_supervisor_start(void);
void pw_engine_await(void);

/* pushwake_rpc.c, pushwake_kemi.c */
extern rpc_export_t pw_rpcs[];
extern sr_kemi_t pw_kemi[];

#endif /* PUSHWAKE_MODULE_H */
