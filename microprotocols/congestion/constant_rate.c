/* SPDX-License-Identifier: MIT */
/*
 * constant_rate -- constant sending rate from the config, whatever the network does.
 *
 * For paths that are one's own, and for senders that the receiver alone limits: 0 is no limit.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.D (b): the shared
 *            variable of Rate-based Congestion Control.
 * Differs:   it reacts to nothing.
 */
#include "given_rate.h"

struct constant_rate_parameters {
	int64_t rate_bps;
};

static enum nopal_verdict constant_rate_on_open(struct nopal_at at, struct nopal_session *subject)
{
	const struct constant_rate_parameters *set = nopal_parameters(at);

	(void)subject;
	nopal_shared_set(at, GIVEN_RATE_BPS, set->rate_bps);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_constant_rate = {
	NOPAL_DESCRIBE(constant_rate, congestion,
		       "constant sending rate from the config, whatever the network does"),
	GIVEN_RATE,
	.promises = NOPAL_PROMISES({ NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_FIXED_RATE,
				     "the configured rate, and no more", .when = "rate" }),
	.parameters_size = sizeof(struct constant_rate_parameters),
	.parameters =
		NOPAL_PARAMETERS(NOPAL_NUMBER(constant_rate, rate_bps, "rate", RATE, "0bit", "0bit",
					      "1000Gbit", "bits of bodies a second; 0: no limit")),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(OPEN_SESSION, constant_rate_on_open)),
};
