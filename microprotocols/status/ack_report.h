/* SPDX-License-Identifier: MIT */
/*
 * ack_report.h -- the body of an ack, to bytes and back.
 *
 *   largest packet number 4 | cumulative ack 4 | part 1 bit, delay in 8 us 15 bits |
 *   where it is a part, the number that it begins with 4 |
 *   bitmap: bit i of byte j tells of that number, or cumulative ack + 1, and 8 j + i more
 *
 * The number at the cumulative ack has not arrived, so the bitmap begins above it; its last byte is
 * not 0.  Of a bitmap that does not fit a part is told.
 */
#ifndef NOPAL_ACK_REPORT_H
#define NOPAL_ACK_REPORT_H

#include <nopal/microprotocol.h>

enum {
	ACK_REPORT_NUMBER_BYTES = 4,
	ACK_REPORT_DELAY_BYTES = 2,
	ACK_REPORT_HEAD_BYTES = 4 + 4 + 2,
	ACK_REPORT_PART = 1 << 15,
	ACK_REPORT_DELAY_MAX = ACK_REPORT_PART - 1,
	ACK_REPORT_BYTE = 8,  /* bits */
	ACK_REPORT_WORD = 64, /* bits */
};
static const int64_t ACK_REPORT_DELAY_UNIT_NS = 8 * NOPAL_MICROSECOND;

struct ack_report {
	uint64_t largest; /* packet number */
	uint64_t cumulative;
	uint64_t from;	  /* of the bitmap */
	uint64_t highest; /* number that it reports; cumulative ack - 1: none above it */
	int64_t delay_ns;
	bool part; /* of what there is to tell: nothing is known of others */
	const uint8_t *bitmap;
	size_t bytes; /* of the bitmap */
};

/* The number at or below `latest` whose low bits came on the wire; false where it would be
 * above. */
static inline bool ack_report_expand(uint64_t latest, uint64_t wire, uint64_t *ret_number)
{
	uint32_t behind = (uint32_t)latest - (uint32_t)wire;

	if (behind > INT32_MAX || behind > latest)
		return false;
	*ret_number = latest - behind;
	return true;
}

/* Reads and checks a report.  `next_packet` and `end` are one past what we have sent; `selective`:
 * a bitmap is allowed. */
static inline bool ack_report_read(struct nopal_reader reader, uint64_t next_packet, uint64_t end,
				   bool selective, struct ack_report *ret_report)
{
	struct ack_report *report = ret_report;
	uint64_t largest = nopal_read(&reader, ACK_REPORT_NUMBER_BYTES);
	uint64_t cumulative = nopal_read(&reader, ACK_REPORT_NUMBER_BYTES);
	uint64_t delay = nopal_read(&reader, ACK_REPORT_DELAY_BYTES);
	int bits;

	report->part = (delay & ACK_REPORT_PART) != 0;
	report->delay_ns = (int64_t)(delay & ACK_REPORT_DELAY_MAX) * ACK_REPORT_DELAY_UNIT_NS;
	if (!next_packet || !ack_report_expand(next_packet - 1, largest, &report->largest) ||
	    !ack_report_expand(end, cumulative, &report->cumulative))
		return false;
	report->from = report->cumulative + 1;
	if (report->part &&
	    (!ack_report_expand(end, nopal_read(&reader, ACK_REPORT_NUMBER_BYTES), &report->from) ||
	     report->from <= report->cumulative))
		return false;
	report->bytes = nopal_read_left(&reader);
	report->bitmap = nopal_read_bytes(&reader, report->bytes);
	report->highest = report->cumulative - 1;
	if (!nopal_read_complete(&reader))
		return false;
	if (!report->bytes)
		return !report->part;
	if (!selective || !report->bitmap[report->bytes - 1])
		return false;
	/* Bits of the last byte, up to the highest that is set. */
	bits = ACK_REPORT_WORD - __builtin_clzll(report->bitmap[report->bytes - 1]);
	report->highest = report->from - 1 + (report->bytes - 1) * ACK_REPORT_BYTE + (unsigned)bits;
	return report->highest < end;
}

/* Eight bytes of the bitmap from byte `at` on as a word, bit 0 first. */
static inline uint64_t ack_report_word(const struct ack_report *report, size_t at)
{
	uint64_t word = 0;

	for (size_t i = 0; i < sizeof(word) && at + i < report->bytes; i++)
		word |= (uint64_t)report->bitmap[at + i] << (i * ACK_REPORT_BYTE);
	return word;
}

/* 64 numbers from `from` on, which lies between the cumulative ack and the end. */
static inline uint64_t ack_report_seen(const struct nopal_numbers *seen, uint64_t from)
{
	uint64_t mask = seen->room / ACK_REPORT_WORD - 1;
	uint64_t at = from / ACK_REPORT_WORD;
	unsigned shift = from % ACK_REPORT_WORD;
	uint64_t word = seen->bits[at & mask] >> shift;

	if (shift)
		word |= seen->bits[(at + 1) & mask] << (ACK_REPORT_WORD - shift);
	if (seen->end - from < ACK_REPORT_WORD)
		word &= (UINT64_C(1) << (seen->end - from)) - 1;
	return word;
}

/* Bytes of the bitmap that tells all that was seen. */
static inline uint64_t ack_report_bitmap_bytes(const struct nopal_numbers *seen)
{
	if (seen->end == seen->floor)
		return 0;
	return (seen->end - seen->floor - 1 + ACK_REPORT_BYTE - 1) / ACK_REPORT_BYTE;
}

/* Writes at most `length` bytes of bitmap, from a number above the cumulative ack on; returns how
 * many are left without the zeros at the end, which a part may have. */
static inline uint32_t ack_report_bitmap(const struct nopal_numbers *seen, uint64_t from,
					 uint8_t *bytes, uint32_t length)
{
	uint64_t word = 0;

	if (seen->end - from < (uint64_t)length * ACK_REPORT_BYTE)
		length = (uint32_t)((seen->end - from + ACK_REPORT_BYTE - 1) / ACK_REPORT_BYTE);
	for (uint32_t i = 0; i < length; i++) {
		if (i % sizeof(word) == 0) {
			word = ack_report_seen(seen, from);
			from += ACK_REPORT_WORD;
		}
		bytes[i] = (uint8_t)word;
		word >>= ACK_REPORT_BYTE;
	}
	while (length && !bytes[length - 1])
		length--;
	return length;
}

static inline void ack_report_write(struct nopal_writer *writer, const struct ack_report *report)
{
	int64_t units = report->delay_ns / ACK_REPORT_DELAY_UNIT_NS;

	if (units > ACK_REPORT_DELAY_MAX)
		units = ACK_REPORT_DELAY_MAX;
	nopal_write(writer, report->largest, ACK_REPORT_NUMBER_BYTES);
	nopal_write(writer, report->cumulative, ACK_REPORT_NUMBER_BYTES);
	nopal_write(writer, (uint64_t)units | (report->part ? ACK_REPORT_PART : 0),
		    ACK_REPORT_DELAY_BYTES);
	if (report->part)
		nopal_write(writer, report->from, ACK_REPORT_NUMBER_BYTES);
}

#endif
