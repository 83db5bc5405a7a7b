/* SPDX-License-Identifier: MIT */
/*
 * A plugin that dies in a handler or a timer, once enough data have arrived: what the program says
 * then, is for crash.sh to see.
 */
#include <stdlib.h>

#include <nopal/microprotocol.h>

enum a_crasher_how { HOW_WRITE, HOW_CALL, HOW_ABORT, HOW_TIMER };
enum { A_CRASHER_SOON };

struct a_crasher_parameters {
	int64_t how, after;
};
struct a_crasher {
	int64_t seen;
};

/* Volatile, so that no compiler knows better; UBSan would end it otherwise. */
__attribute__((no_sanitize("undefined"))) static void a_crasher_die(int64_t how)
{
	static int *volatile nowhere;
	static void (*volatile nobody)(void);

	if (how == HOW_CALL)
		nobody();
	else if (how == HOW_ABORT)
		abort();
	else
		*nowhere = 1;
}

static enum nopal_verdict a_crasher_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	const struct a_crasher_parameters *set = at.part->parameters;
	struct a_crasher *state = nopal_state(at);

	(void)segment;
	if (++state->seen < set->after)
		return NOPAL_CONTINUE;
	if (set->how != HOW_TIMER)
		a_crasher_die(set->how);
	nopal_timer_start(at, A_CRASHER_SOON, at.session->now_ns);
	return NOPAL_CONTINUE;
}

static void a_crasher_when_soon(struct nopal_at at)
{
	(void)at;
	a_crasher_die(HOW_WRITE);
}

static const struct nopal_parameter a_crasher_table[] = {
	{ .name = "how",
	  .unit = NOPAL_WORD,
	  .offset = offsetof(struct a_crasher_parameters, how),
	  .initial = "write",
	  .choices = "write|call|abort|timer",
	  .doc = "write to nowhere, call nobody, abort, or write in a timer" },
	{ .name = "after",
	  .offset = offsetof(struct a_crasher_parameters, after),
	  .initial = "20",
	  .min = "1",
	  .max = "1000",
	  .doc = "dies at this segment" },
	{ 0 },
};

static const struct nopal_binding a_crasher_bindings[] = {
	NOPAL_ON(SEGMENT_FROM_NET, a_crasher_on_from_net),
	{ 0 },
};

const struct nopal_microprotocol nopal_a_crasher = {
	.abi = NOPAL_ABI,
	.name = "a_crasher",
	.family = "check",
	.summary = "dies, where a test asks for it",
	.parameters_size = sizeof(struct a_crasher_parameters),
	.parameters = a_crasher_table,
	.bindings = a_crasher_bindings,
	.timers = (const struct nopal_timer[]){ [A_CRASHER_SOON] = { "soon", a_crasher_when_soon },
						{ 0 } },
	.state_size = sizeof(struct a_crasher),
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};
