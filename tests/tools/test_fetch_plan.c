/* SPDX-License-Identifier: MIT */
/*
 * test_fetch_plan -- parts of a file from several servers, in a time of its own:
 * servers with a rate and a round trip, that die, fall silent, and come back.
 */
#include <stdlib.h>
#include <string.h>

#include "file/ranges.h"
#include "transfer/fetch_plan.h"
#include "support/test.h"

enum {
	MAX = 8,
	PART = 32 << 10,
	QUEUE = FETCH_WINDOW_MAX,
	MBIT = 1000000 / 8,
	ROUNDS = 400,
	RATES = 4,
};
#define MS	((int64_t)1000000)
#define SECOND	(1000 * MS)
#define FOREVER (1000 * SECOND)

enum { HIDDEN = 1, KNOWN }; /* it brings it wrong; and has done so */

/* One server: what it was asked for leaves in order, at its rate. */
struct server {
	uint64_t rate; /* bytes a second */
	int64_t round_ns;
	int64_t from_ns, until_ns; /* it is known as there; and it is silent */
	int64_t known_ns;	   /* when its end is known; 0: it is not */
	int64_t back_ns;	   /* it goes on; 0: it does not */
	bool joined;
	struct {
		struct range range;
		int64_t due_ns;
	} queue[QUEUE];
	unsigned count, max; /* under way, and most at once */
	int64_t busy_ns;
	uint64_t gave, twice;
	uint8_t *bad; /* by part: HIDDEN, KNOWN; NULL: none */
	unsigned wrong;
	unsigned again; /* asked for what another was asked for */
};

static struct network {
	struct fetch_plan plan;
	struct server server[MAX];
	unsigned count;
	uint64_t size;
	uint8_t *have;	     /* by part: how often it was new */
	struct ranges apart; /* as a file on disk has them */
	uint64_t whole;
	int64_t now_ns;
} net;

/* ------------------------------------------------------------------- the network */

static void open_network(uint64_t size, unsigned count)
{
	memset(&net, 0, sizeof(net));
	net.size = size;
	net.count = count;
	net.have = calloc(size / PART + 2, 1);
	assert_true(fetch_plan_init(&net.plan, (size + PART - 1) / PART, PART, count));
	for (unsigned i = 0; i < count; i++)
		net.server[i] = (struct server){ .rate = 10 * MBIT,
						 .round_ns = 20 * MS,
						 .until_ns = FOREVER };
}

static void close_network(void)
{
	fetch_plan_fini(&net.plan);
	free(net.have);
	for (unsigned i = 0; i < net.count; i++)
		free(net.server[i].bad);
}

static bool is_up(const struct server *server)
{
	return (net.now_ns >= server->from_ns && net.now_ns < server->until_ns) ||
	       (server->back_ns && net.now_ns >= server->back_ns);
}

static void ask(unsigned index)
{
	struct server *server = &net.server[index];
	uint64_t part;

	while (fetch_plan_ask(&net.plan, index, net.now_ns, &part)) {
		struct range range = { part * PART, (part + 1) * PART };
		int64_t begin_ns = net.now_ns + server->round_ns / 2;

		if (range.end > net.size)
			range.end = net.size;
		assert_true(server->count < QUEUE);
		assert_true(!server->bad || server->bad[part] != KNOWN);
		server->again += net.plan.part[part] > 1;
		if (server->busy_ns > begin_ns)
			begin_ns = server->busy_ns;
		server->busy_ns = begin_ns + (int64_t)((range.end - range.from) * (uint64_t)SECOND /
						       server->rate);
		server->queue[server->count].range = range;
		server->queue[server->count++].due_ns = server->busy_ns + server->round_ns / 2;
		if (server->count > server->max)
			server->max = server->count;
	}
}

static void keep(const struct range *range)
{
	struct ranges *apart = &net.apart;

	assert_true(ranges_add(apart, range->from, range->end));
	if (apart->list[0].from != net.whole)
		return;
	net.whole = apart->list[0].end;
	ranges_drop_first(apart);
}

static void leave(unsigned index)
{
	struct server *server = &net.server[index];

	fetch_plan_leave(&net.plan, index);
	server->joined = false;
	server->until_ns = server->back_ns = 0;
	server->count = 0;
}

