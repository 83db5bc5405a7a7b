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

/* Text or Markdown: headings and entries differ, the rest does not. */
struct doc_style {
	bool markdown;
};

static void doc_heading(const struct doc_style *style, const char *heading)
{
	printf(style->markdown ? "\n## %s\n\n" : "\n%s\n", heading);
}

static void doc_entry(const struct doc_style *style, const char *name, const char *text)
{
	if (style->markdown)
		printf("- `%s`%s%s\n", name, *text ? ": " : "", text);
	else
		printf("  %-20s %s\n", name, text);
}

static void doc_nothing(const struct doc_style *style)
{
	printf("%snothing.\n", style->markdown ? "" : "  ");
}

/* --------------------------------------------------------------------- relations */

static void doc_relations(const struct doc_style *style, const char *heading,
			  const struct nopal_relation *relation)
{
	doc_heading(style, heading);
	if (!relation || !relation->role)
		doc_nothing(style);
	for (; relation && relation->role; relation++)
		doc_entry(style, relation->role, relation->because);
}

/* ------------------------------------------------------------------------ events */

enum { DOC_LINE_ROOM = 512 };

static void doc_bindings(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	const struct nopal_binding *binding = one->bindings;

	doc_heading(style, "Handles");
	if (!binding || binding->event == NOPAL_NO_EVENT)
		doc_nothing(style);
	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		const char *argument = nopal_event_argument(binding->event);
		bool segment = strcmp(argument, "struct nopal_segment") == 0;
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s%s%s%s%s",
			 segment ? show_kinds(one, binding->kinds) : "always",
			 binding->before ? ", before " : "", binding->before ? binding->before : "",
			 binding->after ? ", after " : "", binding->after ? binding->after : "");
		doc_entry(style, nopal_event_name(binding->event), text);
	}
}

/* -------------------------------------------------------------------------- data */

static void doc_attributes(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	const struct nopal_attribute *entry = one->attributes;

	doc_heading(style, "Attributes");
	if (!entry || !entry->name)
		doc_nothing(style);
	for (; entry && entry->name; entry++) {
		char text[DOC_LINE_ROOM], wire[64] = "";

		if (entry->wire_bytes)
			snprintf(wire, sizeof(wire), ", %u bytes on the wire%s", entry->wire_bytes,
				 entry->when ? " where " : "");
		snprintf(text, sizeof(text), "%s%s%s%s%s%s", show_access(entry->access), wire,
			 entry->when ? entry->when : "", entry->when ? " is on" : "",
			 entry->doc ? ": " : "", entry->doc ? entry->doc : "");
		doc_entry(style, entry->name, text);
	}
}

/* The value that an optional reader sees where the variable has no writer. */
static const char *doc_otherwise(int64_t value)
{
	static char text[32];

	if (value == INT64_MAX)
		return ", else the largest number";
	snprintf(text, sizeof(text), ", else %" PRId64, value);
	return text;
}

static void doc_shared(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	const struct nopal_shared *entry = one->shared;

	doc_heading(style, "Shared variables");
	if (!entry || !entry->name)
		doc_nothing(style);
	for (; entry && entry->name; entry++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s%s%s%s", show_access(entry->access),
			 entry->access == NOPAL_READ_OPTIONAL ? doc_otherwise(entry->initial) : "",
			 entry->doc ? ": " : "", entry->doc ? entry->doc : "");
		doc_entry(style, entry->name, text);
	}
}

static void doc_kinds(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	const struct nopal_kind *kind = one->kinds;

	doc_heading(style, "Segments of its own");
	if (!kind || !kind->name)
		doc_nothing(style);
	for (; kind && kind->name; kind++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s (%s)", kind->doc ? kind->doc : "",
			 show_kind_class(kind->kind_class));
		doc_entry(style, kind->name, text);
	}
	if (one->extension)
		printf("%sIt offers %u bytes while a session opens.\n",
		       style->markdown ? "\n" : "  ", one->extension->bytes);
	if (one->seal)
		printf("%sIt seals each datagram with %u bytes.\n", style->markdown ? "\n" : "  ",
		       one->seal->overhead);
}

