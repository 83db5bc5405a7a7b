/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "support/blocks.h"
#include "support/test.h"

struct capture net;
static uint32_t round_number;

const char *fec_config(int n, int k, const char *more)
{
	static char text[1024];

	snprintf(text, sizeof(text),
		 "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"
		 "forward_error_correction { n = %d  k = %d  code = %s }\n%s",
		 n, k, n - k == 1 ? "xor" : "cauchy", more);
	return text;
}

size_t length_of(uint32_t i)
{
	return 40 + (round_number * 37 + i * 113) % 900;
}

static const char *text_of(uint32_t i)
{
	static char text[RIG_TEXT];

	snprintf(text, sizeof(text), "%u of round %u", i, round_number);
	return text;
}

void send_block(uint32_t count)
{
	uint8_t bytes[1500];

	round_number++;
	net.count = 0;
	net.rig.acceptor.delivered = 0;
	for (uint32_t i = 0; i < count; i++) {
		for (size_t at = 0; at < length_of(i); at++)
			bytes[at] = (uint8_t)(at * at + i * 31 + round_number);
		memset(bytes, 0, RIG_TEXT);
		strcpy((char *)bytes, text_of(i));
		assert_int_equal(nopal_send(net.rig.opener.session, bytes, length_of(i), 0), 0);
	}
}

bool is_delivered(uint32_t i)
{
	bool found = false;

	for (uint32_t at = 0; at < net.rig.acceptor.delivered; at++)
		if (strcmp(net.rig.acceptor.text[at], text_of(i)) == 0) {
			assert_false(found);
			assert_int_equal(net.rig.acceptor.length[at], length_of(i));
			found = true;
		}
	return found;
}

void pass_from(uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		capture_pass(&net, i);
}

void give_changed(uint32_t place, size_t at, uint8_t value, size_t length)
{
	uint8_t bytes[CAPTURE_BYTES];

	memcpy(bytes, net.datagram[place].bytes, net.datagram[place].length);
	if (at < net.datagram[place].length)
		bytes[at] = value;
	capture_give(&net, bytes, length);
}

void check_late_originals_and_duplicates_are_stopped(void)
{
	send_block(4);
	pass_from(1, 5);
	assert_int_equal(net.rig.acceptor.delivered, 4);
	for (uint32_t again = 0; again < 2; again++)
		pass_from(0, 5);
	assert_int_equal(net.rig.acceptor.delivered, 4);
	assert_int_equal(nopal_session_counters(net.rig.acceptor.session)->segments_rebuilt, 1);
}

void check_flush(uint32_t count, uint32_t lost)
{
	int64_t sent_ns;

	send_block(count);
	sent_ns = nopal_world_now(net.rig.world);
	assert_int_equal(net.count, count);
	rig_run(&net.rig, 30 * NOPAL_MILLISECOND);
	assert_int_equal(net.count, count + 1);
	assert_in_range(net.datagram[count].time_ns - sent_ns, 20 * NOPAL_MILLISECOND,
			21 * NOPAL_MILLISECOND);
	pass_from(0, lost);
	pass_from(lost + 1, count + 1);
	assert_int_equal(net.rig.acceptor.delivered, count);
	assert_true(is_delivered(lost));
}

void check_closing_sends_what_repairs(void)
{
	send_block(2);
	assert_int_equal(net.count, 2);
	nopal_session_close(net.rig.opener.session);
	assert_true(net.count >= 3);
	capture_pass(&net, 0);
	capture_pass(&net, 2);
	assert_int_equal(net.rig.acceptor.delivered, 2);
}

void check_longest_segments(void)
{
	net.count = net.rig.acceptor.delivered = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			rig_send_bytes(&net.rig, nopal_plan_info(net.rig.plan)->body_bytes), 0);
	assert_int_equal(net.count, 3);
	pass_from(1, 3);
	assert_int_equal(net.rig.acceptor.delivered, 2);
	assert_int_equal(net.rig.acceptor.ended, 0);
}
