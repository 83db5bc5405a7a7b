/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/lab.h"

char seen[64];
bool stop_at_b;

void letter(char c)
{
	size_t length = strlen(seen);

	if (length + 1 < sizeof(seen))
		seen[length] = c;
}

enum nopal_verdict lab_on_lost_a(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	letter('a');
	return NOPAL_CONTINUE;
}

enum nopal_verdict lab_on_lost_b(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at;
	(void)segment;
	letter('b');
	return stop_at_b ? NOPAL_STOP : NOPAL_CONTINUE;
}

static enum nopal_verdict lab_on_timeout(struct nopal_at at, struct nopal_segment *segment)
{
	letter('(');
	nopal_queue_SEGMENT_LOST(at.session, segment);
	nopal_raise_SEGMENT_LOST(at.session, segment);
	letter(')');
	return NOPAL_CONTINUE;
}

static enum nopal_verdict lab_on_resend(struct nopal_at at, struct nopal_segment *segment)
{
	nopal_raise_SEGMENT_RESEND(at.session, segment);
	return NOPAL_CONTINUE;
}

/* Writes the letter that its binding has for an argument. */
static enum nopal_verdict lab_on_abandoned(struct nopal_at at, struct nopal_segment *segment)
{
	(void)segment;
	letter(*(const char *)nopal_argument(at));
	return NOPAL_CONTINUE;
}

static const struct nopal_binding lab_bindings[] = {
	NOPAL_ON(SEGMENT_LOST, lab_on_lost_a),
	NOPAL_ON(SEGMENT_LOST, lab_on_lost_b),
	NOPAL_ON(SEGMENT_TIMEOUT, lab_on_timeout),
	NOPAL_ON(SEGMENT_RESEND, lab_on_resend),
	NOPAL_ON(SEGMENT_ABANDONED, lab_on_abandoned, .argument = "x"),
	NOPAL_ON(SEGMENT_ABANDONED, lab_on_abandoned, .argument = "y"),
	{ 0 },
};

static const struct nopal_microprotocol lab = {
	.abi = NOPAL_ABI,
	.name = "lab",
	.family = "check",
	.summary = "handlers for the test of events",
	.bindings = lab_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
	.holds = (const struct nopal_hold[]){ { "the test", NOPAL_DEALLOCATE, NOPAL_DATA, false },
					      { 0 } },
};

struct nopal_segment *segment;

int lab_setup(void **state)
{
	(void)state;
	rig_add(&lab);
	memset(seen, 0, sizeof(seen));
	stop_at_b = false;
	rig_open(&rig, "transport_driver {}\nfixed_size {}\nlab {}\na_tap {}\n", NULL);
	rig_send(&rig, "x");
	segment = rig_segment(rig.opener.session, 2);
	return segment ? 0 : -1;
}
