/* SPDX-License-Identifier: MIT */
/*
 * given_rate.h -- what policies have in common that send at a rate which they are told, and react
 * to nothing.
 */
#ifndef NOPAL_GIVEN_RATE_H
#define NOPAL_GIVEN_RATE_H

#include <nopal/microprotocol.h>

enum { GIVEN_RATE_BPS }; /* shared variables */

static const struct nopal_role given_rate_provides[] = {
	{ "congestion_policy", true },
	{ "rate_policy", false },
	{ 0 },
};

static const struct nopal_relation given_rate_needs[] = {
	{ "rate_mechanism", "a mechanism has to keep to the rate" },
	{ 0 },
};

static const struct nopal_shared given_rate_shared[] = {
	[GIVEN_RATE_BPS] = { "sending_rate_bps", NOPAL_WRITE, 0,
			     "bits of bodies a second; 0: no limit" },
	{ 0 },
};

#endif
