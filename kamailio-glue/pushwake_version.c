/* SPDX-License-Identifier: MIT
 *
 * Kamailio loads a module only when module_version and module_flags are, byte for
 * byte, those of the core. One .so per patch release would follow. The layouts of
 * a series do not change, so this file fills both strings with what the running
 * core says, once it has checked itself that the series is the one we were built
 * for and that every flag that changes a struct or a signature agrees.
 * When it does not, the strings keep what we were built for and Kamailio says no.
 */
#include <stdio.h>
#include <string.h>

#define PW_STRING(x) #x
#define PW_EXPAND(x) PW_STRING(x)

extern const char ver_name[];
extern const char ver_version[];
extern const char ver_arch[];
extern const char ver_os[];
extern const char ver_flags[];

static char built_for[] = "pushwake built for kamailio " PW_EXPAND(VERSIONVAL);
static char built_flags[] = "pushwake: other compile flags than these (see docs/kamailio.md)";
static char running[128];

#define PW_EXPORT __attribute__((visibility("default")))
PW_EXPORT char *module_version = built_for;
PW_EXPORT char *module_flags = built_flags;
PW_EXPORT unsigned int module_interface_ver = 4;

/* Flags that change a struct or a signature, and whether we were built with them. */
static const struct {
	const char *name;
	int ours;
} layout[] = {
#ifdef USE_TCP
		{"USE_TCP", 1},
#else
		{"USE_TCP", 0},
#endif
#ifdef USE_TLS
		{"USE_TLS", 1},
#else
		{"USE_TLS", 0},
#endif
#ifdef USE_SCTP
		{"USE_SCTP", 1},
#else
		{"USE_SCTP", 0},
#endif
#ifdef DBG_SR_MEMORY
		{"DBG_SR_MEMORY", 1},
#else
		{"DBG_SR_MEMORY", 0},
#endif
#ifdef USE_FUTEX
		{"USE_FUTEX", 1},
#else
		{"USE_FUTEX", 0},
#endif
#if defined(FAST_LOCK) && defined(ADAPTIVE_WAIT)
		{"FAST_LOCK-ADAPTIVE_WAIT", 1},
#else
		{"FAST_LOCK-ADAPTIVE_WAIT", 0},
#endif
#ifdef USE_DNS_CACHE
		{"USE_DNS_CACHE", 1},
#else
		{"USE_DNS_CACHE", 0},
#endif
#ifdef USE_DNS_FAILOVER
		{"USE_DNS_FAILOVER", 1},
#else
		{"USE_DNS_FAILOVER", 0},
#endif
#ifdef PKG_MALLOC
		{"PKG_MALLOC", 1},
#else
		{"PKG_MALLOC", 0},
#endif
};

static int has_flag(const char *flags, const char *name)
{
	size_t len = strlen(name);
	const char *at = flags;

	while((at = strstr(at, name)) != NULL) {
		if((at == flags || at[-1] == ' ') && (at[len] == ',' || at[len] == '\0')) {
			return 1;
		}
		at += len;
	}
	return 0;
}

__attribute__((constructor)) static void check_core(void)
{
	unsigned int major = 0, minor = 0;
	size_t i;

	if(sscanf(ver_version, "%u.%u", &major, &minor) != 2 || major != VERSIONVAL / 1000000
			|| minor != VERSIONVAL / 1000 % 1000) {
		return;
	}
	snprintf(running, sizeof(running), "%s %s (%s/%s)", ver_name, ver_version, ver_arch, ver_os);
	module_version = running;
	for(i = 0; i < sizeof(layout) / sizeof(layout[0]); i++) {
		if(has_flag(ver_flags, layout[i].name) != layout[i].ours) {
			return;
		}
	}
	module_flags = (char *)ver_flags;
}
