/* SPDX-License-Identifier: MIT */
/*
 * out_of_band -- urgent data out of band: delivered on arrival, past any order.
 *
 * An order or a jitter buffer that holds the message back keeps its place, so all others are
 * delivered as if nothing had happened.  For a message that is to leave first, too, the application
 * says `urgent` as well.
 *
 * Paper:     Bridges et al., CTP, ToN 2007, section III.E.
 * Differs:   overrides the holds of all orders and jitter buffers, not of one.
 */
#include <nopal/microprotocol.h>

enum { OUT_OF_BAND_MARK }; /* attributes */

static enum nopal_verdict out_of_band_on_from_net(struct nopal_at at, struct nopal_message *message)
{
	if (nopal_get(at, message, OUT_OF_BAND_MARK))
		nopal_message_deliver(at.session, message);
	return NOPAL_CONTINUE;
}

const struct nopal_microprotocol nopal_out_of_band = {
	NOPAL_DESCRIBE(out_of_band, ordering,
		       "urgent data out of band: delivered on arrival, past any order"),
	.provides = NOPAL_ROLES({ "out_of_band", true }),
	.excludes = NOPAL_RELATIONS(
		{ "coalesce", "a segment has the properties of its first message only" }),
	.promises = NOPAL_PROMISES({ NOPAL_ORDER, NOPAL_FAN_OUT, NOPAL_LOWERS, 0,
				     "it is delivered as it arrives", .of = "out_of_band" }),
	.attributes =
		NOPAL_ATTRIBUTES([OUT_OF_BAND_MARK] = { "out_of_band", NOPAL_PROPERTY,
							"not 0: delivered as it arrives",
							.wire_bytes = 1, .kinds = NOPAL_DATA }),
	.bindings = NOPAL_BINDINGS(
		/* Flow control counts a message before it is consumed. */
		NOPAL_ON(MSG_FROM_NET, out_of_band_on_from_net,
			 .before = "order|partial_order|jitter", .after = "flow_control")),
};
