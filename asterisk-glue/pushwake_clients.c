/* SPDX-License-Identifier: MIT */
/*!
 * \file
 * \brief Clients of the engine, lent to one thread at a time.
 *
 * A REGISTER and a call come on any of Asterisk's threads, and each client holds a
 * connection; keeping one per thread would leave a connection to every thread
 * that ever lived, so they are pooled instead.
 */
#include "asterisk.h"

#include "asterisk/linkedlists.h"
#include "asterisk/lock.h"
#include "asterisk/logger.h"
#include "asterisk/utils.h"

#include "pushwake_internal.h"

/*! As many idle connections are kept; more are made when needed. */
#define MAX_IDLE 16

struct pushwake__client {
	pushwake_client *client;
	/*! Reload makes those of earlier settings useless. */
	unsigned int generation;
	AST_LIST_ENTRY(pushwake__client) next;
};

static AST_LIST_HEAD_STATIC(idle, pushwake__client);
static pushwake_settings *current;
static unsigned int generation;
static int idle_count;
AST_MUTEX_DEFINE_STATIC(line_lock);
static struct pushwake__client *line;

static void handle_free(struct pushwake__client *handle)
{
	pushwake_client_free(handle->client);
	ast_free(handle);
}

/*! Makes every client of before useless; the list is locked. */
static void retire(void)
{
	struct pushwake__client *handle;

	__atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
	while ((handle = AST_LIST_REMOVE_HEAD(&idle, next))) {
		handle_free(handle);
	}
	idle_count = 0;
	pushwake_settings_free(current);
	current = NULL;
}

void pushwake__clients_start(pushwake_settings *settings)
{
	AST_LIST_LOCK(&idle);
	retire();
	current = settings;
	AST_LIST_UNLOCK(&idle);
}

pushwake_settings *pushwake__clients_settings(void)
{
	return current;
}

void pushwake__clients_stop(void)
{
	ast_mutex_lock(&line_lock);
	pushwake__client_give(line);
	line = NULL;
	ast_mutex_unlock(&line_lock);
	AST_LIST_LOCK(&idle);
	retire();
	AST_LIST_UNLOCK(&idle);
}

struct pushwake__client *pushwake__client_take(void)
{
	struct pushwake__client *handle;

	AST_LIST_LOCK(&idle);
	handle = AST_LIST_REMOVE_HEAD(&idle, next);
	if (handle) {
		idle_count--;
	} else if (current && (handle = ast_calloc(1, sizeof(*handle)))) {
		handle->generation = generation;
		if (pushwake_client_new(&handle->client, current) < 0) {
			ast_free(handle);
			handle = NULL;
		}
	}
	AST_LIST_UNLOCK(&idle);
	return handle;
}

void pushwake__client_give(struct pushwake__client *handle)
{
	if (!handle) {
		return;
	}
	AST_LIST_LOCK(&idle);
	if (handle->generation == generation && current && idle_count < MAX_IDLE) {
		AST_LIST_INSERT_HEAD(&idle, handle, next);
		idle_count++;
		handle = NULL;
	}
	AST_LIST_UNLOCK(&idle);
	if (handle) {
		handle_free(handle);
	}
}

pushwake_client *pushwake__line_lock(void)
{
	ast_mutex_lock(&line_lock);
	if (line && line->generation != __atomic_load_n(&generation, __ATOMIC_ACQUIRE)) {
		pushwake__client_give(line);
		line = NULL;
	}
	if (!line) {
		line = pushwake__client_take();
	}
	return line ? line->client : NULL;
}

void pushwake__line_unlock(void)
{
	ast_mutex_unlock(&line_lock);
}

pushwake_client *pushwake__client_of(struct pushwake__client *handle)
{
	return handle->client;
}
