/* SPDX-License-Identifier: MIT */
/*
 * The law over all compositions: what the checker accepts keeps what it promises, on networks from
 * perfect to cruel, and completes when they are calm again.
 *
 * First come the cases that once failed (laws/compositions/), then compositions that nobody chose,
 * each over a network that nobody chose.  Some are run twice: nothing may differ.  One that fails
 * is made smaller, and printed as a file with the command that runs it again.
 *
 *   NOPAL_LAW_SESSIONS=N   so many, however long it takes
 *   NOPAL_LAW_SECONDS=N    for so long
 *   NOPAL_LAW_SEED=N       from this seed on
 *   NOPAL_LAW_CASE=FILE    that case alone
 *   NOPAL_LAW_TRACE=FILE   its trace, for `nopal trace`
 *   NOPAL_LAW_DUMP=1       where each side is at the end, and what it holds
 *   NOPAL_LAW_KEEP=FOLDER  cases that fail are written there
 *   NOPAL_LAW_SHRINK=off   as they are
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/composition.h"
#include "support/lawcase.h"
#include "support/lines.h"
#include "plan/plan.h"
#include "support/said.h"
#include "support/test.h"

enum {
	SESSIONS = 400, /* of a short run, which ends before them after: */
	SECONDS = 60,
	TEXT = 32768,
	MESSAGES_MIN = 7,
	MESSAGES_MAX = 40,
	ANSWERS_MAX = 24,
	CUT_PERCENT = 8,
	DAMAGED_PERCENT = 30,
	TWICE = 4, /* one in so many */
	IP_UDP_BYTES = 28,
};

#define CASES NOPAL_SOURCE_ROOT "/tests/laws/compositions"

struct tally {
	struct kit kit;
	struct composition_tally configs;
	uint64_t sessions, again, different, violations;
	uint64_t broken, unheard, told, cut, damaged, busy;
	uint64_t events, deliveries, outcomes, good;
	uint64_t layers[4];
	uint64_t with[KIT_PARTS]; /* configs with this microprotocol */
	uint8_t pair[KIT_PARTS][KIT_PARTS];
};

static unsigned long asked(const char *variable, unsigned long otherwise)
{
	const char *value = getenv(variable);

	return value ? strtoul(value, NULL, 10) : otherwise;
}

/* ------------------------------------------------------------------------ cases */

/* Needs of the network under it. */
static struct weather_for weather_for(struct draw *from, const char *config)
{
	struct weather_for what = { 0 };
	struct nopal_service lowest, service;
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(config, "law.conf", NULL, &problems);
	nopal_problems_fini(&problems);
	nopal_plan_service(plan, nopal_plan_layers(plan) - 1, NULL, &lowest);
	nopal_plan_service(plan, 0, NULL, &service);
	/* found before anything of a datagram counts */
	what.damages = draw_happens(from, DAMAGED_PERCENT) &&
		       nopal_promises(&lowest, NOPAL_INTEGRITY, NOPAL_ACCIDENTS);
	what.mtu = plan->datagram_bytes + IP_UDP_BYTES;
	what.may_pace = nopal_promises(&service, NOPAL_PACE, NOPAL_NETWORK_PACE);
	nopal_plan_unref(plan);
	return what;
}

static void case_draw(struct tally *tally, uint64_t seed, struct lawcase *one)
{
	struct draw from = draw_of(~seed);
	struct weather weather;
	struct weather_for what;

	memset(one, 0, sizeof(*one));
	one->seed = seed;
	one->config = composition_draw(&tally->kit, seed, COMPOSITION_ANY, &tally->configs);
	what = weather_for(&from, one->config);
	weather_draw(&from, &what, &weather);
	weather_write(&weather, one->weather, sizeof(one->weather));
	one->pairs = 1 + (unsigned)draw_below(&from, ORACLE_PAIRS);
	one->messages = MESSAGES_MIN + (uint32_t)draw_below(&from, MESSAGES_MAX);
	one->answers = MESSAGES_MIN + (uint32_t)draw_below(&from, ANSWERS_MAX);
	one->spread_ns =
		(int64_t)draw_below(&from, (uint64_t)(weather_calm_ns(&weather) + NOPAL_SECOND));
	one->spread_ns -= one->spread_ns % NOPAL_MILLISECOND;
	one->plain = draw_happens(&from, 40);
	if (draw_happens(&from, CUT_PERCENT))
		one->cut_ns = (int64_t)(1 + draw_below(&from, 8000)) * NOPAL_MILLISECOND;
	tally->cut += one->cut_ns != 0;
	tally->damaged += what.damages;
}

