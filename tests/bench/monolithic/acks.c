/* SPDX-License-Identifier: MIT */
/*
 * acks.c -- what an ack says of what we sent: samples of the round trip first, then what arrived,
 * then what is lost, then the window.
 */
#include "connection.h"
#include <nopal/microprotocol.h>

enum {
	ACK_FLOOR_AT = 4,
	ACK_DELAY_AT = 8,
	ACK_HEAD = 10,
	ACK_PART = 1 << 15,
	ACK_BYTE = 8,		/* bits */
	ACK_PATIENCE_STEPS = 4, /* in a round trip */
};
static const int64_t ACK_DELAY_UNIT_NS = 8 * NOPAL_MICROSECOND;

/* -------------------------------------------------------------- what arrived */

/* Where a resend was for nothing the path reorders: wait longer, at most once a round trip. */
static void adapt(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;
	const struct monolith_rtt *rtt = &connection->rtt;

	if (!connection->setup->loss_adapts || sender->largest < sender->adapted_at)
		return;
	sender->adapted_at = sender->packet_next;
	sender->patience_ns += rtt->minimum_ns / ACK_PATIENCE_STEPS;
	if (sender->patience_ns > rtt->smoothed_ns)
		sender->patience_ns = rtt->smoothed_ns;
}

/* The newest arrivals, largest packet number first. */
static void vote(struct monolith_sender *sender, uint64_t packet, int64_t transmitted_ns)
{
	uint32_t at = sender->newest_count;

	if (at == sender->votes)
		at--;
	else
		sender->newest_count++;
	for (; at && sender->newest[at - 1] < packet; at--)
		sender->newest[at] = sender->newest[at - 1];
	sender->newest[at] = packet;
	if (at == 0)
		sender->newest_ns = transmitted_ns;
	if (sender->newest_count == sender->votes)
		sender->vote_from = sender->newest[sender->votes - 1] + 1;
}

/* The numbers [from, to) arrived.  From the newest down, so that few have a vote. */
static void arrived(struct monolith_connection *connection, struct monolith_ack *ack, uint64_t from,
		    uint64_t to)
{
	struct monolith_sender *sender = &connection->sender;
	struct monolith_segment *const segments = sender->segments;
	struct monolith_transmission *const transmissions = sender->transmissions;
	const uint32_t mask = sender->segment_mask;
	const uint32_t transmission_mask = sender->transmission_mask;
	const uint64_t largest = sender->largest;
	uint64_t bytes = 0, flown = 0, count = 0, vote_from = sender->vote_from;

	while (to-- > from) {
		struct monolith_segment *segment = &segments[to & mask];
		uint64_t packet = segment->packet;
		uint8_t outcome = segment->outcome;

		if (outcome == MONOLITH_ARRIVED)
			continue;
		segment->outcome = MONOLITH_ARRIVED;
		bytes += segment->length;
		count++;
		if (outcome == MONOLITH_FLYING) {
			flown += segment->length;
			transmissions[packet & transmission_mask].number = 0;
		}
		if (outcome == MONOLITH_LOST || packet > largest) {
			adapt(connection);
		} else if (packet >= vote_from) {
			vote(sender, packet, segment->transmitted_ns);
			vote_from = sender->vote_from;
		}
	}
	sender->in_flight -= (int64_t)flown;
	ack->acked_bytes += bytes;
	ack->acked_segments += count;
}

/* The bits of numbers that the base passes are cleared for the next to use. */
static void forget_bits(struct monolith_sender *sender, uint64_t to)
{
	uint64_t number = sender->base;

	if (to > sender->reported_end)
		to = sender->reported_end;
	for (; number < to; number++) {
		uint64_t place = number & sender->segment_mask;

		sender->reported_bits[place / MONOLITH_WORD] &=
			~(UINT64_C(1) << place % MONOLITH_WORD);
	}
}

static void below_floor(struct monolith_connection *connection, struct monolith_ack *ack)
{
	struct monolith_sender *sender = &connection->sender;

	if (ack->floor <= sender->base)
		return;
	arrived(connection, ack, sender->base, ack->floor);
	if (sender->base < sender->reported_end)
		forget_bits(sender, ack->floor);
	sender->base = ack->floor;
	if (sender->reported_end < sender->base)
		sender->reported_end = sender->base;
}

