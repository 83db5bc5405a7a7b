/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "engine/turn.h"
#include "support/arrivals.h"
#include "support/scout.h"
#include "support/test.h"

#define MS NOPAL_MILLISECOND

enum { TICK_NS = 1024, AFTER = 4 };

#define BASE "transport_driver {}\nfixed_size {}\n"
#define ALL  "after_2 = on after_3 = on after_4 = on"
static const char ORDERED[] = BASE "semantic_order { " ALL " }\n";

static struct rig rig;
static struct nopal_at at;

static void order_open(const char *config)
{
	rig_open(&rig, config, NULL);
	at = rig_at(rig.opener.session, "semantic_order");
}

/* A message with this label, after up to two others. */
static void come(uint64_t label, uint64_t after, uint64_t after_2)
{
	const uint64_t values[] = { label, after, after_2 };

	arrive_with(at, values, 3);
}

static uint32_t alive(void)
{
	return rig_awake(rig.opener.session)->messages.alive;
}

static void assert_texts(const char *texts)
{
	char all[256] = "";

	for (uint32_t i = 0; i < rig.opener.delivered; i++) {
		strcat(all, i ? " " : "");
		strcat(all, rig.opener.text[i]);
	}
	assert_string_equal(all, texts);
}

/* --------------------------------------------- all orders of some small graphs */

enum { SMALL = 5 };

/* graph[i]: who goes before i, as a mask. */
static unsigned settled(const unsigned *graph, unsigned came)
{
	unsigned done = 0, before;

	do {
		before = done;
		for (unsigned i = 0; i < SMALL; i++)
			if (came >> i & 1 && (graph[i] & ~done) == 0)
				done |= 1u << i;
	} while (done != before);
	return done;
}

static void small_come(const unsigned *graph, uint64_t base, unsigned i)
{
	uint64_t values[1 + AFTER] = { base + i };
	unsigned count = 1;

	for (unsigned j = 0; j < SMALL; j++)
		if (graph[i] >> j & 1)
			values[count++] = base + j;
	arrive_with(at, values, 1 + AFTER);
}

/* After each arrival, exactly those are delivered whose predecessors all were. */
static void check_graph(const unsigned *graph, uint64_t *base)
{
	unsigned order[SMALL] = { 0, 1, 2, 3, 4 };

	do {
		unsigned came = 0, done = 0;

		rig.opener.delivered = 0;
		for (unsigned i = 0; i < SMALL; i++) {
			came |= 1u << order[i];
			small_come(graph, *base, order[i]);
			assert_int_equal(rig.opener.delivered,
					 __builtin_popcount(settled(graph, came)));
		}
		for (unsigned i = 0; i < SMALL; i++) {
			unsigned which = (unsigned)(strtoull(rig.opener.text[i], NULL, 10) - *base);

			assert_true((graph[which] & ~done) == 0);
			done |= 1u << which;
		}
		assert_int_equal(alive(), 0);
		*base += SMALL;
	} while (next_order(order, SMALL));
}

TEST(test_all_orders_of_graphs)
{
	uint64_t base = 1, random = 1;

	order_open(ORDERED);
	for (int graphs = 0; graphs < 60; graphs++) {
		unsigned graph[SMALL] = { 0 };

		for (unsigned i = 1; i < SMALL; i++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			graph[i] = (unsigned)(random >> 40) & ((1u << i) - 1);
		}
		check_graph(graph, &base);
	}
	rig_close(&rig);
}

/* ------------------------------------------------------------- what never comes */

TEST(test_a_wait_is_bounded)
{
	order_open(ORDERED);
	come(2, 1, 0);
	come(4, 0, 0);
	assert_texts("4");
	rig_run(&rig, 99 * MS);
	assert_texts("4");
	rig_run(&rig, 2 * MS);
	assert_texts("4 2");
	come(3, 2, 0);
	come(1, 0, 0); /* it comes after all: nobody waits for it */
	assert_texts("4 2 3 1");
	assert_int_equal(alive(), 0);
	rig_close(&rig);
}

/* 3 is given up first; what it waits for, and what waits itself, goes before it:
 * 2, which waits for 1, which never comes. */
TEST(test_what_is_there_goes_first)
{
	order_open(ORDERED);
	come(3, 2, 0);
	rig_run(&rig, 50 * MS);
	come(2, 1, 0);
	come(5, 3, 2);
	come(6, 99, 0);
	rig_run(&rig, 51 * MS);
	assert_texts("2 3 5");
	rig_run(&rig, 100 * MS);
	assert_texts("2 3 5 6");
	assert_int_equal(alive(), 0);
	rig_close(&rig);
}

