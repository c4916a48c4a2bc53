/* SPDX-License-Identifier: MIT
 *
 * Verbs that a process of its own executes: now, or, when their request is not ready, a little later.
 */
#include "pushwake_module.h"

#define PW_MAX_WAITING 4096
/* How long the end of a request may take to reach the engine, by way of another process. */
#define PW_END_MS 20

static pw_note_t *waiting[PW_MAX_WAITING];
static int waiting_count = 0;

/* The engine hears of a leg that will not go out. */
static void drop(const pushwake_verb *verb)
{
	if(verb->kind == PUSHWAKE_VERB_RING) {
		pushwake_progressed(pw_client, verb->handle, verb->leg, 503, 0);
	}
}

static void wait_for_request(const pushwake_verb *verb, int64_t since_ms)
{
	pw_note_t *note;

	if(waiting_count == PW_MAX_WAITING || (note = pw_note_copy(verb, since_ms)) == NULL) {
		LM_WARN("too many verbs wait for their requests\n");
		drop(verb);
		return;
	}
	waiting[waiting_count++] = note;
}

void pw_verbs_do(const pushwake_verb *verb, int64_t since_ms)
{
	enum pw_executed done = pw_execute(verb, NULL, since_ms);

	if(done == PW_ELSEWHERE ? pw_verb_elsewhere(verb, since_ms) < 0 : done != PW_DONE) {
		wait_for_request(verb, since_ms);
	}
}

/* Whether its time has not come. The phone that a request is over for has to hear of that:
 * the engine is told, once it knows of the end. */
static int must_wait(const pw_note_t *note, int64_t waited_ms)
{
	switch(pw_execute(&note->verb, NULL, note->since_ms)) {
		case PW_BLOCKED:
			return 1;
		case PW_LATER:
			/* however late this process is itself, it has tried */
			if(waited_ms <= 2 * PW_BUSY_MS) {
				return 1;
			}
			drop(&note->verb);
			return 0;
		case PW_GONE:
			if(waited_ms < PW_END_MS) {
				return 1;
			}
			drop(&note->verb);
			return 0;
		case PW_ELSEWHERE:
			return pw_verb_elsewhere(&note->verb, note->since_ms) < 0;
		default:
			return 0;
	}
}

void pw_verbs_try(void)
{
	int64_t now = pw_now_ms();
	int i, n = 0, count = waiting_count;

	for(i = 0; i < count; i++) {
		if(must_wait(waiting[i], now - waiting[i]->since_ms)) {
			waiting[n++] = waiting[i];
		} else {
			free(waiting[i]);
		}
	}
	waiting_count = n;
}

int pw_verbs_wait(void)
{
	return waiting_count > 0;
}
