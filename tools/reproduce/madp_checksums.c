/* SPDX-License-Identifier: MIT */
/*
 * madp_checksums.c -- MD5, as MADP has it (section III.A), beside the other algorithms of
 * `checksum`: what each costs, and what damage each lets pass.
 *
 * Datagrams of random bytes are sealed and damaged.  One flipped bit is the damage of tc-netem and
 * of every emulated link here; the other kinds are those that networks are known for: two bits,
 * two 16-bit words that change places, words that are moved by one.  Then `madp` downloads an
 * object over a path that damages, with each algorithm.
 */
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/clock.h"
#include "load/pattern.h"
#include "reproduce/madp.h"

enum {
	SUMS_BODY = 1441, /* bytes of a datagram of madp, before its digest */
	SUMS_TRAILER = 64,
	SUMS_PARAMETERS = 64, /* room */
	SUMS_DATAGRAMS = 100000,
	SUMS_DATAGRAMS_QUICK = 5000,
	SUMS_WORD = 2, /* bytes that the one's complement sum adds */
	SUMS_TEXT = 96,
	SUMS_BIT = 8,
};
#define SUMS_COST "cost of a datagram"

static const char *const sums_algorithms[] = { "crc32c", "ones_complement", "md5" };
enum { SUMS_ALGORITHMS = sizeof(sums_algorithms) / sizeof(*sums_algorithms) };

/* An algorithm as a config would have it. */
struct sums {
	const struct reproduce_options *options;
	const char *algorithm;
	const char *sets[2];
	const struct nopal_microprotocol *checksum;
	_Alignas(int64_t) uint8_t parameters[SUMS_PARAMETERS];
	uint32_t trailer;
};

/* ------------------------------------------------------------------- damage */

static uint64_t sums_random(const struct sums *sums, uint64_t number)
{
	const uint64_t from[] = { sums->options->seed, number };
	struct nopal_hash hash;

	nopal_hash_init(&hash);
	nopal_hash_update(&hash, from, sizeof(from));
	return nopal_hash_final(&hash);
}

static void sums_one_bit(uint8_t *bytes, uint32_t length, uint64_t random)
{
	uint64_t bit = random % ((uint64_t)length * SUMS_BIT);

	bytes[bit / SUMS_BIT] ^= (uint8_t)(1u << bit % SUMS_BIT);
}

static void sums_two_bits(uint8_t *bytes, uint32_t length, uint64_t random)
{
	sums_one_bit(bytes, length, random & UINT32_MAX);
	sums_one_bit(bytes, length, random >> 32);
}

static void sums_exchange(uint8_t *bytes, uint32_t length, uint64_t random)
{
	uint8_t *one = bytes + SUMS_WORD * ((random & UINT32_MAX) % (length / SUMS_WORD));
	uint8_t *other = bytes + SUMS_WORD * ((random >> 32) % (length / SUMS_WORD));
	uint8_t kept[SUMS_WORD];

	memcpy(kept, one, SUMS_WORD);
	memcpy(one, other, SUMS_WORD);
	memcpy(other, kept, SUMS_WORD);
}

/* All words behind a place move by one, and the last takes the first one's place. */
static void sums_move(uint8_t *bytes, uint32_t length, uint64_t random)
{
	uint32_t words = length / SUMS_WORD, from = (uint32_t)(random % (words - 1));
	uint8_t *last = bytes + (size_t)(words - 1) * SUMS_WORD, kept[SUMS_WORD];
	uint8_t *first = bytes + (size_t)from * SUMS_WORD;

	memcpy(kept, last, SUMS_WORD);
	memmove(first + SUMS_WORD, first, (size_t)(last - first));
	memcpy(first, kept, SUMS_WORD);
}

