/* SPDX-License-Identifier: MIT */
/*
 * Packets byte by byte against the paper's header (section 3.4), with a checksum that is summed
 * anew here; what is not of it, and what a damaged one does.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "support/many.h"
#include "support/paper_packets.h"
#include "support/test.h"

#define PACKETS_OF(format)                                                                         \
	"transport_driver {}\nresize { mtu = 576B }\nsequenced_segments {}\n"                      \
	"go_back_n { timeout = 1s }\nreliable_fifo {}\n" format
#define STREAMS PACKETS_OF("one_to_many { opener_stream = 7  listener_stream = 9 }\n")
#define COVERED PACKETS_OF("one_to_many { cover = packet }\n")

enum { BODY = 576 - 28 - HEADER };

static void begin(const char *config, const char *link)
{
	prepare(config, link);
	rig_start(&rig);
}

static void header_is(const struct packet *one, uint8_t flags, uint32_t number, uint32_t floor,
		      uint32_t length)
{
	assert_int_equal(one->bytes[3], flags);
	assert_int_equal(word(one->bytes + 4), number);
	assert_int_equal(word(one->bytes + 8), floor);
	assert_int_equal(word(one->bytes + 12), length);
	assert_int_equal(one->length, HEADER + length);
	assert_int_equal(complement(one->bytes, 5), 0);
}

/* ------------------------------------------------------------- what we send */

TEST(test_data_and_acks_are_as_the_paper_has_them)
{
	static const uint8_t first[] = { 1,    7,    9,	   START | END | SYN | ACK,
					 0,    0,    0,	   1,
					 0,    0,    0,	   1,
					 0,    0,    0,	   5,
					 0xfe, 0xf8, 0xf6, 0xe1,
					 'h',  'e',  'l',  'l',
					 'o' };
	static const uint8_t ack[] = { 1, 9, 7, ACK, 0, 0, 0,	 1,    0,    0,
				       0, 2, 0, 0,   0, 0, 0xfe, 0xf6, 0xf8, 0xec };

	begin(STREAMS, "delay 10ms");
	assert_int_equal(nopal_plan_info(rig.plan)->header_bytes, HEADER);
	assert_int_equal(nopal_plan_info(rig.plan)->body_bytes, BODY);
	rig_send(&rig, "hello");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(packets, 2);
	assert_int_equal(packet[0].length, sizeof(first));
	assert_memory_equal(packet[0].bytes, first, sizeof(first));
	assert_int_equal(packet[1].length, sizeof(ack));
	assert_memory_equal(packet[1].bytes, ack, sizeof(ack));
	assert_string_equal(rig.acceptor.text[0], "hello");
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	/* And back: the other way round, with what it waits for. */
	nopal_send(rig.acceptor.session, "you", 3, 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(packet[2].bytes[1], 9);
	assert_int_equal(packet[2].bytes[2], 7);
	header_is(&packet[2], START | END | SYN | ACK, 1, 2, 3);
	header_is(&packet[3], ACK, 2, 2, 0);
	paper_end();
}

/* Chunks of a message: its start and its paper_end are marked, and nothing else. */
TEST(test_a_message_is_cut_and_stitched)
{
	begin(STREAMS, "delay 10ms");
	rig_send_bytes(&rig, 2 * BODY + 100);
	rig_send_bytes(&rig, BODY);
	rig_send_bytes(&rig, 0);
	rig_run(&rig, NOPAL_SECOND);
	header_is(&packet[0], START | SYN | ACK, 1, 1, BODY);
	header_is(&packet[1], ACK, 2, 1, BODY);
	header_is(&packet[2], END | ACK, 3, 1, 100);
	header_is(&packet[3], START | END | ACK, 4, 1, BODY);
	header_is(&packet[4], START | END | ACK, 5, 1, 0);
	assert_int_equal(rig.acceptor.delivered, 3);
	assert_int_equal(rig.acceptor.length[0], 2 * BODY + 100);
	assert_int_equal(rig.acceptor.length[1], BODY);
	assert_int_equal(rig.acceptor.length[2], 0);
	paper_end();
}

/* The first two are lost: nobody opens but the first one, and it leaves again as it was. */
TEST(test_the_first_packet_opens)
{
	begin(STREAMS, "delay 10ms fwd: loss mask 110");
	for (int i = 0; i < 3; i++)
		rig_send_bytes(&rig, 10);
	rig_run(&rig, 500 * NOPAL_MILLISECOND);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->refused, 1);
	assert_int_equal(packets, 3);
	rig_run(&rig, 5 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 3);
	for (int i = 0; i < 3; i++)
		assert_memory_equal(packet[3 + i].bytes, packet[i].bytes, HEADER + 10);
	paper_end();
}

