/* SPDX-License-Identifier: MIT */
/*
 * link.c -- the words of a link, as in tc-netem(8).
 *
 *   delay T [JITTER [CORR%]]      distribution uniform|normal|pareto|paretonormal
 *   loss P%  |  loss random P%  |  loss gemodel P% [R% [1-H% [1-K%]]]
 *   loss mask 0xHEX (bit i: the i-th datagram)  |  loss mask 1011 (first to last)
 *   duplicate P%   corrupt P%   reorder P% [gap N]
 *   rate R   limit PACKETS   mtu BYTES   down FROM UNTIL
 *   ecn: a loss marks packets that allow it   ce_threshold T: so does a wait
 *
 * Words before `fwd:` or `rev:` are for both directions, words behind for one. A number has its
 * unit, always; a word that is given twice in one place is a mistake, not an order.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <nopal/microprotocol.h>
#include "base/problems.h"
#include "io/emulator/link_engine.h"
#include "io/sim/random.h"

enum {
	LINK_TOKEN = 48, /* bytes; no word of ours is half as long */
	LINK_TEXT = 192, /* bytes of one problem's text */
	LINK_DECIMAL = 10,
	LINK_HEX = 16,
	LINK_HEX_BITS = 4,
	LINK_MASK_BITS = 64,
};

struct link_unit {
	const char *name;
	int64_t scale;
};

struct link_quantity {
	const char *name;  /* for people */
	const char *units; /* for people: how to write one */
	const struct link_unit *table;
};

struct link_parser;
/* A word reads its arguments itself, or has one quantity of a field. */
struct link_word {
	const char *name;
	void (*read)(struct link_parser *parser);
	const struct link_quantity *quantity;
	int64_t min, max;
	size_t field, bytes;
};

enum link_scope { LINK_BOTH, LINK_FORWARD, LINK_REVERSE };
struct link_parser {
	const char *rest; /* text that is not yet read */
	char token[LINK_TOKEN];
	const struct link_word *word; /* its arguments are being read */
	struct nopal_problems *problems;
	struct nopal_link *link; /* of the scope */
	struct nopal_link forward, reverse;
	enum link_scope scope;
	uint32_t given; /* bit i: link_words[i] in this scope */
	bool bad, lost; /* lost until the next word that is known */
};

/* ---------------------------------------------------------------- problems */

__attribute__((format(printf, 3, 4))) static void link_refuse(struct link_parser *parser,
							      const char *fix, const char *cause,
							      ...)
{
	char text[LINK_TEXT];
	va_list arguments;

	va_start(arguments, cause);
	vsnprintf(text, sizeof(text), cause, arguments);
	va_end(arguments);
	nopal_problems_add(parser->problems, NULL, 0, fix, "link: %s", text);
	parser->bad = parser->lost = true;
}

static void link_refuse_name(struct link_parser *parser, const char *kind, const char *const *names)
{
	link_refuse(parser, NULL, "`%s` is not %s", parser->token, kind);
	nopal__problems_suggest(parser->problems, parser->token, names, "one of: ");
}

/* ------------------------------------------------------------------ tokens */

/* Length of a scope prefix at `at`, or 0. */
static size_t link_prefix(const char *at)
{
	const size_t length = strlen("fwd:");

	return strncmp(at, "fwd:", length) && strncmp(at, "rev:", length) ? 0 : length;
}

static const char *link_skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* Reads the next token; false at the end. */
static bool link_next(struct link_parser *parser)
{
	const char *at = link_skip_space(parser->rest);
	size_t length = link_prefix(at), kept;

	if (!length)
		while (at[length] && !isspace((unsigned char)at[length]))
			length++;
	kept = length < LINK_TOKEN ? length : LINK_TOKEN - 1;
	memcpy(parser->token, at, kept);
	parser->token[kept] = '\0';
	parser->rest = at + length;
	return length > 0;
}

/* Does an argument follow?  Numbers begin like numbers, words do not. */
static bool link_number_follows(const struct link_parser *parser)
{
	const char *at = link_skip_space(parser->rest);

	return isdigit((unsigned char)*at) || *at == '.' || *at == '-' || *at == '+';
}

/* -------------------------------------------------------------- quantities */

