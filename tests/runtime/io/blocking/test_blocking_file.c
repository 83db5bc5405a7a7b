/* SPDX-License-Identifier: MIT */
/*
 * test_blocking_file -- files over blocking connections: as a stream and as placed pieces, and what
 * can fail on the way.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <fcntl.h>

#include <nopal/nopal.h>
#include "support/own_file.h"
#include "support/test.h"

enum { SIZE = 1000003, SMALL = 200000, PIECE = 4096, TIMEOUT_S = 20 };
static const int64_t timeout_ns = TIMEOUT_S * NOPAL_SECOND;

/* Two ends of a connection, a file to read and one to write. */
struct talk {
	struct nopal_listener *listener;
	struct nopal_connection *here, *there;
	struct nopal_problems problems;
	int from, to;
	uint64_t done; /* of the last call */
};

static void fill(int fd, size_t length)
{
	uint8_t *bytes = malloc(length);

	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(i * i >> 7 ^ i);
	assert_int_equal(pwrite(fd, bytes, length, 0), length);
	free(bytes);
}

static int talk_open(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));

	set_up(state);
	talk->from = memfd_create("from", 0);
	talk->to = memfd_create("to", 0);
	assert_true(talk->from >= 0 && talk->to >= 0);
	fill(talk->from, SIZE);
	*state = talk;
	return 0;
}

static void connect(struct talk *talk, const char *text)
{
	char address[NOPAL_ADDRESS_TEXT];
	struct nopal_address local;
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	talk->listener = nopal_listen(path, "127.0.0.1:0", &talk->problems);
	nopal_problems_print(&talk->problems, stderr);
	assert_non_null(talk->listener);
	nopal_listener_address(talk->listener, &local);
	nopal_address_format(&local, address);
	talk->here = nopal_dial(path, address, timeout_ns, &talk->problems);
	nopal_problems_print(&talk->problems, stderr);
	assert_non_null(talk->here);
	talk->there = nopal_accept(talk->listener, timeout_ns, &talk->problems);
	assert_non_null(talk->there);
}

static const char stream[] = "extends = bulk\n";
/* Messages are delivered as they are whole. */
static const char unordered[] = "extends = bulk\nwithout = reliable_fifo\n"
				"sequenced_messages {}\n";

static void part(struct talk *talk, struct nopal_connection **connection)
{
	if (*connection)
		nopal_connection_close(*connection, timeout_ns, &talk->problems);
	*connection = NULL;
}

static int talk_close(void **state)
{
	struct talk *talk = *state;

	if (talk->here)
		nopal_connection_close(talk->here, 0, &talk->problems);
	if (talk->there)
		nopal_connection_close(talk->there, 0, &talk->problems);
	if (talk->listener)
		nopal_listener_close(talk->listener);
	nopal_problems_fini(&talk->problems);
	close(talk->from);
	close(talk->to);
	free(talk);
	return tear_down(NULL);
}

EACH_TEST(talk_open, talk_close);

static int give(struct talk *talk, struct nopal_file_range range)
{
	range.fd = talk->from;
	return nopal_connection_send_file(talk->here, &range, timeout_ns, &talk->done);
}

static int take(struct talk *talk, struct nopal_file_range range)
{
	range.fd = talk->to;
	return nopal_connection_receive_file(talk->there, &range, timeout_ns, &talk->done);
}

/* Are `length` bytes of the two files the same, and where the one that was written ends? */
static void assert_same(struct talk *talk, off_t from, off_t to, size_t length)
{
	uint8_t *one = malloc(length + 1), *other = malloc(length + 1);

	assert_int_equal(pread(talk->from, one, length, from), length);
	assert_int_equal(pread(talk->to, other, length + 1, to), length);
	assert_memory_equal(one, other, length);
	free(one);
	free(other);
}

TEST(test_a_file_goes_as_a_stream)
{
	struct talk *talk = *state;
	const struct nopal_file_range all = { .length = SIZE };

	connect(talk, stream);
	assert_int_equal(give(talk, all), 0);
	assert_int_equal(talk->done, SIZE);
	assert_int_equal(take(talk, all), 0);
	assert_int_equal(talk->done, SIZE);
	assert_same(talk, 0, 0, SIZE);
	assert_int_equal(nopal_connection_wait(talk->here, 0, timeout_ns), NOPAL_OUTCOME_DELIVERED);
}

/* One range after the other, each with messages of its own. */
TEST(test_ranges_follow_each_other)
{
	struct talk *talk = *state;

	connect(talk, stream);
	assert_int_equal(give(talk, (struct nopal_file_range){ .from = 1000, .length = SMALL }), 0);
	assert_int_equal(give(talk, (struct nopal_file_range){ .from = 1000 + SMALL,
							       .length = 5000,
							       .piece = 700 }),
			 0);
	assert_int_equal(take(talk, (struct nopal_file_range){ .from = 50, .length = SMALL }), 0);
	assert_int_equal(
		take(talk, (struct nopal_file_range){ .from = 50 + SMALL, .length = 5000 }), 0);
	assert_same(talk, 1000, 50, SMALL + 5000);
	assert_int_equal(take(talk, (struct nopal_file_range){ .length = 0 }), 0);
}

