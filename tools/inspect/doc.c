/* SPDX-License-Identifier: MIT */
/*
 * doc.c -- nopal doc: a microprotocol or an event, from its declaration.
 *
 * The output is the descriptor that checks and runs the composition, so it cannot be out of
 * date.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/show.h"

static const struct tool_option doc_options[] = {
	{ "markdown", 0, NULL, "print it as a page of the reference" },
	{ 0 },
};

/* --markdown: headings and entries differ from text, the rest does not. */
static bool doc_markdown;

/* A heading, and a word where nothing stands under it. */
static void doc_heading(const char *heading, bool any)
{
	printf(doc_markdown ? "\n## %s\n\n" : "\n%s\n", heading);
	if (!any)
		printf("%snothing.\n", doc_markdown ? "" : "  ");
}

static void doc_entry(const char *name, const char *text)
{
	if (doc_markdown)
		printf("- `%s`%s%s\n", name, *text ? ": " : "", text);
	else
		printf("  %-20s %s\n", name, text);
}

/* --------------------------------------------------------------------- relations */

static void doc_relations(const char *heading, const struct nopal_relation *relation)
{
	doc_heading(heading, relation && relation->role);
	for (; relation && relation->role; relation++)
		doc_entry(relation->role, relation->because);
}

/* ------------------------------------------------------------------------ events */

enum { DOC_LINE_ROOM = 512 };

static void doc_bindings(const struct nopal_microprotocol *one)
{
	const struct nopal_binding *binding = one->bindings;

	doc_heading("Handles", binding && binding->event != NOPAL_NO_EVENT);
	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		const char *argument = nopal_event_argument(binding->event);
		bool segment = strcmp(argument, "struct nopal_segment") == 0;
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s%s%s%s%s",
			 segment ? show_kinds(one, binding->kinds) : "always",
			 binding->before ? ", before " : "", binding->before ? binding->before : "",
			 binding->after ? ", after " : "", binding->after ? binding->after : "");
		doc_entry(nopal_event_name(binding->event), text);
	}
}

/* -------------------------------------------------------------------------- data */

static void doc_attributes(const struct nopal_microprotocol *one)
{
	const struct nopal_attribute *entry = one->attributes;

	doc_heading("Attributes", entry && entry->name);
	for (; entry && entry->name; entry++) {
		char text[DOC_LINE_ROOM], wire[64] = "";

		if (entry->wire_bytes)
			snprintf(wire, sizeof(wire), ", %u bytes on the wire%s", entry->wire_bytes,
				 entry->when ? " where " : "");
		snprintf(text, sizeof(text), "%s%s%s%s%s%s", show_access(entry->access), wire,
			 entry->when ? entry->when : "", entry->when ? " is on" : "",
			 entry->doc ? ": " : "", entry->doc ? entry->doc : "");
		doc_entry(entry->name, text);
	}
}

static void doc_shared(const struct nopal_microprotocol *one)
{
	const struct nopal_shared *entry = one->shared;

	doc_heading("Shared variables", entry && entry->name);
	for (; entry && entry->name; entry++) {
		char text[DOC_LINE_ROOM], otherwise[64] = "";

		/* The value that an optional reader sees where the variable has no writer. */
		if (entry->access == NOPAL_READ_OPTIONAL && entry->initial == INT64_MAX)
			snprintf(otherwise, sizeof(otherwise), ", else the largest number");
		else if (entry->access == NOPAL_READ_OPTIONAL)
			snprintf(otherwise, sizeof(otherwise), ", else %" PRId64, entry->initial);
		snprintf(text, sizeof(text), "%s%s%s%s", show_access(entry->access), otherwise,
			 entry->doc ? ": " : "", entry->doc ? entry->doc : "");
		doc_entry(entry->name, text);
	}
}

static void doc_kinds(const struct nopal_microprotocol *one)
{
	const struct nopal_kind *kind = one->kinds;

	doc_heading("Segments of its own", kind && kind->name);
	for (; kind && kind->name; kind++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s (%s)", kind->doc ? kind->doc : "",
			 show_kind_class(kind->kind_class));
		doc_entry(kind->name, text);
	}
	if (one->extension)
		printf("%sIt offers %u bytes while a session opens.\n", doc_markdown ? "\n" : "  ",
		       one->extension->bytes);
	if (one->seal)
		printf("%sIt seals each datagram with %u bytes.\n", doc_markdown ? "\n" : "  ",
		       one->seal->overhead);
}

static void doc_promises(const struct nopal_microprotocol *one)
{
	static const char *const acts[] = {
		[NOPAL_GIVES] = "gives",
		[NOPAL_LOWERS] = "leaves no more than",
		[NOPAL_REQUIRES] = "requires",
	};
	const struct nopal_promise *row = one->promises;

	doc_heading("Promises", row && row->because);
	for (; row && row->because; row++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s `%s`%s%s: %s", acts[row->act],
			 nopal_quality_word(row->quality, row->value), row->bound ? ", bound " : "",
			 row->bound ? row->bound : "", row->because);
		doc_entry(nopal_quality_name(row->quality), text);
	}
}