/* No sender of ours makes one. */
TEST(test_circles_from_the_wire)
{
	order_open(ORDERED);
	come(1, 1, 0);
	come(2, 3, 0);
	come(3, 4, 0);
	come(4, 2, 2);
	come(4, 2, 3); /* twice the same label */
	assert_texts("");
	rig_run(&rig, 150 * MS);
	assert_int_equal(rig.opener.delivered, 5);
	assert_int_equal(alive(), 0);
	rig_close(&rig);
}

TEST(test_what_waits_is_bounded)
{
	order_open(BASE "semantic_order { waiting = 3 delay = 5s }\n");
	come(2, 1, 0);
	come(3, 2, 0);
	come(4, 1, 0);
	assert_texts("");
	come(5, 1, 0);
	assert_texts("2 3");
	come(6, 1, 0);
	assert_texts("2 3");
	come(1, 0, 0);
	assert_texts("2 3 1 4 5 6");
	rig_close(&rig);

	order_open(BASE "semantic_order { waiting = 1 delay = 5s }\n");
	come(2, 1, 0);
	come(3, 2, 0); /* its room is that of what it waits for */
	assert_texts("2 3");
	rig_close(&rig);
}

TEST(test_nothing_is_waited_for_after_the_close)
{
	order_open(ORDERED);
	come(3, 2, 0);
	come(2, 1, 0);
	come(5, 4, 3);
	nopal_raise_PEER_CLOSED(rig.opener.session, rig.opener.session);
	assert_texts("2 3 5");
	assert_int_equal(alive(), 0);
	rig_close(&rig);
}

/* In one turn 1 goes out of band, which makes 2 ready, and the peer closes: 2 is delivered once,
 * not given up as well. */
TEST(test_who_is_ready_is_not_given_up)
{
	struct nopal_session *session;
	struct nopal_message *message;
	struct nopal_composite *composite;
	bool outermost;

	order_open(BASE "semantic_order { waiting = 3 }\n");
	session = rig.opener.session;
	composite = nopal__composite(session);
	come(2, 1, 0);
	come(1, 9, 0);
	message = nopal__pool_newer(nopal__pool_oldest(&rig_awake(session)->messages));
	outermost = nopal__turn_begin(composite->world);
	nopal__touch(composite);
	nopal_message_deliver(session, message);
	assert_texts("1");
	nopal_raise_PEER_CLOSED(session, session);
	nopal__turn_end(composite->world, outermost);
	assert_texts("1 2");
	assert_int_equal(alive(), 0);
	for (uint64_t label = 20; label < 23; label++)
		come(label, 19, 0);
	assert_int_equal(alive(), 3);
	rig_close(&rig);
}

/* 1 was given up before 2 was sent, after it: 2 does not wait as long as for what will come. */
TEST(test_what_was_given_up_is_not_waited_for)
{
	unsigned which[3];

	rig_open(&rig,
		 BASE
		 "sequenced_segments {}\npositive_ack {} retransmission_timer {}\nretransmit {}\n"
		 "partial_reliability {}\nsemantic_order {}\n",
		 NULL);
	which[0] = nopal_property(rig.plan, "label");
	which[1] = nopal_property(rig.plan, "after");
	which[2] = nopal_property(rig.plan, "attempts");
	assert_int_equal(rig_send(&rig, "0"), 0);
	rig_run(&rig, NOPAL_SECOND);
	rig_change(&rig, "delay 10ms loss 100%");
	assert_int_equal(nopal_send_message(
				 rig.opener.session,
				 &(struct nopal_outgoing){
					 .bytes = "1",
					 .length = 1,
					 .properties = (struct nopal_property[]){ { which[0], 1 },
										  { which[2], 1 } },
					 .property_count = 2 }),
			 0);
	rig_run(&rig, 10 * NOPAL_SECOND);
	rig_change(&rig, "delay 10ms");
	rig_run(&rig, 10 * NOPAL_SECOND);
	assert_int_equal(nopal_send_message(
				 rig.opener.session,
				 &(struct nopal_outgoing){
					 .bytes = "2",
					 .length = 1,
					 .properties = (struct nopal_property[]){ { which[0], 2 },
										  { which[1], 1 } },
					 .property_count = 2 }),
			 0);
	rig_run(&rig, NOPAL_SECOND);
	assert_int_equal(rig.acceptor.delivered, 2);
	rig_close(&rig);
}