static void to_the_end(struct talk *talk, uint64_t from, uint64_t bytes)
{
	assert_int_equal(give(talk, (struct nopal_file_range){ .from = from,
							       .length = NOPAL_FILE_TO_END,
							       .piece = PIECE }),
			 0);
	assert_int_equal(talk->done, bytes);
	part(talk, &talk->here);
	assert_int_equal(take(talk, (struct nopal_file_range){ .length = NOPAL_FILE_TO_END }), 0);
	assert_int_equal(talk->done, bytes);
}

/* Some messages of an ended session are copies. */
TEST(test_to_the_end_of_file_and_connection)
{
	struct talk *talk = *state;

	connect(talk, stream);
	assert_int_equal(ftruncate(talk->from, SMALL), 0);
	to_the_end(talk, 5, SMALL - 5);
	assert_same(talk, 5, 0, SMALL - 5);
}

TEST(test_a_file_of_whole_pieces_ends_with_the_last)
{
	struct talk *talk = *state;

	connect(talk, stream);
	assert_int_equal(ftruncate(talk->from, 4 * PIECE), 0);
	to_the_end(talk, 0, 4 * PIECE);
	assert_same(talk, 0, 0, 4 * PIECE);
}

TEST(test_placed_pieces_are_written_as_they_come)
{
	struct talk *talk = *state;
	const struct nopal_file_range all = {
		.from = 3, .length = SIZE - 3, .piece = PIECE, .placed = true
	};

	connect(talk, unordered);
	assert_int_equal(give(talk, all), 0);
	assert_int_equal(take(talk, all), 0);
	assert_int_equal(talk->done, SIZE - 3);
	assert_same(talk, 3, 3, SIZE - 3);
}

TEST(test_placed_pieces_outlive_the_session)
{
	struct talk *talk = *state;
	const struct nopal_file_range some = { .length = SMALL, .placed = true };

	connect(talk, unordered);
	assert_int_equal(give(talk, some), 0);
	part(talk, &talk->here);
	assert_int_equal(take(talk, some), 0);
	assert_same(talk, 0, 0, SMALL);
}

static void say(struct talk *talk, uint64_t number, size_t length)
{
	uint8_t bytes[PIECE + 1] = { 0 };

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> (56 - 8 * i));
	assert_true(pread(talk->from, bytes + 8, PIECE - 8, (off_t)(number % 9 * (PIECE - 8))) > 0);
	assert_int_equal(nopal_connection_send(talk->here, bytes, length, timeout_ns), 0);
}

/* Takes the message that is none of the range. */
static void assert_refused(struct talk *talk, struct nopal_file_range range, int64_t length)
{
	uint8_t bytes[PIECE + 1];

	assert_int_equal(take(talk, range), -EBADMSG);
	assert_int_equal(nopal_connection_receive(talk->there, bytes, sizeof(bytes), timeout_ns),
			 length);
}

TEST(test_what_is_no_piece_is_refused_and_stays)
{
	struct talk *talk = *state;
	const struct nopal_file_range range = { .length = 2 * (PIECE - 8) + 50,
						.piece = PIECE,
						.placed = true };

	connect(talk, stream);
	say(talk, 0, 7);	 /* no room for a number */
	say(talk, 3, PIECE);	 /* beyond the range */
	say(talk, 0, PIECE - 1); /* too short, too long */
	say(talk, 2, 60);
	say(talk, UINT64_MAX, PIECE);
	assert_refused(talk, range, 7);
	assert_refused(talk, range, PIECE);
	assert_refused(talk, range, PIECE - 1);
	assert_refused(talk, range, 60);
	assert_refused(talk, range, PIECE);
	say(talk, 0, PIECE); /* longer than a stream may be */
	assert_refused(talk, (struct nopal_file_range){ .length = PIECE - 1 }, PIECE);
}

TEST(test_a_piece_counts_once)
{
	struct talk *talk = *state;
	const struct nopal_file_range range = { .length = 2 * (PIECE - 8) + 50,
						.piece = PIECE,
						.placed = true };

	connect(talk, stream);
	say(talk, 1, PIECE);
	say(talk, 1, PIECE);
	say(talk, 2, 58);
	say(talk, 2, 58);
	say(talk, 0, PIECE);
	assert_int_equal(take(talk, range), 0);
	assert_same(talk, 0, 0, 2 * (PIECE - 8) + 50);
}

static int shrinking = -1;

static bool shrinks_it(uint64_t done_bytes, void *user)
{
	(void)user;
	if (done_bytes == 3 * PIECE)
		assert_int_equal(ftruncate(shrinking, 5 * PIECE + 7), 0);
	return true;
}

