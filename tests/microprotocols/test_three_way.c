/* SPDX-License-Identifier: MIT */
/*
 * Packets against the paper's figures 1 and 2; opening and close through every loss of the first
 * datagrams; what is half open, and how much of it; who is silent.
 */
#include <string.h>

#include "support/early_losses.h"
#include "support/paper_packets.h"
#include "support/test.h"

#define PACKETS_OF(mtu, more)                                                                      \
	"transport_driver {}\nresize { mtu = " mtu " }\n"                                          \
	"sequenced_segments {}\ngo_back_n {}\nreliable_fifo {}\n"                                  \
	"one_to_many {}\n" more
#define PAPER PACKETS_OF("1500B", "three_way {}\n")

enum { MSS = 1500 - 28 - HEADER };

/* As if it came from the other paper_end. */
static void give(bool to_acceptor, const struct nopal_address *from, uint8_t flags, uint32_t number,
		 uint32_t floor, uint32_t mss)
{
	uint8_t bytes[HEADER + 4] = { 1, 0, 0, flags };
	size_t length = mss ? HEADER + 4 : HEADER;

	put_word(bytes + 4, number);
	put_word(bytes + 8, floor);
	put_word(bytes + 12, mss ? 4 : 0);
	put_word(bytes + 16, complement(bytes, HEADER / 4));
	put_word(bytes + HEADER, mss);
	nopal_sim_inject(rig.world, to_acceptor ? rig.acceptor.endpoint : rig.opener.endpoint, from,
			 bytes, length);
	rig_run(&rig, NOPAL_MICROSECOND);
}

static uint32_t local_of(const struct rig_side *side)
{
	return (uint32_t)rig_shared(side->session, "initial_local");
}

static const struct nopal_endpoint_counters *listener(void)
{
	return nopal_endpoint_counters(rig.acceptor.endpoint);
}

static void open_both(void)
{
	prepare(PAPER, "delay 10ms");
	rig_start(&rig);
}

/* The number that each paper_end gives next. */
struct next {
	uint32_t a, b;
};

/* The packets are those from here on. */
static struct next opened(void)
{
	open_both();
	packets = 0;
	return (struct next){ local_of(&rig.opener), local_of(&rig.acceptor) };
}

static void both_ended_well(void)
{
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.acceptor.end, NOPAL_ENDED_WELL);
	assert_int_equal(rig.opener.peer_closed, 1);
	assert_int_equal(rig.acceptor.peer_closed, 1);
}

/* ----------------------------------------------------------- byte by byte */

static void is(unsigned which, bool to_acceptor, uint8_t flags, uint32_t number, uint32_t floor,
	       uint32_t length)
{
	const struct packet *one = &packet[which];

	assert_true(which < packets);
	assert_int_equal(one->to_acceptor, to_acceptor);
	assert_int_equal(word(one->bytes), 0x01000000 | flags);
	assert_int_equal(word(one->bytes + 4), number);
	assert_int_equal(word(one->bytes + 8), floor);
	assert_int_equal(word(one->bytes + 12), length);
	assert_int_equal(one->length, HEADER + length);
	assert_int_equal(complement(one->bytes, HEADER / 4), 0);
}

/* Figures 1 and 2, with one message between them. */
TEST(test_a_life_is_as_the_paper_has_it)
{
	uint32_t a, b;

	open_both();
	a = local_of(&rig.opener) - 1;
	b = local_of(&rig.acceptor) - 1;
	assert_int_equal(packets, 3);
	is(0, true, SYN, a, 0, 4);
	assert_int_equal(word(packet[0].bytes + HEADER), MSS);
	is(1, false, SYN | ACK, b, a + 1, 4);
	assert_int_equal(word(packet[1].bytes + HEADER), MSS);
	is(2, true, ACK, a + 1, b + 1, 0);
	rig_send(&rig, "hello");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(packets, 5);
	is(3, true, START | END | ACK, a + 1, b + 1, 5);
	is(4, false, ACK, b + 1, a + 2, 0);
	rig_finish(&rig);
	assert_int_equal(packets, 9);
	is(5, true, FIN | ACK, a + 2, b + 1, 0);
	is(6, false, ACK, b + 1, a + 3, 0);
	is(7, false, FIN | ACK, b + 1, a + 3, 0);
	is(8, true, ACK, a + 3, b + 2, 0);
	both_ended_well();
	paper_end();
}

