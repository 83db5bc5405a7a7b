/* SPDX-License-Identifier: MIT */
/*
 * reserved_rate -- reserved sending rate, granted by the application.
 *
 * The session asks once, when it opens, by the application's callback `reserve`: the application
 * has a network that keeps reservations, or a table of its own.  The granted rate is kept, whatever
 * the network does; a grant of more than was asked is taken for the rate that was asked.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section II.A: resource reservation, as
 *            by RSVP.
 * Differs:   the protocol of reservation is the application's; a reservation is
 *            neither renewed nor given back here.
 */
#include "given_rate.h"

struct reserved_rate_parameters {
	int64_t rate_bps, otherwise_bps;
};

static enum nopal_verdict reserved_rate_on_open(struct nopal_at at, struct nopal_session *subject)
{
	const struct reserved_rate_parameters *set = nopal_parameters(at);

	(void)subject;
	nopal_shared_set(at, GIVEN_RATE_BPS, set->otherwise_bps);
	return NOPAL_CONTINUE;
}

/* Not before: the application knows the session by now. */
static enum nopal_verdict reserved_rate_on_opened(struct nopal_at at, struct nopal_session *subject)
{
	const struct reserved_rate_parameters *set = nopal_parameters(at);
	int64_t granted = nopal_session_reserve(at.session, set->rate_bps);

	(void)subject;
	if (granted > set->rate_bps)
		granted = set->rate_bps;
	if (granted)
		nopal_shared_set(at, GIVEN_RATE_BPS, granted);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_reserved_rate = {
	NOPAL_DESCRIBE(reserved_rate, congestion,
		       "reserved sending rate, granted by the application"),
	GIVEN_RATE,
	.promises = NOPAL_PROMISES({ NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_FIXED_RATE,
				     "the configured rate, and no more", .bound = "rate" }),
	.parameters_size = sizeof(struct reserved_rate_parameters),
	.parameters = NOPAL_PARAMETERS(
		NOPAL_NUMBER(reserved_rate, rate_bps, "rate", RATE, "1Mbit", "1kbit", "1000Gbit",
			     "bits of bodies a second to ask for"),
		NOPAL_NUMBER(reserved_rate, otherwise_bps, "otherwise", RATE, "64kbit", "1kbit",
			     "1000Gbit", "the rate where it is refused")),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(OPEN_SESSION, reserved_rate_on_open),
				   NOPAL_ON(SESSION_OPENED, reserved_rate_on_opened)),
};