/* Labels are remembered for twice as many deliveries as a sender may name, and no longer. */
TEST(test_delivered_labels_are_remembered)
{
	order_open(BASE "semantic_order { labels = 16 }\n");
	for (uint64_t label = 1; label <= 40; label++)
		come(label, 0, 0);
	rig.opener.delivered = 0;
	come(100, 40 - 31, 40);
	assert_texts("100");
	come(101, 8, 0);
	assert_texts("100");
	rig_run(&rig, 101 * MS);
	assert_texts("100 101");
	rig_close(&rig);
}

/* -------------------------------------------------------------------- the sender */

static int send_after(uint64_t label, uint64_t after, uint64_t after_2)
{
	const struct nopal_property properties[] = {
		{ nopal_property(rig.plan, "label"), label },
		{ nopal_property(rig.plan, "after"), after },
		{ nopal_property(rig.plan, "after_2"), after_2 },
	};
	char text[RIG_TEXT];
	int length = snprintf(text, sizeof(text), "%llu", (unsigned long long)label);

	return nopal_send_message(rig.opener.session,
				  &(struct nopal_outgoing){ .bytes = text,
							    .length = (size_t)length,
							    .cookie = label,
							    .properties = properties,
							    .property_count = 3 });
}

TEST(test_circles_are_refused)
{
	order_open(ORDERED);
	assert_int_equal(send_after(1, 1, 0), -ELOOP);
	assert_int_equal(send_after(1, 2, 3), 0);
	assert_int_equal(send_after(2, 1, 0), -ELOOP);
	assert_int_equal(send_after(2, 4, 5), 0);
	assert_int_equal(send_after(5, 6, 1), -ELOOP);
	assert_int_equal(send_after(5, 6, 7), 0);
	assert_int_equal(send_after(7, 8, 2), -ELOOP);
	assert_int_equal(send_after(7, 3, 0), 0);
	assert_int_equal(send_after(3, 9, 7), -ELOOP);
	assert_int_equal(send_after(3, 0, 0), 0);
	assert_int_equal(send_after(9, 1, 7), 0); /* nobody waits for it */
	assert_int_equal(send_after(0, 9, 0), 0); /* nobody can */
	rig_close(&rig);
}

TEST(test_labels_are_refused)
{
	order_open(BASE "semantic_order {}\n");
	assert_int_equal(send_after(1, 0, 0), 0);
	assert_int_equal(send_after(1, 0, 0), -EEXIST);
	assert_int_equal(send_after(2, 1, 0), 0);
	assert_int_equal(send_after(1, 2, 0), -EEXIST);
	assert_int_equal(send_after(UINT64_C(1) << 32, 0, 0), -EINVAL);
	assert_int_equal(send_after(3, UINT64_C(1) << 32, 0), -EINVAL);
	const struct nopal_property third = { nopal_property(rig.plan, "after_3"), 2 };
	assert_int_equal(nopal_send_message(rig.opener.session,
					    &(struct nopal_outgoing){ .bytes = "x",
								      .length = 1,
								      .properties = &third,
								      .property_count = 1 }),
			 -EINVAL);
	rig_close(&rig);
}

TEST(test_sent_labels_are_remembered)
{
	order_open(BASE "semantic_order { labels = 16 }\n");
	for (uint64_t label = 1; label <= 17; label++)
		assert_int_equal(send_after(label, 0, 0), 0);
	assert_int_equal(send_after(2, 0, 0), -EEXIST);
	assert_int_equal(send_after(1, 0, 0), 0);
	assert_int_equal(send_after(2, 0, 0), 0);
	rig_close(&rig);
}

/* Random graphs with names of what is not sent yet: accepted when, and only when, there is no
 * circle. */
static bool reaches(uint64_t edge[64][2], unsigned from, unsigned to, unsigned depth)
{
	if (from == to)
		return true;
	for (unsigned i = 0; depth && i < 2; i++)
		if (edge[from][i] && reaches(edge, (unsigned)edge[from][i], to, depth - 1))
			return true;
	return false;
}

