/* SPDX-License-Identifier: MIT */
/*
 * test_recv_session -- what a sender says, in an order that a composition without
 * one makes of it: DATA, END and SHARE may be there before START.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "file_hash.h"
#include "microprotocol.h"
#include "recv_incoming.h"
#include "recv_loops.h"

enum {
	FILE_BYTES = 300000,
	HALF_BYTES = 150000,
	HANG_S = 60, /* it would never end */
};
#define LOOK_NS (200 * NOPAL_MILLISECOND)

/* A note of the sender; of DATA, what it carries. */
struct step {
	enum transfer_type type;
	uint64_t from, end;
};

struct scene {
	char path[64];
	struct recv_group group;
	struct nopal_session *session;
	struct loop_event *hang;
	uint8_t content[FILE_BYTES];
	struct transfer_note heard; /* the last ANSWER or RESULT */
	struct island ranges[TRANSFER_RANGES_MOST]; /* of HELD */
	size_t held_count;
};

/* ------------------------------------------------------------- the other side */

static void scene_on_received(struct nopal_session *session,
			      struct nopal_message *message, void *user)
{
	struct scene *scene = user;
	struct transfer_note note;

	(void)session;
	assert_true(transfer_received(message, &note));
	if (note.type == TRANSFER_PING)
		return;
	if (note.type == TRANSFER_HELD)
		assert_true(transfer_held(message, FILE_BYTES, scene->ranges,
					  &scene->held_count));
	scene->heard = note;
	loop_stop(scene->group.receivers->loop);
}

static const struct nopal_callbacks scene_callbacks = {
	.received = scene_on_received,
};

static uint64_t scene_hash(const struct scene *scene)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, scene->content, FILE_BYTES);
	return file_hash_value(&hash);
}

static struct transfer_note scene_offer_of(const char *name)
{
	struct transfer_note note = { .type = TRANSFER_OFFER,
				      .size = FILE_BYTES,
				      .mtime_ns = 42 };

	snprintf(note.text, sizeof(note.text), "%s", name);
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	return note;
}

static struct transfer_note scene_offer(void)
{
	return scene_offer_of("f");
}

static void scene_say(struct scene *scene, const struct step *step)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST + FILE_BYTES];
	struct transfer_note note = { .type = step->type,
				      .offset = step->from,
				      .size = FILE_BYTES,
				      .hash = scene_hash(scene) };
	size_t length = transfer_encode(&note, bytes);

	memcpy(bytes + length, scene->content + step->from,
	       (size_t)(step->end - step->from));
	length += (size_t)(step->end - step->from);
	assert_int_equal(nopal_send(scene->session, bytes, length, 0), 0);
}

/* Until something is answered. */
static void scene_wait(struct scene *scene, enum transfer_type type)
{
	loop_run(scene->group.receivers->loop);
	assert_int_equal(scene->heard.type, type);
}

static void scene_on_look(void *user)
{
	struct scene *scene = user;

	loop_stop(scene->group.receivers->loop);
}

/* For a while, or until something is answered. */
static void scene_look(struct scene *scene)
{
	struct loop_event *look =
		loop_event_new(scene->group.receivers->loop, LOOP_TIMER, -1,
			       scene_on_look, scene);

	loop_event_start(look, LOOK_NS);
	loop_run(scene->group.receivers->loop);
	loop_event_free(look);
}

/* -------------------------------------------------------------------- a scene */

static void scene_on_hang(void *user)
{
	(void)user;
	fail_msg("no answer came");
}

static void scene_half(const struct scene *scene, const uint8_t *bytes)
{
	struct transfer_note offer = scene_offer();
	char state[128];
	int length =
		snprintf(state, sizeof(state), "nopal-part 1 %016llx %d %d\n",
			 (unsigned long long)offer.id, FILE_BYTES, HALF_BYTES);
	int fd = openat(scene->group.folder.fd, ".f.nopal-part",
			O_WRONLY | O_CREAT, 0666);

	assert_int_equal(write(fd, bytes, HALF_BYTES), HALF_BYTES);
	close(fd);
	fd = openat(scene->group.folder.fd, ".f.nopal-state",
		    O_WRONLY | O_CREAT, 0666);
	assert_int_equal(write(fd, state, (size_t)length), length);
	close(fd);
}

static void scene_half_ours(const struct scene *scene)
{
	scene_half(scene, scene->content);
}

static void scene_half_other(const struct scene *scene)
{
	uint8_t *other = calloc(1, HALF_BYTES);

	scene_half(scene, other);
	free(other);
}

