/* SPDX-License-Identifier: MIT */
/*
 * blocking_file.c -- files, or parts of them, over blocking connections.
 *
 *   file  --pread-->  buffer of a message  --out ring-->  core
 *   file  <--pwritev--  where the message's datagrams arrived  <--in ring--  core
 *
 * Between the kernel's pages and its socket the bytes lie in one place at either side.  The file is
 * not mapped, since one that shrinks would then end the process.
 *
 * A message that is being written stays in the in ring, `lent`: what cannot be written is not lost,
 * and the session's own end waits for the file.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/uio.h>

#include "base/bytes.h"
#include "io/blocking/blocking.h"

enum {
	FILE_NUMBER_BYTES = 8, /* of a placed piece */
	FILE_VECTORS = 64,     /* for one system call */
};

/* A range on its way. */
struct file_run {
	struct nopal_connection *connection;
	const struct nopal_file_range *range;
	int64_t timeout_ns;
	uint32_t head, body; /* of each message, at most */
	uint64_t done;
	uint8_t *placed; /* a bit for each piece that is there; receiving a placed range */
};

static bool keeps_a_stream(const struct nopal_plan *plan)
{
	struct nopal_service service;

	nopal_plan_service(plan, 0, NULL, &service);
	return nopal_promises(&service, NOPAL_DELIVERY, NOPAL_ALL) &&
	       nopal_promises(&service, NOPAL_ORDER, NOPAL_AS_SENT) &&
	       nopal_promises(&service, NOPAL_DUPLICATES, NOPAL_ONCE_A_SESSION);
}

static int run_init(struct file_run *run)
{
	const struct nopal_file_range *range = run->range;
	const struct nopal_plan *plan = run->connection->hub->plan;
	uint64_t limit = nopal_plan_info(plan)->message_limit;
	uint64_t piece = range->piece ? range->piece : NOPAL_FILE_PIECE;

	if (!range->piece && piece > limit)
		piece = limit;
	run->head = range->placed ? FILE_NUMBER_BYTES : 0;
	if (piece <= run->head || piece > limit)
		return -EINVAL;
	run->body = (uint32_t)piece - run->head;
	if (range->placed)
		return range->length == NOPAL_FILE_TO_END ? -EINVAL : 0;
	return keeps_a_stream(plan) ? 0 : -ENOTSUP;
}

static bool run_is_over(const struct file_run *run)
{
	return run->range->length != NOPAL_FILE_TO_END && run->done >= run->range->length;
}

/* Bytes of the range that the next piece, which begins at `at` of it, may have. */
static size_t run_piece(const struct file_run *run, uint64_t at)
{
	uint64_t left = run->range->length - at;

	return left < run->body ? (size_t)left : run->body;
}

/* -ECANCELED: the application ends it. */
static int run_advance(struct file_run *run, uint64_t bytes)
{
	const struct nopal_file_range *range = run->range;

	run->done += bytes;
	return range->progress && !range->progress(run->done, range->user) ? -ECANCELED : 0;
}

/* ------------------------------------------------------------------------ send */

/* Bytes read, of which there are fewer at the file's end alone. */
static int64_t file_read(int fd, uint8_t *bytes, size_t length, uint64_t at)
{
	size_t had = 0;

	while (had < length) {
		ssize_t got = pread(fd, bytes + had, length - had, (off_t)(at + had));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		had += (size_t)got;
	}
	return (int64_t)had;
}

