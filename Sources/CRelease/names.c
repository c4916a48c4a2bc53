/* SPDX-License-Identifier: MIT
 *
 * Swift's runtime has the Unicode names of all characters, half a megabyte that nothing here asks for. In what is shipped the
 * linker calls this in place of what reads them (`--wrap` in Package.swift), and leaves them out: no character has a name. */
#include <stdint.h>

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *name, intptr_t room);

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *name, intptr_t room)
{
	(void)scalar, (void)name, (void)room;
	return 0;
}