static int scene_open(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	/* All of the file is said at once. */
	static const char *const sets[] = { "buffer_sizing.least=1MiB", NULL };
	struct nopal_problems problems;
	struct nopal_address local;

	snprintf(scene->path, sizeof(scene->path), "/tmp/nopal-test-XXXXXX");
	assert_non_null(mkdtemp(scene->path));
	for (size_t i = 0; i < FILE_BYTES; i++)
		scene->content[i] = (uint8_t)(i * 7 + i / 251);
	nopal_problems_init(&problems);
	scene->group.folder.fd = open(scene->path, O_RDONLY | O_DIRECTORY);
	scene->group.folder.limit = INT64_MAX;
	scene->group.folder.differs = "differs";
	scene->group.plan = nopal_plan_load("bulk", sets, &problems);
	pthread_mutex_init(&scene->group.lock, NULL);
	guests_house_init(&scene->group.house, GUESTS_SEATS_EACH, 0);
	progress_init(&scene->group.progress, "recv", false, false);
	assert_int_equal(nopal_address_parse("127.0.0.1:0", &local, &problems),
			 0);
	assert_true(recv_loops_open(&scene->group, 1, &local, NULL, &problems));
	scene->hang = loop_event_new(scene->group.receivers->loop, LOOP_TIMER,
				     -1, scene_on_hang, scene);
	loop_event_start(scene->hang, HANG_S * NOPAL_SECOND);
	*state = scene;
	return 0;
}

static int scene_close(void **state)
{
	struct scene *scene = *state;

	loop_event_free(scene->hang);
	recv_loops_close(&scene->group);
	assert_int_equal(scene->group.house.seats, 0);
	guests_house_fini(&scene->group.house);
	unlinkat(scene->group.folder.fd, "f", 0);
	unlinkat(scene->group.folder.fd, ".f.nopal-part", 0);
	unlinkat(scene->group.folder.fd, ".f.nopal-state", 0);
	assert_int_equal(rmdir(scene->path), 0);
	close(scene->group.folder.fd);
	nopal_plan_unref(scene->group.plan);
	pthread_mutex_destroy(&scene->group.lock);
	free(scene);
	return 0;
}

/* A session to the receiver, and its answer to an offer: so much is there. */
static void scene_offers(struct scene *scene, uint64_t there)
{
	struct receiver *receiver = scene->group.receivers;
	struct transfer_note offer = scene_offer();
	uint8_t bytes[TRANSFER_NOTE_LONGEST];
	struct nopal_endpoint *endpoint;
	struct nopal_address to;

	nopal_endpoint_local(receiver->endpoint, &to);
	endpoint = loop_endpoint_to(receiver->loop, &to);
	assert_non_null(endpoint);
	scene->session = nopal_session_open(endpoint, scene->group.plan, &to,
					    &scene_callbacks, scene);
	assert_non_null(scene->session);
	assert_int_equal(nopal_send(scene->session, bytes,
				    transfer_encode(&offer, bytes), 0),
			 0);
	scene_wait(scene, TRANSFER_ANSWER);
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	assert_int_equal(scene->heard.offset, there);
}

static void scene_is_whole(const struct scene *scene)
{
	uint8_t *bytes = malloc(FILE_BYTES + 1);
	int fd = openat(scene->group.folder.fd, "f", O_RDONLY);

	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, FILE_BYTES + 1), FILE_BYTES);
	assert_memory_equal(bytes, scene->content, FILE_BYTES);
	close(fd);
	free(bytes);
}

/* Says all of them, and the file is whole. */
static void scene_takes(struct scene *scene, uint64_t there,
			const struct step *steps)
{
	scene_offers(scene, there);
	for (; steps->type; steps++)
		scene_say(scene, steps);
	scene_wait(scene, TRANSFER_RESULT);
	scene_is_whole(scene);
}

/* ---------------------------------------------------------------------- tests */

static void test_nothing_was_there(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 100000, 200000 },     { TRANSFER_END, 0, 0 },
		{ TRANSFER_DATA, 0, 100000 },	       { TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 200000, FILE_BYTES }, { 0 },
	};

	scene_takes(*state, 0, steps);
}

static void test_start_is_the_last(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 0, 100000 },
		{ TRANSFER_DATA, 100000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_START, 0, 0 },
		{ 0 },
	};

	scene_takes(*state, 0, steps);
}

static void test_it_goes_on(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_DATA, HALF_BYTES, 200000 },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

/* What is there is another file's: the sender begins at 0, which nobody can tell
 * by what comes first. */
static void test_it_begins_anew(void **state)
{
	static const struct step late[] = {
		{ TRANSFER_DATA, 200000, 250000 },
		{ TRANSFER_DATA, 160000, 200000 },
		{ TRANSFER_DATA, 250000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 100000, 160000 },
		{ TRANSFER_DATA, 0, 100000 },
		{ 0 },
	};
	scene_half_other(*state);
	scene_takes(*state, HALF_BYTES, late);
}

