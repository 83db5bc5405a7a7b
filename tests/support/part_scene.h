/* SPDX-License-Identifier: MIT */
/*
 * part_scene.h -- a folder of a test's own, and a file that is being received there.
 */
#ifndef NOPAL_TEST_PART_SCENE_H
#define NOPAL_TEST_PART_SCENE_H

#include "file/part_state.h"

enum {
	FILE_BYTES = 300000,
	HALF_BYTES = 150000,
};

struct scene {
	char path[64];
	struct part_folder folder;
	uint8_t content[FILE_BYTES];
	char why[TRANSFER_TEXT_ROOM];
};

int part_scene_open(void **state);
int part_scene_close(void **state);
struct transfer_note offer_of(uint64_t size, int64_t mtime_ns);
bool scene_has(const struct scene *scene, const char *name);
void scene_put(const struct scene *scene, const char *name, const void *bytes, size_t length);
void scene_expect(const struct scene *scene, const char *name);
struct part *scene_part(struct scene *scene, uint64_t expected_offset);
bool scene_write(struct scene *scene, struct part *part, uint64_t from, uint64_t end);
uint64_t part_scene_hash(const struct scene *scene);

#endif