/* Which microprotocols of the kit are in it. */
static void note_parts(struct tally *tally, const struct lawcase *one)
{
	bool in[KIT_PARTS] = { false };
	unsigned layers = 0;

	for (int line = 1; line <= lines_count(one->config); line++) {
		char name[64];

		layers += lines_kind(one->config, line) == LINE_LAYER;
		lines_name(one->config, line, name, sizeof(name));
		for (unsigned i = 0; i < tally->kit.count; i++)
			in[i] |= strcmp(tally->kit.parts[i].microprotocol->name, name) == 0;
	}
	tally->layers[layers ? layers : 1]++;
	for (unsigned a = 0; a < tally->kit.count; a++) {
		tally->with[a] += in[a];
		for (unsigned b = 0; in[a] && b < a; b++)
			tally->pair[a][b] |= in[b];
	}
}

static void note_run(struct tally *tally, const struct oracle *oracle)
{
	bool good = true;

	tally->sessions++;
	tally->events += oracle->events;
	tally->told += oracle->told;
	tally->unheard += oracle->unheard;
	tally->broken += oracle->broken;
	tally->busy += oracle->busy;
	for (unsigned i = 0; i < oracle->sides; i++) {
		const struct oracle_side *side = &oracle->side[i];

		tally->deliveries += side->delivered;
		tally->outcomes += side->outcomes;
		good &= side->ended && side->end == NOPAL_ENDED_WELL;
	}
	tally->good += good;
}

/* ------------------------------------------------------------------- violations */

static void write_case(const struct lawcase *one, const char *text)
{
	const char *folder = getenv("NOPAL_LAW_KEEP");
	char *name;
	FILE *file;

	if (!folder)
		return;
	name = said("%s/law-%llu.conf", folder, (unsigned long long)one->seed);
	file = fopen(name, "w");
	if (file) {
		fputs(text, file);
		fclose(file);
	}
	free(name);
}

static void say(struct lawcase *one, struct oracle *oracle)
{
	const char *shrink = getenv("NOPAL_LAW_SHRINK");
	char *text;

	printf("violation, seed %llu: %s\n", (unsigned long long)one->seed, oracle->violation);
	fflush(stdout);
	if (!shrink || strcmp(shrink, "off") != 0)
		lawcase_shrink(one, oracle);
	text = lawcase_text(one);
	printf("smallest: %s\nagain: NOPAL_LAW_CASE=FILE laws-test_compositions"
	       ", with FILE:\n%s\n",
	       oracle->violation, text);
	fflush(stdout);
	write_case(one, text);
	free(text);
}

/* One in so many is run once more: it must be the same to the last event. */
static bool run_case(struct tally *tally, const struct lawcase *one, struct oracle *oracle,
		     bool twice)
{
	uint64_t trace;

	if (!lawcase_run(one, oracle, twice) || !twice)
		return oracle->violation[0] == '\0';
	trace = oracle->trace;
	tally->again++;
	if (!lawcase_run(one, oracle, true))
		return false;
	if (oracle->trace != trace) {
		tally->different++;
		oracle_violated(oracle, "a second run has another trace");
	}
	return oracle->violation[0] == '\0';
}

static void judge_case(struct tally *tally, struct lawcase *one, bool twice)
{
	static struct oracle oracle;
	bool good = run_case(tally, one, &oracle, twice);

	note_run(tally, &oracle);
	if (!good) {
		tally->violations++;
		say(one, &oracle);
	}
}

/* --------------------------------------------------------------------- the law */