static const struct {
	const char *name;
	void (*damage)(uint8_t *bytes, uint32_t length, uint64_t random);
} sums_kinds[] = {
	{ "one bit", sums_one_bit },
	{ "two bits", sums_two_bits },
	{ "words exchanged", sums_exchange },
	{ "words moved", sums_move },
};
enum { SUMS_KINDS = sizeof(sums_kinds) / sizeof(*sums_kinds) };

/* ------------------------------------------------------------------ algorithms */

/* The checksum with this algorithm; false: this build has it not, and it was said. */
static bool sums_open(struct sums *sums, const struct reproduce_options *options, int algorithm,
		      char set[SUMS_TEXT])
{
	const struct nopal_parameter *parameter;
	struct nopal_plan *plan;
	int64_t place = algorithm;

	*sums = (struct sums){ .options = options,
			       .algorithm = sums_algorithms[algorithm],
			       .checksum = nopal_registry_find("checksum") };
	snprintf(set, SUMS_TEXT, "checksum.algorithm=%s", sums->algorithm);
	sums->sets[0] = set;
	plan = bench_load("madp", sums->sets);
	nopal_plan_unref(plan);
	if (!plan) {
		report_refused(options->report, "no row of %s: this build has it not",
			       sums->algorithm);
		return false;
	}
	for (parameter = sums->checksum->parameters; parameter->name; parameter++)
		if (strcmp(parameter->name, "algorithm") == 0)
			memcpy(sums->parameters + parameter->offset, &place, sizeof(place));
	sums->trailer = sums->checksum->seal->trailer(sums->parameters);
	return true;
}

static struct report_cell sums_cell(const struct sums *sums, const char *table, const char *column,
				    const char *unit)
{
	return (struct report_cell){ table, sums->algorithm, column, unit };
}

static int sums_count(const struct reproduce_options *options)
{
	return options->quick ? SUMS_DATAGRAMS_QUICK : SUMS_DATAGRAMS;
}

static struct report_cell sums_pass_cell(const struct sums *sums, int kind)
{
	return sums_cell(sums,
			 report_format(sums->options->report, "damaged datagrams of %d that pass",
				       sums_count(sums->options)),
			 sums_kinds[kind].name, "");
}

/* Damaged datagrams that are taken for good ones. */
static void sums_let_pass(const struct sums *sums, int kind)
{
	int count = sums_count(sums->options), passed = 0;
	const struct nopal_seal *seal = sums->checksum->seal;
	struct nopal_part part = { .microprotocol = sums->checksum,
				   .parameters = sums->parameters };
	struct nopal_at at = { .part = &part };
	uint8_t good[SUMS_BODY + SUMS_TRAILER], bad[SUMS_BODY + SUMS_TRAILER];
	uint32_t length = SUMS_BODY + sums->trailer;

	for (int i = 0; i < count; i++) {
		uint64_t random = sums_random(sums, (uint64_t)i);

		/* like a file's: a damage that changes nothing is none */
		pattern_fill(good, SUMS_BODY, random);
		seal->close(at, good, SUMS_BODY);
		memcpy(bad, good, length);
		sums_kinds[kind].damage(bad, SUMS_BODY, sums_random(sums, ~(uint64_t)i));
		if (memcmp(bad, good, length) != 0)
			passed += seal->open(at, bad, SUMS_BODY);
	}
	report_add(sums->options->report, sums_pass_cell(sums, kind), passed);
}

/* Of a datagram, at one end. */
static void sums_cost(const struct sums *sums)
{
	int count = sums_count(sums->options);
	const struct nopal_seal *seal = sums->checksum->seal;
	struct nopal_part part = { .microprotocol = sums->checksum,
				   .parameters = sums->parameters };
	struct nopal_at at = { .part = &part };
	uint8_t bytes[SUMS_BODY + SUMS_TRAILER];
	int64_t begun_ns;

	report_add(sums->options->report, sums_cell(sums, SUMS_COST, "trailer", "B"),
		   sums->trailer);
	if (!sums->options->live)
		return;
	pattern_fill(bytes, SUMS_BODY, 0);
	for (int run = 0; run < sums->options->runs; run++) {
		begun_ns = clock_cpu_ns();
		for (int i = 0; i < count; i++) {
			bytes[0] = (uint8_t)i;
			seal->close(at, bytes, SUMS_BODY);
		}
		report_add(sums->options->report, sums_cell(sums, SUMS_COST, "processor", "ns"),
			   (double)(clock_cpu_ns() - begun_ns) / count);
	}
}

