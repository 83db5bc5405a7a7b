/* SPDX-License-Identifier: MIT */
/*
 * fixed_window -- fixed congestion window from the config, whatever the network does.
 *
 * For paths that are one's own and lose without being full, and to compare with policies whose
 * window moves: in their place it is the switch between the two.  What is lost has left the
 * window, so that a hole in the sequence does not stop its sender.
 *
 * Paper:     Bayraktar and Bakkal, MADP, section III.C, whose measurements fix it; Bridges
 *            et al., CTP, ToN 2007, section III.D (b): the shared variable of Windowed
 *            Congestion Control.
 * Differs:   bytes of bodies, where MADP counts packets; `seg` counts full segments.
 */
#include <nopal/microprotocol.h>

enum { FIXED_WINDOW_BYTES }; /* shared variables */

struct fixed_window_parameters {
	int64_t window;
};

static int fixed_window_open(struct nopal_at at)
{
	const struct fixed_window_parameters *set = nopal_parameters(at);

	nopal_shared_set(at, FIXED_WINDOW_BYTES, set->window);
	return 0;
}

const struct nopal_microprotocol nopal_fixed_window = {
	NOPAL_DESCRIBE(fixed_window, congestion,
		       "fixed congestion window from the config, whatever the network does"),
	.provides = NOPAL_ROLES({ "congestion_policy", true }, { "window_policy", false }),
	.needs = NOPAL_RELATIONS({ "window_mechanism", "a mechanism has to keep to the window" }),
	.promises = NOPAL_PROMISES({ NOPAL_PACE, NOPAL_SENDING, NOPAL_GIVES, NOPAL_FIXED_RATE,
				     "the configured window in a round trip, and no more" }),
	.parameters_size = sizeof(struct fixed_window_parameters),
	.parameters = NOPAL_PARAMETERS({
		.name = "window",
		.unit = NOPAL_SIZE,
		.offset = offsetof(struct fixed_window_parameters, window),
		.initial = "45seg",
		.min = "1seg",
		.max = "65536seg",
		.doc = "bodies in flight; 45seg: the most of a TCP without window scaling",
	}),
	.shared = NOPAL_SHARED([FIXED_WINDOW_BYTES] = { "congestion_window_bytes", NOPAL_WRITE, 0,
							"room on the network" }),
	.open = fixed_window_open,
};
