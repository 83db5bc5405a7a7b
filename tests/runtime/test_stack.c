/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rig.h"

/* A reliable, numbered upper layer on a lower layer with a checksum. */
static const char STACK[] =
	"layer \"upper\" {\n"
	"  transport_driver {}\n  resize {}\n"
	"  sequenced_messages {}\n  lossy_fifo {}\n}\n"
	"layer \"lower\" {\n"
	"  transport_driver {}\n  fixed_size {}\n  checksum {}\n"
	"  a_tap {}\n}\n";

static void test_a_message_goes_down_and_up_the_stack(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, STACK, NULL);
	assert_int_equal(rig_send(&rig, "hello"), 0);
	assert_int_equal(rig_send_bytes(&rig, 5000), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_string_equal(rig.acceptor.text[0], "hello");
	assert_int_equal(rig.acceptor.length[1], 5000);
	rig_close(&rig);
}

static void test_fates_travel_up(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, STACK, NULL);
	rig_send(&rig, "x");
	assert_int_equal(rig.opener.fates[NOPAL_UNKNOWN], 1);
	assert_int_equal(rig_awake(rig.opener.session)->segments.alive, 0);
	assert_int_equal(
		nopal__core(rig.opener.session)->below->awake->messages.alive,
		0);
	rig_close(&rig);
}

static void test_a_layer_costs_no_header_of_its_own(void **state)
{
	struct nopal_plan *stack = rig_plan(STACK);

	(void)state;
	/* kind, session id, message number, fragment, above's kind, checksum */
	assert_int_equal(nopal_plan_header_bytes(stack), 1 + 4 + 4 + 2 + 1 + 4);
	nopal_plan_unref(stack);
}

static void test_the_stack_closes_from_the_top(void **state)
{
	struct rig rig;

	(void)state;
	rig_open(&rig, STACK, NULL);
	rig_send(&rig, "x");
	nopal_session_close(rig.opener.session);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_goes_down_and_up_the_stack),
		cmocka_unit_test(test_fates_travel_up),
		cmocka_unit_test(test_a_layer_costs_no_header_of_its_own),
		cmocka_unit_test(test_the_stack_closes_from_the_top),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