static void doc_parameters(const struct nopal_microprotocol *one)
{
	const struct nopal_parameter *entry = one->parameters;

	doc_heading("Parameters", entry && entry->name);
	for (; entry && entry->name; entry++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s (%s, default %s%s%s%s%s%s)",
			 entry->doc ? entry->doc : "",
			 entry->choices ? entry->choices : show_unit(entry->unit),
			 *entry->initial ? entry->initial : "none", entry->min ? ", from " : "",
			 entry->min ? entry->min : "", entry->max ? ", to " : "",
			 entry->max ? entry->max : "",
			 entry->wire ? ", the same at both ends" : "");
		doc_entry(entry->name, text);
	}
}

static void doc_microprotocol(const struct nopal_microprotocol *one)
{
	const struct nopal_role *role;
	const char *const *raised;
	const struct nopal_hold *hold;

	printf("%s%s -- %s\n", doc_markdown ? "# " : "", one->name, one->summary);
	printf("%sfamily %s, wire version %u\n", doc_markdown ? "\n" : "", one->family,
	       one->wire_version);
	doc_relations("Needs", one->needs);
	role = one->provides;
	doc_heading("Provides", role && role->name);
	for (; role && role->name; role++)
		doc_entry(role->name, role->exclusive ? "one in a layer" : "");
	doc_relations("Excludes", one->excludes);
	doc_promises(one);
	doc_bindings(one);
	raised = one->raises;
	doc_heading("Raises", raised && *raised);
	for (; raised && *raised; raised++)
		doc_entry(*raised, "");
	hold = one->holds;
	doc_heading("Holds", hold && hold->why);
	for (; hold && hold->why; hold++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s (%s%s)", hold->why, show_kinds(one, hold->kinds),
			 hold->sticky ? ", one release serves all transmissions" : "");
		doc_entry(show_barrier(hold->barrier), text);
	}
	doc_attributes(one);
	doc_shared(one);
	doc_kinds(one);
	doc_parameters(one);
}

static bool doc_raises_event(const struct nopal_microprotocol *one, const char *event)
{
	const char *const *raised = one->raises;

	for (; raised && *raised; raised++) {
		if (strcmp(*raised, event) == 0)
			return true;
	}
	return false;
}

static bool doc_handles_event(const struct nopal_microprotocol *one, unsigned event)
{
	const struct nopal_binding *binding = one->bindings;

	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		if (binding->event == event)
			return true;
	}
	return false;
}

static void doc_event(unsigned event)
{
	const char *name = nopal_event_name(event);
	bool raised = false;

	printf("%s%s\n", doc_markdown ? "# " : "", name);
	printf("%s%s\nargument: %s\n", doc_markdown ? "\n" : "", nopal_event_doc(event),
	       nopal_event_argument(event));
	doc_heading("Raised by", true);
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		if (!doc_raises_event(one, name))
			continue;
		doc_entry(one->name, one->summary);
		raised = true;
	}
	if (!raised)
		doc_entry("the runtime", "no microprotocol raises it");
	doc_heading("Handled by", true);
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		if (doc_handles_event(one, event))
			doc_entry(one->name, one->summary);
	}
}

/* ------------------------------------------------------------------------- names */

static unsigned doc_find_event(const char *name)
{
	const char *one;

	for (unsigned event = NOPAL_NO_EVENT + 1; (one = nopal_event_name(event)) != NULL;
	     event++) {
		if (strcasecmp(one, name) == 0)
			return event;
	}
	return NOPAL_NO_EVENT;
}

static enum tool_exit doc_unknown(const char *name)
{
	size_t count = nopal_registry_count();
	const char **names = calloc(count + NOPAL_CUSTOM + 1, sizeof(*names));
	const char *near = NULL;

	if (!names)
		return TOOL_ENVIRONMENT;
	for (size_t i = 0; i < count; i++)
		names[i] = nopal_registry_at(i)->name;
	for (unsigned event = NOPAL_NO_EVENT + 1; event < NOPAL_CUSTOM; event++)
		names[count++] = nopal_event_name(event);
	near = nopal_nearest(name, names);
	fprintf(stderr, "nopal doc: there is no microprotocol or event `%s`\n  fix: ", name);
	if (near)
		fprintf(stderr, "did you mean `%s`?\n", near);
	else
		fprintf(stderr, "`nopal list` shows them\n");
	free(names);
	return TOOL_BAD_INPUT;
}

static enum tool_exit doc_run(const struct tool_call *call)
{
	doc_markdown = tool_value(call, "markdown") != NULL;
	for (int i = 0; i < call->word_count; i++) {
		const struct nopal_microprotocol *one = nopal_registry_find(call->words[i]);
		unsigned event = doc_find_event(call->words[i]);

		if (!one && event == NOPAL_NO_EVENT)
			return doc_unknown(call->words[i]);
		if (i > 0)
			printf("\n");
		if (one)
			doc_microprotocol(one);
		else
			doc_event(event);
	}
	return TOOL_GOOD;
}

const struct tool tool_doc = {
	.name = "doc",
	.words = "NAME...",
	.summary = "all that a microprotocol or an event declares",
	.help = "  nopal doc positive_ack\n"
		"  nopal doc SEGMENT_LOST\n"
		"  nopal doc retransmit --markdown",
	.min_words = 1,
	.max_words = -1,
	.options = doc_options,
	.run = doc_run,
};