/* Bits [0, 64) of the bitmap from `at` on that were not reported before, marked as reported now. */
static uint64_t news(struct monolith_sender *sender, uint64_t from, uint64_t word)
{
	uint64_t fresh = 0;

	for (; word; word &= word - 1) {
		uint64_t number = from + (unsigned)__builtin_ctzll(word);
		uint64_t place = number & sender->segment_mask;
		uint64_t bit = UINT64_C(1) << place % MONOLITH_WORD;
		uint64_t *bits = &sender->reported_bits[place / MONOLITH_WORD];

		if (number < sender->base || (*bits & bit))
			continue;
		*bits |= bit;
		if (number >= sender->reported_end)
			sender->reported_end = number + 1;
		fresh |= word & -word;
	}
	return fresh;
}

/* The 64 bits of numbers from `from` on. */
static uint64_t reported(const struct monolith_sender *sender, uint64_t from)
{
	uint64_t place = from & sender->segment_mask;
	uint64_t next = (from + MONOLITH_WORD) & sender->segment_mask;
	unsigned shift = place % MONOLITH_WORD;
	uint64_t word = sender->reported_bits[place / MONOLITH_WORD] >> shift;

	if (shift)
		word |= sender->reported_bits[next / MONOLITH_WORD] << (MONOLITH_WORD - shift);
	return word;
}

static void above_floor(struct monolith_connection *connection, struct monolith_ack *ack,
			const uint8_t *bitmap, uint32_t bytes)
{
	struct monolith_sender *sender = &connection->sender;
	uint64_t from = ack->floor + 1;

	for (uint32_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		uint32_t left = bytes - at;
		uint64_t word = 0;

		memcpy(&word, bitmap + at, left < sizeof(word) ? left : sizeof(word));
		word = le64toh(word);
		if (from >= sender->base)
			word &= ~reported(sender, from);
		word = word ? news(sender, from, word) : 0;
		for (; word; word &= word - 1) {
			uint64_t number = from + (unsigned)__builtin_ctzll(word);

			arrived(connection, ack, number, number + 1);
		}
		from += MONOLITH_WORD;
	}
}

/* Messages whose last segment is below the base are the program's again. */
static void finish_messages(struct monolith_connection *connection)
{
	struct monolith_sender *sender = &connection->sender;

	while (sender->message_head < sender->message_cut) {
		struct monolith_outgoing *message =
			&sender->messages[sender->message_head & sender->message_mask];

		if (message->end > sender->base)
			break;
		sender->unfinished_bytes -= message->length;
		sender->message_head++;
		nopal_buffer_unref(message->buffer);
	}
	if (sender->message_head == sender->message_tail)
		monolith__drained(connection);
}

/* ------------------------------------------------------------------ judgement */

static void lost(struct monolith_connection *connection, struct monolith_segment *segment,
		 uint64_t number)
{
	connection->counters.segments_lost++;
	monolith__cubic_lost(connection, segment->packet);
	monolith__lose(connection, segment, number);
}

/* Until when an overtaken transmission may still come; a resend gets a round trip in any case. */
static int64_t until(const struct monolith_connection *connection,
		     const struct monolith_segment *segment)
{
	const struct monolith_sender *sender = &connection->sender;

	if (segment->transmissions == 1 &&
	    (!sender->patience_ns ||
	     sender->newest_ns - segment->transmitted_ns >= sender->patience_ns))
		return connection->now_ns;
	return segment->transmitted_ns + connection->rtt.smoothed_ns + sender->patience_ns;
}

/* All transmissions up to `last` were overtaken by enough others. */
static void judge_all(struct monolith_connection *connection, uint64_t last)
{
	struct monolith_sender *sender = &connection->sender;
	int64_t again_ns = NOPAL_NEVER;

	for (uint64_t at = sender->packet_oldest; at <= last; at++) {
		uint64_t number = sender->transmissions[at & sender->transmission_mask].number;
		struct monolith_segment *segment = &sender->segments[number & sender->segment_mask];
		int64_t until_ns;

		if (!number)
			continue;
		until_ns = until(connection, segment);
		if (until_ns <= connection->now_ns) {
			lost(connection, segment, number);
			continue;
		}
		if (until_ns < again_ns)
			again_ns = until_ns;
		if (segment->transmissions == 1)
			break;
	}
	monolith__oldest(sender);
	if (again_ns != NOPAL_NEVER)
		monolith__start(connection, MONOLITH_JUDGE, again_ns);
}