/* ---------------------------------------------------------------- downloads */

/* Over a path that damages a tenth of all datagrams, each way. */
static bool sums_download(const struct sums *sums)
{
	static const char table[] = "madp, corruption of 10 %, simulated; 1 MB";
	const struct reproduce_protocol protocol = { "madp", "madp", SIDE_CONFIG, sums->sets };
	int runs =
		sums->options->runs_given || sums->options->quick ? sums->options->runs : MADP_RUNS;
	struct nopal_plan *plan;
	int wrong = 0;
	bool good = reproduce_protocol_plan(&protocol, &plan);

	for (int run = 0; good && run < runs; run++) {
		struct download download = { .protocol = SIDE_CONFIG,
					     .plan = plan,
					     .chunk = MADP_CHUNK,
					     .size = MADP_LARGE,
					     .cutoff_ns = MADP_CUTOFF_NS };
		struct reproduce_place place;

		good = reproduce_place_open(&place, sums->options, REPRODUCE_SIMULATED,
					    madp_conditions[MADP_CORRUPT_10].link,
					    sums->options->seed + (uint64_t)run) &&
		       download_run(&download, &place.sides);
		wrong += download.wrong;
		report_add(sums->options->report, sums_cell(sums, table, "throughput", "Mb/s"),
			   madp_throughput(&download));
	}
	if (good)
		report_add(sums->options->report, sums_cell(sums, table, "damaged objects", ""),
			   wrong);
	nopal_plan_unref(plan);
	return good;
}

/* ------------------------------------------------------------------- claims */

static double sums_passed(const struct reproduce_options *options, const char *algorithm, int kind)
{
	const struct sums sums = { .options = options, .algorithm = algorithm };

	return report_mean(options->report, sums_pass_cell(&sums, kind));
}

int reproduce_madp_checksums(const struct reproduce_options *options)
{
	const struct sums crc = { .algorithm = "crc32c" }, md5 = { .algorithm = "md5" };
	struct report *report = options->report;
	double passed = 0;
	bool good = true;

	report_intervals(report);
	for (int i = 0; good && i < SUMS_ALGORITHMS; i++) {
		char set[SUMS_TEXT];
		struct sums sums;

		if (!reproduce_wanted(options->rows, sums_algorithms[i]) ||
		    !sums_open(&sums, options, i, set))
			continue;
		for (int kind = 0; kind < SUMS_KINDS; kind++)
			sums_let_pass(&sums, kind);
		sums_cost(&sums);
		good = sums_download(&sums);
	}
	for (int kind = 0; kind < SUMS_KINDS; kind++)
		passed += sums_passed(options, "crc32c", kind) + sums_passed(options, "md5", kind);
	report_less(report, "ours: crc32c and md5 let none of these damages pass", passed, 1,
		    "datagrams of all kinds");
	report_less(report, "ours: the emulated link's flip of one bit is found by all",
		    passed + sums_passed(options, "ones_complement", 0), 1, "datagrams");
	report_less(report, "ours: words in another order pass the one's complement sum", 0,
		    sums_passed(options, "ones_complement", SUMS_KINDS - 1), "datagrams");
	report_less(report, "ours: md5 costs more than crc32c, which finds the same",
		    report_mean(report, sums_cell(&crc, SUMS_COST, "processor", "ns")),
		    report_mean(report, sums_cell(&md5, SUMS_COST, "processor", "ns")), "ns, live");
	return TOOL_GOOD;
}