TEST(test_a_file_that_shrinks_is_told_and_all_before_arrives)
{
	struct talk *talk = *state;

	connect(talk, stream);
	shrinking = talk->from;
	assert_int_equal(give(talk, (struct nopal_file_range){ .length = SIZE,
							       .piece = PIECE,
							       .progress = shrinks_it }),
			 -ENODATA);
	assert_int_equal(talk->done, 5 * PIECE);
	part(talk, &talk->here);
	assert_int_equal(take(talk, (struct nopal_file_range){ .length = SIZE }), -EPIPE);
	assert_int_equal(talk->done, 5 * PIECE);
	assert_same(talk, 0, 0, 5 * PIECE);
}

/* Bytes that could not be written come with the next call. */
static void goes_on(struct talk *talk)
{
	uint64_t before = talk->done;

	assert_true(before > 0 && before < SIZE);
	assert_int_equal(
		take(talk, (struct nopal_file_range){ .from = before, .length = SIZE - before }),
		0);
	assert_same(talk, 0, 0, SIZE);
}

TEST(test_a_file_at_its_limit_goes_on_when_it_may_grow)
{
	struct talk *talk = *state;
	const struct nopal_file_range all = { .length = SIZE };
	struct rlimit was, limit;

	connect(talk, stream);
	assert_int_equal(give(talk, all), 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	limit = was;
	limit.rlim_cur = SMALL;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(take(talk, all), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	goes_on(talk);
}

/* A file on a disk of its own, of SMALL bytes; false: not allowed. */
static bool disk_mount(struct talk *talk, char *folder, char *name, size_t room)
{
	char options[40];
	bool there;

	snprintf(options, sizeof(options), "size=%d", SMALL);
	assert_non_null(mkdtemp(folder));
	there = mount("tmpfs", folder, "tmpfs", 0, options) == 0;
	if (!there)
		return false;
	snprintf(name, room, "%s/file", folder);
	close(talk->to);
	talk->to = open(name, O_RDWR | O_CREAT, 0600);
	return true;
}

TEST(test_a_full_disk_is_told_and_the_rest_stays)
{
	struct talk *talk = *state;
	const struct nopal_file_range all = { .length = SIZE };
	char folder[] = "/tmp/nopal_disk_XXXXXX", name[64];

	if (!disk_mount(talk, folder, name, sizeof(name))) {
		rmdir(folder);
		skip();
	}
	connect(talk, stream);
	assert_int_equal(give(talk, all), 0);
	assert_int_equal(take(talk, all), -ENOSPC);
	assert_int_equal(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, "size=4m"), 0);
	goes_on(talk);
	close(talk->to);
	talk->to = -1;
	assert_int_equal(umount(folder), 0);
	rmdir(folder);
}

static bool ends_it(uint64_t done_bytes, void *user)
{
	*(uint64_t *)user = done_bytes;
	return done_bytes < SMALL;
}

TEST(test_progress_may_end_the_call_and_another_goes_on)
{
	struct talk *talk = *state;
	uint64_t told = 0;

	connect(talk, stream);
	assert_int_equal(give(talk, (struct nopal_file_range){ .length = SIZE }), 0);
	assert_int_equal(take(talk, (struct nopal_file_range){ .length = SIZE,
							       .progress = ends_it,
							       .user = &told }),
			 -ECANCELED);
	assert_int_equal(told, talk->done);
	goes_on(talk);
}

TEST(test_a_stream_needs_order_and_a_placed_range_a_length)
{
	struct talk *talk = *state;
	const struct nopal_file_range placed = { .length = SMALL, .placed = true };
	struct nopal_file_range range = placed;

	connect(talk, unordered);
	assert_int_equal(give(talk, (struct nopal_file_range){ .length = SIZE }), -ENOTSUP);
	assert_int_equal(take(talk, (struct nopal_file_range){ .length = SIZE }), -ENOTSUP);
	range.length = NOPAL_FILE_TO_END;
	assert_int_equal(take(talk, range), -EINVAL);
	range = placed;
	range.piece = 8;
	assert_int_equal(give(talk, range), -EINVAL);
	range.piece = UINT32_MAX;
	assert_int_equal(give(talk, range), -EINVAL);
	range = placed;
	range.fd = -1;
	assert_int_equal(nopal_connection_send_file(talk->here, &range, timeout_ns, NULL), -EBADF);
}

TEST(test_a_sender_that_stops_is_a_timeout)
{
	struct talk *talk = *state;
	const struct nopal_file_range range = { .fd = talk->to, .length = SIZE };

	connect(talk, stream);
	assert_int_equal(give(talk, (struct nopal_file_range){ .length = SMALL }), 0);
	assert_int_equal(nopal_connection_wait(talk->here, 0, timeout_ns), NOPAL_OUTCOME_DELIVERED);
	assert_int_equal(nopal_connection_receive_file(talk->there, &range, 0, &talk->done),
			 -ETIMEDOUT);
	assert_int_equal(talk->done, SMALL);
}
