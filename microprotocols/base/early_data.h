/* SPDX-License-Identifier: MIT */
/*
 * early_data.h -- the state of early_data, and what it says in request and answer.
 */
#ifndef NOPAL_EARLY_DATA_H
#define NOPAL_EARLY_DATA_H

#include <nopal/microprotocol.h>

enum {
	EARLY_DATA_TIME_BYTES = 8,
	EARLY_DATA_HEAD_BYTES = 3 * EARLY_DATA_TIME_BYTES, /* given, age, nonce */
	EARLY_DATA_BYTES = EARLY_DATA_HEAD_BYTES + 8,	   /* and proof */
	EARLY_DATA_ID_BYTES = 4,
	EARLY_DATA_ZEROS = 7,
	EARLY_DATA_MAX = 1200, /* of a request, which is no longer */
};

struct early_data_parameters {
	int64_t window_ns, lifetime_ns, nonces, all;
};

/* What a request says of itself; given_ns 0: nothing travels early. */
struct early_data_head {
	int64_t given_ns, age_ns;
	uint64_t nonce;
};

struct early_data {
	struct early_data_head head;
	uint64_t proof;
	uint8_t *block; /* opener: what travels; listener: what came, until it is delivered */
	uint32_t length;
	bool packed, taken, agreed;
	int64_t packed_ns;
	struct nopal_ticket ticket; /* listener: as it is given; opener: as it came */
};

/* ------------------------------------------------------------------------ bytes */

static inline void early_data_write_head(struct nopal_writer *writer,
					 const struct early_data_head *head)
{
	nopal_write(writer, (uint64_t)head->given_ns, EARLY_DATA_TIME_BYTES);
	nopal_write(writer, (uint64_t)head->age_ns, EARLY_DATA_TIME_BYTES);
	nopal_write(writer, head->nonce, sizeof(head->nonce));
}

/* False: no opener says that. */
static inline bool early_data_read_head(const uint8_t *bytes, struct early_data_head *ret_head,
					uint64_t *ret_proof)
{
	struct nopal_reader reader = nopal_reader_over(bytes, EARLY_DATA_BYTES);
	uint64_t given = nopal_read(&reader, EARLY_DATA_TIME_BYTES);
	uint64_t age = nopal_read(&reader, EARLY_DATA_TIME_BYTES);

	ret_head->nonce = nopal_read(&reader, sizeof(ret_head->nonce));
	*ret_proof = nopal_read(&reader, sizeof(*ret_proof));
	ret_head->given_ns = (int64_t)given;
	ret_head->age_ns = (int64_t)age;
	/* The sum of both is a time, too. */
	if (given > INT64_MAX / 2 || age > INT64_MAX / 2)
		return false;
	return given || (!age && !ret_head->nonce && !*ret_proof);
}

/* Of all that the request says early, by the session with this id. */
static inline uint64_t early_data_proof(const struct nopal_ticket *ticket,
					const struct early_data_head *head, uint32_t opener_id,
					struct nopal_reader early)
{
	uint8_t bytes[EARLY_DATA_HEAD_BYTES + EARLY_DATA_ID_BYTES + EARLY_DATA_MAX];
	struct nopal_writer writer = nopal_writer_over(bytes, sizeof(bytes));
	size_t length = nopal_read_left(&early);

	early_data_write_head(&writer, head);
	nopal_write(&writer, opener_id, EARLY_DATA_ID_BYTES);
	nopal_write_bytes(&writer, early.at, length);
	return nopal_ticket_hash(ticket, bytes, nopal_written(&writer));
}

#endif