static char *read_text(const char *name)
{
	static char text[TEXT];
	FILE *file = fopen(name, "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	return text;
}

static void judge_file(struct tally *tally, const char *name)
{
	struct lawcase one;
	int line;

	assert_true(lawcase_read(read_text(name), &one));
	/* A later checker may refuse it, with a reason: that mends it, too. */
	if (composition_is_good(one.config, &line))
		judge_case(tally, &one, true);
	lawcase_free(&one);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_case(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".conf") == 0;
}

TEST(test_what_once_failed_holds)
{
	static struct tally tally;
	struct dirent **entries = NULL;
	int count;

	if (getenv("NOPAL_LAW_CASE"))
		return;
	count = scandir(CASES, &entries, is_case, by_name);
	assert_true(count > 0);
	for (int i = 0; i < count; i++) {
		char *name = said("%s/%s", CASES, entries[i]->d_name);

		judge_file(&tally, name);
		free(name);
		free(entries[i]);
	}
	free(entries);
	printf("%d cases, %llu sessions, %llu violations\n", count,
	       (unsigned long long)tally.sessions, (unsigned long long)tally.violations);
	assert_int_equal(tally.violations, 0);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static unsigned pairs_of(const struct tally *tally, unsigned *ret_reached)
{
	unsigned pairs = 0;

	*ret_reached = 0;
	for (unsigned a = 0; a < tally->kit.count; a++) {
		*ret_reached += tally->with[a] != 0;
		for (unsigned b = 0; b < a; b++)
			pairs += tally->pair[a][b];
	}
	return pairs;
}

static void tell(uint64_t count, const char *what)
{
	printf("  %llu %s\n", (unsigned long long)count, what);
}

static void conclude(const struct tally *tally, double took)
{
	unsigned reached, pairs = pairs_of(tally, &reached);

	printf("%llu sessions of %llu, %llu and %llu compositions of one, two "
	       "and three layers in %.0f s, %llu violations\n",
	       (unsigned long long)tally->sessions, (unsigned long long)tally->layers[1],
	       (unsigned long long)tally->layers[2], (unsigned long long)tally->layers[3], took,
	       (unsigned long long)tally->violations);
	printf("  %u of %u microprotocols, %u of %u pairs\n", reached, tally->kit.count, pairs,
	       tally->kit.count * (tally->kit.count - 1) / 2);
	printf("  %.2f draws a composition, of which %.0f %% were taken as "
	       "they were\n",
	       (double)tally->configs.drawn / (double)tally->configs.accepted,
	       100 * (double)tally->configs.at_once / (double)tally->configs.accepted);
	tell(tally->events, "events");
	tell(tally->deliveries, "deliveries");
	tell(tally->outcomes, "outcomes");
	tell(tally->good, "sessions whose ends were all good");
	tell(tally->broken, "that silence ended, as it may");
	tell(tally->busy, "that sent on without any progress, as their "
			  "parameters ask for");
	tell(tally->cut, "whose network was cut for good");
	tell(tally->damaged, "over networks that damage datagrams");
	tell(tally->unheard, "without a handshake, that nobody heard of");
	tell(tally->told, "ended by a checker where nobody promised what it "
			  "watches");
	tell(tally->again, "run a second time, for the same trace");
}

TEST(test_what_is_accepted_keeps_its_promises)
{
	static struct tally tally;
	uint64_t first = asked("NOPAL_LAW_SEED", 0);
	uint64_t max =
		asked("NOPAL_LAW_SESSIONS", getenv("NOPAL_LAW_SECONDS") ? UINT64_MAX : SESSIONS);
	double begin = seconds();
	double limit = (double)asked("NOPAL_LAW_SECONDS",
				     getenv("NOPAL_LAW_SESSIONS") ? 1ul << 30 : SECONDS);

	oracle_register();
	kit_take_stock(&tally.kit, false);
	if (getenv("NOPAL_LAW_CASE")) {
		judge_file(&tally, getenv("NOPAL_LAW_CASE"));
		assert_int_equal(tally.violations, 0);
		return;
	}
	while (tally.sessions < max && seconds() - begin < limit) {
		struct lawcase one;

		case_draw(&tally, first + tally.sessions, &one);
		note_parts(&tally, &one);
		judge_case(&tally, &one, tally.sessions % TWICE == 0);
		lawcase_free(&one);
	}
	conclude(&tally, seconds() - begin);
	assert_int_equal(tally.violations, 0);
	assert_int_equal(tally.different, 0);
	assert_true(tally.good * 2 > tally.sessions);
}
