/* SPDX-License-Identifier: MIT */
/*
 * link.c -- the words of a link, as in tc-netem(8).
 *
 *   delay T [JITTER [CORR%]]      distribution uniform|normal|pareto|paretonormal
 *   loss P%  |  loss random P%  |  loss gemodel P% [R% [1-H% [1-K%]]]
 *   loss mask 0xHEX (bit i: the i-th datagram)  |  loss mask 1011 (first to last)
 *   duplicate P%   corrupt P%   reorder P% [gap N]
 *   rate R   limit PACKETS   mtu BYTES   down FROM UNTIL
 *   ecn: a loss marks who understands marks   ce_threshold T: so does a wait
 *
 * Words before `fwd:` or `rev:` are for both directions, those behind for one. A number has its
 * unit, always; a word that is given twice in one place is a mistake, not an order.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum link_scope { LINK_BOTH, LINK_FORWARD, LINK_REVERSE };
struct link_parser {
	const char *rest; /* what is not yet read */
	char token[LINK_TOKEN];
	char word[LINK_TOKEN]; /* whose arguments are read */
	struct nopal_problems *problems;
	struct nopal_link *link; /* of the scope */
	struct nopal_link forward, reverse;
	enum link_scope scope;
	uint32_t given; /* bit i: link_words[i], in this scope */
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