/* ------------------------------------------------------------- what we take */

static void give(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &opener, exact, length);
	rig_run(&rig, NOPAL_MICROSECOND);
	free(exact);
}

/* The second packet of the opener, which the network took. */
static struct packet *second_of(const char *config)
{
	begin(config, "delay 1ms fwd: loss mask 01");
	rig_send(&rig, "one");
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.delivered, 1);
	packets = 0;
	rig_send(&rig, "second");
	assert_int_equal(packets, 1);
	return &packet[0];
}

static uint64_t malformed(void)
{
	return nopal_session_counters(rig.acceptor.session)->rx_malformed;
}

TEST(test_what_is_cut_or_longer_is_dropped)
{
	struct packet *second = second_of(STREAMS);

	for (size_t length = 0; length < second->length; length++)
		give(second->bytes, length);
	give(second->bytes, second->length + 1);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(malformed(), second->length + 1);
	give(second->bytes, second->length);
	assert_string_equal(rig.acceptor.text[1], "second");
	paper_end();
}

/* Bits of `from` to `to` flipped one by one; so many of the packets are dropped. */
static void flip(struct packet *one, size_t from, size_t to, uint64_t dropped)
{
	uint64_t before = malformed();

	for (size_t bit = 8 * from; bit < 8 * to; bit++) {
		one->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		give(one->bytes, one->length);
		one->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(malformed() - before, dropped);
}

TEST(test_a_damaged_header_is_seen)
{
	struct packet *second = second_of(STREAMS);

	flip(second, 0, HEADER, 8 * HEADER);
	assert_int_equal(rig.acceptor.delivered, 1);
	/* As the paper has it, what follows is not covered. */
	second->bytes[HEADER] ^= 0x20;
	give(second->bytes, second->length);
	assert_string_equal(rig.acceptor.text[1], "Second");
	paper_end();
}

TEST(test_where_the_packet_is_covered_so_is_damage_behind_it)
{
	struct packet *second = second_of(COVERED);

	flip(second, 0, second->length, 8 * second->length);
	assert_int_equal(rig.acceptor.delivered, 1);
	give(second->bytes, second->length);
	assert_string_equal(rig.acceptor.text[1], "second");
	paper_end();
}

/* Carries come round, and zeros stand behind an odd paper_end. */
TEST(test_what_is_covered_is_summed_with_its_carries)
{
	static const char text[] = "\xfe\xdc\xba\x98\x76\x54\x32\x10\xff";
	uint8_t padded[HEADER + 12] = { 0 };

	begin(COVERED, "delay 1ms");
	rig_send(&rig, text);
	assert_int_equal(packet[0].length, HEADER + 9);
	memcpy(padded, packet[0].bytes, packet[0].length);
	assert_int_equal(complement(padded, sizeof(padded) / 4), 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[0], text);
	paper_end();
}

/* With the checksum that it then has. */
static void give_changed(struct packet *one, size_t at, uint8_t value)
{
	uint8_t bytes[600];

	memcpy(bytes, one->bytes, one->length);
	bytes[at] = value;
	put_word(bytes + 16, 0);
	put_word(bytes + 16, complement(bytes, 5));
	give(bytes, one->length);
}

TEST(test_what_is_none_of_ours_is_dropped)
{
	struct packet *second = second_of(STREAMS);

	give_changed(second, 0, 2);	    /* another version */
	give_changed(second, 1, 8);	    /* from another stream */
	give_changed(second, 2, 7);	    /* to another stream */
	give_changed(second, 3, ACK | FIN); /* an paper_end that nobody tells */
	give_changed(second, 3, 0x80);
	give_changed(second, 15, 5); /* less than there is */
	assert_int_equal(malformed(), 6);
	assert_int_equal(rig.acceptor.delivered, 1);
	/* Without ACK its number counts nothing. */
	nopal_send(rig.acceptor.session, "unheard", 7, 0);
	give_changed(second, 3, START | END);
	assert_int_equal(rig.acceptor.delivered, 2);
	assert_int_equal(nopal_session_counters(rig.acceptor.session)->messages_arrived, 0);
	paper_end();
}

TEST(test_a_stranger_needs_the_first_packet)
{
	struct nopal_address stranger;
	struct packet first;

	begin(STREAMS, "delay 1ms");
	rig_send(&rig, "one");
	rig_run(&rig, 10 * NOPAL_MILLISECOND);
	first = packet[0];
	nopal_sim_address(7, 4711, &stranger);
	opener = stranger;
	give_changed(&first, 3, START | END | ACK);
	give_changed(&first, 1, 1);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->accepted, 1);
	give(first.bytes, first.length);
	assert_int_equal(nopal_endpoint_counters(rig.acceptor.endpoint)->accepted, 2);
	paper_end();
}

