/* SPDX-License-Identifier: MIT */
#include "support/capture.h"
#include "support/test.h"

/* 1 + 4 bytes of every datagram, then check_hash, then the body. */
enum { HEAD = 5, HASH = 4 };

static const char WATCHED[] = "transport_driver {}\nfixed_size {}\n"
			      "check_integrity {}\n";

static struct capture net;

TEST(test_what_is_whole_passes)
{
	capture_open(&net, WATCHED);
	rig_send(&net.rig, "");
	rig_send(&net.rig, "x");
	rig_send_bytes(&net.rig, nopal_plan_info(net.rig.plan)->body_bytes);
	for (uint32_t i = 0; i < 3; i++)
		capture_pass(&net, i);
	assert_int_equal(net.rig.acceptor.delivered, 3);
	assert_int_equal(net.rig.acceptor.ended, 0);
	capture_close(&net);
}

static void check_flip(size_t bit)
{
	capture_open(&net, WATCHED);
	rig_send(&net.rig, "some text");
	net.datagram[0].bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	capture_pass(&net, 0);
	assert_int_equal(net.rig.acceptor.ended, 1);
	assert_int_equal(net.rig.acceptor.end, NOPAL_RUNTIME_LIMIT);
	assert_non_null(strstr(net.rig.acceptor.end_text, "check_integrity"));
	assert_int_equal(net.rig.acceptor.delivered, 0);
	capture_close(&net);
}

/* Each bit of hash and body, where no checksum stands before it. */
TEST(test_every_flip_is_seen)
{
	for (size_t bit = HEAD * 8; bit < (HEAD + HASH + strlen("some text")) * 8; bit++)
		check_flip(bit);
}

TEST(test_a_body_cut_short_is_seen)
{
	capture_open(&net, WATCHED);
	rig_send(&net.rig, "some text");
	capture_give(&net, net.datagram[0].bytes, net.datagram[0].length - 1);
	assert_int_equal(net.rig.acceptor.ended, 1);
	capture_close(&net);
}

/* Behind a checksum nothing damaged comes this far. */
TEST(test_silent_behind_a_checksum)
{
	const struct rig_options options = { .link = "delay 5ms corrupt 20%" };
	struct rig *rig = &net.rig;

	rig_open(rig, "transport_driver {}\nfixed_size {}\nchecksum {}\ncheck_integrity {}\n",
		 &options);
	for (int i = 0; i < 200; i++)
		rig_send_bytes(rig, (size_t)i);
	rig_run(rig, NOPAL_SECOND);
	assert_int_equal(rig->acceptor.ended, 0);
	assert_in_range(rig->acceptor.delivered, 100, 199);
	rig_close(rig);
}
