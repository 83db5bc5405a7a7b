/* SPDX-License-Identifier: MIT */
/*
 * given_rate.h -- what policies have in common that send at a rate which they are told, and react
 * to nothing.
 */
#ifndef NOPAL_GIVEN_RATE_H
#define NOPAL_GIVEN_RATE_H

#include <nopal/microprotocol.h>

enum { GIVEN_RATE_BPS }; /* shared variables */

/* Roles and shared variables of their descriptors. */
#define GIVEN_RATE                                                                                 \
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "rate_policy" }),                 \
	.needs = NOPAL_RELATIONS({ "rate_mechanism", "a mechanism has to keep to the rate" }),     \
	.shared = NOPAL_SHARED([GIVEN_RATE_BPS] = { "sending_rate_bps", NOPAL_WRITE, 0,            \
						    "bits of bodies a second; 0: no limit" })

#endif
