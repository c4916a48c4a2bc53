/* SPDX-License-Identifier: MIT
 *
 * REGISTERs of phones that are held while their SIP servers are asked. A new engine
 * knows none of them: it is asked again for each, so that no phone waits in vain.
 */
#include <string.h>

#include "core/locking.h"
#include "core/mem/mem.h"
#include "core/mem/shm_mem.h"
#include "pushwake_functions.h"

/* Those past it are not asked for again: their phones hear 408 in the end. */
#define PW_MOST_REGISTERS 4096

typedef struct pw_registers {
	gen_lock_t lock;
	int used; /* slots past it are free */
	int is_full; /* there were more once: who is not here may be held all the same */
	uint64_t handles[PW_MOST_REGISTERS]; /* 0: free */
} pw_registers_t;

static pw_registers_t *registers = NULL;

int pw_registers_init(void)
{
	registers = shm_malloc(sizeof(*registers));
	if(registers == NULL) {
		SHM_MEM_ERROR;
		return -1;
	}
	memset(registers, 0, sizeof(*registers));
	return lock_init(&registers->lock) != NULL ? 0 : -1;
}

/* 1: `from` was there. */
static int put(uint64_t from, uint64_t to)
{
	int i, was;

	lock_get(&registers->lock);
	for(i = 0; i < registers->used && registers->handles[i] != from; i++) {
	}
	was = i < registers->used || (from != 0 && registers->is_full);
	if(i < registers->used) {
		registers->handles[i] = to;
	} else if(from == 0 && registers->used < PW_MOST_REGISTERS) {
		registers->handles[registers->used++] = to;
	} else if(from == 0) {
		registers->is_full = 1;
	}
	while(registers->used > 0 && registers->handles[registers->used - 1] == 0) {
		registers->used--;
	}
	lock_release(&registers->lock);
	return was;
}

void pw_register_held(uint64_t handle)
{
	put(0, handle);
}

int pw_register_over(uint64_t handle)
{
	return put(handle, 0);
}

uint64_t *pw_registers_all(int *count)
{
	uint64_t *handles;
	int i;

	*count = 0;
	handles = pw_alloc(sizeof(registers->handles));
	if(handles == NULL) {
		return NULL;
	}
	lock_get(&registers->lock);
	for(i = 0; i < registers->used; i++) {
		if(registers->handles[i] != 0) {
			handles[(*count)++] = registers->handles[i];
		}
	}
	lock_release(&registers->lock);
	return handles;
}
