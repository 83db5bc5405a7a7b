/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "segments.h"

static const char ALONE[] = "transport_driver {}\nfixed_size {}\na_tap {}\n";

static void test_a_segment_needs_nobody_else(void **state)
{
	struct rig rig;

	(void)state;
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
static void test_its_bit_is_released_once_for_all(void **state)
{
	struct rig rig;
	struct nopal_segment *segment = NULL;
	const struct nopal_part *part;

	(void)state;
	rig_open(&rig,
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "positive_ack {}\nretransmit {}\na_tap {}\n",
		 &(struct rig_options){ .link = "delay 10ms loss 100%" });
	rig_send(&rig, "x");
	for (uint32_t i = 1; !segment && i < 8; i++)
		segment = rig_segment(rig.opener.session, i);
	part = rig_part(rig.opener.session, "transport_driver");
	assert_non_null(segment);
	assert_false(nopal_holds(part, segment, NOPAL_SEND));
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_true(segment->departures > 1);
	assert_false(nopal_holds(part, segment, NOPAL_SEND));
	rig_close(&rig);
}

static void test_a_layer_has_one_driver(void **state)
{
	char text[2048];

	(void)state;
	assert_true(rig_refused("fixed_size {}\n", text, sizeof(text)));
	assert_non_null(strstr(text, "transport_driver"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_segment_needs_nobody_else),
		cmocka_unit_test(test_its_bit_is_released_once_for_all),
		cmocka_unit_test(test_a_layer_has_one_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