static const struct link_quantity link_time = {
	"a time", "write its unit: ns, us, ms or s, as in 25ms",
	(const struct link_unit[]){ { "ns", 1 },
				    { "us", NOPAL_MICROSECOND },
				    { "ms", NOPAL_MILLISECOND },
				    { "s", NOPAL_SECOND },
				    { 0 } }
};
static const struct link_quantity link_rate = {
	"a rate", "write its unit, per second: bit, kbit, mbit or gbit, as in 100mbit",
	(const struct link_unit[]){ { "bit", 1 },
				    { "kbit", 1000 },
				    { "mbit", 1000 * 1000 },
				    { "gbit", 1000 * 1000 * 1000 },
				    { 0 } }
};
static const struct link_quantity link_percent = { "a percentage", "write it with %, as in 1.5%",
						   (const struct link_unit[]){
							   { "%", NOPAL__MILLION / 100 }, { 0 } } };
static const struct link_quantity link_count = { "a count", "write a whole number, as in 400",
						 (const struct link_unit[]){ { "", 1 }, { 0 } } };
/* Digits with at most one point: digits / divisor, both below 10^18.  Returns the text behind them;
 * NULL where there is no number, or a longer one. */
static const char *link_decimal(const char *at, int64_t *ret_digits, int64_t *ret_divisor)
{
	const int64_t max = INT64_MAX / LINK_DECIMAL - 1;
	int64_t digits = 0, divisor = 1;
	bool any = false, point = false;

	for (; isdigit((unsigned char)*at) || (*at == '.' && !point); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		if (digits > max || divisor > max)
			return NULL;
		digits = digits * LINK_DECIMAL + (*at - '0');
		divisor *= point ? LINK_DECIMAL : 1;
		any = true;
	}
	*ret_digits = digits;
	*ret_divisor = divisor;
	return any ? at : NULL;
}

/* The next token as a quantity within [min, max] of base units, to a field of 4 or 8 bytes. */
static bool link_quantity_read(struct link_parser *parser, const struct link_quantity *quantity,
			       int64_t min, int64_t max, void *ret_value, size_t bytes)
{
	const char *word = parser->word->name, *end;
	const struct link_unit *unit, *base = quantity->table;
	__extension__ __int128 value;
	int64_t digits, divisor;
	char range[LINK_TEXT];

	if (!link_number_follows(parser)) {
		link_refuse(parser, quantity->units, "`%s` needs %s", word, quantity->name);
		return false;
	}
	link_next(parser);
	end = link_decimal(parser->token, &digits, &divisor);
	unit = quantity->table;
	while (end && unit->name && strcasecmp(end, unit->name) != 0)
		unit++;
	if (!end || !unit->name) {
		link_refuse(parser, quantity->units,
			    end && !*end ? "`%s %s`: %s needs its unit" : "`%s %s`: not %s", word,
			    parser->token, quantity->name);
		return false;
	}
	value = digits;
	value *= unit->scale;
	if (value % divisor) {
		link_refuse(parser, "write fewer digits", "`%s %s`: finer than can be kept", word,
			    parser->token);
		return false;
	}
	value /= divisor;
	if (value < min || value > max) {
		snprintf(range, sizeof(range), "it lies between %lld%s and %lld%s",
			 (long long)(min / base->scale), base->name, (long long)(max / base->scale),
			 base->name);
		link_refuse(parser, range, "`%s %s` is out of range", word, parser->token);
		return false;
	}
	if (bytes == sizeof(int64_t))
		memcpy(ret_value, &(int64_t){ (int64_t)value }, bytes);
	else
		memcpy(ret_value, &(uint32_t){ (uint32_t)value }, bytes);
	return true;
}

static bool link_time_read(struct link_parser *parser, int64_t *ret_ns)
{
	return link_quantity_read(parser, &link_time, 0, NOPAL__LINK_MAX_NS, ret_ns,
				  sizeof(*ret_ns));
}

static bool link_percent_read(struct link_parser *parser, uint32_t *ret_ppm)
{
	return link_quantity_read(parser, &link_percent, 0, NOPAL__MILLION, ret_ppm,
				  sizeof(*ret_ppm));
}

/* ------------------------------------------------------------------- words */

static void link_word_delay(struct link_parser *parser)
{
	struct nopal_link *link = parser->link;

	if (!link_time_read(parser, &link->delay_ns))
		return;
	link->jitter_ns = 0;
	link->delay_correlation = 0;
	if (link_number_follows(parser) && link_time_read(parser, &link->jitter_ns) &&
	    link_number_follows(parser))
		link_percent_read(parser, &link->delay_correlation);
}

