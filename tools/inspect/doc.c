/* SPDX-License-Identifier: MIT */
/*
 * doc.c -- nopal doc: a microprotocol or an event, from its declaration.
 *
 * The output is the descriptor that checks and runs the composition, so it cannot be out of
 * date.
 */
#include <inttypes.h>
#include <stdarg.h>
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

enum { DOC_LINE_ROOM = 512 };

__attribute__((format(printf, 2, 3))) static void doc_entry(const char *name, const char *format,
							    ...)
{
	char text[DOC_LINE_ROOM];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (doc_markdown)
		printf("- `%s`%s%s\n", name, *text ? ": " : "", text);
	else
		printf("  %-20s %s\n", name, text);
}

static const char *doc_or_empty(const char *text)
{
	return text ? text : "";
}

/* ----------------------------------------------------------------- microprotocol */

static void doc_relations(const char *heading, const struct nopal_relation *relation)
{
	doc_heading(heading, relation && relation->role);
	for (; relation && relation->role; relation++)
		doc_entry(relation->role, "%s", relation->because);
}

/* All that is said to other parts: roles, promises, events, holds. */
static void doc_conduct(const struct nopal_microprotocol *one)
{
	static const char *const acts[] = {
		[NOPAL_GIVES] = "gives",
		[NOPAL_LOWERS] = "leaves no more than",
		[NOPAL_REQUIRES] = "requires",
	};
	const struct nopal_role *role = one->provides;
	const struct nopal_promise *row = one->promises;
	const struct nopal_binding *binding = one->bindings;
	const char *const *raised = one->raises;
	const struct nopal_hold *hold = one->holds;

	doc_relations("Needs", one->needs);
	doc_heading("Provides", role && role->name);
	for (; role && role->name; role++)
		doc_entry(role->name, "%s", role->exclusive ? "one in a layer" : "");
	doc_relations("Excludes", one->excludes);
	doc_heading("Promises", row && row->because);
	for (; row && row->because; row++)
		doc_entry(nopal_quality_name(row->quality), "%s `%s`%s%s: %s", acts[row->act],
			  nopal_quality_word(row->quality, row->value),
			  row->bound ? ", bound " : "", doc_or_empty(row->bound), row->because);
	doc_heading("Handles", binding && binding->event != NOPAL_NO_EVENT);
	for (; binding && binding->event != NOPAL_NO_EVENT; binding++) {
		const char *argument = nopal_event_argument(binding->event);
		bool segment = strcmp(argument, "struct nopal_segment") == 0;

		doc_entry(nopal_event_name(binding->event), "%s%s%s%s%s",
			  segment ? show_kinds(one, binding->kinds) : "always",
			  binding->before ? ", before " : "", doc_or_empty(binding->before),
			  binding->after ? ", after " : "", doc_or_empty(binding->after));
	}
	doc_heading("Raises", raised && *raised);
	for (; raised && *raised; raised++)
		doc_entry(*raised, "%s", "");
	doc_heading("Holds", hold && hold->why);
	for (; hold && hold->why; hold++)
		doc_entry(show_barrier(hold->barrier), "%s (%s%s)", hold->why,
			  show_kinds(one, hold->kinds),
			  hold->sticky ? ", one release serves all transmissions" : "");
}