/* It was taken for the rest, all of which is there, and was none. */
static void test_a_rest_that_was_none(void **state)
{
	static const struct step late[] = {
		{ TRANSFER_DATA, HALF_BYTES, 200000 },
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ TRANSFER_DATA, 0, 100000 },
		{ TRANSFER_DATA, 100000, HALF_BYTES },
		{ TRANSFER_START, 0, 0 },
		{ 0 },
	};
	scene_half_other(*state);
	scene_takes(*state, HALF_BYTES, late);
}

/* It holds nothing of what is not this sender's. */
static void test_a_share_before_its_start(void **state)
{
	static const struct step data = { TRANSFER_DATA, 200000, 250000 },
				 share = { TRANSFER_SHARE, 0, 0 },
				 start = { TRANSFER_START, 0, 0 };
	struct scene *scene = *state;

	scene_half_other(scene);
	scene_offers(scene, HALF_BYTES);
	scene_say(scene, &data);
	scene_say(scene, &share);
	scene_look(scene);
	assert_int_equal(scene->heard.type, TRANSFER_ANSWER);
	scene_say(scene, &start);
	scene_wait(scene, TRANSFER_HELD);
	assert_int_equal(scene->held_count, 1);
	assert_int_equal(scene->ranges[0].from, 200000);
	assert_int_equal(scene->ranges[0].end, 250000);
}

/* A start twice is none: what came since stays. */
static void test_a_second_start(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ TRANSFER_DATA, HALF_BYTES, 200000 },
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

/* To several it goes on from where the last one of them is. */
static void test_others_are_less_far(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_DATA, 120000, 160000 },
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ TRANSFER_DATA, 100000, 120000 },
		{ TRANSFER_DATA, 160000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

static void test_others_are_less_far_in_order(void **state)
{
	static const struct step steps[] = {
		{ TRANSFER_START, HALF_BYTES, HALF_BYTES },
		{ TRANSFER_DATA, 50000, 100000 },
		{ TRANSFER_DATA, 100000, 200000 },
		{ TRANSFER_DATA, 200000, FILE_BYTES },
		{ TRANSFER_END, 0, 0 },
		{ 0 },
	};
	scene_half_ours(*state);
	scene_takes(*state, HALF_BYTES, steps);
}

/* Another file of the same length has the name. */
static void other_file(const struct scene *scene)
{
	int fd = openat(scene->group.folder.fd, "f", O_WRONLY | O_CREAT, 0666);
	uint8_t *other = calloc(1, FILE_BYTES);

	assert_int_equal(write(fd, other, FILE_BYTES), FILE_BYTES);
	close(fd);
	free(other);
}

static const struct step all_and_start[] = {
	{ TRANSFER_DATA, 0, FILE_BYTES },
	{ TRANSFER_END, 0, 0 },
	{ TRANSFER_START, 0, 0 },
	{ 0 },
};

static void test_another_file_is_replaced(void **state)
{
	struct scene *scene = *state;

	other_file(scene);
	scene->group.folder.overwrite = true;
	scene_takes(scene, FILE_BYTES, all_and_start);
}

static void test_another_file_is_left_alone(void **state)
{
	struct scene *scene = *state;
	uint8_t first = 1;
	int fd;

	other_file(scene);
	scene_offers(scene, FILE_BYTES);
	scene_say(scene, all_and_start);
	scene_wait(scene, TRANSFER_RESULT);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	fd = openat(scene->group.folder.fd, "f", O_RDONLY);
	assert_int_equal(pread(fd, &first, 1, 1), 1);
	assert_int_equal(first, 0);
	close(fd);
}

/* ------------------------------------------------------------------ strangers */

static struct nopal_session *scene_open_from(struct scene *scene,
					     const char *from)
{
	struct receiver *receiver = scene->group.receivers;
	struct nopal_address local, to;
	struct nopal_problems problems;
	struct nopal_endpoint *endpoint;

	nopal_problems_init(&problems);
	nopal_endpoint_local(receiver->endpoint, &to);
	assert_int_equal(nopal_address_parse(from, &local, &problems), 0);
	endpoint = nopal_endpoint_open(loop_world(receiver->loop), &local,
				       &problems);
	assert_non_null(endpoint);
	return nopal_session_open(endpoint, scene->group.plan, &to,
				  &scene_callbacks, scene);
}

static void scene_offer_with(struct scene *scene, struct transfer_note offer)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST];

	assert_int_equal(nopal_send(scene->session, bytes,
				    transfer_encode(&offer, bytes), 0),
			 0);
	scene_wait(scene, TRANSFER_ANSWER);
}

static unsigned scene_seated(const struct scene *scene, bool seated)
{
	unsigned count = 0;

	for (const struct guest *at = scene->group.receivers->guests.newest; at;
	     at = at->older)
		count += at->seated == seated;
	return count;
}