static void link_refuse_name(struct link_parser *parser, const char *what, const char *const *names)
{
	link_refuse(parser, NULL, "`%s` is not %s", parser->token, what);
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

static bool link_word_follows(const struct link_parser *parser, const char *word)
{
	const char *at = link_skip_space(parser->rest);
	size_t length = strlen(word);

	return strncmp(at, word, length) == 0 &&
	       (at[length] == '\0' || isspace((unsigned char)at[length]));
}

/* -------------------------------------------------------------- quantities */

struct link_unit {
	const char *name;
	int64_t scale;
};

struct link_quantity {
	const char *what;  /* for people */
	const char *units; /* for people: how to write one */
	const struct link_unit *table;
};

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

static bool link_same_unit(const char *a, const char *b)
{
	while (*a && tolower((unsigned char)*a) == *b)
		a++, b++;
	return !*a && !*b;
}

static const struct link_unit *link_find_unit(const struct link_quantity *quantity,
					      const char *name)
{
	const struct link_unit *unit = quantity->table;

	while (unit->name && !link_same_unit(name, unit->name))
		unit++;
	return unit->name ? unit : NULL;
}

/* Digits with at most one point: digits / divisor, both below 10^18.  Returns what follows; NULL
 * where there is no number, or a longer one. */
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

/* digits / divisor * scale, at most INT64_MAX; false where that is no whole number. */
static bool link_scale(int64_t digits, int64_t divisor, int64_t scale, int64_t *ret_value)
{
	__extension__ __int128 value = (__int128)digits * scale;

	if (value % divisor)
		return false;
	value /= divisor;
	*ret_value = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return true;
}

static void link_refuse_range(struct link_parser *parser, const struct link_unit *unit, int64_t min,
			      int64_t max)
{
	char fix[LINK_TEXT];

	snprintf(fix, sizeof(fix), "it lies between %lld%s and %lld%s",
		 (long long)(min / unit->scale), unit->name, (long long)(max / unit->scale),
		 unit->name);
	link_refuse(parser, fix, "`%s %s` is out of range", parser->word, parser->token);
}

/* The next token as a quantity within [least, most] of base units. */
static bool link_quantity_read(struct link_parser *parser, const struct link_quantity *quantity,
			       int64_t min, int64_t max, int64_t *ret_value)
{
	const struct link_unit *unit;
	int64_t digits, divisor, value;
	const char *end;

	if (!link_number_follows(parser)) {
		link_refuse(parser, quantity->units, "`%s` needs %s", parser->word, quantity->what);
		return false;
	}
	link_next(parser);
	end = link_decimal(parser->token, &digits, &divisor);
	unit = end ? link_find_unit(quantity, end) : NULL;
	if (!unit)
		link_refuse(parser, quantity->units,
			    end && !*end ? "`%s %s`: %s needs its unit" : "`%s %s`: not %s",
			    parser->word, parser->token, quantity->what);
	else if (!link_scale(digits, divisor, unit->scale, &value))
		link_refuse(parser, "write fewer digits", "`%s %s`: finer than can be kept",
			    parser->word, parser->token);
	else if (value < min || value > max)
		link_refuse_range(parser, quantity->table, min, max);
	else
		return *ret_value = value, true;
	return false;
}

static bool link_time_read(struct link_parser *parser, int64_t *ret_ns)
{
	return link_quantity_read(parser, &link_time, 0, NOPAL__LINK_MAX_NS, ret_ns);
}

static bool link_percent_read(struct link_parser *parser, uint32_t *ret_ppm)
{
	int64_t ppm;

	if (!link_quantity_read(parser, &link_percent, 0, NOPAL__MILLION, &ppm))
		return false;
	*ret_ppm = (uint32_t)ppm;
	return true;
}

static bool link_count_read(struct link_parser *parser, uint32_t min, uint32_t max,
			    uint32_t *ret_count)
{
	int64_t count;

	if (!link_quantity_read(parser, &link_count, min, max, &count))
		return false;
	*ret_count = (uint32_t)count;
	return true;
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
static int link_choice(struct link_parser *parser, const char *what, const char *const *names)
{
	link_next(parser);
	for (int i = 0; names[i]; i++)
		if (strcmp(parser->token, names[i]) == 0)
			return i;
	link_refuse_name(parser, what, names);
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

/* 0xHEX, its lowest bit the first datagram; `digits` is behind the 0x. */
static bool link_mask_hex(const char *digits, uint64_t *ret_mask)
{
	size_t count = strlen(digits);

	if (count == 0 || count > LINK_MASK_BITS / LINK_HEX_BITS ||
	    strspn(digits, "0123456789abcdefABCDEF") < count)
		return false;
	*ret_mask = strtoull(digits, NULL, LINK_HEX);
	return true;
}

/* Ones and zeros, the first for the first datagram. */
static bool link_mask_bits(const char *bits, uint64_t *ret_mask)
{
	uint64_t mask = 0;
	size_t count = strlen(bits);

	if (count == 0 || count > LINK_MASK_BITS)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (bits[i] != '0' && bits[i] != '1')
			return false;
		mask |= (uint64_t)(bits[i] == '1') << i;
	}
	*ret_mask = mask;
	return true;
}

static void link_loss_mask(struct link_parser *parser)
{
	uint64_t *mask = &parser->link->loss_mask;
	bool hex;

	parser->link->loss_model = NOPAL_LOSS_MASK;
	link_next(parser);
	hex = strncmp(parser->token, "0x", 2) == 0 || strncmp(parser->token, "0X", 2) == 0;
	if (!(hex ? link_mask_hex(parser->token + 2, mask) : link_mask_bits(parser->token, mask)))
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

static void link_word_duplicate(struct link_parser *parser)
{
	link_percent_read(parser, &parser->link->duplicate);
}

static void link_word_corrupt(struct link_parser *parser)
{
	link_percent_read(parser, &parser->link->corrupt);
}

static void link_word_reorder(struct link_parser *parser)
{
	link_percent_read(parser, &parser->link->reorder);
	parser->link->gap = 1;
	if (link_word_follows(parser, "gap")) {
		link_next(parser);
		link_count_read(parser, 1, NOPAL__LINK_MAX_PACKETS, &parser->link->gap);
	}
}

static void link_word_rate(struct link_parser *parser)
{
	int64_t rate_bps;

	if (link_quantity_read(parser, &link_rate, (int64_t)NOPAL__LINK_MIN_BPS,
			       (int64_t)NOPAL__LINK_MAX_BPS, &rate_bps))
		parser->link->rate_bps = (uint64_t)rate_bps;
}

static void link_word_limit(struct link_parser *parser)
{
	link_count_read(parser, 1, NOPAL__LINK_MAX_PACKETS, &parser->link->limit);
}

static void link_word_mtu(struct link_parser *parser)
{
	link_count_read(parser, NOPAL__LINK_MIN_MTU, NOPAL__LINK_MAX_MTU, &parser->link->mtu);
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

static void link_word_ce_threshold(struct link_parser *parser)
{
	link_time_read(parser, &parser->link->ce_threshold_ns);
}

static const char *const link_words[] = {
	"delay", "distribution", "loss", "duplicate", "corrupt",      "reorder", "rate",
	"limit", "mtu",		 "down", "ecn",	      "ce_threshold", NULL,
};
static void (*const link_word_run[])(struct link_parser *) = {
	link_word_delay,   link_word_distribution, link_word_loss, link_word_duplicate,
	link_word_corrupt, link_word_reorder,	   link_word_rate, link_word_limit,
	link_word_mtu,	   link_word_down,	   link_word_ecn,  link_word_ce_threshold,
};

/* ---------------------------------------------------------------- the whole */

static void link_begin_scope(struct link_parser *parser)
{
	bool forward = parser->token[0] == 'f';

	if (parser->scope == LINK_BOTH)
		parser->reverse = parser->forward;
	parser->scope = forward ? LINK_FORWARD : LINK_REVERSE;
	parser->link = forward ? &parser->forward : &parser->reverse;
	parser->given = 0;
}

static void link_word(struct link_parser *parser)
{
	int which;

	if (link_prefix(parser->token)) {
		link_begin_scope(parser);
		return;
	}
	for (which = 0; link_words[which]; which++)
		if (strcmp(parser->token, link_words[which]) == 0)
			break;
	if (!link_words[which]) {
		if (!parser->lost || !isdigit((unsigned char)*parser->token))
			link_refuse_name(parser, "a word of a link", link_words);
		return;
	}
	parser->lost = false;
	if (parser->given & 1u << which)
		link_refuse(parser, "give it once", "`%s` is given twice", parser->token);
	parser->given |= 1u << which;
	memcpy(parser->word, parser->token, sizeof(parser->word));
	link_word_run[which](parser);
}

static void link_idle(struct link_parser *parser, bool idle, const char *where, const char *cause,
		      const char *fix)
{
	if (idle)
		link_refuse(parser, fix, "%s%s", where, cause);
}

/* Words that do nothing without another. */
static void link_check(struct link_parser *parser, const struct nopal_link *link, const char *where)
{
	link_idle(parser, link->distribution && !link->jitter_ns, where,
		  "`distribution` without jitter does nothing",
		  "add a jitter, as in `delay 20ms 5ms`");
	link_idle(parser, link->reorder && !link->delay_ns, where,
		  "`reorder` without delay does nothing: nothing is overtaken", "add `delay 10ms`");
	link_idle(parser, link->ecn && !link->loss_model, where, "`ecn` without loss does nothing",
		  "add `loss 1%`");
	link_idle(parser, link->ce_threshold_ns && !link->rate_bps, where,
		  "`ce_threshold` without rate does nothing: nothing waits", "add `rate 10mbit`");
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
	while (link_next(&parser))
		link_word(&parser);
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