/* All that it keeps, or writes on the wire: attributes, shared variables, segments, parameters. */
static void doc_data(const struct nopal_microprotocol *one)
{
	const struct nopal_attribute *attribute = one->attributes;
	const struct nopal_shared *shared = one->shared;
	const struct nopal_kind *kind = one->kinds;
	const struct nopal_parameter *parameter = one->parameters;

	doc_heading("Attributes", attribute && attribute->name);
	for (; attribute && attribute->name; attribute++) {
		char wire[64] = "";

		if (attribute->wire_bytes)
			snprintf(wire, sizeof(wire), ", %u bytes on the wire%s",
				 attribute->wire_bytes, attribute->when ? " where " : "");
		doc_entry(attribute->name, "%s%s%s%s%s%s", show_access(attribute->access), wire,
			  doc_or_empty(attribute->when), attribute->when ? " is on" : "",
			  attribute->doc ? ": " : "", doc_or_empty(attribute->doc));
	}
	doc_heading("Shared variables", shared && shared->name);
	for (; shared && shared->name; shared++) {
		char otherwise[64] = "";

		/* The value that an optional reader sees where the variable has no writer. */
		if (shared->access == NOPAL_READ_OPTIONAL && shared->initial == INT64_MAX)
			snprintf(otherwise, sizeof(otherwise), ", else the largest number");
		else if (shared->access == NOPAL_READ_OPTIONAL)
			snprintf(otherwise, sizeof(otherwise), ", else %" PRId64, shared->initial);
		doc_entry(shared->name, "%s%s%s%s", show_access(shared->access), otherwise,
			  shared->doc ? ": " : "", doc_or_empty(shared->doc));
	}
	doc_heading("Segments of its own", kind && kind->name);
	for (; kind && kind->name; kind++)
		doc_entry(kind->name, "%s (%s)", doc_or_empty(kind->doc),
			  show_kind_class(kind->kind_class));
	if (one->extension)
		printf("%sIt offers %u bytes while a session opens.\n", doc_markdown ? "\n" : "  ",
		       one->extension->bytes);
	if (one->seal)
		printf("%sIt seals each datagram with %s%u bytes.\n", doc_markdown ? "\n" : "  ",
		       one->seal->trailer ? "at most " : "", one->seal->overhead);
	doc_heading("Parameters", parameter && parameter->name);
	for (; parameter && parameter->name; parameter++)
		doc_entry(parameter->name, "%s (%s, default %s%s%s%s%s%s)",
			  doc_or_empty(parameter->doc),
			  parameter->choices ? parameter->choices : show_unit(parameter->unit),
			  *parameter->initial ? parameter->initial : "none",
			  parameter->min ? ", from " : "", doc_or_empty(parameter->min),
			  parameter->max ? ", to " : "", doc_or_empty(parameter->max),
			  parameter->wire ? ", the same at both ends" : "");
}

/* ------------------------------------------------------------------------- event */

static void doc_event(unsigned event)
{
	const char *name = nopal_event_name(event);
	size_t raisers = 0;

	printf("%s%s\n", doc_markdown ? "# " : "", name);
	printf("%s%s\nargument: %s\n", doc_markdown ? "\n" : "", nopal_event_doc(event),
	       nopal_event_argument(event));
	doc_heading("Raised by", true);
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);
		const char *const *raised = one->raises;

		while (raised && *raised && strcmp(*raised, name) != 0)
			raised++;
		if (!raised || !*raised)
			continue;
		doc_entry(one->name, "%s", one->summary);
		raisers++;
	}
	if (!raisers)
		doc_entry("the runtime", "no microprotocol raises it");
	doc_heading("Handled by", true);
	for (size_t i = 0; i < nopal_registry_count(); i++) {
		const struct nopal_microprotocol *one = nopal_registry_at(i);
		const struct nopal_binding *binding = one->bindings;

		while (binding && binding->event != NOPAL_NO_EVENT && binding->event != event)
			binding++;
		if (binding && binding->event == event)
			doc_entry(one->name, "%s", one->summary);
	}
}

static enum tool_exit doc_run(const struct tool_call *call)
{
	size_t count = nopal_registry_count();
	const char **names = tool_need(calloc(count + NOPAL_CUSTOM + 1, sizeof(*names)));
	const char *near;
	int at = 0;

	for (size_t i = 0; i < count; i++)
		names[i] = nopal_registry_at(i)->name;
	for (unsigned event = NOPAL_NO_EVENT + 1; event < NOPAL_CUSTOM; event++)
		names[count++] = nopal_event_name(event);
	doc_markdown = tool_value(call, "markdown") != NULL;
	for (; at < call->word_count; at++) {
		const struct nopal_microprotocol *one = nopal_registry_find(call->words[at]);
		unsigned event = NOPAL_NO_EVENT + 1;
		const char *name;

		while ((name = nopal_event_name(event)) && strcasecmp(name, call->words[at]) != 0)
			event++;
		if (!one && !name)
			break;
		if (at > 0)
			printf("\n");
		if (!one) {
			doc_event(event);
			continue;
		}
		printf("%s%s -- %s\n", doc_markdown ? "# " : "", one->name, one->summary);
		printf("%sfamily %s, wire version %u\n", doc_markdown ? "\n" : "", one->family,
		       one->wire_version);
		doc_conduct(one);
		doc_data(one);
	}
	if (at < call->word_count) {
		near = nopal_nearest(call->words[at], names);
		fprintf(stderr, "nopal doc: there is no microprotocol or event `%s`\n  fix: ",
			call->words[at]);
		if (near)
			fprintf(stderr, "did you mean `%s`?\n", near);
		else
			fprintf(stderr, "`nopal list` shows them\n");
	}
	free(names);
	return at < call->word_count ? TOOL_BAD_INPUT : TOOL_GOOD;
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
