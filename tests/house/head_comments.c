/* SPDX-License-Identifier: MIT */
/*
 * head_comments -- a microprotocol's head comment says what its descriptor does.
 *
 * usage: head_comments SOURCE
 *
 * Reads microprotocols/FAMILY/NAME.c of each microprotocol that is built in and compares its
 * headings with the tables: all are there, in order; names in the tables are in the text, and names
 * in the text are in the tables.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry/registry.h"

enum { TEXT_ROOM = 16384, NAME_ROOM = 128, MAX_NAMES = 64 };

static const char *const headings[] = {
	"Paper",  "Differs", "Needs", "Provides", "Excludes",	"Handles",
	"Raises", "Holds",   "Wire",  "Shares",	  "Parameters",
};
enum { HEADINGS = sizeof(headings) / sizeof(headings[0]) };

static const char *const event_names[] = {
#define EVENT(name, type, doc) [NOPAL_##name] = #name,
#include <nopal/events.def>
#undef EVENT
};

static const char *const barrier_names[NOPAL_BARRIERS] = {
	[NOPAL_SEND] = "send",
	[NOPAL_FINISH] = "done",
	[NOPAL_DEALLOCATE] = "deallocate",
	[NOPAL_DELIVER] = "deliver",
};

/* Names that the tables give for one heading. */
struct names {
	char name[MAX_NAMES][NAME_ROOM];
	size_t count;
};

struct page {
	const struct nopal_microprotocol *microprotocol;
	char summary[TEXT_ROOM];
	char text[HEADINGS][TEXT_ROOM]; /* empty: heading is missing */
	int faults;
};

static void fault(struct page *page, const char *heading, const char *what, const char *name)
{
	printf("%s: %s: %s%s%s\n", page->microprotocol->name, heading, what, name ? " " : "",
	       name ? name : "");
	page->faults++;
}

static bool names_have(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return false;
}

static void names_add(struct names *names, const char *name, size_t length)
{
	char copy[NAME_ROOM];

	snprintf(copy, sizeof(copy), "%.*s", (int)length, name);
	if (!names_have(names, copy) && names->count < MAX_NAMES)
		strcpy(names->name[names->count++], copy);
}

/* "a|b" gives a and b. */
static void names_add_alternatives(struct names *names, const char *roles)
{
	for (;;) {
		size_t length = strcspn(roles, "|");

		names_add(names, roles, length);
		if (!roles[length])
			return;
		roles += length + 1;
	}
}

/* ------------------------------------------------------------ the comment */

static int heading_of(const char *line)
{
	for (int i = 0; i < HEADINGS; i++) {
		size_t length = strlen(headings[i]);

		if (strncmp(line, headings[i], length) == 0 && line[length] == ':')
			return i;
	}
	return -1;
}

static void append(char *text, const char *line)
{
	size_t used = strlen(text);

	line += strspn(line, " \t");
	snprintf(text + used, TEXT_ROOM - used, "%s%s", used ? " " : "", line);
	text[strcspn(text, "\n")] = '\0';
}

/* One line of the comment, without its " * ". */
static void page_line(struct page *page, const char *line, int *current)
{
	int heading = heading_of(line);

	if (heading < 0) {
		/* an empty line ends the table of headings: prose follows */
		if (*current >= 0 && line[strspn(line, " \n")] == '\0')
			*current = HEADINGS;
		if (*current < 0)
			append(page->summary, line);
		else if (*current < HEADINGS)
			append(page->text[*current], line);
		return;
	}
	if (heading != *current + 1)
		fault(page, headings[heading], "is out of order", NULL);
	*current = heading;
	append(page->text[heading], line + strlen(headings[heading]) + 1);
}

static void page_read(struct page *page, FILE *file)
{
	char line[TEXT_ROOM];
	bool inside = false;
	int current = -1;

	while (fgets(line, sizeof(line), file)) {
		if (!inside) {
			inside = strcmp(line, "/*\n") == 0;
			continue;
		}
		if (strstr(line, "*/"))
			return;
		page_line(page, line + strspn(line, " *"), &current);
	}
}

/* --------------------------------------------------------------- comparing */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Is `name` a whole word of the text? */
static bool mentions(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at++)
		if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
			return true;
	return false;
}

static void text_says_all(struct page *page, int heading, const struct names *names)
{
	const char *text = page->text[heading];

	if (names->count == 0 && strncmp(text, "nothing", 7) != 0)
		fault(page, headings[heading], "should be `nothing.`", NULL);
	for (size_t i = 0; i < names->count; i++)
		if (!mentions(text, names->name[i]))
			fault(page, headings[heading], "does not name", names->name[i]);
}

/* Every word outside parentheses that looks like a name is in the tables. */
static void text_says_no_more(struct page *page, int heading, const struct names *names, bool upper)
{
	char word[NAME_ROOM];
	int depth = 0;

	for (const char *at = page->text[heading]; *at; at++) {
		size_t length = 0;

		depth += (*at == '(') - (*at == ')');
		if (*at == ':' || *at == ';')
			return;
		while (length < NAME_ROOM - 1 && is_word(at[length]))
			length++;
		if (length == 0)
			continue;
		snprintf(word, sizeof(word), "%.*s", (int)length, at);
		at += length - 1;
		if (depth > 0 || (upper ? !isupper((unsigned char)*word) : !strchr(word, '_')))
			continue;
		if (!names_have(names, word))
			fault(page, headings[heading], "names what the descriptor lacks:", word);
	}
}

