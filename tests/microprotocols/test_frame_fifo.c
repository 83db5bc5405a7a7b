/* SPDX-License-Identifier: MIT */
/* frame_fifo -- which frames are dropped where too many wait, and what the encoder is told. */
#include "support/own_rig.h"
#include "support/test.h"

static const char CONFIG[] = "transport_driver {}\nvirtual_circuit {}\nfixed_size {}\n"
			     "sequenced_segments {}\npositive_ack { selective = on }\n"
			     "retransmission_timer {}\nduplicate_ack {}\n"
			     "rtt_estimation { timeout_min = 2s  initial_timeout = 2s }\n"
			     "windowed_cc {}\ntcp_congestion { initial = 2seg }\n"
			     "frame_fifo { frames = 3 }\n";

static int setup(void **state)
{
	(void)state;
	rig_begin(&rig, CONFIG);
	return 0;
}

EACH_TEST(setup, own_rig_close);

static void send(char name, uint64_t frame, uint64_t layer)
{
	struct nopal_property properties[] = { { nopal_property(rig.plan, "frame"), frame },
					       { nopal_property(rig.plan, "layer"), layer } };
	char bytes[1000] = { name };

	assert_int_equal(nopal_send_message(rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = bytes,
								      .length = sizeof(bytes),
								      .properties = properties,
								      .property_count = 2 }),
			 0);
}

/* The window takes two messages; names of all that arrive. */
static const char *arrivals(void)
{
	static char names[RIG_MESSAGES];

	rig_run(&rig, 2 * NOPAL_SECOND);
	for (uint32_t i = 1; i < rig.acceptor.delivered; i++)
		names[i - 1] = rig.acceptor.text[i][0];
	names[rig.acceptor.delivered - 1] = '\0';
	return names;
}

static void fill_window(void)
{
	nopal_batch_start(rig.world);
	send('-', 1, 0);
	send('-', 1, 0);
	nopal_batch_stop(rig.world);
}

TEST(test_frame_beyond_the_threshold_drops_the_oldest_frame_that_waits)
{
	fill_window();
	for (int i = 0; i < 6; i++)
		send((char)('a' + i), (uint64_t)(2 + i), 0);
	assert_string_equal(arrivals(), "--def");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_LOST], 3);
}

TEST(test_frame_of_several_messages_is_dropped_as_a_whole)
{
	fill_window();
	for (int i = 0; i < 8; i++)
		send((char)('a' + i), (uint64_t)(2 + i / 2), 0);
	assert_string_equal(arrivals(), "--cdefgh");
}

TEST(test_message_without_a_frame_is_a_frame_of_its_own)
{
	fill_window();
	for (int i = 0; i < 5; i++)
		send((char)('a' + i), 0, 0);
	assert_string_equal(arrivals(), "--cde");
}

/* An enhancement goes before any base; of two frames' enhancements the older one. */
TEST(test_highest_layer_is_dropped_first)
{
	fill_window();
	send('a', 2, 0);
	send('b', 3, 0);
	send('B', 3, 1);
	send('c', 4, 0);
	send('C', 4, 1);
	send('d', 5, 0);
	assert_string_equal(arrivals(), "--bcd");
}

TEST(test_frame_that_began_to_leave_stays)
{
	nopal_batch_start(rig.world);
	for (int i = 0; i < 6; i++)
		send((char)('a' + i), 2, 0);
	nopal_batch_stop(rig.world);
	for (int i = 0; i < 3; i++)
		send((char)('p' + i), (uint64_t)(3 + i), 0);
	assert_string_equal(arrivals(), "abcdefqr");
}
