/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/part_scene.h"
#include "support/test.h"

int part_scene_open(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	snprintf(scene->path, sizeof(scene->path), "/tmp/nopal-test-XXXXXX");
	assert_non_null(mkdtemp(scene->path));
	scene->folder.fd = open(scene->path, O_RDONLY | O_DIRECTORY);
	scene->folder.limit = INT64_MAX;
	scene->folder.differs = "differs";
	for (size_t i = 0; i < FILE_BYTES; i++)
		scene->content[i] = (uint8_t)(i * 7 + i / 251);
	*state = scene;
	return 0;
}

static const char *const scene_names[] = {
	"f", ".f.nopal-part", ".f.nopal-state", ".f.nopal-state-new", "outside",
};

int part_scene_close(void **state)
{
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(scene_names) / sizeof(scene_names[0]); i++)
		unlinkat(scene->folder.fd, scene_names[i], 0);
	assert_int_equal(rmdir(scene->path), 0); /* nothing else was left there */
	close(scene->folder.fd);
	free(scene);
	return 0;
}

struct transfer_note offer_of(uint64_t size, int64_t mtime_ns)
{
	struct transfer_note note = {
		.type = TRANSFER_OFFER, .size = size, .mtime_ns = mtime_ns, .text = "f"
	};

	note.id = transfer_id(note.text, size, mtime_ns);
	return note;
}

bool scene_has(const struct scene *scene, const char *name)
{
	return faccessat(scene->folder.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void scene_put(const struct scene *scene, const char *name, const void *bytes, size_t length)
{
	int fd = openat(scene->folder.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_int_equal(write(fd, bytes, length), (ssize_t)length);
	close(fd);
}

void scene_expect(const struct scene *scene, const char *name)
{
	uint8_t *bytes = malloc(FILE_BYTES + 1);
	int fd = openat(scene->folder.fd, name, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, bytes, FILE_BYTES + 1), FILE_BYTES);
	assert_memory_equal(bytes, scene->content, FILE_BYTES);
	close(fd);
	free(bytes);
}

struct part *scene_part(struct scene *scene, uint64_t expected_offset)
{
	struct transfer_note offer = offer_of(FILE_BYTES, 42);
	struct part *part = NULL;
	uint64_t offset = 1, hash = 1;
	struct file_hash prefix;

	assert_int_equal(part_open(&scene->folder, &offer, &part, scene->why), TRANSFER_YES);
	while (!part_check(part, &offset, &hash))
		;
	assert_int_equal(offset, expected_offset);
	file_hash_init(&prefix);
	file_hash_update(&prefix, scene->content, expected_offset);
	assert_int_equal(hash == file_hash_value(&prefix), 1);
	return part;
}

bool scene_write(struct scene *scene, struct part *part, uint64_t from, uint64_t end)
{
	size_t middle = (size_t)(end - from) / 3;
	struct iovec pieces[] = {
		{ scene->content + from, middle },
		{ scene->content + from + middle, (size_t)(end - from) - middle },
	};

	return part_write(part, from, pieces, 2, scene->why);
}

uint64_t part_scene_hash(const struct scene *scene)
{
	struct file_hash hash;

	file_hash_init(&hash);
	file_hash_update(&hash, scene->content, FILE_BYTES);
	return file_hash_value(&hash);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, part_scene_open, part_scene_close)
