/* SPDX-License-Identifier: MIT */
/*
 * broken_end.c -- how a session ends that breaks, or is aborted.
 */
#include "session/session.h"

/* Somebody answers, and our seal opens none of it. */
static bool another_key(const struct nopal_core *core)
{
	return core->opener && core->awake && core->awake->counters.rx_sealed_badly > 0 &&
	       nopal_plan_provides(core->layer->plan, "confidentiality");
}

void nopal_session_break(struct nopal_session *session, enum nopal_end end, const char *text)
{
	struct nopal_core *core = nopal__core(session);

	if (end == NOPAL_UNREACHABLE && another_key(core)) {
		end = NOPAL_NOT_AUTHENTIC;
		text = "answers came, and none is authentic: the keys differ, "
		       "or somebody is in between";
	}
	nopal__session_end(core, end, text);
}

void nopal_session_abort(struct nopal_session *session, const char *text)
{
	struct nopal_core *core = nopal__core(session);
	bool outermost = nopal__turn_begin(core->world);

	nopal__touch(core);
	nopal__session_end(core, NOPAL_ABORTED, text);
	nopal__turn_end(core->world, outermost);
}