TEST(test_random_graphs_are_judged)
{
	uint64_t random = 5;
	unsigned loops = 0;

	for (int graphs = 0; graphs < 40; graphs++) {
		uint64_t edge[64][2] = { { 0 } };

		order_open(BASE "semantic_order {}\n");
		for (unsigned i = 1; i < 24; i++) {
			unsigned label = i * 7 % 24, after[2];
			bool loop = false;

			for (unsigned j = 0; j < 2; j++) {
				random = random * UINT64_C(6364136223846793005) + 11;
				after[j] = (unsigned)(random >> 45) % 24;
				loop |= after[j] && reaches(edge, after[j], label, 24);
			}
			assert_int_equal(send_after(label, after[0], after[1]), loop ? -ELOOP : 0);
			loops += loop;
			for (unsigned j = 0; !loop && j < 2; j++)
				edge[label][j] = after[j];
		}
		rig_close(&rig);
	}
	assert_true(loops > 20);
}

/* ------------------------------------------------------------- across a network */

enum { MANY = 400, REACH = 12 };

/* Each is delivered when it has come and its predecessors have been delivered, in that very turn;
 * or `delay_ns` after it came where one of them is lost. */
static void check_cross(uint64_t after[MANY + 1][2], int64_t delay_ns)
{
	static int64_t delivered_ns[MANY + 1];
	static uint32_t place[MANY + 1];

	memset(place, 0, sizeof(place));
	for (uint32_t i = 0; i < rig.acceptor.delivered; i++) {
		long label = strtol(rig.acceptor.text[i], NULL, 10);

		assert_int_equal(place[label], 0);
		place[label] = i + 1;
		delivered_ns[label] = rig.acceptor.delivered_ns[i];
	}
	for (unsigned i = 1; i <= MANY; i++) {
		int64_t due_ns = came_ns[i];
		bool lacks = false;

		assert_true(!place[i] == !came_ns[i]);
		for (unsigned j = 0; place[i] && j < 2; j++) {
			unsigned before = (unsigned)after[i][j];

			lacks |= before && !place[before];
			if (!before || !place[before])
				continue;
			assert_true(place[before] < place[i]);
			if (due_ns < delivered_ns[before])
				due_ns = delivered_ns[before];
		}
		if (place[i] && !lacks)
			assert_true(delivered_ns[i] == due_ns);
		else if (place[i])
			assert_true(delivered_ns[i] <= came_ns[i] + delay_ns + TICK_NS);
	}
}

static void cross(const char *config, const char *link, uint64_t seed, bool reliable,
		  int64_t delay_ns)
{
	static uint64_t after[MANY + 1][2];
	uint64_t random = seed;

	scout_open(&rig, config, &(struct rig_options){ .link = link, .seed = seed });
	for (unsigned i = 1; i <= MANY; i++) {
		for (unsigned j = 0; j < 2; j++) {
			random = random * UINT64_C(6364136223846793005) + 3;
			after[i][j] =
				random >> 45 & 1 && i > REACH ? i - 1 - (random >> 50) % REACH : 0;
		}
		assert_int_equal(send_after(i, after[i][0], after[i][1]), 0);
		rig_run(&rig, 3 * MS);
	}
	rig_run(&rig, 30 * NOPAL_SECOND);
	if (reliable)
		assert_int_equal(rig.acceptor.delivered, MANY);
	check_cross(after, delay_ns);
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	rig_close(&rig);
}

TEST(test_across_a_network_that_loses)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		cross(BASE "semantic_order { delay = 200ms }\na_scout {}\n", "delay 40ms 35ms",
		      seed, true, 200 * MS);
		cross(BASE "sequenced_segments {}\na_scout {}\n"
			   "semantic_order { delay = 200ms }\n",
		      "delay 40ms 35ms loss 10% duplicate 5%", seed, false, 200 * MS);
	}
}

TEST(test_across_a_network_reliably)
{
	for (uint64_t seed = 1; seed <= 5; seed++)
		cross("transport_driver {}\nresize {}\nsequenced_segments {}\n"
		      "positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"
		      "rtt_estimation {}\nretransmit {}\nsemantic_order {}\n"
		      "a_scout {}\n",
		      "delay 40ms 35ms loss 20%", seed, true, 0);
}

TEST(test_refuses_company)
{
	char text[2048];

	assert_true(rig_refused(BASE "sequenced_messages {}\nlossy_fifo {}\n"
				     "semantic_order {}\n",
				text, sizeof(text)));
	assert_non_null(strstr(text, "relates all"));
}
