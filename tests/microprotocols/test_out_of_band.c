/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "support/scout.h"
#include "support/test.h"

#define MS NOPAL_MILLISECOND

enum { MANY = 300, EVERY = 10 };

/* Datagrams are equally long with and without, so that the link treats both runs alike: in the
 * plain run the property is there, and is not used. */
#define BASE                                                                                       \
	"transport_driver {}\nfixed_size {}\nsequenced_messages {}\n"                              \
	"out_of_band {}\n"

static struct rig rig;

static void send_one(int i, bool marked)
{
	const struct nopal_property property = { nopal_property(rig.plan, "out_of_band"), 1 };
	char text[RIG_TEXT];
	int length = snprintf(text, sizeof(text), "%03d", i);

	assert_true(property.which);
	assert_int_equal(
		nopal_send_message(rig.opener.session,
				   &(struct nopal_outgoing){
					   .bytes = text,
					   .length = (size_t)length,
					   .properties = &property,
					   .property_count = marked && i % EVERY == EVERY - 1 }),
		0);
}

struct run {
	uint32_t delivered;
	int number[RIG_MESSAGES];
	int64_t time_ns[RIG_MESSAGES];
	int64_t came_ns[MANY]; /* 0: never */
};

static void note_run(struct run *run)
{
	run->delivered = rig.acceptor.delivered;
	for (uint32_t i = 0; i < run->delivered; i++) {
		run->number[i] = atoi(rig.acceptor.text[i]);
		run->time_ns[i] = rig.acceptor.delivered_ns[i];
	}
}

static void run_one(const char *config, const char *link, uint64_t seed, bool marked,
		    struct run *run)
{
	char text[1024];

	snprintf(text, sizeof(text), "%sa_scout {}\n", config);
	scout_open(&rig, text, &(struct rig_options){ .link = link, .seed = seed });
	for (int i = 0; i < MANY; i++) {
		send_one(i, marked);
		rig_run(&rig, 5 * MS);
	}
	rig_run(&rig, 20 * NOPAL_SECOND);
	note_run(run);
	memcpy(run->came_ns, came_ns, sizeof(run->came_ns));
	assert_int_equal(rig_awake(rig.acceptor.session)->messages.alive, 0);
	rig_close(&rig);
}

static bool is_marked(int number)
{
	return number % EVERY == EVERY - 1;
}

/* With and without: each marked one is delivered once, in the turn in which it came, and the others
 * as they were. */
static void compare(const char *config, const char *link, uint64_t seed)
{
	static struct run plain, with;
	uint32_t at = 0, marked = 0, came_too = 0;

	run_one(config, link, seed, false, &plain);
	run_one(config, link, seed, true, &with);
	assert_memory_equal(plain.came_ns, with.came_ns, sizeof(plain.came_ns));
	for (uint32_t i = 0; i < with.delivered; i++) {
		int number = with.number[i];

		if (is_marked(number)) {
			assert_true(with.time_ns[i] == with.came_ns[number]);
			marked++;
			continue;
		}
		while (is_marked(plain.number[at]))
			at++;
		assert_int_equal(number, plain.number[at]);
		assert_true(with.time_ns[i] == plain.time_ns[at]);
		at++;
	}
	while (at < plain.delivered && is_marked(plain.number[at]))
		at++;
	assert_int_equal(at, plain.delivered);
	for (int i = EVERY - 1; i < MANY; i += EVERY)
		came_too += with.came_ns[i] > 0;
	assert_int_equal(marked, came_too);
	assert_true(marked > MANY / EVERY / 2);
}

static const char *const links[] = {
	"delay 30ms",
	"delay 30ms 25ms loss 5%",
	"delay 30ms 60ms loss 10%",
};
enum { LINKS = sizeof(links) / sizeof(*links) };

static void compare_all(const char *config)
{
	for (unsigned i = 0; i < LINKS; i++)
		for (uint64_t seed = 1; seed <= 3; seed++)
			compare(config, links[i], seed);
}

TEST(test_with_lossy_fifo)
{
	compare_all(BASE "lossy_fifo { delay = 50ms }\ncheck_fifo {}\n");
}

TEST(test_with_reliable_fifo)
{
	compare(BASE "reliable_fifo {}\ncheck_fifo {}\n", "delay 30ms 25ms", 1);
	compare_all(BASE
		    "sequenced_segments {}\nretransmit {}\n"
		    "positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"
		    "reliable_fifo {}\ncheck_fifo {}\n");
}

TEST(test_with_jitter)
{
	compare_all(BASE "fixed_rate_jitter { interval = 5ms delay = 90ms }\n");
	compare_all(BASE "timestamp_jitter { delay = 90ms }\n");
	compare_all(BASE "lossy_fifo { delay = 50ms }\n"
			 "fixed_rate_jitter { interval = 5ms delay = 90ms }\n");
}

TEST(test_with_semantic_order)
{
	compare_all(BASE "semantic_order {}\n");
}

TEST(test_with_no_order)
{
	compare_all(BASE);
}

/* Flow control gets back what a message took: with a small window, all come. */
TEST(test_with_flow_control)
{
	compare(BASE "sequenced_segments {}\nretransmit {}\n"
		     "positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"
		     "windowed_flow { buffer = 16KiB }\nreliable_fifo {}\n",
		"delay 30ms", 1);
}
