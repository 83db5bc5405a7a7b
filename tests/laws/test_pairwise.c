/* SPDX-License-Identifier: MIT */
/*
 * Every pair of microprotocols that a valid config can hold, and every one without every other:
 * configs that cover them, made from the descriptors alone, keep their promises through loss,
 * reordering, duplication, outages and, where somebody looks for damage, corruption; both sides
 * talk.  What promises there are is read from roles (oracle.h).
 *
 *   NOPAL_PAIRWISE_SEEDS=N    seeds of each config and network
 *   NOPAL_PAIRWISE_FIRST=N    the first of them
 *   NOPAL_PAIRWISE_ROUND=N    other configs that cover the same
 *   NOPAL_PAIRWISE_ABOUT=NAME only configs for the pairs of this microprotocol
 *   NOPAL_PAIRWISE_CONFIG=FILE  that config instead of all; FIRST and SEEDS apply
 *   NOPAL_PAIRWISE_NETWORK=NAME only this network
 *   NOPAL_PAIRWISE_TRACE=FILE  the trace of the last session, for `nopal trace`
 *   NOPAL_PAIRWISE_LIST=1     print the configs, and why which pairs cannot be
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aead_crypto.h"
#include "compose/compose.h"
#include "plan/plan.h"
#include "registry/registry.h"
#include "support/covering.h"
#include "support/nonces.h"
#include "support/oracle.h"
#include "support/test.h"

enum {
	SEEDS = 6,
	MESSAGES = 40,
	ANSWERS = 24,
	TWICE = 16,
	TEXT = 16384,
	UNHEARD_MAX = 50 /* one in so many */
};
#define SPREAD_NS (2 * NOPAL_SECOND)
#define CALM	  "; 3s: delay 20ms"

static const struct network {
	const char *name, *weather, *damaging; /* where damage is seen */
} networks[] = {
	{ "storm", "delay 20ms 15ms loss 20% duplicate 15% reorder 20%" CALM,
	  "delay 20ms 15ms loss 20% duplicate 15% corrupt 5% reorder "
	  "20%" CALM },
	{ "narrow",
	  "rate 2mbit delay 15ms limit 20 loss gemodel 3% 50% duplicate 5% "
	  "reorder 10%" CALM,
	  "rate 2mbit delay 15ms limit 20 loss gemodel 3% 50% duplicate 5% "
	  "corrupt 2% reorder 10%" CALM },
	{ "one way",
	  "fwd: delay 10ms loss 5% duplicate 5% reorder 10% rev: delay 60ms "
	  "20ms loss 30% duplicate 20%" CALM,
	  "fwd: delay 10ms loss 5% duplicate 5% corrupt 10% reorder 10% rev: "
	  "delay 60ms 20ms loss 30% duplicate 20%" CALM },
	{ "outage", "delay 10ms loss 3% duplicate 3% reorder 10% down 300ms 1500ms" CALM,
	  "delay 10ms loss 3% duplicate 3% corrupt 3% reorder 10% down 300ms "
	  "1500ms" CALM },
};
enum { NETWORKS = sizeof(networks) / sizeof(networks[0]) };

struct tally {
	uint64_t configs, sessions, damaged, twice, told, unheard, events, deliveries;
	uint64_t violations;
	bool quiet; /* says nothing of them */
};

static unsigned long asked(const char *variable, unsigned long otherwise)
{
	const char *value = getenv(variable);

	return value ? strtoul(value, NULL, 10) : otherwise;
}

/* NULL where it is refused: no word is said. */
static struct nopal_plan *plan_of(const char *config)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;

	plan = nopal_plan_parse(config, "pairwise.conf", NULL, &problems);
	nopal_problems_fini(&problems);
	return plan;
}

static bool is_good(const char *config)
{
	struct nopal_plan *plan = plan_of(config);

	nopal_plan_unref(plan);
	return plan != NULL;
}

static bool provides(const char *config, const char *role)
{
	struct nopal_plan *plan = plan_of(config);
	bool provided = plan && nopal_plan_provides(plan, role);

	nopal_plan_unref(plan);
	return provided;
}

/* Each seed has its own order of what is not ordered. */
static void run_once(struct tally *tally, struct oracle *oracle, const struct oracle_run *run)
{
	nopal__order_seed = run->seed;
	oracle_run(oracle, run);
	nopal__order_seed = 0;
	tally->sessions++;
	tally->events += oracle->events;
	tally->told += oracle->told;
	tally->unheard += oracle->unheard;
	for (unsigned i = 0; i < oracle->sides; i++)
		tally->deliveries += oracle->side[i].delivered;
}