void monolith__judge(struct monolith_connection *connection)
{
	const struct monolith_sender *sender = &connection->sender;
	uint64_t threshold = (uint64_t)connection->setup->loss_threshold;
	uint64_t end, newest;

	if (sender->newest_count < sender->votes || sender->largest < threshold)
		return;
	end = sender->largest - threshold + 1;
	newest = sender->newest[sender->votes - 1];
	if (newest < end)
		end = newest;
	if (end > sender->packet_oldest)
		judge_all(connection, end - 1);
}

/* Of a report that is a part this says for sure only that the floor is missing. */
static void judge_floor(struct monolith_connection *connection, uint64_t floor)
{
	const struct monolith_sender *sender = &connection->sender;
	struct monolith_segment *segment = &sender->segments[floor & sender->segment_mask];

	if (floor < sender->base || floor >= sender->next || segment->outcome != MONOLITH_FLYING ||
	    segment->packet + (uint64_t)connection->setup->loss_threshold > sender->largest ||
	    until(connection, segment) > connection->now_ns)
		return;
	lost(connection, segment, floor);
	monolith__oldest(&connection->sender);
}

/* ----------------------------------------------------------------- the report */

/* The number at or below `latest` whose low bits are these; false: above. */
static bool at_or_below(uint64_t latest, uint32_t wire, uint64_t *ret_number)
{
	uint32_t behind = (uint32_t)latest - wire;

	*ret_number = latest - behind;
	return behind <= INT32_MAX && behind <= latest;
}

static bool ack_read(const struct monolith_sender *sender, const uint8_t *body, uint32_t length,
		     struct monolith_ack *ret_ack)
{
	uint32_t bits = (length - ACK_HEAD) * ACK_BYTE;

	if (!sender->packet_next ||
	    !at_or_below(sender->packet_next - 1, monolith_get32(body), &ret_ack->largest) ||
	    !at_or_below(sender->next, monolith_get32(body + ACK_FLOOR_AT), &ret_ack->floor))
		return false;
	if (!bits)
		return true;
	if (!body[length - 1])
		return false;
	bits -= (uint32_t)__builtin_clz(body[length - 1]) - (MONOLITH_WORD / 2 - ACK_BYTE);
	return ret_ack->floor + bits < sender->next;
}

static void ack_process(struct monolith_connection *connection, struct monolith_ack *ack,
			const uint8_t *bitmap, uint32_t bytes, bool part)
{
	struct monolith_sender *sender = &connection->sender;
	int64_t deadline_ns;

	ack->largest_is_new = !sender->reported || ack->largest > sender->largest;
	if (ack->largest_is_new)
		sender->largest = ack->largest;
	sender->reported = true;
	monolith__rtt_sample(connection, ack);
	below_floor(connection, ack);
	if (bytes)
		above_floor(connection, ack, bitmap, bytes);
	monolith__oldest(sender);
	if (ack->acked_segments) {
		sender->progress_ns = connection->now_ns;
		sender->backoff = 0;
	}
	if (!part)
		monolith__judge(connection);
	else
		judge_floor(connection, ack->floor);
	monolith__cubic_acked(connection, ack);
	deadline_ns = monolith__deadline(connection);
	if (deadline_ns < connection->deadline_ns[MONOLITH_STATUS])
		monolith__start(connection, MONOLITH_STATUS, deadline_ns);
	finish_messages(connection);
}

void monolith__ack_receive(struct monolith_connection *connection, const uint8_t *body,
			   uint32_t length)
{
	const struct monolith_sender *sender = &connection->sender;
	struct monolith_ack ack = { 0 };
	uint16_t delay;

	if (length < ACK_HEAD)
		return;
	delay = monolith_get16(body + ACK_DELAY_AT);
	if (delay & ACK_PART)
		length = ACK_HEAD;
	if (!ack_read(sender, body, length, &ack))
		return;
	ack.delay_ns = (delay & ~ACK_PART) * ACK_DELAY_UNIT_NS;
	if (sender->packet_next - ack.largest <= sender->transmission_mask)
		ack.largest_sent_ns =
			sender->transmissions[ack.largest & sender->transmission_mask].time_ns;
	ack_process(connection, &ack, body + ACK_HEAD, length - ACK_HEAD, (delay & ACK_PART) != 0);
}
