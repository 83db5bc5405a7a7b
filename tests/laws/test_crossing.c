/* SPDX-License-Identifier: MIT */
/*
 * Two open towards each other: whatever of the first datagrams is lost, doubled or overtaken,
 * whoever comes first, and whoever has the larger nonce, one session is there at each side, and
 * they are each other's.
 */
#include <dirent.h>

#include "plan/plan.h"
#include "aead_crypto.h"
#include "support/early_losses.h"
#include "support/rendezvous.h"
#include "support/test.h"

#define RELIABLE                                                                                      \
	"resize {}\nsequenced_segments {}\npositive_ack { selective = on } retransmission_timer {}\n" \
	"duplicate_ack {}\nrtt_estimation {}\nretransmit {}\n"                                        \
	"reliable_fifo {}\nkeep_alive {}\n"

static const char CIRCUIT[] = "transport_driver {}\nvirtual_circuit {}\nchecksum {}\n" RELIABLE;
static const char SEALED[] = "transport_driver {}\nvirtual_circuit {}\naead {}\n" RELIABLE;

static const int64_t later_ns[] = {
	0,
	4 * NOPAL_MILLISECOND,
	10 * NOPAL_MILLISECOND, /* as long as a datagram travels */
	26 * NOPAL_MILLISECOND,
	300 * NOPAL_MILLISECOND,
	4 * NOPAL_SECOND,
};

struct tally {
	unsigned runs, of_opener[2];
	int64_t slowest_ns; /* from the second opening to both open */
};

/* `first` comes `after_ns` before the other one. */
static void cross(const char *config, const char *words, uint64_t seed, int first, int64_t after_ns,
		  struct tally *tally)
{
	int64_t open_ns;

	rendezvous_begin(config, config, words, seed);
	rendezvous_open(first);
	if (after_ns)
		rendezvous_run(after_ns);
	rendezvous_open(!first);
	for (int i = 0; i < 2; i++)
		rendezvous_say(i, i ? "second" : "first");
	open_ns = nopal_world_now(rendezvous.world);
	for (int i = 0; i < 200 && !(rendezvous.side[0].delivered && rendezvous.side[1].delivered);
	     i++)
		rendezvous_run(100 * NOPAL_MILLISECOND);
	rendezvous_expect_one_session();
	assert_string_equal(rendezvous.side[0].text, "second");
	assert_string_equal(rendezvous.side[1].text, "first");
	assert_int_equal(rendezvous_shared(0, "initial_local"),
			 rendezvous_shared(1, "initial_peer"));
	for (int i = 0; i < 2; i++)
		if (rendezvous.side[i].opened_ns - open_ns > tally->slowest_ns)
			tally->slowest_ns = rendezvous.side[i].opened_ns - open_ns;
	tally->runs++;
	tally->of_opener[rendezvous.side[1].opener]++;
	nopal_session_close(rendezvous.side[seed & 1].session);
	rendezvous_run(120 * NOPAL_SECOND); /* acks may be lost for long */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rendezvous.side[i].ended, 1);
		assert_int_equal(rendezvous.side[i].end, NOPAL_ENDED_WELL);
		assert_int_equal(rendezvous_sessions(i), 0);
		assert_int_equal(rendezvous.side[i].opened, 1);
	}
	rendezvous_end();
}

/* Every subset of the first `count` of each direction is lost. */
static void lose_all_subsets(const char *config, unsigned count, size_t delays, struct tally *tally)
{
	for (unsigned mask = 0; mask < 1u << 2 * count; mask++) {
		const char *words = early_losses(mask & ((1u << count) - 1), mask >> count);

		for (size_t i = 0; i < delays; i++)
			cross(config, words, 1 + (mask + i) % 4, (int)(i & 1), later_ns[i], tally);
	}
}

static void expect_both_openers(const struct tally *tally)
{
	assert_true(tally->of_opener[0] > tally->runs / 8);
	assert_true(tally->of_opener[1] > tally->runs / 8);
	/* a request is repeated at least every 2 s; of a direction's five first datagrams each may
	 * cost one such wait */
	assert_true(tally->slowest_ns < 12 * NOPAL_SECOND);
}

TEST(test_every_subset_of_the_first_is_lost)
{
	struct tally tally = { 0 };

	lose_all_subsets(CIRCUIT, 5, sizeof(later_ns) / sizeof(later_ns[0]), &tally);
	expect_both_openers(&tally);
}

TEST(test_every_subset_with_keys)
{
	struct tally tally = { 0 };

	if (!nopal__aead_found())
		skip();
	lose_all_subsets(SEALED, 4, sizeof(later_ns) / sizeof(later_ns[0]), &tally);
	expect_both_openers(&tally);
}

TEST(test_what_is_doubled_and_overtaken)
{
	static const char *const networks[] = {
		"delay 10ms duplicate 100%",
		"delay 20ms 19ms",
		"delay 30ms 29ms duplicate 50% loss 10%",
		"fwd: delay 1ms rev: delay 200ms 100ms duplicate 30%",
		"delay 10ms 9ms corrupt 20%",
	};
	struct tally tally = { 0 };

	for (size_t n = 0; n < sizeof(networks) / sizeof(networks[0]); n++)
		for (uint64_t seed = 1; seed <= 60; seed++)
			cross(seed % 3 || !nopal__aead_found() ? CIRCUIT : SEALED, networks[n],
			      seed, seed % 2, later_ns[seed % 5], &tally);
	assert_true(tally.of_opener[0] && tally.of_opener[1]);
}

/* Whatever else a composition has.  Those without a promise may lose the words. */
static void ship_rendezvous(const char *name, int64_t after_ns)
{
	char text[128];

	snprintf(text, sizeof(text), "extends = \"%s\"\n", name);
	rendezvous_begin(text, text, "delay 10ms 5ms loss 5% duplicate 5%", 7);
	rendezvous_open(0);
	if (after_ns)
		rendezvous_run(after_ns);
	rendezvous_open(1);
	rendezvous_run(10 * NOPAL_SECOND);
	for (int i = 0; i < 2; i++) {
		if (!rendezvous.side[i].session || rendezvous.side[i].opened != 1)
			fail_msg("%s: %s", name, rendezvous.side[i].end_text);
		if (nopal_plan_provides(rendezvous.side[i].plan, "reliability"))
			rendezvous_say(i, "hello");
	}
	rendezvous_run(10 * NOPAL_SECOND);
	assert_int_equal(rendezvous.side[0].opener, !rendezvous.side[1].opener);
	for (int i = 0; i < 2; i++)
		if (nopal_plan_provides(rendezvous.side[i].plan, "reliability"))
			assert_string_equal(rendezvous.side[i].text, "hello");
	rendezvous_end();
}

static bool ship_can_rendezvous(const char *name)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	bool can;

	plan = nopal_plan_load(name, NULL, &problems);
	can = plan && nopal_plan_can_rendezvous(plan);
	nopal_plan_unref(plan);
	nopal_problems_fini(&problems);
	return can;
}

TEST(test_every_shipped_composition)
{
	DIR *folder = opendir(NOPAL_SOURCE_ROOT "/configs");
	const struct dirent *entry;
	unsigned met = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		const char *dot = strrchr(entry->d_name, '.');
		char name[64];

		if (!dot || strcmp(dot, ".conf") != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(dot - entry->d_name), entry->d_name);
		if (!ship_can_rendezvous(name))
			continue;
		ship_rendezvous(name, 0);
		ship_rendezvous(name, NOPAL_SECOND);
		met++;
	}
	closedir(folder);
	assert_true(met > 5);
}