/* They open and ask for nothing. */
static void test_sessions_that_only_open_keep_nobody_out(void **state)
{
	enum { OPENINGS = 64 };
	struct scene *scene = *state;

	for (unsigned i = 0; i < OPENINGS; i++)
		assert_non_null(scene_open_from(scene, "127.0.0.2:0"));
	scene_look(scene);
	assert_int_equal(scene_seated(scene, false), GUESTS_WAIT_EACH);
	scene_takes(scene, 0, all_and_start);
	assert_int_equal(scene_seated(scene, true), 1);
}

/* Of one address: the others have theirs. */
static void test_an_address_has_so_many_seats(void **state)
{
	enum { SEATS = 2 };
	struct scene *scene = *state;

	scene->group.house.seats_each = SEATS;
	for (unsigned i = 0; i <= SEATS; i++) {
		scene->session = scene_open_from(scene, "127.0.0.2:0");
		scene_offer_with(
			scene, scene_offer_of((char[]){ (char)('a' + i), 0 }));
		assert_int_equal(scene->heard.verdict,
				 i < SEATS ? TRANSFER_YES : TRANSFER_NO);
	}
	assert_non_null(strstr(scene->heard.text, "too many sessions"));
	scene_takes(scene, 0, all_and_start);
	assert_int_equal(scene_seated(scene, true), SEATS + 1);
}

/* An offer claims its length of its address, and gives it back. */
static void test_an_address_has_so_many_unfinished_bytes(void **state)
{
	struct scene *scene = *state;
	struct transfer_note offer = scene_offer();

	scene->group.house.bytes_each = FILE_BYTES;
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	offer = scene_offer_of("g");
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_non_null(strstr(scene->heard.text, "g: too many unfinished"));
	assert_non_null(strstr(scene->heard.text, "--peer-bytes"));
	/* another address, another claim */
	scene->session = scene_open_from(scene, "127.0.0.3:0");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
}

/* What stays of a file whose sender has gone is its address's. */
static void test_what_stays_is_counted(void **state)
{
	static const struct step half[] = {
		{ TRANSFER_START, 0, 0 },
		{ TRANSFER_DATA, 0, HALF_BYTES },
	};
	struct scene *scene = *state;
	struct transfer_note offer = scene_offer();

	scene->group.house.bytes_each = FILE_BYTES + HALF_BYTES / 2;
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, offer);
	scene_say(scene, &half[0]);
	scene_say(scene, &half[1]);
	scene_look(scene);
	nopal_session_abort(scene->session, "gone");
	scene_look(scene);
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	offer = scene_offer_of("g");
	scene_offer_with(scene, offer);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	/* with the file itself it goes on, whoever sends it */
	scene->group.house.bytes_each = FILE_BYTES;
	scene->session = scene_open_from(scene, "127.0.0.2:0");
	scene_offer_with(scene, scene_offer());
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	assert_int_equal(scene->heard.offset, HALF_BYTES);
}

/* Its peer lives, and says no more. */
static void test_an_offer_without_data_expires(void **state)
{
	static const struct step start = { TRANSFER_START, 0, 0 };
	struct scene *scene = *state;

	scene_offers(scene, 0);
	scene_say(scene, &start);
	scene_look(scene);
	recv_session_ping(scene->group.receivers);
	scene_look(scene);
	assert_int_equal(scene->heard.type, TRANSFER_ANSWER);
	scene->group.receivers->incomings->answered_ns -= 3600 * NOPAL_SECOND;
	recv_session_ping(scene->group.receivers);
	scene_wait(scene, TRANSFER_RESULT);
	assert_int_equal(scene->heard.verdict, TRANSFER_NO);
	assert_non_null(strstr(scene->heard.text, "nothing of it came"));
	assert_int_equal(
		faccessat(scene->group.folder.fd, ".f.nopal-part", F_OK, 0),
		-1);
	assert_null(scene->group.receivers->incomings->part);
}

#define CASE(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_was_there),
		CASE(test_start_is_the_last),
		CASE(test_it_goes_on),
		CASE(test_it_begins_anew),
		CASE(test_a_rest_that_was_none),
		CASE(test_a_share_before_its_start),
		CASE(test_a_second_start),
		CASE(test_others_are_less_far),
		CASE(test_another_file_is_replaced),
		CASE(test_another_file_is_left_alone),
		CASE(test_others_are_less_far_in_order),
		CASE(test_sessions_that_only_open_keep_nobody_out),
		CASE(test_an_address_has_so_many_seats),
		CASE(test_an_address_has_so_many_unfinished_bytes),
		CASE(test_what_stays_is_counted),
		CASE(test_an_offer_without_data_expires),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