static void take(unsigned index, const struct range *range)
{
	struct server *server = &net.server[index];
	uint64_t part = range->from / PART;

	if (server->bad && server->bad[part]) {
		server->bad[part] = KNOWN;
		server->wrong++;
		if (!fetch_plan_wrong(&net.plan, index, part))
			leave(index);
		return;
	}
	switch (fetch_plan_came(&net.plan, index, part, range->end - range->from, net.now_ns)) {
	case FETCH_NEW:
		net.have[part]++;
		keep(range);
		server->gave += range->end - range->from;
		break;
	case FETCH_TWICE:
		assert_int_equal(net.have[part], 1);
		server->twice += range->end - range->from;
		break;
	case FETCH_UNASKED:
		fail_msg("what it was asked for is not known any more");
	}
}

static void bring(unsigned index)
{
	struct server *server = &net.server[index];

	while (server->count && server->queue[0].due_ns <= net.now_ns) {
		struct range range = server->queue[0].range;

		server->count--;
		memmove(server->queue, server->queue + 1, server->count * sizeof(server->queue[0]));
		take(index, &range);
	}
}

static void step_server(unsigned index)
{
	struct server *server = &net.server[index];

	if (!server->joined && is_up(server) && !server->known_ns) {
		fetch_plan_join(&net.plan, index);
		server->joined = true;
	}
	if (server->joined && server->known_ns && net.now_ns >= server->known_ns) {
		fetch_plan_leave(&net.plan, index);
		server->joined = false;
		server->count = 0;
	}
	if (server->joined && is_up(server))
		bring(index);
	if (server->joined)
		ask(index);
}

/* How long it takes; FOREVER: nothing goes on. */
static int64_t run(int64_t limit_ns)
{
	while (!fetch_plan_is_whole(&net.plan)) {
		for (unsigned i = 0; i < net.count; i++)
			step_server(i);
		fetch_plan_look(&net.plan, net.now_ns);
		net.now_ns += MS;
		if (net.now_ns > limit_ns)
			return FOREVER;
	}
	return net.now_ns;
}

static void has_all_once(void)
{
	uint64_t parts = (net.size + PART - 1) / PART;

	for (uint64_t i = 0; i < parts; i++)
		assert_int_equal(net.have[i], 1);
	assert_int_equal(net.whole, net.size);
}

/* All servers together, without a pause. */
static int64_t at_best(void)
{
	uint64_t rate = 0;

	for (unsigned i = 0; i < net.count; i++)
		rate += net.server[i].rate;
	return (int64_t)(net.size * 1000 / rate) * MS;
}

/* -------------------------------------------------------------------------- tests */

static int64_t with_rates(uint64_t size, const unsigned *mbit, unsigned count)
{
	int64_t took_ns;

	open_network(size, count);
	for (unsigned i = 0; i < count; i++)
		net.server[i].rate = (uint64_t)mbit[i] * MBIT;
	took_ns = run(FOREVER);
	has_all_once();
	assert_in_range(took_ns, at_best(), FOREVER - 1);
	for (unsigned i = 0; i < count; i++)
		assert_true(net.server[i].gave > 0);
	return took_ns;
}

TEST(test_three_are_as_fast_as_their_sum)
{
	static const unsigned all[] = { 5, 10, 20 };
	int64_t three_ns = with_rates(20 << 20, all, 3), best_ns = at_best();

	/* but for the first round trips and the last parts */
	assert_true(three_ns < best_ns + best_ns / 20 + 200 * MS);
	close_network();
	assert_true(three_ns * 3 < with_rates(20 << 20, all + 2, 1) * 2);
	close_network();
}

TEST(test_the_slowest_does_not_set_the_end)
{
	static const unsigned fast[] = { 50 };
	int64_t alone_ns = with_rates(8 << 20, fast, 1), both_ns;

	close_network();
	open_network(8 << 20, 2);
	net.server[0].rate = 50 * MBIT;
	net.server[1].rate = 8000; /* 4 s a part */
	both_ns = run(FOREVER);
	has_all_once();
	assert_true(both_ns < alone_ns + 50 * MS);
	assert_true(net.server[1].max <= 2);
	close_network();
}

/* Nobody is asked again for what it would bring later than who was asked first. */
TEST(test_a_slow_one_repeats_no_fast_one)
{
	open_network(8 << 20, 2);
	net.server[0].rate = 50 * MBIT;
	net.server[1].rate = 2 * MBIT;
	assert_true(run(FOREVER) < FOREVER);
	has_all_once();
	assert_true(net.server[0].again > 0);
	assert_int_equal(net.server[1].again, 0);
	close_network();
}

