/* SPDX-License-Identifier: MIT */
#include "support/compositions_page.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "support/composition.h"
#include "support/covering.h"
#include "support/lines.h"
#include <nopal/nopal.h>
#include "support/suite.h"
#include "support/worth.h"

enum {
	FAMILIES = 32,
	DRAWS = 1000, /* compositions of any layers */
	NAME = 64,
};

/* The last cell of a row; a bar in it is no border. */
static void end_row(FILE *out, const char *text)
{
	fputs(" | ", out);
	for (; *text; text++)
		fprintf(out, *text == '|' ? "\\%c" : "%c", *text);
	fputs(" |\n", out);
}

/* -------------------------------------------------------------------- families */

struct family {
	const char *name;
	unsigned members;
	unsigned pairs, held; /* with other microprotocols, in one layer */
	unsigned drawn;	      /* compositions that hold a member */
};

struct families {
	struct family family[FAMILIES];
	unsigned count;
};

static unsigned family_index(struct families *families, const char *name)
{
	unsigned i = 0;

	while (i < families->count && strcmp(families->family[i].name, name) != 0)
		i++;
	if (i == families->count) {
		assert(i < FAMILIES);
		families->family[families->count++].name = name;
	}
	return i;
}

static void count_pairs(struct families *families, const struct covering *covering)
{
	const struct kit *kit = &covering->kit;

	for (unsigned a = 0; a < kit->count; a++) {
		struct family *family = &families->family[family_index(
			families, kit->parts[a].microprotocol->family)];

		family->members++;
		for (unsigned b = 0; b < kit->count; b++) {
			family->pairs += a != b;
			family->held += covering_rendezvous(covering, a, b);
		}
	}
}

/* Returns its layers. */
static unsigned count_families_of(struct families *families, const char *text)
{
	bool in[FAMILIES] = { false };
	unsigned layers = 0;

	for (int line = 1; line <= lines_count(text); line++) {
		char name[NAME];

		layers += lines_kind(text, line) == LINE_LAYER;
		if (lines_kind(text, line) != LINE_PART)
			continue;
		lines_name(text, line, name, sizeof(name));
		in[family_index(families, nopal_registry_find(name)->family)] = true;
	}
	for (unsigned i = 0; i < families->count; i++)
		families->family[i].drawn += in[i];
	return layers ? layers : 1;
}

static void print_draws(FILE *out, struct families *families)
{
	static struct kit kit;
	struct composition_tally tally = { 0 };
	unsigned layers[4] = { 0 };

	kit_take_stock(&kit, false);
	for (uint64_t seed = 0; seed < DRAWS; seed++) {
		char *text = composition_draw(&kit, seed, COMPOSITION_ANY, &tally);

		layers[count_families_of(families, text)]++;
		free(text);
	}
	fprintf(out,
		"There are too many valid compositions to count them: each microprotocol that "
		"fits\nmakes twice as many. So %u were drawn at random, of one, two and three "
		"layers (%u, %u,\n"
		"%u); one took %.2f draws. Of one layer between an application and the network, "
		"each pair\nof microprotocols was tried.\n\n",
		DRAWS, layers[1], layers[2], layers[3],
		(double)tally.drawn / (double)tally.accepted);
}

static void print_families(FILE *out, const struct families *families)
{
	fprintf(out, "| family | microprotocols | drawn compositions with one "
		     "of them | pairs with others | that one layer can hold |\n"
		     "|---|---|---|---|---|\n");
	for (unsigned i = 0; i < families->count; i++) {
		const struct family *family = &families->family[i];

		fprintf(out, "| %s | %u | %u | %u | %u |\n", family->name, family->members,
			family->drawn, family->pairs, family->held);
	}
	fputc('\n', out);
}

/* ------------------------------------------------------- pairs that cannot meet */

static const char *name_at(const struct covering *covering, unsigned part)
{
	return covering->kit.parts[part].microprotocol->name;
}

static bool rendezvous_any(const struct covering *covering, unsigned one)
{
	for (unsigned i = 0; i < covering->kit.count; i++)
		if (covering_rendezvous(covering, one, i))
			return true;
	return false;
}

/* Why the two do not meet; NULL: they do, or the other meets nobody, which has a row of its own. */
static const char *apart(const struct covering *covering, unsigned one, unsigned other)
{
	return rendezvous_any(covering, other) ? covering_apart(covering, one, other) : NULL;
}