static void compare(struct page *page, const char *heading, const struct names *names, bool upper,
		    bool exact)
{
	int index = heading_of(heading);

	if (!page->text[index][0])
		return;
	text_says_all(page, index, names);
	if (exact)
		text_says_no_more(page, index, names, upper);
}

static void compare_relations(struct page *page, const char *heading,
			      const struct nopal_relation *relation)
{
	struct names names = { .count = 0 };

	for (; relation && relation->role; relation++)
		names_add_alternatives(&names, relation->role);
	compare(page, heading, &names, false, true);
}

static void compare_roles(struct page *page)
{
	const struct nopal_role *role = page->microprotocol->provides;
	struct names names = { .count = 0 };

	for (; role && role->name; role++)
		names_add(&names, role->name, strlen(role->name));
	compare(page, "Provides:", &names, false, true);
}

static void compare_events(struct page *page)
{
	const struct nopal_binding *binding = page->microprotocol->bindings;
	const char *const *raised = page->microprotocol->raises;
	struct names handled = { .count = 0 }, raises = { .count = 0 };

	for (; binding && binding->event != NOPAL_NO_EVENT; binding++)
		names_add(&handled, event_names[binding->event],
			  strlen(event_names[binding->event]));
	compare(page, "Handles:", &handled, true, true);
	for (; raised && *raised; raised++)
		names_add(&raises, *raised, strlen(*raised));
	compare(page, "Raises:", &raises, true, true);
}

static void compare_holds(struct page *page)
{
	const struct nopal_hold *hold = page->microprotocol->holds;
	struct names names = { .count = 0 };

	for (; hold && hold->why; hold++)
		names_add(&names, barrier_names[hold->barrier],
			  strlen(barrier_names[hold->barrier]));
	compare(page, "Holds:", &names, false, false);
}

static void compare_wire(struct page *page)
{
	const struct nopal_microprotocol *it = page->microprotocol;
	struct names names = { .count = 0 };

	for (const struct nopal_attribute *a = it->attributes; a && a->name; a++)
		if (a->wire_bytes && strcmp(a->name, "packet_number") != 0)
			names_add(&names, a->name, strlen(a->name));
	for (const struct nopal_kind *kind = it->kinds; kind && kind->name; kind++)
		names_add(&names, kind->name, strlen(kind->name));
	if (names.count == 0) /* bytes without a name: a trailer, lengths in bodies */
		return;
	compare(page, "Wire:", &names, false, false);
}

static void compare_shares(struct page *page)
{
	const struct nopal_shared *shared = page->microprotocol->shared;
	struct names names = { .count = 0 };

	for (; shared && shared->name; shared++)
		names_add(&names, shared->name, strlen(shared->name));
	compare(page, "Shares:", &names, false, false);
}

/* "attempts (default 16): ..." */
static void compare_parameters(struct page *page)
{
	const struct nopal_parameter *at = page->microprotocol->parameters;
	const char *text = page->text[HEADINGS - 1];
	struct names names = { .count = 0 };

	for (; at && at->name; at++) {
		char phrase[2 * NAME_ROOM];

		names_add(&names, at->name, strlen(at->name));
		snprintf(phrase, sizeof(phrase), "%s (default %s", at->name, at->initial);
		if (*text && !strstr(text, phrase))
			fault(page, "Parameters", "does not say", phrase);
	}
	compare(page, "Parameters:", &names, false, false);
	for (const char *said = text; (said = strstr(said, " (default ")); said++) {
		const char *start = said;

		while (start > text && is_word(start[-1]))
			start--;
		char name[NAME_ROOM];
		snprintf(name, sizeof(name), "%.*s", (int)(said - start), start);
		if (!names_have(&names, name))
			fault(page, "Parameters", "names what the descriptor lacks:", name);
	}
}

static void compare_summary(struct page *page)
{
	const char *name = page->microprotocol->name;
	char first[2 * TEXT_ROOM];

	snprintf(first, sizeof(first), "%s -- %s", name, page->microprotocol->summary);
	if (strncmp(page->summary, first, strlen(first)) != 0)
		fault(page, "first line", "is not", first);
}

static int check(const char *source, const struct nopal_microprotocol *it)
{
	static struct page page;
	char path[TEXT_ROOM];
	FILE *file;

	memset(&page, 0, sizeof(page));
	page.microprotocol = it;
	snprintf(path, sizeof(path), "%s/microprotocols/%s/%s.c", source, it->family, it->name);
	file = fopen(path, "r");
	if (!file) {
		fault(&page, path, "cannot be read", NULL);
		return page.faults;
	}
	page_read(&page, file);
	fclose(file);
	for (int i = 0; i < HEADINGS; i++)
		if (!page.text[i][0])
			fault(&page, headings[i], "is missing", NULL);
	compare_summary(&page);
	compare_relations(&page, "Needs:", it->needs);
	compare_roles(&page);
	compare_relations(&page, "Excludes:", it->excludes);
	compare_events(&page);
	compare_holds(&page);
	compare_wire(&page);
	compare_shares(&page);
	compare_parameters(&page);
	return page.faults;
}

int main(int count, char **words)
{
	int faults = 0;

	if (count != 2) {
		fprintf(stderr, "usage: %s SOURCE\n", words[0]);
		return 2;
	}
	for (size_t i = 0; nopal__builtin[i].microprotocol; i++)
		faults += check(words[1], nopal__builtin[i].microprotocol);
	return faults ? EXIT_FAILURE : EXIT_SUCCESS;
}
