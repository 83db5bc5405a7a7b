/* SPDX-License-Identifier: MIT */
#include "a_meddler.h"

static enum nopal_verdict a_meddler_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	return meddle_from_net(at, segment);
}

static enum nopal_verdict a_meddler_on_to_net(struct nopal_at at, struct nopal_segment *segment)
{
	return meddle_to_net(at, segment);
}

static const struct nopal_binding a_meddler_bindings[] = {
	[MEDDLER_FROM_NET] = NOPAL_ON(SEGMENT_FROM_NET, a_meddler_on_from_net),
	[MEDDLER_TO_NET] = NOPAL_ON(SEGMENT_TO_NET, a_meddler_on_to_net),
	{ 0 },
};

const struct nopal_microprotocol nopal_a_meddler = {
	.abi = NOPAL_ABI,
	.name = "a_meddler",
	.family = "check",
	.summary = "does what a test asks for",
	.bindings = a_meddler_bindings,
	.provides = (const struct nopal_role[]){ { "checker", false }, { 0 } },
};
