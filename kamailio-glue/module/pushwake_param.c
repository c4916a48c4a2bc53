/* SPDX-License-Identifier: MIT
 *
 * Modparams come out of the settings table of the library, so that they, the
 * docs and the other hosts never disagree. Kamailio hands a parameter callback
 * the value but not the name, hence one small function per row of the table.
 */
#include <stdio.h>

#include "core/ut.h"
#include "pushwake_module.h"

#define PW_MAX_SETTINGS 160
#define PW_OWN_PARAMS 5
/* fcm_app1, fcm_key1 to fcm_app1000, fcm_key1000 */
#define PW_MAX_ACCOUNTS 1000
#define PW_ACCOUNT_NAME_LEN sizeof("fcm_app1000")

pushwake_settings *pw_settings = NULL;
int pw_lookup_goes_on = 0;
param_export_t pw_params[2 * PW_MAX_SETTINGS + 2 * PW_MAX_ACCOUNTS
						 + PW_OWN_PARAMS + 1];

/* Numbered parameters have no row: Kamailio keeps their values here. */
static char pw_account_names[2 * PW_MAX_ACCOUNTS][PW_ACCOUNT_NAME_LEN];
static char *pw_account_values[2 * PW_MAX_ACCOUNTS];

static int set(const char *name, const char *value)
{
	pushwake_str why;

	if(pushwake_settings_set(pw_settings, pw_text(name), pw_text(value)) >= 0) {
		return 0;
	}
	why = pushwake_settings_error(pw_settings);
	LM_ERR("modparam %s: %.*s\n", name, PW_FMT(why));
	return -1;
}

static int set_row(size_t index, modparam_t type, void *value)
{
	pushwake_setting row = PUSHWAKE_SETTING_INIT;
	char number[INT2STR_MAX_LEN];

	if(pushwake_setting_at(&row, index) < 0) {
		return -1;
	}
	if((type & PARAM_INT) != 0) {
		snprintf(number, sizeof(number), "%ld", (long)value);
		value = number;
	}
	return set(row.name, value != NULL ? (const char *)value : "");
}

#define ROW(n)                                     \
	static int row_##n(modparam_t type, void *val) \
	{                                              \
		return set_row(n, type, val);              \
	}
#define TEN(d)                                                              \
	ROW(d##0) ROW(d##1) ROW(d##2) ROW(d##3) ROW(d##4) ROW(d##5) ROW(d##6)   \
	ROW(d##7) ROW(d##8) ROW(d##9)
#define ROW_NAMES(d)                                                        \
	row_##d##0, row_##d##1, row_##d##2, row_##d##3, row_##d##4, row_##d##5, \
			row_##d##6, row_##d##7, row_##d##8, row_##d##9

/* clang-format off */
ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7) ROW(8) ROW(9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)
TEN(12) TEN(13) TEN(14) TEN(15)

static param_func_t rows[] = {
	row_0, row_1, row_2, row_3, row_4, row_5, row_6, row_7, row_8, row_9,
	ROW_NAMES(1), ROW_NAMES(2), ROW_NAMES(3), ROW_NAMES(4), ROW_NAMES(5),
	ROW_NAMES(6), ROW_NAMES(7), ROW_NAMES(8), ROW_NAMES(9), ROW_NAMES(10),
	ROW_NAMES(11), ROW_NAMES(12), ROW_NAMES(13), ROW_NAMES(14), ROW_NAMES(15),
};
/* clang-format on */

static void add(param_export_t **param, const char *name, modparam_t type, void *pointer)
{
	(*param)->name = (char *)name;
	(*param)->type = type;
	(*param)->param_pointer = pointer;
	(*param)++;
}

int pw_params_init(void)
{
	pushwake_setting row = PUSHWAKE_SETTING_INIT;
	const size_t most = sizeof(rows) / sizeof(rows[0]);
	param_export_t *param = pw_params;
	size_t i;

	if(pw_settings == NULL && pushwake_settings_new(&pw_settings) < 0) {
		LM_ERR("no memory for the settings\n");
		return -1;
	}
	/* ORDER: before the library's setting of this name, which is Asterisk's: the first one counts */
	add(&param, "wait", PARAM_STRING | PARAM_USE_FUNC, (void *)pw_wait_param);
	for(i = 0; pushwake_setting_at(&row, i) == PUSHWAKE_OK; i++) {
		if(i == most) {
			LM_ERR("libpushwake has more than the %u settings that this module knows: rebuild it\n", (unsigned)most);
			return -1;
		}
		/* once per type: modparam(..., 40) and modparam(..., "40") are the same */
		add(&param, row.name, PARAM_INT | PARAM_USE_FUNC, (void *)rows[i]);
		add(&param, row.name, PARAM_STRING | PARAM_USE_FUNC, (void *)rows[i]);
	}
	for(i = 0; i < 2 * PW_MAX_ACCOUNTS; i++) {
		snprintf(pw_account_names[i], PW_ACCOUNT_NAME_LEN, "fcm_%s%u",
				i % 2 == 0 ? "app" : "key", (unsigned)(i / 2 + 1));
		add(&param, pw_account_names[i], PARAM_STRING, &pw_account_values[i]);
	}
	add(&param, "event_callback", PARAM_STR, &pw_event_callback);
	add(&param, "failure_callback", PARAM_STR, &pw_failure_callback);
	add(&param, "lookup_goes_on", PARAM_INT, &pw_lookup_goes_on);
	add(&param, "upstream_table", PARAM_STRING | PARAM_USE_FUNC, (void *)pw_upstream_table_param);
	return 0;
}

int pw_params_accounts(void)
{
	size_t i;

	for(i = 0; i < 2 * PW_MAX_ACCOUNTS; i++) {
		if(pw_account_values[i] != NULL && set(pw_account_names[i], pw_account_values[i]) < 0) {
			return -1;
		}
	}
	return 0;
}