TEST(test_first_numbers_agree_and_are_random)
{
	uint32_t before;

	open_both();
	before = local_of(&rig.opener);
	assert_int_equal(rig_shared(rig.acceptor.session, "initial_peer"), before);
	assert_int_equal(rig_shared(rig.opener.session, "initial_peer"), local_of(&rig.acceptor));
	assert_int_not_equal(before, local_of(&rig.acceptor));
	paper_end();
	rig_open(&rig, PAPER, &(struct rig_options){ .seed = 2 });
	assert_int_not_equal(local_of(&rig.opener), before);
	rig_close(&rig);
}

/* ------------------------------------------------------------------ losses */

/* A whole life, some of whose first datagrams are lost in each direction. */
static void live_through(unsigned there, unsigned back)
{
	prepare(PAPER, early_losses(there, back));
	rig_start(&rig);
	rig_send_bytes(&rig, 2000);
	rig_finish(&rig);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig.acceptor.opened, 1);
	assert_int_equal(rig.acceptor.delivered, 1);
	assert_int_equal(rig.acceptor.length[0], 2000);
	assert_int_equal(rig.opener.outcomes[NOPAL_OUTCOME_DELIVERED], 1);
	both_ended_well();
	assert_int_equal(listener()->sessions, 0);
	assert_int_equal(listener()->accepted, 1);
	paper_end();
}

TEST(test_every_early_loss_is_survived)
{
	for (unsigned there = 0; there < 32; there++)
		for (unsigned back = 0; back < 16; back++)
			live_through(there, back);
}

/* Both have closed by themselves, or one after the other. */
static void close_through(unsigned there, unsigned back, bool at_once)
{
	open_both();
	rig_change_both(&rig, early_losses(there, back));
	if (at_once)
		nopal_session_close(rig.acceptor.session);
	rig_finish(&rig);
	both_ended_well();
	paper_end();
}

TEST(test_every_loss_at_the_close_is_survived)
{
	for (unsigned there = 0; there < 16; there++)
		for (unsigned back = 0; back < 16; back++)
			for (int at_once = 0; at_once < 2; at_once++)
				close_through(there, back, at_once);
}

/* Four packets, as neither FIN could acknowledge the other. */
TEST(test_both_may_close_at_once)
{
	struct next next = opened();

	nopal_session_close(rig.acceptor.session);
	rig_finish(&rig);
	assert_int_equal(packets, 4);
	is(0, false, FIN | ACK, next.b, next.a, 0);
	is(1, true, FIN | ACK, next.a, next.b, 0);
	for (unsigned i = 2; i < 4; i++)
		if (packet[i].to_acceptor)
			is(i, true, ACK, next.a + 1, next.b + 1, 0);
		else
			is(i, false, ACK, next.b + 1, next.a + 1, 0);
	both_ended_well();
	paper_end();
}

/* The last acknowledgements of both are lost: each still answers the other's FIN. */
TEST(test_who_acknowledged_last_lingers)
{
	open_both();
	rig_change_both(&rig, "delay 10ms loss mask 01");
	packets = 0;
	nopal_session_close(rig.acceptor.session);
	rig_finish(&rig);
	both_ended_well();
	assert_int_equal(packets, 8);
	assert_int_equal(listener()->refused, 0);
	assert_int_equal(nopal_endpoint_counters(rig.opener.endpoint)->refused, 0);
	paper_end();
}

TEST(test_nobody_answers)
{
	prepare(PAPER, "delay 10ms loss 100%");
	rig_start(&rig);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_UNREACHABLE);
	assert_int_equal(packets, 8);
	paper_end();
}

/* Open, and closed at one paper_end alone: that its peer lives is asked now and then. */
TEST(test_the_peer_dies_before_it_closes)
{
	open_both();
	rig_change_both(&rig, "delay 10ms loss 100%");
	nopal_session_close(rig.opener.session);
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(rig.opener.ended, 1);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	paper_end();
}

/* ---------------------------------------------------------------- half open */