/* A server's waiting blocks are those of a round trip and a little more. */
TEST(test_each_holds_what_it_delivers)
{
	static const struct {
		unsigned mbit;
		int64_t round_ms;
	} cases[] = { { 1, 10 }, { 10, 10 }, { 100, 10 }, { 100, 100 }, { 20, 400 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct server *one = &net.server[0];
		uint64_t round_bytes, held;
		int64_t took_ns;

		open_network((uint64_t)cases[i].mbit << 20, 1);
		one->rate = (uint64_t)cases[i].mbit * MBIT;
		one->round_ns = cases[i].round_ms * MS;
		took_ns = run(FOREVER);
		has_all_once();
		round_bytes = one->rate * (uint64_t)cases[i].round_ms / 1000;
		held = (uint64_t)one->max * PART;
		/* no round trip is idle but those of the beginning */
		assert_true(took_ns < at_best() + at_best() / 50 + 8 * one->round_ns);
		assert_true(held <= 2 * round_bytes + one->rate / 4 + 3 * PART);
		close_network();
	}
}

TEST(test_two_of_three_die)
{
	for (int known = 0; known < 2; known++) {
		open_network(10 << 20, 3);
		net.server[0].rate = 20 * MBIT;
		net.server[0].until_ns = SECOND;
		net.server[1].rate = 10 * MBIT;
		net.server[1].until_ns = 1500 * MS;
		net.server[2].rate = 5 * MBIT;
		if (known) {
			net.server[0].known_ns = SECOND;
			net.server[1].known_ns = 1500 * MS;
		}
		assert_true(run(FOREVER) < FOREVER);
		has_all_once();
		close_network();
	}
}

/* Nobody is left for what is missing; then one comes. */
TEST(test_all_die_and_one_comes_late)
{
	open_network(4 << 20, 2);
	net.server[0].until_ns = SECOND;
	net.server[0].known_ns = 2 * SECOND;
	net.server[1].from_ns = 5 * SECOND;
	assert_true(run(4 * SECOND) == FOREVER);
	assert_false(fetch_plan_is_whole(&net.plan));
	assert_true(run(FOREVER) < FOREVER);
	has_all_once();
	close_network();
}

/* The silent server owes parts while others bring them; then it brings them, too. */
TEST(test_a_silent_one_comes_back)
{
	open_network(20 << 20, 2);
	net.server[1].until_ns = SECOND;
	net.server[1].back_ns = 4 * SECOND;
	assert_true(run(FOREVER) < FOREVER);
	has_all_once();
	assert_true(net.server[1].twice > 0);
	assert_true(net.server[1].gave > 4 << 20);
	close_network();
}

static void have(uint64_t part)
{
	struct range range = { part * PART, (part + 1) * PART };

	fetch_plan_have(&net.plan, part);
	net.have[part]++;
	keep(&range);
}

TEST(test_what_is_here_is_not_asked_for)
{
	open_network(40 * PART + 777, 2);
	for (uint64_t part = 0; part < 40; part += 1 + part % 3)
		have(part);
	fetch_plan_have(&net.plan, 0); /* as before */
	assert_true(run(FOREVER) < FOREVER);
	has_all_once();
	assert_true(net.server[0].gave + net.server[1].gave < 30 * PART);
	close_network();
	open_network(PART, 1);
	assert_false(fetch_plan_is_whole(&net.plan));
	have(0);
	assert_true(fetch_plan_is_whole(&net.plan));
	close_network();
	open_network(0, 1);
	assert_true(fetch_plan_is_whole(&net.plan));
	close_network();
}

/* ------------------------------------------------------------------- wrong parts */

static void damage(unsigned index, uint64_t from, uint64_t end)
{
	uint8_t **bad = &net.server[index].bad;

	if (!*bad)
		*bad = calloc(net.size / PART + 2, 1);
	for (uint64_t part = from; part < end && part <= net.size / PART; part++)
		(*bad)[part] = HIDDEN;
}

/* A server of a wrong block is asked for no more while another is there. */
TEST(test_a_liar_is_put_aside)
{
	open_network(200 * PART, 3);
	damage(1, 0, 200);
	assert_true(run(FOREVER) < FOREVER);
	has_all_once();
	assert_int_equal(net.server[1].gave, 0);
	/* but for what was under way then */
	assert_in_range(net.server[1].wrong, 1, net.server[1].max);
	close_network();
}

/* Two have a bad place each, and all of it together. */
TEST(test_bad_places_are_made_up_for)
{
	for (uint64_t place = 0; place < 100; place += 7) {
		open_network(100 * PART, 2);
		damage(0, place, place + 1);
		damage(1, 99 - place, 100 - place);
		assert_true(run(FOREVER) < FOREVER);
		has_all_once();
		assert_true(net.server[0].wrong <= 1);
		assert_true(net.server[1].wrong <= 1);
		close_network();
	}
}

/* All have the same bad place: all else comes, and then they are of no use. */
TEST(test_the_same_bad_place_everywhere)
{
	open_network(100 * PART, 3);
	for (unsigned i = 0; i < 3; i++)
		damage(i, 50, 51);
	assert_true(run(100 * SECOND) == FOREVER);
	assert_int_equal(net.plan.here, 99);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(net.server[i].wrong, 1);
		assert_true(fetch_plan_is_useless(&net.plan, i));
	}
	close_network();
}