/* 1: the file has ended where its end is the range's. */
static int send_piece(struct file_run *run)
{
	const struct nopal_file_range *range = run->range;
	size_t body = run_piece(run, run->done);
	struct blocking_item item = { .buffer = nopal_buffer_new((uint32_t)(run->head + body)) };
	uint8_t *bytes;
	int64_t got;
	int error;

	if (!item.buffer)
		return -ENOMEM;
	bytes = nopal_buffer_bytes(item.buffer);
	if (run->head)
		nopal__put(bytes, run->done / run->body, FILE_NUMBER_BYTES);
	got = file_read(range->fd, bytes + run->head, body, range->from + run->done);
	item.length = run->head + (uint64_t)got;
	if (got < 0)
		error = (int)got;
	else if (got < (int64_t)body && range->length != NOPAL_FILE_TO_END)
		error = -ENODATA;
	else if (got == 0)
		error = 1;
	else
		error = nopal__blocking_put(run->connection, item, run->timeout_ns, NULL);
	if (error)
		nopal_buffer_free(item.buffer);
	return error ? error : run_advance(run, (uint64_t)got);
}

int nopal_connection_send_file(struct nopal_connection *connection,
			       const struct nopal_file_range *range, int64_t timeout_ns,
			       uint64_t *ret_done)
{
	struct file_run run = { connection, range, timeout_ns, 0, 0, 0, NULL };
	int error = run_init(&run);

	while (!error && !run_is_over(&run))
		error = send_piece(&run);
	if (ret_done)
		*ret_done = run.done;
	return error > 0 ? 0 : error;
}

/* --------------------------------------------------------------------- receive */

/* The first message, which stays in the ring. */
static int message_borrow(struct file_run *run, struct blocking_item *ret_item)
{
	int64_t deadline_ns = nopal__blocking_deadline(run->timeout_ns);
	struct nopal_connection *connection = run->connection;
	struct blocking_ring *in = &connection->in;
	struct blocking_hub *hub = connection->hub;
	bool waiting = true;
	int error = -ETIMEDOUT;

	pthread_mutex_lock(&hub->lock);
	while (waiting && in->count == 0 && connection->life != BLOCKING_ENDED)
		waiting = nopal__blocking_wait(hub, deadline_ns);
	if (in->count > 0) {
		*ret_item = in->items[in->head];
		connection->lent = true;
		error = 0;
	} else if (connection->life == BLOCKING_ENDED) {
		error = connection->end == NOPAL_ENDED_WELL ? -EPIPE : -ECONNRESET;
	}
	pthread_mutex_unlock(&hub->lock);
	return error;
}

/* The message is given back where it was read. */
static void message_settle(struct nopal_connection *connection, bool was_read)
{
	struct blocking_hub *hub = connection->hub;
	struct blocking_item item;
	bool call = false;

	pthread_mutex_lock(&hub->lock);
	connection->lent = false;
	if (was_read) {
		item = nopal__blocking_pop(&connection->in);
		nopal__blocking_show_connection(connection);
		call = nopal__blocking_give_back(connection, &item);
	}
	pthread_cond_broadcast(&hub->changed); /* the session's end may wait */
	pthread_mutex_unlock(&hub->lock);
	if (call)
		nopal__live_loop_call(hub->loop);
}