/* The ACK is lost, and what follows it confirms. */
TEST(test_data_confirm)
{
	prepare(PAPER, "fwd: delay 10ms loss mask 01 rev: delay 10ms");
	rig_start(&rig);
	assert_int_equal(rig.opener.opened, 1);
	rig_send(&rig, "hello");
	rig_run(&rig, 30 * NOPAL_MILLISECOND);
	assert_int_equal(rig.acceptor.opened, 1);
	assert_string_equal(rig.acceptor.text[0], "hello");
	paper_end();
}

/* Half open, with the opener's numbers; what it says is ours to make up. */
static uint32_t half_open(void)
{
	prepare(PAPER, "delay 10ms loss 100%");
	opener.port = 77;
	give(true, &opener, SYN, 1000, 0, MSS);
	assert_int_equal(packets, 1);
	is(0, false, SYN | ACK, word(packet[0].bytes + 4), 1001, 4);
	assert_int_equal(listener()->sessions, 1);
	return word(packet[0].bytes + 4);
}

TEST(test_only_who_saw_the_number_opens)
{
	uint32_t b = half_open();

	/* Asked again it answers again, but only the same one. */
	give(true, &opener, SYN, 1000, 0, MSS);
	give(true, &opener, SYN, 999, 0, MSS);
	assert_int_equal(packets, 2);
	assert_memory_equal(packet[1].bytes, packet[0].bytes, HEADER + 4);
	give(true, &opener, ACK, 1001, b, 0);
	give(true, &opener, ACK, 1001, b + 2, 0);
	give(true, &opener, FIN | ACK, 1001, b, 0);
	give(true, &opener, SYN | ACK, 1000, b, MSS);
	assert_int_equal(rig.acceptor.opened, 0);
	give(true, &opener, ACK, 1001, b + 1, 0);
	assert_int_equal(rig.acceptor.opened, 1);
	assert_int_equal(rig_shared(rig.acceptor.session, "initial_peer"), 1001);
	/* Nor does it close for who does not know where it is. */
	give(true, &opener, FIN | ACK, 1002, b + 1, 0);
	give(true, &opener, FIN | ACK, 1000, b + 1, 0);
	assert_int_equal(rig.acceptor.peer_closed, 0);
	give(true, &opener, FIN | ACK, 1001, b + 1, 0);
	assert_int_equal(rig.acceptor.peer_closed, 1);
	paper_end();
}

TEST(test_an_opener_takes_only_its_answer)
{
	uint32_t a;

	prepare(PAPER, "delay 10ms loss 100%");
	rig_start(&rig);
	a = word(packet[packets - 1].bytes + 4);
	give(false, &acceptor, SYN | ACK, 500, a, MSS);
	give(false, &acceptor, SYN | ACK, 500, a + 2, MSS);
	give(false, &acceptor, ACK, 501, a + 1, 0);
	give(false, &acceptor, SYN, 500, 0, MSS);
	assert_int_equal(rig.opener.opened, 0);
	give(false, &acceptor, SYN | ACK, 500, a + 1, MSS);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig_shared(rig.opener.session, "initial_peer"), 501);
	/* And its repetitions, each of which it confirms. */
	packets = 0;
	give(false, &acceptor, SYN | ACK, 500, a + 1, MSS);
	assert_int_equal(packets, 1);
	is(0, true, ACK, a + 1, 501, 0);
	give(false, &acceptor, SYN | ACK, 499, a + 1, MSS);
	assert_int_equal(packets, 1);
	paper_end();
}

static void flood(void)
{
	struct nopal_address stranger;

	for (uint16_t i = 0; i < 1000; i++) {
		nopal_sim_address(7, (uint16_t)(1 + i), &stranger);
		give(true, &stranger, SYN, i, 0, MSS);
	}
}

TEST(test_a_flood_of_strangers_is_bounded)
{
	prepare(PACKETS_OF("1500B", "three_way { backlog = 20 }\n"), "delay 10ms");
	flood();
	assert_int_equal(listener()->accepted, 20);
	assert_int_equal(listener()->sessions, 20);
	assert_int_equal(listener()->refused, 980);
	/* They paper_end, each by itself, and others get in. */
	rig_run(&rig, 60 * NOPAL_SECOND);
	assert_int_equal(listener()->sessions, 0);
	rig_start(&rig);
	assert_int_equal(rig.opener.opened, 1);
	/* Open sessions are not counted. */
	flood();
	assert_int_equal(listener()->sessions, 21);
	nopal_sim_tap(rig.world, NULL, NULL);
	nopal_world_free(rig.world);
	nopal_plan_unref(rig.plan);
}

