/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/bytes.h"
#include "engine/segment.h"
#include "wire/wire.h"
#include "support/rig.h"
#include "support/test.h"

TEST(test_serials_expand_to_the_nearest)
{
	assert_true(nopal__serial_expand(0, 5, 4) == 5);
	assert_true(nopal__serial_expand(0x100000000, 5, 4) == 0x100000005);
	assert_true(nopal__serial_expand(0x0fffffff0, 5, 4) == 0x100000005);
	assert_true(nopal__serial_expand(0x100000005, 0xfffffff0, 4) == 0x0fffffff0);
	assert_true(nopal__serial_expand(3, 0xff, 1) == 0xff);
	assert_true(nopal__serial_expand(300, 0xff, 1) == 255);
	assert_true(nopal__serial_expand(UINT64_MAX, 7, 8) == 7);
}

TEST(test_every_distance_within_half_a_span)
{
	for (uint64_t reference = 1000; reference < 1600; reference++)
		for (int64_t away = -127; away <= 127; away++) {
			uint64_t value = reference + (uint64_t)away;

			assert_true(nopal__serial_expand(reference, value & 0xff, 1) == value);
		}
}

TEST(test_first_byte_has_version_and_kind)
{
	uint8_t kind;

	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++) {
		assert_true(nopal__first_byte_parse(nopal__first_byte(code), &kind));
		assert_int_equal(kind, code);
	}
	assert_false(nopal__first_byte_parse(0x00, &kind));
	assert_false(nopal__first_byte_parse(0x40, &kind));
}

static uint8_t packet[256];
static size_t packet_length;

static void tap(void *user, int64_t now_ns, const struct nopal_address *from,
		const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user;
	(void)now_ns;
	(void)from;
	(void)to;
	if (length <= sizeof(packet) && packet_length == 0) {
		memcpy(packet, bytes, length);
		packet_length = length;
	}
}

/* The first datagram of a connectionless session, byte by byte. */
TEST(test_golden_opening_datagram)
{
	struct rig rig;

	packet_length = 0;
	rig_open(&rig, "transport_driver {}\nresize {}\nsequenced_messages {}\n", NULL);
	nopal_sim_tap(rig.world, tap, NULL);
	rig_send(&rig, "abc");
	assert_int_equal(packet_length, 1 + 4 + 8 + 4 + 2 + 3);
	assert_int_equal(packet[0], 0x20 | NOPAL_KIND_DATA_OPENING);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(packet[5 + i],
				 (uint8_t)(nopal_plan_info(rig.plan)->fingerprint >> (56 - 8 * i)));
	assert_memory_equal(packet + 13, "\x80\x00\x00\x00\x00\x01", 6);
	assert_memory_equal(packet + 19, "abc", 3);
	rig_close(&rig);
}

enum { GOLDEN_MAX = 8, GOLDEN_BYTES = 64, ID_AT = 1, ID_LENGTH = 4 };

static struct {
	uint8_t bytes[GOLDEN_BYTES];
	size_t length;
} golden[GOLDEN_MAX];
static unsigned golden_count;

static void golden_tap(void *user, int64_t now_ns, const struct nopal_address *from,
		       const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	(void)user;
	(void)now_ns;
	(void)from;
	(void)to;
	if (golden_count == GOLDEN_MAX || length > GOLDEN_BYTES)
		return;
	memcpy(golden[golden_count].bytes, bytes, length);
	golden[golden_count++].length = length;
}

/* All but what is random: the id, and so the checksum behind everything. */
static void expect_golden(unsigned which, const char *bytes, size_t length)
{
	enum { TRAILER = 4 };
	const size_t fields = ID_AT + ID_LENGTH;

	assert_int_equal(golden[which].length, length);
	assert_int_equal(golden[which].bytes[0], (uint8_t)bytes[0]);
	assert_memory_equal(golden[which].bytes + fields, bytes + fields,
			    length - fields - TRAILER);
}

/* The datagrams that docs/wire.md explains byte by byte. */
TEST(test_golden_datagrams_of_the_page)
{
	static const char data[] = "\x20\x5f\x94\xb2\x7f\x00\x00\x00\x02\x80\x00\x00\x00\x00\x03"
				   "three\x87\x89\xd0\x99";
	static const char ack[] = "\x25\xab\xf3\x6b\x29\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00"
				  "\x01\x74\x07\x63\xdb";
	const struct rig_options options = { .link = "delay 10ms fwd: loss mask 010" };
	struct rig rig;

	golden_count = 0;
	rig_open(&rig,
		 "transport_driver {}\nresize {}\nsequenced_segments {}\n"
		 "positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"
		 "rtt_estimation {}\nretransmit {}\nchecksum {}\n",
		 &options);
	nopal_sim_tap(rig.world, golden_tap, NULL);
	rig_send(&rig, "one");
	rig_run(&rig, 100 * NOPAL_MILLISECOND);
	rig_send(&rig, "two");
	rig_send(&rig, "three");
	rig_run(&rig, NOPAL_SECOND);
	assert_true(golden_count > 5);
	/* 0 opening, 1 answer, 2 ack of it, 3 "two", 4 "three", 5 the ack */
	assert_memory_equal(golden[2].bytes + 13, "\x0c\x35", 2);
	expect_golden(4, data, sizeof(data) - 1);
	expect_golden(5, ack, sizeof(ack) - 1);
	rig_close(&rig);
}

TEST(test_header_sizes_are_as_promised)
{
	struct nopal_plan *minimal = rig_plan("transport_driver {}\nfixed_size {}\n");

	assert_true(nopal_plan_info(minimal)->header_bytes <= 8);
	nopal_plan_unref(minimal);
}

TEST(test_pack_and_unpack_are_inverse)
{
	struct rig rig;
	uint8_t bytes[2048];
	struct nopal_segment *segment, *back;
	uint32_t length;
	struct nopal_session *session;

	rig_open(&rig, "transport_driver {}\nresize {}\nsequenced_messages {}\n", NULL);
	session = rig.opener.session;
	segment = nopal__segment_make(nopal__composite(session), NOPAL_KIND_DATA);
	segment->incoming = true;
	segment->body = (struct nopal_body){ NULL, (const uint8_t *)"body", 4 };
	for (uint32_t i = 1; i < rig.plan->slot_count; i++)
		segment->attribute[i] = i;
	length = nopal_segment_pack(session, segment, bytes, sizeof(bytes));
	assert_int_equal(length, 4 + 2 + 4);
	assert_int_equal(nopal_segment_pack(session, segment, bytes, length - 1), 0);
	back = nopal_segment_unpack(session, bytes, length);
	assert_non_null(back);
	assert_int_equal(back->body.length, 4);
	assert_memory_equal(back->body.bytes, "body", 4);
	nopal_segment_drop(session, back);
	nopal_segment_drop(session, segment);
	assert_null(nopal_segment_unpack(session, bytes, 3));
	rig_close(&rig);
}
