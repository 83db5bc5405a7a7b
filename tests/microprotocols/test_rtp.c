/* SPDX-License-Identifier: MIT */
/* Packets byte by byte against RFC 3550, section 5.1; and who is listened to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/own_rig.h"
#include "support/test.h"

#define PLAIN                                                                                      \
	"transport_driver {}\nfixed_size {}\n"                                                     \
	"rtp { payload_type = 0  clock = 8000 }\n"
#define ORDERED PLAIN "lossy_fifo {}\n"

enum { PACKETS = 200, HEADER = 12 };

static struct packet {
	uint8_t bytes[64];
	size_t length;
} packet[PACKETS];
static unsigned packets;

static void tap(void *user, int64_t now_ns, const struct nopal_address *from,
		const struct nopal_address *to, const uint8_t *bytes, size_t length)
{
	struct packet *next = &packet[packets++ % PACKETS];

	(void)user, (void)now_ns, (void)from, (void)to;
	assert_true(length <= sizeof(next->bytes));
	memcpy(next->bytes, bytes, length);
	next->length = length;
}

static int setup(void **state)
{
	(void)state;
	packets = 0;
	rig_open(&rig, ORDERED, &(struct rig_options){ .stay_closed = true });
	nopal_sim_tap(rig.world, tap, NULL);
	return 0;
}

EACH_TEST(setup, own_rig_close);

/* ------------------------------------------------------------- what we send */

static uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint16_t sequence_of(const struct packet *one)
{
	return (uint16_t)(one->bytes[2] << 8 | one->bytes[3]);
}

TEST(test_a_packet_is_as_the_rfc_has_it)
{
	const struct nopal_property properties[] = {
		{ nopal_property(rig.plan, "timestamp"), 160 },
		{ nopal_property(rig.plan, "payload_type"), 8 },
		{ nopal_property(rig.plan, "marker"), 1 },
	};
	const struct nopal_property later = { properties[0].which, 320 };

	rig_start(&rig);
	assert_int_equal(nopal_send_message(rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = "one",
								      .length = 3,
								      .properties = properties,
								      .property_count = 3 }),
			 0);
	assert_int_equal(nopal_send_message(rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = "two",
								      .length = 3,
								      .properties = &later,
								      .property_count = 1 }),
			 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(packet[0].length, HEADER + 3);
	assert_int_equal(packet[0].bytes[0], 0x80);
	assert_int_equal(packet[0].bytes[1], 0x80 | 8);
	assert_int_equal(packet[1].bytes[1], 0);
	assert_int_equal((uint16_t)(sequence_of(&packet[1]) - sequence_of(&packet[0])), 1);
	assert_int_equal(word(packet[1].bytes + 4) - word(packet[0].bytes + 4), 160);
	assert_int_equal(word(packet[0].bytes + 8), word(packet[1].bytes + 8));
	assert_memory_equal(packet[0].bytes + HEADER, "one", 3);
	assert_string_equal(rig.acceptor.text[1], "two");
}

TEST(test_without_a_timestamp_it_is_the_time_of_sending)
{
	rig_start(&rig);
	rig_send(&rig, "one");
	rig_run(&rig, 20 * NOPAL_MILLISECOND);
	rig_send(&rig, "two");
	assert_int_equal(word(packet[1].bytes + 4) - word(packet[0].bytes + 4), 160);
}

TEST(test_numbers_go_round_and_order_holds)
{
	rig_close(&rig);
	rig_open(&rig, ORDERED, &(struct rig_options){ .link = "delay 10ms 8ms" });
	for (int i = 0; i < RIG_MESSAGES; i++) {
		char text[RIG_TEXT];

		snprintf(text, sizeof(text), "%d", i);
		assert_int_equal(rig_send(&rig, text), 0);
		if (i % 64 == 0) /* nothing is older than the first */
			rig_run(&rig, 50 * NOPAL_MILLISECOND);
	}
	for (int i = 0; i < 62000; i++) {
		nopal_send(rig.opener.session, "", 0, 0);
		if (i % 64 == 63)
			nopal_sim_run(rig.world,
				      nopal_world_now(rig.world) + 50 * NOPAL_MILLISECOND);
	}
	rig_run(&rig, NOPAL_SECOND);
	for (uint32_t i = 1; i < RIG_MESSAGES; i++)
		assert_true(atoi(rig.acceptor.text[i - 1]) < atoi(rig.acceptor.text[i]));
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->messages_delivered,
			 RIG_MESSAGES + 62000);
}

