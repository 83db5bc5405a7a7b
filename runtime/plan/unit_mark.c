/* SPDX-License-Identifier: MIT */
/*
 * unit_mark.c -- the mark of a fused unit, read from its file: nothing of the object runs, so a
 * file that is no unit, or a stranger's, does nothing.
 *
 * The mark is the text of one section, NOPAL_UNIT_SECTION, and names the library and the shape that
 * the unit was made for (fused.h).
 */

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/fused.h"

/* An object file that is open. */
struct object {
	int file;
	uint64_t bytes;
	ElfW(Ehdr) head;
};

static bool object_read(const struct object *object, uint64_t at, void *bytes, size_t length)
{
	return at <= object->bytes && length <= object->bytes - at &&
	       pread(object->file, bytes, length, (off_t)at) == (ssize_t)length;
}

/* The loader dies of an object that is cut off; its table of sections is last. */
static bool object_is_whole(struct object *object)
{
	const ElfW(Ehdr) *head = &object->head;

	return object_read(object, 0, &object->head, sizeof(object->head)) &&
	       memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       head->e_shentsize == sizeof(ElfW(Shdr)) && head->e_shstrndx < head->e_shnum &&
	       head->e_shoff <= object->bytes &&
	       (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)) <= object->bytes - head->e_shoff;
}

static bool object_section(const struct object *object, unsigned index, ElfW(Shdr) * ret_section)
{
	return object_read(object, object->head.e_shoff + index * sizeof(*ret_section), ret_section,
			   sizeof(*ret_section));
}

static bool object_find(const struct object *object, const char *wanted, size_t length,
			ElfW(Shdr) * ret_section)
{
	char name[sizeof(NOPAL_SYMBOL_OF(NOPAL_UNIT_SECTION))];
	ElfW(Shdr) names;

	if (!object_section(object, object->head.e_shstrndx, &names))
		return false;
	for (unsigned i = 0; i < object->head.e_shnum; i++)
		if (object_section(object, i, ret_section) &&
		    ret_section->sh_type == SHT_PROGBITS &&
		    object_read(object, names.sh_offset + ret_section->sh_name, name, length) &&
		    memcmp(name, wanted, length) == 0)
			return true;
	return false;
}

static bool object_mark(struct object *object, char *ret_mark)
{
	static const char name[] = NOPAL_SYMBOL_OF(NOPAL_UNIT_SECTION);
	ElfW(Shdr) section;
	size_t length;

	if (!object_is_whole(object) || !object_find(object, name, sizeof(name), &section))
		return false;
	length = section.sh_size < NOPAL_UNIT_MARK_ROOM ? (size_t)section.sh_size
							: NOPAL_UNIT_MARK_ROOM;
	return length && object_read(object, section.sh_offset, ret_mark, length) &&
	       memchr(ret_mark, '\0', length);
}

bool nopal__unit_mark(const char *path, char ret_mark[NOPAL_UNIT_MARK_ROOM])
{
	/* a pipe of this name must not keep us waiting */
	struct object object = { .file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	struct stat about;
	bool found;

	if (object.file < 0)
		return false;
	found = fstat(object.file, &about) == 0 && S_ISREG(about.st_mode);
	object.bytes = found ? (uint64_t)about.st_size : 0;
	found = found && object_mark(&object, ret_mark);
	close(object.file);
	return found;
}
