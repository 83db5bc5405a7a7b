/* SPDX-License-Identifier: MIT */
/*
 * Destinations come and go, in good order and at once, while messages are under way through loss,
 * duplicates, reordering and cuts.  A message is for those that are members when it leaves; its
 * outcome is told once, with the copy that decides it; who stays to the end has all that was sent
 * while it was there.  The same seed does the same.  Prints how many messages, joins and leaves,
 * and violations.
 */
#include "plan/plan.h"
#include "support/witness.h"
#include "support/test.h"

enum { SEEDS = 200, HOSTS = 6, STEPS = 150, ID_MAX = 63 };

static struct many many;

/* Knowledge of each host's present life as a member. */
static struct life {
	bool member; /* told to join, not told to go, and has not ended */
	uint32_t from_message;
} life[HOSTS];

static bool balanced; /* each message goes to three, and others take their place */

/* A message for all leaves through a channel that some do not hear, with this beside; NULL: it does
 * not. */
static const char *channel;

static struct tally {
	uint64_t messages, joins, leaves, outcomes[3];
	unsigned violations;
} tally;

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % below);
}

/* ------------------------------------------------------------------- members */

static void members_note(void)
{
	witness.members = 0;
	for (uint32_t i = 0; i < HOSTS; i++) {
		if (many.end[i].ended)
			life[i].member = false;
		if (life[i].member)
			witness.members |= UINT64_C(1) << many.end[i].id;
	}
	witness.members_known = many.opened != 0 && !balanced;
}

/* A host that is no member any more comes again under another id: what it had in its last life is
 * checked and forgotten. */
static void join(void)
{
	uint32_t i = draw(HOSTS);
	struct many_end *end = &many.end[i];
	int64_t old = end->id, id;

	if (life[i].member || (old && !end->ended) ||
	    (old && end->session)) /* it has not heard of its end */
		return;
	id = many_add(&many, i);
	assert_true(id > 0 && id <= ID_MAX);
	end->opened = end->ended = 0;
	end->delivered = end->newest = 0;
	life[i] = (struct life){ .member = true, .from_message = many.sent };
	tally.joins++;
}

static void leave(bool at_once)
{
	uint32_t i = draw(HOSTS);

	if (!life[i].member)
		return;
	life[i].member = false;
	assert_int_equal(nopal_destination_remove(many.group, (uint32_t)many.end[i].id, at_once),
			 0);
	tally.leaves++;
}

static void cut(void)
{
	if (channel && draw(2))
		many_deafen(&many, draw(HOSTS), true);
	else
		many_cut(&many, draw(HOSTS));
}

static void mend(void)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		many_deafen(&many, i, false);
		many_link(&many, i, "delay 10ms 5ms loss 5% duplicate 3%");
	}
}

static void send_one(void)
{
	uint32_t i = draw(HOSTS), number = many.sent;
	uint64_t to = 0;

	members_note();
	/* through a channel, what is for one alone has no place in the order */
	if (draw(8) == 0 && life[i].member && !channel)
		to = (uint64_t)many.end[i].id;
	assert_int_equal(many_send_bytes(&many, draw(channel ? 1000 : 9000), to), 0);
	witness_check(number);
}

/* --------------------------------------------------------------------- a run */

static void step(void)
{
	members_note();
	switch (draw(12)) {
	case 0:
	case 1:
		join();
		break;
	case 2:
		leave(false);
		break;
	case 3:
		leave(true);
		break;
	case 4:
		if (draw(4) == 0)
			cut();
		break;
	case 5:
		mend();
		break;
	default:
		send_one();
	}
	many_run(&many, draw(40) * NOPAL_MILLISECOND);
}

static void begin(struct nopal_plan *plan, uint32_t acks, uint64_t seed)
{
	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	many_prepare_plan(&many, nopal_plan_ref(plan), HOSTS, "delay 10ms", seed);
	nopal_trace_start(many.world, NULL, NOPAL_TRACE_EVENTS);
	witness_begin(&many, acks);
	witness.may_wait = true;
	memset(life, 0, sizeof(life));
	mend();
	for (int i = 0; i < HOSTS; i++)
		join();
}