/* A server may be wrong so often, and no more; also where it goes and comes back. */
TEST(test_enough_is_enough)
{
	uint64_t part;
	unsigned wrong = 0;

	open_network(100 * PART, 1);
	for (;;) {
		fetch_plan_join(&net.plan, 0);
		assert_true(fetch_plan_ask(&net.plan, 0, 0, &part));
		assert_int_equal(part, wrong);
		if (!fetch_plan_wrong(&net.plan, 0, part))
			break;
		assert_false(fetch_plan_wrong(&net.plan, 0, part));
		wrong++;
	}
	assert_int_equal(wrong, FETCH_WRONG_MAX);
	close_network();
}

/* An honest one that comes late ends what the liars could not. */
TEST(test_an_honest_one_comes_late)
{
	open_network(100 * PART, 3);
	damage(0, 0, 100);
	damage(1, 0, 100);
	net.server[2].from_ns = 3 * SECOND;
	assert_true(run(FOREVER) < FOREVER);
	has_all_once();
	assert_int_equal(net.server[2].gave, 100 * PART);
	close_network();
}

TEST(test_what_nobody_asked_for_is_told)
{
	uint64_t part;

	open_network(10 * PART, 2);
	fetch_plan_join(&net.plan, 0);
	assert_false(fetch_plan_ask(&net.plan, 1, 0, &part));
	assert_true(fetch_plan_ask(&net.plan, 0, 0, &part));
	assert_int_equal(fetch_plan_came(&net.plan, 0, 5, PART, MS), FETCH_UNASKED);
	assert_int_equal(fetch_plan_came(&net.plan, 1, 0, PART, MS), FETCH_UNASKED);
	assert_int_equal(fetch_plan_came(&net.plan, 0, 0, PART, MS), FETCH_NEW);
	assert_int_equal(fetch_plan_came(&net.plan, 0, 0, PART, MS), FETCH_UNASKED);
	close_network();
}

/* Whoever is fast, slow, far, late, silent, lies, or dies: all parts come, each counts once, and no
 * more are apart than a file on disk may have. */
TEST(test_whatever_they_are_like)
{
	static const unsigned rates[RATES] = { 1, 8, 40, 300 };

	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		open_network((uint64_t)(rand() % (8 << 20)), 1 + (unsigned)rand() % MAX);
		for (unsigned i = 0; i < net.count; i++) {
			struct server *one = &net.server[i];

			one->rate = rates[rand() % RATES] * (uint64_t)MBIT;
			if (i > 0 && rand() % 3 == 0)
				damage(i, 0, 1 + net.size / PART);
			if (i > 0 && rand() % 3 == 0)
				damage(i, (uint64_t)rand() % 20, 21);
			one->round_ns = (1 + rand() % 200) * MS;
			one->from_ns = rand() % 4 ? 0 : rand() % 3000 * MS;
			if (i > 0 && rand() % 2)
				one->until_ns = rand() % 3000 * MS;
			if (i > 0 && rand() % 2)
				one->known_ns = one->until_ns + rand() % 4000 * MS;
			else if (rand() % 2)
				one->back_ns = one->until_ns + rand() % 4000 * MS;
		}
		assert_true(run(FOREVER) < FOREVER);
		has_all_once();
		close_network();
	}
}