/* The next token's place in a list, or -1 and a problem. */
static int link_choice(struct link_parser *parser, const char *kind, const char *const *names)
{
	link_next(parser);
	for (int i = 0; names[i]; i++)
		if (strcmp(parser->token, names[i]) == 0)
			return i;
	link_refuse_name(parser, kind, names);
	return -1;
}

static void link_word_distribution(struct link_parser *parser)
{
	static const char *const names[] = {
		[NOPAL_UNIFORM] = "uniform",
		[NOPAL_NORMAL] = "normal",
		[NOPAL_PARETO] = "pareto",
		[NOPAL_PARETONORMAL] = "paretonormal",
		NULL,
	};
	int choice = link_choice(parser, "a distribution", names);

	if (choice >= 0)
		parser->link->distribution = (enum nopal_distribution)choice;
}

static void link_loss_random(struct link_parser *parser)
{
	parser->link->loss_model = NOPAL_LOSS_RANDOM;
	link_percent_read(parser, &parser->link->loss);
}

/* As in netem: with p alone it is a Bernoulli loss, with p and r Gilbert's simple model, where all
 * is lost in the bad state and nothing in the good. */
static void link_loss_gemodel(struct link_parser *parser)
{
	struct nopal_link *link = parser->link;

	link->loss_model = NOPAL_LOSS_GEMODEL;
	if (!link_percent_read(parser, &link->ge_p))
		return;
	link->ge_r = NOPAL__MILLION - link->ge_p;
	link->ge_bad_loss = NOPAL__MILLION;
	link->ge_good_loss = 0;
	if (link_number_follows(parser) && link_percent_read(parser, &link->ge_r) &&
	    link_number_follows(parser) && link_percent_read(parser, &link->ge_bad_loss) &&
	    link_number_follows(parser))
		link_percent_read(parser, &link->ge_good_loss);
}

/* 0xHEX, its lowest bit the first datagram; or ones and zeros, the first for the first datagram. */
static void link_loss_mask(struct link_parser *parser)
{
	const char *digits = parser->token;
	uint64_t mask = 0;
	size_t count;
	bool good;

	parser->link->loss_model = NOPAL_LOSS_MASK;
	link_next(parser);
	if (strncasecmp(digits, "0x", 2) == 0) {
		digits += 2;
		count = strspn(digits, "0123456789abcdefABCDEF");
		good = count <= LINK_MASK_BITS / LINK_HEX_BITS;
		mask = strtoull(digits, NULL, LINK_HEX);
	} else {
		count = strspn(digits, "01");
		good = count <= LINK_MASK_BITS;
		for (size_t i = 0; good && i < count; i++)
			mask |= (uint64_t)(digits[i] == '1') << i;
	}
	if (good && count > 0 && !digits[count])
		parser->link->loss_mask = mask;
	else
		link_refuse(parser, "write at most 64 bits, as in 0x5 or 101",
			    "`loss mask %s`: not a mask", parser->token);
}

static void link_word_loss(struct link_parser *parser)
{
	static const char *const names[] = { "random", "gemodel", "mask", NULL };
	static void (*const run[])(struct link_parser *) = {
		link_loss_random,
		link_loss_gemodel,
		link_loss_mask,
	};
	int choice;

	if (link_number_follows(parser)) {
		link_loss_random(parser);
		return;
	}
	choice = link_choice(parser, "a kind of loss", names);
	if (choice >= 0)
		run[choice](parser);
}

static void link_word_reorder(struct link_parser *parser)
{
	const size_t length = strlen("gap");
	const char *at;

	link_percent_read(parser, &parser->link->reorder);
	parser->link->gap = 1;
	at = link_skip_space(parser->rest);
	if (strncmp(at, "gap", length) == 0 &&
	    (!at[length] || isspace((unsigned char)at[length]))) {
		link_next(parser);
		link_quantity_read(parser, &link_count, 1, NOPAL__LINK_MAX_PACKETS,
				   &parser->link->gap, sizeof(parser->link->gap));
	}
}

static void link_word_down(struct link_parser *parser)
{
	struct nopal_link *link = parser->link;

	if (link_time_read(parser, &link->down_from_ns) &&
	    link_time_read(parser, &link->down_until_ns) &&
	    link->down_until_ns <= link->down_from_ns)
		link_refuse(parser, "write the earlier time first", "`down` ends before it begins");
}

static void link_word_ecn(struct link_parser *parser)
{
	parser->link->ecn = true;
}

#define LINK_FIELD(field)                                                                          \
	offsetof(struct nopal_link, field), sizeof(((struct nopal_link *)0)->field)

