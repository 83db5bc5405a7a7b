/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "support/scout.h"
#include "support/test.h"

int64_t came_ns[SCOUT_ROOM]; /* by number, the first time; 0: never */

static enum nopal_verdict scout_on_from_net(struct nopal_at at, struct nopal_message *message)
{
	char text[8] = { 0 };
	long number;

	nopal_message_copy(message, 0, text, sizeof(text) - 1);
	number = strtol(text, NULL, 10);
	assert_in_range(number, 0, SCOUT_ROOM - 1);
	if (!came_ns[number])
		came_ns[number] = at.session->now_ns;
	return NOPAL_CONTINUE;
}

static const struct nopal_microprotocol a_scout = {
	.abi = NOPAL_ABI,
	.name = "a_scout",
	.family = "check",
	.summary = "sees when messages come",
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.bindings = (const struct nopal_binding[]){ NOPAL_ON(MSG_FROM_NET, scout_on_from_net,
							     .before = "partial_order"),
						    { 0 } },
};

void scout_open(struct rig *rig, const char *config, const struct rig_options *options)
{
	memset(came_ns, 0, sizeof(came_ns));
	rig_add(&a_scout);
	rig_open(rig, config, options);
}