/* The next after `part` that cannot meet `one`, for this reason or (NULL) any. */
static unsigned next_apart(const struct covering *covering, unsigned one, unsigned part,
			   const char *reason)
{
	while (++part < covering->kit.count) {
		const char *why = apart(covering, one, part);

		if (why && (!reason || strcmp(why, reason) == 0))
			break;
	}
	return part;
}

static bool is_first_with(const struct covering *covering, unsigned one, unsigned part,
			  const char *reason)
{
	for (unsigned i = 0; i < part; i++) {
		const char *why = apart(covering, one, i);

		if (why && strcmp(why, reason) == 0)
			return false;
	}
	return true;
}

/* A row for each reason. */
static void print_apart(FILE *out, const struct covering *covering, unsigned one)
{
	unsigned count = covering->kit.count;

	for (unsigned i = 0; i < count; i++) {
		const char *reason = apart(covering, one, i);

		if (!reason || !is_first_with(covering, one, i, reason))
			continue;
		fprintf(out, "| `%s` | `%s`", name_at(covering, one), name_at(covering, i));
		for (unsigned other = next_apart(covering, one, i, reason); other < count;
		     other = next_apart(covering, one, other, reason))
			fprintf(out, ", `%s`", name_at(covering, other));
		end_row(out, reason);
	}
}

/* A microprotocol that meets nobody has a row with the first reason. */
static void print_alone(FILE *out, const struct covering *covering, unsigned one)
{
	fprintf(out, "| `%s` | any", name_at(covering, one));
	end_row(out, covering_apart(covering, one, one ? 0 : 1));
}

static void print_pairs(FILE *out, const struct covering *covering, const char *about)
{
	fprintf(out,
		"## Microprotocols that cannot meet in one layer\n\n"
		"This is about a layer between an application and the network; "
		"what needs destinations\nor a flow below is in other layers. "
		"%zu configs hold all other pairs, %zu where each\nvalue of a "
		"parameter counts, and `laws/pairwise` runs them.\n\n"
		"| microprotocol | not with | reason |\n|---|---|---|\n",
		covering->count, covering->together);
	for (unsigned i = 0; i < covering->kit.count; i++) {
		if (about && strcmp(about, name_at(covering, i)) != 0)
			continue;
		if (rendezvous_any(covering, i))
			print_apart(out, covering, i);
		else
			print_alone(out, covering, i);
	}
	fputc('\n', out);
}

void compositions_page_pairs(FILE *out, const char *about)
{
	static struct covering covering;

	covering_make(&covering, about, 0);
	print_pairs(out, &covering, about);
	covering_free(&covering);
}

/* ---------------------------------------------------------------- shipped configs */

static void print_line(const struct worth_line *line, void *user)
{
	fprintf(user, "| `%s` | %s | %s", line->name, line->layer, worth_words[line->worth]);
	end_row(user, line->loss);
}

static void print_configs(FILE *out)
{
	char *names[SUITE_CONFIGS];
	size_t count = suite_configs(names);

	fprintf(out,
		"## The worth of each line of a shipped config\n\n"
		"Without the line the checker refuses the config, or the config promises less, or "
		"it\ncosts more on some network: the first of these that is found. A cost is the "
		"mean of %u\nruns in virtual time, and a twentieth more is the least that "
		"counts.\n",
		(unsigned)COSTS_MANY);
	for (size_t i = 0; i < count; i++) {
		fprintf(out,
			"\n### %s\n\n| line | layer | worth | without it |\n|---|---|---|---|\n",
			names[i]);
		worth_of_config(names[i], print_line, out);
		free(names[i]);
	}
}

/* --------------------------------------------------------------------- the page */

void compositions_page(FILE *out)
{
	static struct covering covering;
	static struct families families;

	covering_make(&covering, NULL, 0);
	count_pairs(&families, &covering);
	fprintf(out, "# Compositions\n\nMade from the registry and the shipped configs: `ninja -C "
		     "BUILD docs/compositions.md`.\n\n## How many there are\n\n");
	print_draws(out, &families);
	print_families(out, &families);
	print_pairs(out, &covering, NULL);
	covering_free(&covering);
	print_configs(out);
}