TEST(test_what_opens_is_whole)
{
	uint8_t bytes[HEADER + 5] = { 1, 0, 0, SYN };

	prepare(PAPER, "delay 10ms");
	give(true, &opener, SYN, 5, 0, 0);	   /* no MSS */
	give(true, &opener, SYN, 5, 1, MSS);	   /* acknowledges */
	give(true, &opener, SYN | END, 5, 0, MSS); /* says more */
	give(true, &opener, SYN | ACK, 5, 0, MSS); /* an answer */
	give(true, &opener, SYN | FIN, 5, 0, MSS);
	give(true, &opener, FIN | ACK, 5, 0, 0);
	give(true, &opener, ACK, 5, 0, 0);
	give(true, &opener, START | END | SYN, 5, 0, 4); /* opens without */
	put_word(bytes + 12, 5);
	put_word(bytes + 16, complement(bytes, HEADER / 4));
	nopal_sim_inject(rig.world, rig.acceptor.endpoint, &opener, bytes, sizeof(bytes));
	rig_run(&rig, NOPAL_MICROSECOND);
	assert_int_equal(listener()->accepted, 0);
	assert_int_equal(listener()->refused, 9);
	give(true, &opener, SYN, 5, 0, MSS);
	assert_int_equal(listener()->accepted, 1);
	paper_end();
}

/* ------------------------------------------------------------------ silence */

TEST(test_who_is_silent_is_asked)
{
	struct next next = opened();
	bool there;

	rig_run(&rig, 600 * NOPAL_SECOND);
	assert_in_range(packets, 2 * 40, 4 * 40);
	for (unsigned i = 0; i < packets; i++)
		switch (packet[i].bytes[3]) {
		case SYN:
			is(i, true, SYN, next.a - 1, 0, 4);
			break;
		case SYN | ACK:
			is(i, false, SYN | ACK, next.b - 1, next.a, 4);
			break;
		default:
			there = packet[i].to_acceptor;
			is(i, there, ACK, there ? next.a : next.b, there ? next.b : next.a, 0);
		}
	assert_int_equal(rig.opener.ended + rig.acceptor.ended, 0);
	rig_finish(&rig);
	both_ended_well();
	paper_end();
}

/* Neither has anything to send. */
TEST(test_who_does_not_answer_is_lost)
{
	open_both();
	rig_change_both(&rig, "delay 10ms loss 100%");
	rig_run(&rig, 30 * NOPAL_SECOND);
	assert_int_equal(rig.opener.end, NOPAL_PEER_LOST);
	assert_int_equal(rig.acceptor.end, NOPAL_PEER_LOST);
	assert_int_equal(listener()->sessions, 0);
	paper_end();
}

/* ---------------------------------------------------- the address of another */

TEST(test_a_dead_peer_makes_room_for_a_new_one)
{
	open_both();
	rig_change_both(&rig, "delay 10ms loss 100%");
	nopal_session_abort(rig.opener.session, "dies");
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 0);
	rig_change_both(&rig, "delay 10ms");
	rig.opener.opened = rig.opener.ended = 0;
	rig_start(&rig);
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(rig.acceptor.ended, 1);
	assert_int_equal(rig.acceptor.end, NOPAL_PEER_LOST);
	assert_int_equal(rig.opener.opened, 1);
	assert_int_equal(rig.opener.ended, 0);
	assert_int_equal(listener()->accepted, 2);
	rig_send(&rig, "anew");
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[0], "anew");
	paper_end();
}

TEST(test_who_lives_is_not_pushed_out)
{
	open_both();
	for (uint32_t i = 0; i < 100; i++) {
		give(true, &opener, SYN, 5 + i, 0, MSS);
		rig_run(&rig, 300 * NOPAL_MILLISECOND);
	}
	assert_int_equal(rig.acceptor.ended, 0);
	rig_send(&rig, "still");
	rig_run(&rig, NOPAL_SECOND);
	assert_string_equal(rig.acceptor.text[0], "still");
	assert_int_equal(listener()->accepted, 1);
	rig_finish(&rig);
	both_ended_well();
	paper_end();
}