/* One in so many is run once more: it must be the same to the last event. */
static void run(struct tally *tally, struct oracle *oracle, const struct oracle_run *of)
{
	static struct oracle again;
	struct oracle_run run = *of;

	run.trace_file = getenv("NOPAL_PAIRWISE_TRACE");
	run.traced = run.trace_file || tally->sessions % TWICE == 0;
	run_once(tally, oracle, &run);
	if (!run.traced || oracle->violation[0])
		return;
	run_once(tally, &again, &run);
	tally->twice++;
	if (again.trace != oracle->trace)
		oracle_violated(oracle, "a second run has another trace");
}

/* ------------------------------------------------------------------ violations */

/* The text without the line that begins at `at`. */
static char *without_line(const char *text, const char *at)
{
	const char *end = strchr(at, '\n');
	char *less = strdup(text);

	assert_non_null(less);
	strcpy(less + (at - text), end ? end + 1 : "");
	return less;
}

/* Does it break a promise with this config, too? */
static bool breaks(const struct oracle_run *of, const char *config)
{
	static struct oracle oracle;
	struct tally tally = { 0 };
	struct oracle_run run = *of;

	run.config = config;
	if (!is_good(config) || (strstr(of->weather, "corrupt") && !provides(config, "integrity")))
		return false;
	run_once(&tally, &oracle, &run);
	return oracle.violation[0] != '\0';
}

/* As few microprotocols as still break a promise over the same network with the same seed; the
 * caller frees. */
static char *reduced(const struct oracle_run *of)
{
	char *text = strdup(of->config);
	const char *at = text;

	assert_non_null(text);

	while (*at) {
		char *less = without_line(text, at);
		const char *end = strchr(at, '\n');

		if (breaks(of, less)) {
			at = less + (at - text);
			free(text);
			text = less;
		} else {
			free(less);
			at = end ? end + 1 : "";
		}
	}
	return text;
}

static void say(const struct oracle_run *of, const struct network *network, const char *violation)
{
	char *less = reduced(of);

	printf("violation: %s\n"
	       "  network \"%s\": %s\n"
	       "  again: NOPAL_PAIRWISE_CONFIG=FILE "
	       "NOPAL_PAIRWISE_NETWORK=\"%s\" NOPAL_PAIRWISE_FIRST=%llu "
	       "NOPAL_PAIRWISE_SEEDS=1, with FILE:\n%s"
	       "  fewer lines that break a promise, too:\n%s",
	       violation, network->name, of->weather, network->name, (unsigned long long)of->seed,
	       of->config, less);
	fflush(stdout);
	free(less);
}

/* -------------------------------------------------------------------- configs */

/* The first seed that breaks a promise is told; how many more do is counted. */
static void run_seeds(struct tally *tally, struct oracle_run *of, const struct network *network)
{
	uint64_t first = asked("NOPAL_PAIRWISE_FIRST", 1);
	uint64_t end = first + asked("NOPAL_PAIRWISE_SEEDS", SEEDS);
	static struct oracle oracle;
	uint64_t broken = 0;

	for (of->seed = first; of->seed < end; of->seed++) {
		run(tally, &oracle, of);
		if (!oracle.violation[0])
			continue;
		tally->violations++;
		if (broken++ == 0 && !tally->quiet)
			say(of, network, oracle.violation);
	}
	if (broken > 1 && !tally->quiet)
		printf("  and %llu seeds more\n", (unsigned long long)broken - 1);
}

static void run_config(struct tally *tally, const char *text)
{
	const char *only = getenv("NOPAL_PAIRWISE_NETWORK");
	char *config = oracle_watched(text);
	bool damage;

	oracle_register();
	assert_true(is_good(config));
	damage = provides(config, "integrity");

	tally->configs++;
	tally->damaged += damage;
	for (size_t n = 0; n < NETWORKS; n++) {
		struct oracle_run of = {
			.config = config,
			.weather = damage ? networks[n].damaging : networks[n].weather,
			.messages = MESSAGES,
			.answers = ANSWERS,
			.spread_ns = SPREAD_NS,
			.strict = true,
		};

		if (only && strcmp(only, networks[n].name) != 0)
			continue;
		run_seeds(tally, &of, &networks[n]);
	}
	free(config);
}

static void tell(uint64_t count, const char *what)
{
	printf("  %llu: %s\n", (unsigned long long)count, what);
}

static void conclude(const struct tally *tally)
{
	printf("%llu configs, %llu sessions, %llu violations\n", (unsigned long long)tally->configs,
	       (unsigned long long)tally->sessions, (unsigned long long)tally->violations);
	tell(tally->events, "events");
	tell(tally->deliveries, "deliveries");
	tell(tally->damaged, "configs that look for damage, with corruption");
	tell(tally->twice, "sessions run a second time, for the same trace");
	tell(tally->told, "ended by a checker where nobody promised what it "
			  "watches");
	tell(tally->unheard, "without a handshake, that nobody heard of");
	tell(nonces_sealed(), "datagrams sealed, no key with a nonce twice");
	assert_int_equal(tally->violations, 0);
	assert_true(tally->unheard * UNHEARD_MAX <= tally->sessions);
}