/* All of them, at byte `at`; changes the vectors. */
static int vectors_write(int fd, struct iovec *vectors, size_t count, uint64_t at)
{
	while (count) {
		ssize_t put = pwritev(fd, vectors, (int)count, (off_t)at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -ENOSPC;
		at += (uint64_t)put;
		while (count && (size_t)put >= vectors->iov_len) {
			put -= (ssize_t)vectors->iov_len;
			vectors++;
			count--;
		}
		if (count) {
			vectors->iov_base = (uint8_t *)vectors->iov_base + put;
			vectors->iov_len -= (size_t)put;
		}
	}
	return 0;
}

/* The pieces of a message from byte `skip`, from where they arrived. */
static int pieces_write(int fd, const struct nopal_message *message, uint32_t skip, uint64_t at)
{
	size_t pieces = nopal_message_pieces(message), count = 0;
	struct iovec vectors[FILE_VECTORS];
	uint64_t bytes = 0;
	int error = 0;

	for (size_t i = 0; !error && i < pieces; i++) {
		uint32_t length, before;
		const uint8_t *piece = nopal_message_piece(message, i, &length);

		before = skip < length ? skip : length;
		skip -= before;
		if (length > before)
			vectors[count++] = (struct iovec){ (void *)(uintptr_t)(piece + before),
							   length - before };
		bytes += length - before;
		if (count == FILE_VECTORS || i + 1 == pieces) {
			error = vectors_write(fd, vectors, count, at);
			at += bytes;
			bytes = count = 0;
		}
	}
	return error;
}

/* Bytes of a message, of which a session's end may have made a copy. */
static const uint8_t *copy_bytes(const struct file_run *run, const struct blocking_item *item)
{
	return (const uint8_t *)(item->copy + run->connection->hub->plan->slot_count + 1);
}

static int item_write(const struct file_run *run, const struct blocking_item *item, uint64_t at)
{
	uint64_t place = run->range->from + at;
	struct iovec vector;

	if (item->message)
		return pieces_write(run->range->fd, item->message, run->head, place);
	vector = (struct iovec){ (void *)(uintptr_t)(copy_bytes(run, item) + run->head),
				 (size_t)item->length - run->head };
	return vector.iov_len ? vectors_write(run->range->fd, &vector, 1, place) : 0;
}

/* Where in the range a placed piece belongs; false: it is none. */
static bool piece_place(const struct file_run *run, const struct blocking_item *item,
			uint64_t *ret_number)
{
	uint64_t pieces = (run->range->length + run->body - 1) / run->body;
	uint8_t head[FILE_NUMBER_BYTES];
	uint64_t number;

	if (item->length < FILE_NUMBER_BYTES)
		return false;
	if (item->message)
		nopal_message_copy(item->message, 0, head, sizeof(head));
	else
		memcpy(head, copy_bytes(run, item), sizeof(head));
	number = nopal__get(head, FILE_NUMBER_BYTES);
	if (number >= pieces || item->length - run->head != run_piece(run, number * run->body))
		return false;
	*ret_number = number;
	return true;
}

/* What is new of it: a duplicate of a placed piece is nothing. */
static int64_t item_take(struct file_run *run, const struct blocking_item *item)
{
	uint64_t at = run->done, number = 0;
	uint8_t bit = 0;
	int error;

	if (!item->message && !item->copy)
		return -ENOMEM;
	if (run->range->placed) {
		if (!piece_place(run, item, &number))
			return -EBADMSG;
		bit = (uint8_t)(1 << number % CHAR_BIT);
		if (run->placed[number / CHAR_BIT] & bit)
			return 0;
		at = number * run->body;
	} else if (item->length > run->range->length - run->done) {
		return -EBADMSG;
	}
	error = item_write(run, item, at);
	if (error)
		return error;
	if (run->range->placed)
		run->placed[number / CHAR_BIT] |= bit;
	return (int64_t)item->length - run->head;
}

static int receive_piece(struct file_run *run)
{
	struct blocking_item item;
	int error = message_borrow(run, &item);
	int64_t taken;

	if (error)
		return error;
	taken = item_take(run, &item);
	message_settle(run->connection, taken >= 0);
	return taken < 0 ? (int)taken : run_advance(run, (uint64_t)taken);
}

int nopal_connection_receive_file(struct nopal_connection *connection,
				  const struct nopal_file_range *range, int64_t timeout_ns,
				  uint64_t *ret_done)
{
	struct file_run run = { connection, range, timeout_ns, 0, 0, 0, NULL };
	int error = run_init(&run);

	if (!error && range->placed) {
		run.placed = calloc(range->length / run.body / CHAR_BIT + 1, 1);
		error = run.placed ? 0 : -ENOMEM;
	}
	while (!error && !run_is_over(&run))
		error = receive_piece(&run);
	free(run.placed);
	if (ret_done)
		*ret_done = run.done;
	return error == -EPIPE && range->length == NOPAL_FILE_TO_END ? 0 : error;
}
