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

static bool object_section(const struct object *object, unsigned index, ElfW(Shdr) * ret_section)
{
	return object_read(object, object->head.e_shoff + index * sizeof(*ret_section), ret_section,
			   sizeof(*ret_section));
}

static bool object_mark(struct object *object, char *ret_mark)
{
	static const char name[] = NOPAL_SYMBOL_OF(NOPAL_UNIT_SECTION);
	const ElfW(Ehdr) *head = &object->head;
	char found[sizeof(name)];
	ElfW(Shdr) names, section;
	unsigned index = 0;
	size_t length;

	/* The loader dies of an object that is cut off; its table of sections is last. */
	if (!object_read(object, 0, &object->head, sizeof(object->head)) ||
	    memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_shentsize != sizeof(ElfW(Shdr)) || head->e_shstrndx >= head->e_shnum ||
	    head->e_shoff > object->bytes ||
	    (uint64_t)head->e_shnum * sizeof(ElfW(Shdr)) > object->bytes - head->e_shoff)
		return false;
	if (!object_section(object, head->e_shstrndx, &names))
		return false;
	for (; index < head->e_shnum; index++)
		if (object_section(object, index, &section) && section.sh_type == SHT_PROGBITS &&
		    object_read(object, names.sh_offset + section.sh_name, found, sizeof(name)) &&
		    memcmp(found, name, sizeof(name)) == 0)
			break;
	if (index == head->e_shnum)
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
