/* SPDX-License-Identifier: MIT */
/*
 * receiving.h -- `nopal recv` on a loop of its own, in a folder of its own, and a sender that says
 * by hand what it sends.
 *
 *     scene_offers(scene, 0);
 *     scene_say(scene, &(struct step){ TRANSFER_START, 0, 0 });
 *     scene_say(scene, &(struct step){ TRANSFER_DATA, 0, FILE_BYTES });
 *     scene_wait(scene, TRANSFER_RESULT);
 */
#ifndef NOPAL_TEST_RECEIVING_H
#define NOPAL_TEST_RECEIVING_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/endpoint.h"
#include "file/file_hash.h"
#include <nopal/microprotocol.h>
#include "recv_incoming.h"
#include "recv_loops.h"
#include "support/test.h"

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
	struct transfer_note heard;		    /* the last ANSWER or RESULT */
	struct island ranges[TRANSFER_RANGES_MOST]; /* of HELD */
	size_t held_count;
};

/* ------------------------------------------------------------- the other side */

static inline void scene_on_received(struct nopal_session *session, struct nopal_message *message,
				     void *user)
{
	struct scene *scene = user;
	struct transfer_note note;

	(void)session;
	assert_true(transfer_received(message, &note));
	if (note.type == TRANSFER_PING)
		return;
	if (note.type == TRANSFER_HELD)
		assert_true(transfer_held(message, FILE_BYTES, scene->ranges, &scene->held_count));
	scene->heard = note;
	loop_stop(scene->group.receivers->loop);
}

static const struct nopal_callbacks scene_callbacks = {
	.received = scene_on_received,
};

static inline uint64_t scene_hash(const struct scene *scene)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, scene->content, FILE_BYTES);
	return file_hash_value(&hash);
}

static inline struct transfer_note scene_offer_of(const char *name)
{
	struct transfer_note note = { .type = TRANSFER_OFFER, .size = FILE_BYTES, .mtime_ns = 42 };

	snprintf(note.text, sizeof(note.text), "%s", name);
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	return note;
}

static inline struct transfer_note scene_offer(void)
{
	return scene_offer_of("f");
}

/* A note, and so many bytes behind it. */
static inline void scene_say_note(struct scene *scene, const struct transfer_note *note,
				  const uint8_t *more, size_t more_bytes)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST + FILE_BYTES];
	size_t length = transfer_encode(note, bytes);

	if (more_bytes)
		memcpy(bytes + length, more, more_bytes);
	assert_int_equal(nopal_send(scene->session, bytes, length + more_bytes, 0), 0);
}

static inline void scene_say(struct scene *scene, const struct step *step)
{
	const struct transfer_note note = { .type = step->type,
					    .offset = step->from,
					    .size = FILE_BYTES,
					    .hash = scene_hash(scene) };

	scene_say_note(scene, &note, scene->content + step->from, (size_t)(step->end - step->from));
}

/* Until something is answered. */
static inline void scene_wait(struct scene *scene, enum transfer_type type)
{
	loop_run(scene->group.receivers->loop);
	assert_int_equal(scene->heard.type, type);
}

static inline void scene_on_look(void *user)
{
	struct scene *scene = user;

	loop_stop(scene->group.receivers->loop);
}

/* For a while, or until something is answered. */
static inline void scene_look(struct scene *scene)
{
	struct loop_event *look =
		loop_event_new(scene->group.receivers->loop, LOOP_TIMER, -1, scene_on_look, scene);

	loop_event_start(look, LOOK_NS);
	loop_run(scene->group.receivers->loop);
	loop_event_free(look);
}

/* -------------------------------------------------------------------- a scene */

static inline void scene_on_hang(void *user)
{
	(void)user;
	fail_msg("no answer came");
}

static inline void scene_half(const struct scene *scene, const uint8_t *bytes)
{
	struct transfer_note offer = scene_offer();
	char state[128];
	int length = snprintf(state, sizeof(state), "nopal-part 1 %016llx %d %d\n",
			      (unsigned long long)offer.id, FILE_BYTES, HALF_BYTES);
	int fd = openat(scene->group.folder.fd, ".f.nopal-part", O_WRONLY | O_CREAT, 0666);

	assert_int_equal(write(fd, bytes, HALF_BYTES), HALF_BYTES);
	close(fd);
	fd = openat(scene->group.folder.fd, ".f.nopal-state", O_WRONLY | O_CREAT, 0666);
	assert_int_equal(write(fd, state, (size_t)length), length);
	close(fd);
}

static inline void scene_half_ours(const struct scene *scene)
{
	scene_half(scene, scene->content);
}

static inline void scene_half_other(const struct scene *scene)
{
	uint8_t *other = calloc(1, HALF_BYTES);

	scene_half(scene, other);
	free(other);
}

static inline int scene_open(void **state)
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
	assert_int_equal(nopal_address_parse("127.0.0.1:0", &local, &problems), 0);
	assert_true(recv_loops_open(&scene->group, 1, &local, NULL, &problems));
	scene->hang =
		loop_event_new(scene->group.receivers->loop, LOOP_TIMER, -1, scene_on_hang, scene);
	loop_event_start(scene->hang, HANG_S * NOPAL_SECOND);
	*state = scene;
	return 0;
}

static inline int scene_close(void **state)
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

/* A session to the receiver. */
static inline void scene_comes(struct scene *scene)
{
	struct receiver *receiver = scene->group.receivers;
	struct nopal_endpoint *endpoint;
	struct nopal_address to;

	nopal_endpoint_local(receiver->endpoint, &to);
	endpoint = loop_endpoint_to(receiver->loop, &to);
	assert_non_null(endpoint);
	scene->session =
		nopal_session_open(endpoint, scene->group.plan, &to, &scene_callbacks, scene);
	assert_non_null(scene->session);
}

/* Until it is answered. */
static inline void scene_offer_with(struct scene *scene, struct transfer_note offer)
{
	scene_say_note(scene, &offer, NULL, 0);
	scene_wait(scene, TRANSFER_ANSWER);
}

/* A session to the receiver, and its answer to an offer: so much is there. */
static inline void scene_offers(struct scene *scene, uint64_t there)
{
	scene_comes(scene);
	scene_offer_with(scene, scene_offer());
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	assert_int_equal(scene->heard.offset, there);
}

static inline void scene_is_whole(const struct scene *scene)
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
static inline void scene_takes(struct scene *scene, uint64_t there, const struct step *steps)
{
	scene_offers(scene, there);
	for (; steps->type; steps++)
		scene_say(scene, steps);
	scene_wait(scene, TRANSFER_RESULT);
	scene_is_whole(scene);
}

/* All that there is, START last. */
static const struct step all_and_start[] = {
	{ TRANSFER_DATA, 0, FILE_BYTES },
	{ TRANSFER_END, 0, 0 },
	{ TRANSFER_START, 0, 0 },
	{ 0 },
};

#define CASE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

#endif
