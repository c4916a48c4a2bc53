/* SPDX-License-Identifier: MIT
 *
 * event_route[pushwake:...], or KEMI's event_callback in its place.
 */
#include "core/kemi.h"
#include "core/route.h"
#include "pushwake_functions.h"

void pw_event_init(pw_event_t *event)
{
	int route = route_lookup(&event_rt, event->name);

	event->route = route >= 0 && event_rt.rlist[route] != NULL ? route : -1;
}

static int has_callback(void)
{
	return sr_kemi_eng_get() != NULL && pw_event_callback.len > 0;
}

int pw_event_has_route(const pw_event_t *event)
{
	return event->route >= 0 || has_callback();
}

void pw_event_run(const pw_event_t *event, sip_msg_t *msg)
{
	str name = {event->name, (int)strlen(event->name)};

	if(!has_callback()) {
		run_top_route(event_rt.rlist[event->route], msg, 0);
	} else if(sr_kemi_route(sr_kemi_eng_get(), msg, EVENT_ROUTE, &pw_event_callback, &name) < 0) {
		LM_ERR("event_callback failed\n");
	}
}