static void doc_promises(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	static const char *const acts[] = {
		[NOPAL_GIVES] = "gives",
		[NOPAL_LOWERS] = "leaves no more than",
		[NOPAL_REQUIRES] = "requires",
	};
	const struct nopal_promise *row = one->promises;

	doc_heading(style, "Promises");
	if (!row || !row->because)
		doc_nothing(style);
	for (; row && row->because; row++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s `%s`%s%s: %s", acts[row->act],
			 nopal_quality_word(row->quality, row->value), row->bound ? ", bound " : "",
			 row->bound ? row->bound : "", row->because);
		doc_entry(style, nopal_quality_name(row->quality), text);
	}
}

static void doc_parameters(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	const struct nopal_parameter *entry = one->parameters;

	doc_heading(style, "Parameters");
	if (!entry || !entry->name)
		doc_nothing(style);
	for (; entry && entry->name; entry++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s (%s, default %s%s%s%s%s%s)",
			 entry->doc ? entry->doc : "",
			 entry->choices ? entry->choices : show_unit(entry->unit),
			 *entry->initial ? entry->initial : "none", entry->min ? ", from " : "",
			 entry->min ? entry->min : "", entry->max ? ", to " : "",
			 entry->max ? entry->max : "",
			 entry->wire ? ", the same at both ends" : "");
		doc_entry(style, entry->name, text);
	}
}

static void doc_microprotocol(const struct doc_style *style, const struct nopal_microprotocol *one)
{
	const struct nopal_role *role;
	const char *const *raised;
	const struct nopal_hold *hold;

	printf("%s%s -- %s\n", style->markdown ? "# " : "", one->name, one->summary);
	printf("%sfamily %s, wire version %u\n", style->markdown ? "\n" : "", one->family,
	       one->wire_version);
	doc_relations(style, "Needs", one->needs);
	role = one->provides;
	doc_heading(style, "Provides");
	if (!role || !role->name)
		doc_nothing(style);
	for (; role && role->name; role++)
		doc_entry(style, role->name, role->exclusive ? "one in a layer" : "");
	doc_relations(style, "Excludes", one->excludes);
	doc_promises(style, one);
	doc_bindings(style, one);
	raised = one->raises;
	doc_heading(style, "Raises");
	if (!raised || !*raised)
		doc_nothing(style);
	for (; raised && *raised; raised++)
		doc_entry(style, *raised, "");
	hold = one->holds;
	doc_heading(style, "Holds");
	if (!hold || !hold->why)
		doc_nothing(style);
	for (; hold && hold->why; hold++) {
		char text[DOC_LINE_ROOM];

		snprintf(text, sizeof(text), "%s (%s%s)", hold->why, show_kinds(one, hold->kinds),
			 hold->sticky ? ", one release serves all transmissions" : "");
		doc_entry(style, show_barrier(hold->barrier), text);
	}
	doc_attributes(style, one);
	doc_shared(style, one);
	doc_kinds(style, one);
	doc_parameters(style, one);
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

static void doc_event(const struct doc_style *style, unsigned event)
{
	const char *name = nopal_event_name(event);

	printf("%s%s\n", style->markdown ? "# " : "", name);
	printf("%s%s\nargument: %s\n", style->markdown ? "\n" : "", nopal_event_doc(event),
	       nopal_event_argument(event));
	doc_heading(style, "Raised by");
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		if (doc_raises_event(one, name))
			doc_entry(style, one->name, one->summary);
	}
	doc_heading(style, "Handled by");
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);

		if (doc_handles_event(one, event))
			doc_entry(style, one->name, one->summary);
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
	struct doc_style style = { tool_value(call, "markdown") != NULL };

	for (int i = 0; i < call->word_count; i++) {
		const struct nopal_microprotocol *one = nopal_registry_find(call->words[i]);
		unsigned event = doc_find_event(call->words[i]);

		if (!one && event == NOPAL_NO_EVENT)
			return doc_unknown(call->words[i]);
		if (i > 0)
			printf("\n");
		if (one)
			doc_microprotocol(&style, one);
		else
			doc_event(&style, event);
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