/* ------------------------------------------------------------------ the config */

#define MANY                                                                                       \
	"layer \"group\" {\ntransport_driver {}\nwhole_messages {}\n"                              \
	"fan_out { acks = 0 }\n}\nlayer \"destination\" {\n"                                       \
	"multiplicity = per_destination\n" PACKETS_OF("one_to_many {}\n") "}\n"

/* Each destination of many gets the header and nothing more. */
TEST(test_it_carries_a_layer_above)
{
	static struct many many;
	struct nopal_plan *plan = rig_plan(MANY);

	assert_int_equal(nopal_plan_info(plan)->header_bytes, HEADER);
	assert_int_equal(nopal_plan_info(plan)->body_bytes, BODY);
	nopal_plan_unref(plan);
	many_open(&many, MANY, 3, "delay 10ms loss 5%", 1);
	many.echo = true;
	many_run(&many, NOPAL_SECOND);
	for (int i = 0; i < 50; i++)
		assert_int_equal(many_send_bytes(&many, 2000, 0), 0);
	many_run(&many, 30 * NOPAL_SECOND);
	assert_int_equal(many.outcomes[NOPAL_OUTCOME_DELIVERED], 50);
	assert_int_equal(many.answers, 150);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(many.end[i].delivered, 50);
	many_close(&many);
}

TEST(test_what_would_not_travel_is_refused)
{
	static const struct {
		const char *more, *said;
	} others[] = { { "keep_alive {}\n", "no header for it" },
		       { "virtual_circuit {}\n", "no header for it" },
		       { "sequenced_messages {}\n", "message_number" },
		       { "checksum {}\n", "trailer" } };
	static const char base[] = PACKETS_OF("one_to_many {}\n");
	char text[4096], config[1024];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		strcpy(config, base);
		strcat(config, others[i].more);
		assert_true(rig_refused(config, text, sizeof(text)));
		assert_non_null(strstr(text, others[i].said));
	}
	assert_true(rig_refused("transport_driver {}\nfixed_size {}\n"
				"sequenced_segments {}\npositive_ack {} retransmission_timer {}\n"
				"retransmit {}\none_to_many {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "in_sequence"));
}
