/* SPDX-License-Identifier: MIT
 *
 * Kamailio loads a module only when module_version and module_flags are, byte for
 * byte, those of the core. One .so per patch release would follow. The layouts of
 * a series do not change, so this file fills both strings with what the running
 * core takes, once it has checked itself that the series is the one we were built
 * for and that every flag that changes a struct or a signature agrees.
 * When it does not, the strings keep what we were built for and Kamailio says no.
 *
 * What the core takes is what it took from tm, which is loaded before us. The
 * core's own ver_flags are not it everywhere: where Kamailio was built with cmake
 * they name flags that the rest of the core was compiled without.
 */
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "modules/tm/h_table.h"
#include "pushwake_host.h"

#define PW_STRING(x) #x
#define PW_EXPAND(x) PW_STRING(x)

extern const char ver_name[];
extern const char ver_version[];
extern const char ver_arch[];
extern const char ver_os[];
extern const char ver_flags[];

#define PW_SERIES (VERSIONVAL / 1000)

#if PW_SERIES != 5006 && PW_SERIES != 5007 && PW_SERIES != 5008 && PW_SERIES != 6000 && PW_SERIES != 6001
#error "pushwake.so is for Kamailio 5.6 to 6.1: a held request depends on how tm works inside, which was looked at in these"
#endif

static char built_for[] = "pushwake built for kamailio " PW_EXPAND(VERSIONVAL);
static char built_flags[] = "pushwake: other compile flags than these (see docs/kamailio.md)";
static char running[128];

#define PW_EXPORT __attribute__((visibility("default")))
PW_EXPORT char *module_version = built_for;
PW_EXPORT char *module_flags = built_flags;
PW_EXPORT unsigned int module_interface_ver = 4;

/* Flags that change a struct or a signature. What the compiler makes of a flag that we were built without is its name. */
#define PW_FLAG(name) {#name, PW_EXPAND(name)}
#if defined(FAST_LOCK) && defined(ADAPTIVE_WAIT)
#define PW_LOCKS "1"
#else
#define PW_LOCKS "FAST_LOCK-ADAPTIVE_WAIT"
#endif

static const struct {
	const char *name;
	const char *value;
} layout[] = {PW_FLAG(USE_TCP), PW_FLAG(USE_TLS), PW_FLAG(USE_SCTP), PW_FLAG(DBG_SR_MEMORY), PW_FLAG(USE_FUTEX),
		{"FAST_LOCK-ADAPTIVE_WAIT", PW_LOCKS}, PW_FLAG(USE_DNS_CACHE), PW_FLAG(USE_DNS_FAILOVER), PW_FLAG(PKG_MALLOC)};

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

static int is_tm(struct dl_phdr_info *object, size_t size, void *found)
{
	const char *file = strrchr(object->dlpi_name, '/');

	if(file == NULL || strcmp(file, "/tm.so") != 0) {
		return 0;
	}
	*(const char **)found = object->dlpi_name;
	return 1;
}

static void *in_tm(const char *name)
{
	const char *file = NULL;
	void *tm, *symbol = NULL;

	dl_iterate_phdr(is_tm, &file);
	tm = file != NULL ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	if(tm != NULL) {
		symbol = dlsym(tm, name);
		dlclose(tm); /* the core holds it as well */
	}
	return symbol;
}

/* A string that tm showed to the core, or NULL when tm is not loaded. */
static char *shown_by_tm(const char *name)
{
	char **text = in_tm(name);

	return text != NULL ? *text : NULL;
}

__attribute__((constructor)) static void check_core(void)
{
	unsigned int major = 0, minor = 0;
	char *version, *flags;
	size_t i;

	if(sscanf(ver_version, "%u.%u", &major, &minor) != 2 || major != VERSIONVAL / 1000000
			|| minor != VERSIONVAL / 1000 % 1000) {
		/* the core prints it */
		snprintf(running, sizeof(running), "pushwake.so for Kamailio %d.%d.x, not %u.%u: see docs/kamailio.md, Other releases",
				VERSIONVAL / 1000000, VERSIONVAL / 1000 % 1000, major, minor);
		module_version = running;
		return;
	}
	snprintf(running, sizeof(running), "%s %s (%s/%s)", ver_name, ver_version, ver_arch, ver_os);
	version = shown_by_tm("module_version");
	module_version = version != NULL ? version : running;
	flags = shown_by_tm("module_flags");
	if(flags == NULL) {
		flags = (char *)ver_flags;
	}
	for(i = 0; i < sizeof(layout) / sizeof(layout[0]); i++) {
		if(has_flag(flags, layout[i].name) != (strcmp(layout[i].name, layout[i].value) != 0)) {
			return;
		}
	}
	module_flags = flags;
}

/* Releases of one series have moved the fields of a branch, and a held request is
 * closed by writing into one. So tm is asked to judge branches that are laid out as
 * our headers say: it must find both over, and then the second not. */
static int tm_agrees(void)
{
	struct {
		tm_cell_t cell;
		char rest[1024];
	} t;
	struct {
		tm_ua_client_t branch[2];
		char rest[2048];
	} uac;
	static const char pending[sizeof(uac)];
	int (*pick)(tm_cell_t *, int *) = in_tm("t_pick_branch_blind");
	int code = 0;
	size_t at;

	if(pick == NULL) {
		return 1;
	}
	/* wherever tm looks for the branches instead, it finds some that are not over */
	memset(&t, 0, sizeof(t));
	for(at = offsetof(tm_cell_t, nr_of_outgoings) / sizeof(at) + 1; at < sizeof(t) / sizeof(at); at++) {
		((const void **)&t)[at] = pending;
	}
	memset(&uac, 0, sizeof(uac));
	t.cell.uac = uac.branch;
	t.cell.nr_of_outgoings = 2;
	uac.branch[0].last_received = uac.branch[1].last_received = 486;
	if(pick(&t.cell, &code) == -2) {
		return 0;
	}
	uac.branch[1].last_received = 0;
	return pick(&t.cell, &code) == -2;
}

int pw_core_fits(void)
{
	unsigned int major = 0, minor = 0, patch = 0;
	const int *late;

	if(!tm_agrees()) {
		LM_ERR("this is Kamailio %s, and its tm lays out transactions otherwise than the headers of %d.%d.%d that "
			   "pushwake.so was built with: build it again with those of %s, see docs/kamailio.md\n",
				ver_version, VERSIONVAL / 1000000, VERSIONVAL / 1000 % 1000, VERSIONVAL % 1000, ver_version);
		return 0;
	}
	late = in_tm("_tm_reply_matching");
	if(late != NULL && *late != 0) {
		LM_WARN("with tm's reply_matching 1 late answers of phones that a call has left reach its caller: write "
				"modparam(\"tm\", \"reply_matching\", 0)\n");
	}
	if(sscanf(ver_version, "%u.%u.%u", &major, &minor, &patch) == 3 && patch != VERSIONVAL % 1000) {
		LM_NOTICE("built with the headers of Kamailio %d.%d.%d, running in %s\n", VERSIONVAL / 1000000,
				VERSIONVAL / 1000 % 1000, VERSIONVAL % 1000, ver_version);
	}
	return 1;
}
