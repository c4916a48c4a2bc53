/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief What Asterisk loads: the parts that face administrators, and the engine's supervisor.
 */
#ifndef PUSHWAKE_MODULE_H
#define PUSHWAKE_MODULE_H

#include <pushwake.h>

/* ---- pushwake_supervisor.c */

int pushwake__supervisor_start(void);
void pushwake__supervisor_stop(void);

/*! Process id of the engine that this module started, or 0. */
int pushwake__supervisor_engine_pid(void);

/* ---- pushwake_reload.c */

/*! Reads pushwake.conf again and uses it; keeps the old settings when it has errors. */
int pushwake__reload(void);

/* ---- pushwake_cli.c, pushwake_manager.c */

int pushwake__cli_start(void);
void pushwake__cli_stop(void);
int pushwake__manager_start(void);
void pushwake__manager_stop(void);

/*! Sends the AMI event PushWakeResult. */
void pushwake__manager_result(const pushwake_result *result);

#endif /* PUSHWAKE_MODULE_H */