/* ---------------------------------------------------------- what strangers send */

struct spec {
	uint8_t flags, type;
	uint16_t sequence;
	uint32_t source;
	const char *rest; /* behind the 12 bytes */
	size_t rest_length;
};

static void inject(struct spec spec)
{
	uint8_t bytes[64] = { spec.flags,
			      spec.type,
			      (uint8_t)(spec.sequence >> 8),
			      (uint8_t)spec.sequence,
			      0,
			      0,
			      1,
			      0,
			      (uint8_t)(spec.source >> 24),
			      (uint8_t)(spec.source >> 16),
			      (uint8_t)(spec.source >> 8),
			      (uint8_t)spec.source };
	struct nopal_address stranger;

	nopal_sim_address(7, 5004, &stranger);
	memcpy(bytes + HEADER, spec.rest, spec.rest_length);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &stranger, bytes,
			 HEADER + spec.rest_length);
	rig_run(&rig, NOPAL_MILLISECOND);
}

#define REST(text) text, sizeof(text) - 1

TEST(test_sources_extensions_and_padding_are_no_payload)
{
	inject((struct spec){ 0x80, 0, 65535, 9, REST("plain") });
	inject((struct spec){ 0x82, 0, 0, 9, REST("aaaabbbbsources") });
	inject((struct spec){ 0x90, 0, 1, 9, REST("\xbe\xde\0\1xxxxextended") });
	inject((struct spec){ 0xa0, 0, 2, 9, REST("padded\0\0\3") });
	assert_int_equal(rig.acceptor.delivered, 4);
	assert_string_equal(rig.acceptor.text[1], "sources");
	assert_string_equal(rig.acceptor.text[2], "extended");
	assert_string_equal(rig.acceptor.text[3], "padded");
}

TEST(test_what_is_no_rtp_opens_nothing)
{
	inject((struct spec){ 0x40, 0, 1, 9, REST("version 1") });
	inject((struct spec){ 0x80, 200, 1, 9, REST("RTCP") });
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->accepted, 0);
}

TEST(test_what_is_cut_is_dropped_and_counted)
{
	inject((struct spec){ 0x80, 0, 1, 9, REST("good") });
	inject((struct spec){ 0x8f, 0, 2, 9, REST("no such sources") });
	inject((struct spec){ 0x90, 0, 2, 9, REST("\0\0\1\0short") });
	inject((struct spec){ 0xa0, 0, 2, 9, REST("\x20") });
	inject((struct spec){ 0xa0, 0, 2, 9, REST("padding of none\0") });
	inject((struct spec){ 0xa0, 0, 2, 9, REST("") });
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->rx_malformed, 5);
	inject((struct spec){ 0x80, 0, 2, 9, REST("goes on") });
	assert_int_equal(rig.acceptor.delivered, 2);
}

/* One packet of another source may be an accident or worse; two in order are a program that began
 * anew. */
TEST(test_another_source_is_heard_at_its_second_packet)
{
	inject((struct spec){ 0x80, 0, 100, 9, REST("first") });
	inject((struct spec){ 0x80, 0, 7, 8, REST("stranger") });
	assert_int_equal(rig.acceptor.delivered, 1);
	inject((struct spec){ 0x80, 0, 101, 9, REST("second") });
	inject((struct spec){ 0x80, 0, 50, 6, REST("anew") });
	inject((struct spec){ 0x80, 0, 51, 6, REST("third") });
	assert_int_equal(rig.acceptor.delivered, 3);
	inject((struct spec){ 0x80, 0, 52, 6, REST("fourth") });
	assert_string_equal(rig.acceptor.text[2], "third");
	assert_string_equal(rig.acceptor.text[3], "fourth");
}

TEST(test_older_than_the_first_is_late)
{
	inject((struct spec){ 0x80, 0, 100, 9, REST("first") });
	inject((struct spec){ 0x80, 0, 99, 9, REST("before it") });
	assert_int_equal(rig.acceptor.delivered, 1);
}
