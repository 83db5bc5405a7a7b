/* SPDX-License-Identifier: MIT */
#include "support/segments.h"
#include "support/test.h"

static const char ALONE[] = "transport_driver {}\nfixed_size {}\na_tap {}\n";

TEST(test_a_segment_needs_nobody_else)
{
	struct rig rig;

	rig_open(&rig, ALONE, NULL);
	assert_int_equal(rig_send(&rig, "hello"), 0);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_TO_NET), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEND_SEGMENT), 1);
	assert_int_equal(rig_count(&rig.opener, NOPAL_SEGMENT_DONE), 1);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[0], "hello");
	rig_close(&rig);
}

/* Its bit is sticky: a resend is up to those who asked for it. */
TEST(test_its_bit_is_released_once_for_all)
{
	struct rig rig;
	struct nopal_segment *segment = NULL;
	struct nopal_at at;

	rig_open(&rig,
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "positive_ack {} retransmission_timer {}\nretransmit {}\na_tap {}\n",
		 &(struct rig_options){ .link = "delay 10ms loss 100%" });
	rig_send(&rig, "x");
	for (uint32_t i = 1; !segment && i < 8; i++)
		segment = rig_segment(rig.opener.session, i);
	at = rig_at(rig.opener.session, "transport_driver");
	assert_non_null(segment);
	assert_false(nopal_holds(at, segment, NOPAL_SEND));
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_true(segment->transmissions > 1);
	assert_false(nopal_holds(at, segment, NOPAL_SEND));
	rig_close(&rig);
}

TEST(test_a_layer_has_one_driver)
{
	char text[2048];

	assert_true(rig_refused("fixed_size {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "transport_driver"));
}
