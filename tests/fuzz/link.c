/* SPDX-License-Identifier: MIT */
/*
 * link -- fuzz target: the words of a link, a quantity and an address.
 *
 * Each ends at a NUL; before the quantity, a byte chooses its unit.  A link that is good carries
 * some packets.
 */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "base/address_text.h"
#include "io/emulator/link_engine.h"
#include <nopal/microprotocol.h>

enum { TEXT = 512, PACKETS = 20, PACKET = 1000 };

/* Up to the next NUL. */
static void next_text(struct input *input, char text[TEXT])
{
	size_t length = 0;
	char c;

	while ((c = (char)input_byte(input)) != '\0')
		if (length < TEXT - 1)
			text[length++] = c;
	text[length] = '\0';
}

static void carry(const struct nopal_link *link)
{
	struct nopal__link_packet packet = { .length = PACKET };
	struct nopal__link_copy copies[NOPAL__LINK_COPIES];
	struct nopal__link_engine engine;

	if (nopal__link_init(&engine, link, 0, 1) < 0)
		abort(); /* words that were good, and numbers that are not */
	for (int64_t i = 0; i < PACKETS; i++) {
		unsigned count = nopal__link_carry(&engine, &packet, i * NOPAL_MILLISECOND, copies);

		for (unsigned at = 0; at < count; at++)
			if (copies[at].at_ns < i * NOPAL_MILLISECOND)
				abort(); /* it came before it went */
	}
	nopal__link_fini(&engine);
}

static void parse_link(struct input *input, struct nopal_problems *problems)
{
	struct nopal_link forward, reverse;
	char text[TEXT];

	next_text(input, text);
	if (nopal_link_parse(text, &forward, &reverse, problems) < 0) {
		if (!problems->errors)
			abort(); /* refused, and nobody says why */
		return;
	}
	carry(&forward);
	carry(&reverse);
}

static void parse_quantity(struct input *input, struct nopal_problems *problems)
{
	int unit = input_byte(input) % (NOPAL_SWITCH + 1);
	char text[TEXT];
	int64_t value;

	next_text(input, text);
	nopal_quantity_parse(text, unit, "it", &value, problems);
}

static void parse_address(struct input *input)
{
	struct nopal_address address;
	char text[TEXT], again[NOPAL_ADDRESS_TEXT];

	next_text(input, text);
	if (!nopal__address_read(text, &address))
		nopal_address_format(&address, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct input input = input_over(bytes, length);
	struct nopal_problems problems = { 0 };

	parse_link(&input, &problems);
	parse_quantity(&input, &problems);
	parse_address(&input);
	nopal_problems_fini(&problems);
	return 0;
}
