/* SPDX-License-Identifier: MIT
 *
 * The requests that the scripts of this process have held, oldest first.
 */
#include <string.h>

#include "pushwake_held.h"

static pw_opened_t opened[PW_MOST_OPENED];
static int opened_count = 0;

int pw_opened_is_of(const pw_opened_t *one, const tm_cell_t *t)
{
	return t != NULL && t != T_UNDEFINED && t->hash_index == one->tindex && t->label == one->tlabel;
}

int pw_opened_count(void)
{
	return opened_count;
}

const pw_opened_t *pw_opened_at(int i)
{
	return i >= 0 && i < opened_count ? &opened[i] : NULL;
}

void pw_opened_add(const pw_opened_t *one)
{
	opened[opened_count++] = *one;
}

pw_opened_t pw_opened_take(int i)
{
	pw_opened_t one = opened[i];

	opened_count--;
	memmove(&opened[i], &opened[i + 1], (opened_count - i) * sizeof(opened[0]));
	return one;
}

int pw_opened_has(const pw_hold_t *hold)
{
	int i;

	for(i = 0; i < opened_count && opened[i].handle != hold->handle; i++) {
	}
	return i < opened_count;
}

int pw_opened_has_current(void)
{
	tm_cell_t *t = pw.tm.t_gett();
	int i;

	for(i = 0; i < opened_count && !pw_opened_is_of(&opened[i], t); i++) {
	}
	return i < opened_count;
}
