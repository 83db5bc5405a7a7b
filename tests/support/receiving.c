/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/endpoint_sessions.h"
#include "support/receiving.h"
#include "support/test.h"

#define LOOK_NS (200 * NOPAL_MILLISECOND)

/* ------------------------------------------------------------- the other side */

static void scene_on_received(struct nopal_session *session, struct nopal_message *message,
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

const struct nopal_callbacks scene_callbacks = {
	.received = scene_on_received,
};

uint64_t scene_hash(const struct scene *scene)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, scene->content, FILE_BYTES);
	return file_hash_value(&hash);
}

struct transfer_note scene_offer_of(const char *name)
{
	struct transfer_note note = { .type = TRANSFER_OFFER, .size = FILE_BYTES, .mtime_ns = 42 };

	snprintf(note.text, sizeof(note.text), "%s", name);
	note.id = transfer_id(note.text, note.size, note.mtime_ns);
	return note;
}

struct transfer_note scene_offer(void)
{
	return scene_offer_of("f");
}

void scene_say_note(struct scene *scene, const struct transfer_note *note, const uint8_t *more,
		    size_t more_bytes)
{
	uint8_t bytes[TRANSFER_NOTE_LONGEST + FILE_BYTES];
	size_t length = transfer_encode(note, bytes);

	if (more_bytes)
		memcpy(bytes + length, more, more_bytes);
	assert_int_equal(nopal_send(scene->session, bytes, length + more_bytes, 0), 0);
}

void scene_say(struct scene *scene, const struct step *step)
{
	const struct transfer_note note = { .type = step->type,
					    .offset = step->from,
					    .size = FILE_BYTES,
					    .hash = scene_hash(scene) };

	scene_say_note(scene, &note, scene->content + step->from, (size_t)(step->end - step->from));
}

void scene_wait(struct scene *scene, enum transfer_type type)
{
	loop_run(scene->group.receivers->loop);
	assert_int_equal(scene->heard.type, type);
}

static void scene_on_look(void *user)
{
	struct scene *scene = user;

	loop_stop(scene->group.receivers->loop);
}

void scene_look(struct scene *scene)
{
	struct loop_event *look =
		loop_event_new(scene->group.receivers->loop, LOOP_TIMER, -1, scene_on_look, scene);

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
	int length = snprintf(state, sizeof(state), "nopal-part 1 %016llx %d %d\n",
			      (unsigned long long)offer.id, FILE_BYTES, HALF_BYTES);
	int fd = openat(scene->group.folder.fd, ".f.nopal-part", O_WRONLY | O_CREAT, 0666);

	assert_int_equal(write(fd, bytes, HALF_BYTES), HALF_BYTES);
	close(fd);
	fd = openat(scene->group.folder.fd, ".f.nopal-state", O_WRONLY | O_CREAT, 0666);
	assert_int_equal(write(fd, state, (size_t)length), length);
	close(fd);
}

void scene_half_ours(const struct scene *scene)
{
	scene_half(scene, scene->content);
}

void scene_half_other(const struct scene *scene)
{
	uint8_t *other = calloc(1, HALF_BYTES);

	scene_half(scene, other);
	free(other);
}

int scene_open(void **state)
{
	static const struct tool tool = { .name = "recv" };
	struct scene *scene = calloc(1, sizeof(*scene));
	/* All of the file is said at once. */
	static const char *const sets[] = { "buffer_sizing.least=1MiB", NULL };
	struct nopal_problems problems = { 0 };
	struct nopal_address local;

	snprintf(scene->path, sizeof(scene->path), "/tmp/nopal-test-XXXXXX");
	assert_non_null(mkdtemp(scene->path));
	for (size_t i = 0; i < FILE_BYTES; i++)
		scene->content[i] = (uint8_t)(i * 7 + i / 251);
	scene->group.folder.fd = open(scene->path, O_RDONLY | O_DIRECTORY);
	scene->group.folder.limit = INT64_MAX;
	scene->group.loops = 1;
	scene->group.folder.differs = "differs";
	scene->group.plan = nopal_plan_load("bulk", sets, &problems);
	pthread_mutex_init(&scene->group.lock, NULL);
	guests_house_init(&scene->group.house, GUESTS_SEATS_EACH, 0);
	progress_init(&scene->group.progress, &(struct tool_call){ .tool = &tool });
	assert_int_equal(nopal_address_parse("127.0.0.1:0", &local, &problems), 0);
	assert_true(recv_loops_open(&local, &scene->group, &problems));
	scene->hang =
		loop_event_new(scene->group.receivers->loop, LOOP_TIMER, -1, scene_on_hang, scene);
	loop_event_start(scene->hang, HANG_S * NOPAL_SECOND);
	*state = scene;
	return 0;
}

int scene_close(void **state)
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

void scene_comes(struct scene *scene)
{
	struct receiver *receiver = scene->group.receivers;
	struct nopal_endpoint *endpoint;
	struct nopal_address to;

	nopal_endpoint_local(receiver->endpoint, &to);
	endpoint = loop_endpoint_to(receiver->loop, &to);
	assert_non_null(endpoint);
	scene->session = nopal_open(endpoint, scene->group.plan, &to, &scene_callbacks, scene);
	assert_non_null(scene->session);
}

void scene_offer_with(struct scene *scene, struct transfer_note offer)
{
	scene_say_note(scene, &offer, NULL, 0);
	scene_wait(scene, TRANSFER_ANSWER);
}

void scene_offers(struct scene *scene, uint64_t there)
{
	scene_comes(scene);
	scene_offer_with(scene, scene_offer());
	assert_int_equal(scene->heard.verdict, TRANSFER_YES);
	assert_int_equal(scene->heard.offset, there);
}

void scene_is_whole(const struct scene *scene)
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

void scene_takes(struct scene *scene, uint64_t there, const struct step *steps)
{
	scene_offers(scene, there);
	for (; steps->type; steps++)
		scene_say(scene, steps);
	scene_wait(scene, TRANSFER_RESULT);
	scene_is_whole(scene);
}

const struct step all_and_start[] = {
	{ TRANSFER_DATA, 0, FILE_BYTES },
	{ TRANSFER_END, 0, 0 },
	{ TRANSFER_START, 0, 0 },
	{ 0 },
};

#define CASE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)