static const struct link_word link_words[] = {
	{ "delay", .read = link_word_delay },
	{ "distribution", .read = link_word_distribution },
	{ "loss", .read = link_word_loss },
	{ "duplicate", NULL, &link_percent, 0, NOPAL__MILLION, LINK_FIELD(duplicate) },
	{ "corrupt", NULL, &link_percent, 0, NOPAL__MILLION, LINK_FIELD(corrupt) },
	{ "reorder", .read = link_word_reorder },
	{ "rate", NULL, &link_rate, NOPAL__LINK_MIN_BPS, NOPAL__LINK_MAX_BPS,
	  LINK_FIELD(rate_bps) },
	{ "limit", NULL, &link_count, 1, NOPAL__LINK_MAX_PACKETS, LINK_FIELD(limit) },
	{ "mtu", NULL, &link_count, NOPAL__LINK_MIN_MTU, NOPAL__LINK_MAX_MTU, LINK_FIELD(mtu) },
	{ "down", .read = link_word_down },
	{ "ecn", .read = link_word_ecn },
	{ "ce_threshold", NULL, &link_time, 0, NOPAL__LINK_MAX_NS, LINK_FIELD(ce_threshold_ns) },
};
enum { LINK_WORDS = sizeof(link_words) / sizeof(link_words[0]) };

/* ---------------------------------------------------------------- the whole */

static void link_word_read(struct link_parser *parser)
{
	const struct link_word *word = link_words;
	const char *names[LINK_WORDS + 1] = { NULL };
	uint32_t bit;

	while (word < link_words + LINK_WORDS && strcmp(parser->token, word->name) != 0)
		word++;
	for (unsigned i = 0; i < LINK_WORDS; i++)
		names[i] = link_words[i].name;
	if (word == link_words + LINK_WORDS) {
		if (!parser->lost || !isdigit((unsigned char)*parser->token))
			link_refuse_name(parser, "a word of a link", names);
		return;
	}
	parser->word = word;
	parser->lost = false;
	bit = 1u << (word - link_words);
	if (parser->given & bit)
		link_refuse(parser, "give it once", "`%s` is given twice", word->name);
	parser->given |= bit;
	if (word->read)
		word->read(parser);
	else
		link_quantity_read(parser, word->quantity, word->min, word->max,
				   (char *)parser->link + word->field, word->bytes);
}

/* Words that do nothing without another. */
static void link_check(struct link_parser *parser, const struct nopal_link *link, const char *where)
{
	const struct {
		bool idle;
		const char *cause, *fix;
	} rules[] = {
		{ link->distribution && !link->jitter_ns,
		  "`distribution` without jitter does nothing",
		  "add a jitter, as in `delay 20ms 5ms`" },
		{ link->reorder && !link->delay_ns,
		  "`reorder` without delay does nothing: nothing is overtaken",
		  "add `delay 10ms`" },
		{ link->ecn && !link->loss_model, "`ecn` without loss does nothing",
		  "add `loss 1%`" },
		{ link->ce_threshold_ns && !link->rate_bps,
		  "`ce_threshold` without rate does nothing: nothing waits", "add `rate 10mbit`" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].idle)
			link_refuse(parser, rules[i].fix, "%s%s", where, rules[i].cause);
}

int nopal_link_parse(const char *text, struct nopal_link *ret_forward,
		     struct nopal_link *ret_reverse, struct nopal_problems *problems)
{
	struct link_parser parser = {
		.rest = text,
		.problems = problems,
		.forward = { .limit = NOPAL__LINK_LIMIT, .mtu = NOPAL__LINK_MTU },
	};

	parser.link = &parser.forward;
	while (link_next(&parser)) {
		bool forward = parser.token[0] == 'f';

		if (!link_prefix(parser.token)) {
			link_word_read(&parser);
			continue;
		}
		if (parser.scope == LINK_BOTH)
			parser.reverse = parser.forward;
		parser.scope = forward ? LINK_FORWARD : LINK_REVERSE;
		parser.link = forward ? &parser.forward : &parser.reverse;
		parser.given = 0;
	}
	if (!parser.bad && parser.scope == LINK_BOTH) {
		link_check(&parser, &parser.forward, "");
		parser.reverse = parser.forward;
	} else if (!parser.bad) {
		link_check(&parser, &parser.forward, "fwd: ");
		link_check(&parser, &parser.reverse, "rev: ");
	}
	if (parser.bad)
		return -EINVAL;
	*ret_forward = parser.forward;
	*ret_reverse = parser.reverse;
	return 0;
}
