/* SPDX-License-Identifier: MIT */
/*
 * transport_driver -- carry every segment from the session to the network.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.A and figure 2.
 * Differs:   adds no port identifiers: UDP ports and session ids are the
 *            runtime's.  Its send bit is sticky: a resend need not ask the driver
 *            again.
 */
#include <nopal/microprotocol.h>

static enum nopal_verdict transport_driver_on_from_user(struct nopal_at at,
							struct nopal_segment *segment)
{
	nopal_raise_SEGMENT_TO_NET(at.session, segment);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict transport_driver_on_to_net(struct nopal_at at,
						     struct nopal_segment *segment)
{
	nopal_release(at, segment, NOPAL_SEND);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_transport_driver = {
	NOPAL_DESCRIBE(transport_driver, base,
		       "carry every segment from the session to the network"),
	.many = true,
	.provides = NOPAL_ROLES({ "driver", true }),
	.standard = "driver",
	.promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_SENDING, NOPAL_LOWERS, 0,
				     "urgent messages leave first", .of = "urgent" }),
	.holds = NOPAL_HOLDS({ "it has been offered to the network", NOPAL_SEND, NOPAL_CARRIED,
			       .sticky = true }),
	.bindings = NOPAL_BINDINGS(NOPAL_ON(SEGMENT_FROM_USER, transport_driver_on_from_user,
					    .after = "segment_numbers"),
				   NOPAL_ON(SEGMENT_TO_NET, transport_driver_on_to_net,
					    .kinds = NOPAL_CARRIED, .before = "window_mechanism")),
	.raises = NOPAL_RAISES("SEGMENT_TO_NET"),
};