static void check(void)
{
	for (uint32_t m = 0; m < many.sent; m++) {
		witness_wants(many.outcome_count[m] == 1, "one outcome", m);
		tally.outcomes[many.outcome[m]]++;
	}
	for (uint32_t i = 0; i < HOSTS; i++) {
		witness_wants(many.end[i].wrong == 0, "other bytes", i);
		witness_wants(balanced || many.end[i].late == 0, "out of order", i);
		for (uint32_t m = 0; m < many.sent; m++)
			/* in place of another it may come in a host's next life */
			witness_wants(balanced || many.end[i].seen[m] <= 1, "twice", m);
	}
}

/* A member at the end has all that was for it. */
static void check_members(void)
{
	members_note();
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t m = life[i].from_message; m < many.sent; m++)
			if (life[i].member && !balanced && !witness.message[m].named)
				witness_wants(many.end[i].seen[m] == 1, "a member has not got it",
					      m);
}

static uint64_t run(struct nopal_plan *plan, uint32_t acks, uint64_t seed)
{
	uint64_t hash;

	begin(plan, acks, seed);
	for (int i = 0; i < STEPS && many.group; i++)
		step();
	mend();
	many_run(&many, 100 * NOPAL_SECOND);
	check_members();
	if (many.group)
		nopal_session_close(many.group);
	many_run(&many, 200 * NOPAL_SECOND);
	witness_wants(many.ended == 1, "one end", 0);
	check();
	tally.messages += many.sent;
	tally.violations += witness.violations;
	if (witness.violations)
		printf("acks %u, seed %llu: %s\n", acks, (unsigned long long)seed,
		       witness.violation);
	hash = nopal_trace_hash(many.world);
	many_close(&many);
	return hash;
}

static struct nopal_plan *plan_with(uint32_t acks)
{
	char group[256], config[1280];

	const char *beside = balanced ? "balance { copies = 3 }" : "";

	snprintf(group, sizeof(group), "fan_out { acks = %u } %s a_witness {}", acks,
		 channel ? channel : beside);
	snprintf(config, sizeof(config),
		 channel ? MANY_CHANNEL("", "patience = 300ms", "%s") : MANY_RELIABLE("%s"), group);
	return many_plan(config);
}

static void run_seeds(uint32_t acks)
{
	struct nopal_plan *plan = plan_with(acks);

	for (uint32_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t hash = run(plan, acks, seed);

		if (seed <= SEEDS / 10)
			assert_true(run(plan, acks, seed) == hash);
	}
	nopal_plan_unref(plan);
}

static void tell(void)
{
	printf("%llu messages, %llu joins, %llu leaves, %llu copies: "
	       "%llu arrived, %llu missing, %llu unknown; %u violations\n",
	       (unsigned long long)tally.messages, (unsigned long long)tally.joins,
	       (unsigned long long)tally.leaves, (unsigned long long)witness.copies,
	       (unsigned long long)tally.outcomes[NOPAL_OUTCOME_DELIVERED],
	       (unsigned long long)tally.outcomes[NOPAL_OUTCOME_LOST],
	       (unsigned long long)tally.outcomes[NOPAL_OUTCOME_UNKNOWN], tally.violations);
	assert_int_equal(tally.violations, 0);
}

TEST(test_members_come_and_go)
{
	for (uint32_t acks = 0; acks <= 2; acks++)
		run_seeds(acks);
	tell();
}

TEST(test_members_of_a_channel_come_and_go)
{
	channel = "";
	for (uint32_t acks = 0; acks <= 2; acks++)
		run_seeds(acks);
	channel = "forward_error_correction { k = 4 n = 6 code = cauchy }";
	run_seeds(0);
	channel = "rate_cc {} slowest_receiver { initial = 2Mbit least = "
		  "100kbit } forward_error_correction {}";
	run_seeds(2);
	channel = NULL;
	tell();
}

TEST(test_others_take_the_place_of_those_that_went)
{
	balanced = true;
	run_seeds(2);
	tell();
}

int main(void)
{
	witness_enter();
	return tests_run();
}