/* ------------------------------------------------------------------ the law */

static void tell_pairs(const struct covering *covering)
{
	size_t impossible = 0;

	for (int why = 0; why < COVERING_WHYS; why++)
		impossible += covering->impossible[why];
	printf("%u microprotocols: %zu pairs held by %zu configs, %zu times "
	       "one "
	       "without another, %zu impossible:\n",
	       covering->kit.count, covering->together, covering->count, covering->apart,
	       impossible);
	for (int why = 0; why < COVERING_WHYS; why++)
		printf("  %zu: %s\n", covering->impossible[why],
		       covering_why_text((enum covering_why)why));
	for (size_t i = 0; i < covering->reason_count; i++)
		printf("    %zu times: %s\n", covering->reasons[i].pairs,
		       covering->reasons[i].text);
	if (!getenv("NOPAL_PAIRWISE_LIST"))
		return;
	for (size_t i = 0; i < covering->count; i++)
		printf("# config %zu\n%s", i + 1, covering->texts[i]);
	covering_print(covering, stdout);
}

static void run_file(const char *name)
{
	static char text[TEXT];
	struct tally tally = { 0 };
	FILE *file = fopen(name, "r");
	size_t length;

	assert_non_null(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	run_config(&tally, text);
	conclude(&tally);
}

TEST(test_every_pair_keeps_its_promises)
{
	static struct covering covering;
	struct tally tally = { 0 };

	if (getenv("NOPAL_PAIRWISE_CONFIG")) {
		run_file(getenv("NOPAL_PAIRWISE_CONFIG"));
		return;
	}
	covering_make(&covering, getenv("NOPAL_PAIRWISE_ABOUT"), asked("NOPAL_PAIRWISE_ROUND", 0));
	tell_pairs(&covering);
	assert_int_equal(covering.unexplained, 0);
	for (size_t i = 0; i < covering.count; i++)
		run_config(&tally, covering.texts[i]);
	covering_free(&covering);
	conclude(&tally);
	assert_true(nonces_sealed() > 0 || !nopal__aead_found());
}

/* ------------------------------------------------------------- is it a law? */

/* Loses every fifth message that it sees, but only beside keep_alive. */
struct a_saboteur {
	bool loses;
	uint32_t seen;
};

static int saboteur_open(struct nopal_at at)
{
	struct a_saboteur *self = nopal_state(at);

	self->loses = strstr(nopal_session_composition(at.session), "keep_alive") != NULL;
	return 0;
}

static enum nopal_verdict saboteur_on_msg(struct nopal_at at, struct nopal_message *message)
{
	struct a_saboteur *self = nopal_state(at);

	if (!self->loses || ++self->seen % 5)
		return NOPAL_CONTINUE;
	nopal_message_discard(at.session, message);
	return NOPAL_STOP;
}

static const struct nopal_binding saboteur_bindings[] = {
	NOPAL_ON(MSG_FROM_NET, saboteur_on_msg, .before = "order"),
	{ 0 },
};

static const struct nopal_microprotocol a_saboteur = {
	.abi = NOPAL_ABI,
	.name = "a_saboteur",
	.family = "check",
	.summary = "loses messages beside keep_alive",
	.needs =
		(const struct nopal_relation[]){
			{ "reliability", "there must be a promise to break" }, { 0 } },
	.excludes =
		(const struct nopal_relation[]){ { "jitter", "it loses messages by itself" },
						 { "check_fifo", "it ends the session before us" },
						 { 0 } },
	.bindings = saboteur_bindings,
	.state_size = sizeof(struct a_saboteur),
	.open = saboteur_open,
};

static void saboteur_register(void)
{
	struct nopal_problems problems = { 0 };

	assert_true(nopal__registry_add(&a_saboteur, "test", &problems));
	nopal_problems_fini(&problems);
}

/* A promise that two microprotocols break together is found where they are together, and nowhere
 * else. */
TEST(test_what_breaks_a_pair_is_found)
{
	static struct covering covering;
	size_t found = 0;

	if (getenv("NOPAL_PAIRWISE_CONFIG"))
		return;
	saboteur_register();
	covering_make(&covering, "a_saboteur", 0);
	for (size_t i = 0; i < covering.count; i++) {
		const char *text = covering.texts[i];
		bool both = strstr(text, "keep_alive") != NULL;
		struct tally tally = { .quiet = both };

		if (!strstr(text, "a_saboteur"))
			continue;
		run_config(&tally, text);
		/* some compositions promise nothing that it breaks */
		assert_true(!tally.violations || both);
		found += tally.violations > 0;
	}
	assert_true(found > 0);
	covering_free(&covering);
}
