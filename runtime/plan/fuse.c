/* SPDX-License-Identifier: MIT */
/*
 * fuse.c -- writes a plan as C: the source of its fused unit (fused.h).
 *
 *   #define NOPAL_FUSED_LAYERS	  what follows is compiled for this plan
 *   the headers of the runtime
 *   FAMILY/NAME.c, included ...  the plan's microprotocols
 *   constants			  parameters, parts, layers, the plan
 *   call_all_EVENT ...		  the handlers of each event, by name, in order
 *   engine/event.c, included ... the packet path of the runtime
 *   nopal_fused_unit		  what the library enters it by
 *   section nopal_unit		  which library and plan it was made for
 *
 * Constants and calls are the plan's shape: a unit fits a plan exactly where both give the same
 * text, so whatever is written here is compared, too. Handlers are named by their place in the
 * microprotocol's own table of bindings, which the compiler sees through.
 *
 * A handler that is compiled twice has two addresses, and nopal_unbind knows it by its address: a
 * unit with a microprotocol that unbinds must not compile.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/fused.h"
#include "plan/build.h"
#include "registry/registry.h"

/* ---------------------------------------------------------------- constants */

static void write_part_reference(struct nopal_text *out, const struct nopal_plan *plan,
				 const struct nopal_part *part)
{
	if (part)
		nopal__append(out, "&fused_part[%d]", (int)(part - plan->parts));
	else
		nopal__append(out, "NULL");
}

static void write_bytes(struct nopal_text *out, const char *name, const uint8_t *values,
			size_t count)
{
	nopal__append(out, " .%s = {", name);
	for (size_t i = 0; i < count; i++)
		nopal__append(out, " %u,", values[i]);
	nopal__append(out, " },");
}

static void write_masks(struct nopal_text *out, const uint32_t *values, size_t count)
{
	nopal__append(out, "{");
	for (size_t i = 0; i < count; i++)
		if (values[i])
			nopal__append(out, " [%zu] = 0x%xu,", i, values[i]);
	nopal__append(out, " }");
}

static void write_header(struct nopal_text *out, const char *name,
			 const struct nopal_header *header)
{
	nopal__append(out, " .%s = { %u, %uu, {", name, header->count, header->bytes);
	for (unsigned i = 0; i < header->count; i++)
		nopal__append(out, " { %u, %u, %d, %u, %u },", header->fields[i].slot,
			      header->fields[i].bytes, header->fields[i].serial,
			      header->fields[i].reference, header->fields[i].layer);
	nopal__append(out, " } },\n");
}

/* Parameters are 64-bit numbers; what is behind the last one is padding. */
static void write_parts(struct nopal_text *out, const struct nopal_plan *plan)
{
	for (uint32_t p = 0; p < plan->part_count; p++) {
		size_t bytes = plan->parts[p].microprotocol->parameters_size;
		size_t count = (bytes + sizeof(int64_t) - 1) / sizeof(int64_t);

		nopal__append(out, "static const int64_t fused_parameters_%u[%zu] = {", p,
			      count ? count : 1);
		for (size_t i = 0; i < count; i++) {
			int64_t value = 0;
			size_t at = i * sizeof(value), left = bytes - at;

			memcpy(&value, (const char *)plan->parts[p].parameters + at,
			       left < sizeof(value) ? left : sizeof(value));
			if (value == INT64_MIN)
				nopal__append(out, " INT64_MIN,");
			else
				nopal__append(out, " INT64_C(%lld),", (long long)value);
		}
		nopal__append(out, " };\n");
	}
	nopal__append(out, "static const struct nopal_part fused_part[] = {\n");
	for (uint32_t p = 0; p < plan->part_count; p++) {
		const struct nopal_part *part = &plan->parts[p];

		nopal__append(
			out,
			"\t{ .microprotocol = &nopal_%s,\n\t  .parameters = fused_parameters_%u, "
			".state = %uu, .index = %u, .first_timer = %u,\n\t ",
			part->microprotocol->name, part->index, part->state, part->index,
			part->first_timer);
		write_bytes(out, "kind", part->kind, NOPAL_MAX_KINDS);
		write_bytes(out, "attribute", part->attribute, NOPAL_MAX_ATTRIBUTES);
		nopal__append(out, "\n\t ");
		write_bytes(out, "shared", part->shared, NOPAL_MAX_SHARED);
		nopal__append(out, " .hold = ");
		write_masks(out, part->hold, NOPAL_BARRIERS);
		nopal__append(out, " },\n");
	}
	nopal__append(out, "};\n");
}

static void write_layer(struct nopal_text *out, const struct nopal_plan *plan,
			const struct nopal_layer *layer)
{
	nopal__append(out,
		      "\t{ .plan = &fused_plan, .index = %u, .first_part = %u, .part_count = "
		      "%u,\n\t  .timer_count = %uu, .packet_number_slot = %u, .above_kind_slot = "
		      "%u, .kinds = 0x%xu,\n\t  .body_bytes = %uu, .below_takes = %uu, .deliver = "
		      "0x%xu, .tracks = %d, .rises = %d, .sinks = %d, .lets_go = %d, .rearm = ",
		      layer->index, layer->first_part, layer->part_count, layer->timer_count,
		      layer->packet_number_slot, layer->above_kind_slot, layer->kinds,
		      layer->body_bytes, layer->below_takes, layer->deliver, layer->tracks,
		      layer->rises, layer->sinks, layer->lets_go);
	write_masks(out, layer->rearm, NOPAL_KIND_ROOM);
	nopal__append(out, ",\n\t  .hold = {\n");
	for (unsigned barrier = NOPAL_SEND; barrier <= NOPAL_DEALLOCATE; barrier++) {
		nopal__append(out, "\t\t");
		write_masks(out, layer->hold[barrier], NOPAL_KIND_ROOM);
		nopal__append(out, ",\n");
	}
	nopal__append(out, "\t  },\n\t ");
	write_header(out, "coded", &layer->coded);
	nopal__append(out, "\t  .connection = ");
	write_part_reference(out, plan, layer->connection);
	nopal__append(out, " },\n");
}

static void write_plan(struct nopal_text *out, const struct nopal_plan *plan)
{
	nopal__append(out,
		      "static const struct nopal_plan fused_plan = {\n"
		      "\t.info.fingerprint = UINT64_C(0x%llx), .layer_count = %uu, .part_count = "
		      "%uu,\n\t.slot_count = %uu, .serial_count = %uu, .destination_slot = %u, "
		      ".stream_slot = %u,\n"
		      "\t.destinations = %u, .flow = %u,\n"
		      "\t.header_bytes = %uu, .trailer_bytes = %uu, .datagram_bytes = %uu, "
		      ".path_floor = %uu,\n"
		      "\t.demux = %u, .many_paths = %u, .head_bytes = %uu, .data_field_bytes = "
		      "%uu,\n"
		      "\t.info.message_limit = UINT64_C(%llu), .info.message_min = %uu,\n\t",
		      (unsigned long long)plan->info.fingerprint, plan->layer_count,
		      plan->part_count, plan->slot_count, plan->serial_count,
		      plan->destination_slot, plan->stream_slot, plan->destinations, plan->flow,
		      plan->header_bytes, plan->trailer_bytes, plan->datagram_bytes,
		      plan->path_floor, plan->demux, plan->many_paths, plan->head_bytes,
		      plan->data_field_bytes, (unsigned long long)plan->info.message_limit,
		      plan->info.message_min);
	write_bytes(out, "serial_of", plan->serial_of, NOPAL_SLOT_ROOM);
	nopal__append(out, "\n\t");
	write_bytes(out, "format_code", plan->format_code, NOPAL_FORMAT_KINDS);
	nopal__append(out, "\n\t.seal = ");
	write_part_reference(out, plan, plan->seal);
	nopal__append(out, ", .format = ");
	write_part_reference(out, plan, plan->format);
	nopal__append(out, ", .admission = ");
	write_part_reference(out, plan, plan->admission);
	nopal__append(out, ",\n\t");
	write_header(out, "serials", &plan->serials);
	nopal__append(out, "\t.kinds = {\n");
	for (unsigned code = 0; code < NOPAL_KIND_ROOM; code++) {
		const struct nopal_kind_plan *kind = &plan->kinds[code];

		if (!kind->name)
			continue;
		nopal__append(out,
			      "\t\t[%u] = { .name = \"%s\", .class = %d, .around = %u, "
			      ".formatted = %u, .part = ",
			      code, kind->name, (int)kind->class, kind->around, kind->formatted);
		write_part_reference(out, plan, kind->part);
		nopal__append(out, ",\n\t\t ");
		write_header(out, "header", &kind->header);
		nopal__append(out, "\t\t},\n");
	}
	nopal__append(out, "\t},\n};\n");
}

/* -------------------------------------------------------------------- calls */

static void write_case(struct nopal_text *out, const struct nopal_calls *calls, unsigned event,
		       unsigned code)
{
	nopal__append(out, "\tcase %u:\n\t\treturn ", code);
	for (const struct nopal_call *call = calls->call; call < calls->call + calls->count;
	     call++) {
		const struct nopal_microprotocol *one = call->part->microprotocol;
		int place = 0;

		while (one->bindings[place].event != NOPAL_NO_EVENT &&
		       (one->bindings[place].event != event ||
			memcmp(&one->bindings[place].run, &call->run, sizeof(call->run)) != 0))
			place++;
		nopal__append(out,
			      "%snopal_%s.bindings[%d].run.%s(\n"
			      "\t\t\t(struct nopal_at){ session, &fused_part[%d] }, subject)"
			      " == NOPAL_STOP",
			      call > calls->call ? " ||\n\t\t       " : "", one->name, place,
			      nopal_event_name(event), call->part->index);
	}
	nopal__append(out, ";\n");
}

/* The calls of one event, of each layer; kinds that nobody handles fall through. */
static void write_event(struct nopal_text *out, const struct nopal_plan *plan, unsigned event)
{
	const char *name = nopal_event_name(event), *argument = nopal_event_argument(event);

	for (uint32_t l = 0; l < plan->layer_count; l++) {
		nopal__append(out,
			      "static inline bool call_%u_%s(struct nopal_session "
			      "*session, %s *subject)\n{\n"
			      "\t(void)session;\n\tswitch (%s) {\n",
			      l, name, argument,
			      nopal__about_segments(event) ? "subject->kind" : "subject ? 0 : 0");
		for (unsigned code = 0; code < NOPAL_KIND_ROOM; code++)
			if (plan->layers[l].calls[event][code].count)
				write_case(out, &plan->layers[l].calls[event][code], event, code);
		nopal__append(out, "\tdefault:\n\t\treturn false;\n\t}\n}\n");
	}
	nopal__append(out,
		      "static inline bool call_all_%s(struct nopal_session *session, %s "
		      "*subject)\n{\n"
		      "\tswitch (nopal__layer(nopal__composite(session))->index) {\n",
		      name, argument);
	for (uint32_t l = 0; l < plan->layer_count; l++)
		nopal__append(out, "\tcase %u:\n\t\treturn call_%u_%s(session, subject);\n", l, l,
			      name);
	nopal__append(out, "\tdefault:\n\t\treturn false;\n\t}\n}\n");
}

/* The text of all that a unit has compiled in; its hash is the plan's shape. */
static void write_shape(struct nopal_text *out, const struct nopal_plan *plan)
{
	write_parts(out, plan);
	nopal__append(out, "static const struct nopal_layer fused_layer[NOPAL_FUSED_LAYERS] = {\n");
	for (uint32_t l = 0; l < plan->layer_count; l++)
		write_layer(out, plan, &plan->layers[l]);
	nopal__append(out, "};\n");
	write_plan(out, plan);
	for (unsigned event = 1; event < NOPAL_EVENT_COUNT; event++)
		write_event(out, plan, event);
}

uint64_t nopal__plan_shape(const struct nopal_plan *plan, struct nopal_arena *arena)
{
	const struct nopal_arena_block *mark = arena->newest;
	struct nopal_text text = { .arena = arena };
	struct nopal_hash hash;

	write_shape(&text, plan);
	nopal_hash_init(&hash);
	nopal_hash_update(&hash, nopal__text(&text), text.length);
	nopal__arena_back(arena, mark);
	return nopal_hash_final(&hash);
}

/* ------------------------------------------------------------------ sources */

/* `files`: divided by spaces. */
static void write_includes(struct nopal_text *out, const char *files)
{
	while (files) {
		const char *file;
		size_t length = nopal__next_word(&files, ' ', &file);

		nopal__append(out, "#include \"%.*s\"\n", (int)length, file);
	}
}

/* A plugin's source must be named, as its object was. */
static bool write_source(struct nopal_text *out, const struct nopal_microprotocol *microprotocol,
			 const char *const *sources)
{
	const char *files = nopal__builtin_sources(microprotocol);
	char path[PATH_MAX];

	if (files) {
		write_includes(out, files);
		return true;
	}
	for (; sources && *sources; sources++) {
		const char *slash = strrchr(*sources, '/');
		const char *base = slash ? slash + 1 : *sources;
		size_t length = strlen(microprotocol->name);

		if (strncmp(base, microprotocol->name, length) == 0 &&
		    strcmp(base + length, ".c") == 0 && realpath(*sources, path)) {
			nopal__append(out, "#include \"%s\"\n", path);
			return true;
		}
	}
	return false;
}

/* --------------------------------------------------------------------- unit */

static void write_tail(struct nopal_text *out, const struct nopal_plan *plan)
{
	uint64_t shape = nopal__plan_shape(plan, out->arena);

	write_includes(out, NOPAL_PACKET_PATH);
	nopal__append(out,
		      "__attribute__((used, section(\"%s\")))\n"
		      "static const char fused_mark[] = \"" NOPAL_UNIT_MARK "\";\n",
		      NOPAL_SYMBOL_OF(NOPAL_UNIT_SECTION), nopal__stamp, (unsigned long long)shape);
	nopal__append(out,
		      "extern const struct nopal_fused NOPAL_FUSED_SYMBOL;\n"
		      "__attribute__((externally_visible, visibility(\"default\")))\n"
		      "const struct nopal_fused NOPAL_FUSED_SYMBOL = {\n"
		      "\t.stamp = \"%s\",\n\t.shape = UINT64_C(0x%llx),\n"
		      "#define EVENT(name, type, doc) .name = nopal_raise_##name,\n"
		      "#include <nopal/events.def>\n#undef EVENT\n"
		      "\t.receive = nopal__session_receive,\n};\n",
		      nopal__stamp, (unsigned long long)shape);
}

int nopal_plan_fuse(const struct nopal_plan *plan, const char *const *sources, FILE *out,
		    struct nopal_problems *problems)
{
	struct nopal_arena arena = { .problems = problems };
	struct nopal_text text = { .arena = &arena };
	int failed = 0;

	/* A unit has one constant for each part, and none for its copies. */
	if (plan->argued_count) {
		nopal_problems_add(problems, plan->info.name, 0, "leave it interpreted",
				   "a handler of `%s` is bound with an argument, "
				   "which a fused unit cannot hold",
				   plan->argued[0]->microprotocol->name);
		return -1;
	}
	/* The unit shares its structs with the library: sizes that differ do not compile. */
	nopal__append(&text,
		      "/* The fused unit of %s, written by nopal fuse. */\n"
		      "#define NOPAL_FUSED_LAYERS %u\n"
		      "#include \"session/session.h\"\n"
		      "#pragma GCC poison nopal_unbind\n",
		      plan->info.name, plan->layer_count);
	for (const struct nopal_shared_type *type = nopal__shared_types; type->name; type++)
		nopal__append(&text,
			      "_Static_assert(sizeof(struct %s) == %zu, "
			      "\"sources of another version\");\n",
			      type->name, type->bytes);
	for (uint32_t p = 0; p < plan->part_count; p++) {
		const struct nopal_microprotocol *microprotocol = plan->parts[p].microprotocol;
		uint32_t first = 0;

		while (plan->parts[first].microprotocol != microprotocol)
			first++;
		if (first < p || write_source(&text, microprotocol, sources))
			continue;
		nopal_problems_add(problems, plan->info.name, 0, "name its file with --source",
				   "the source of `%s`, which is a plugin, is not known",
				   microprotocol->name);
		failed = -1;
	}
	write_shape(&text, plan);
	write_tail(&text, plan);
	failed |= arena.failed;
	if (!failed && fwrite(text.start, 1, text.length, out) != text.length)
		failed = -1;
	nopal__arena_release(&arena);
	return failed ? -1 : 0;
}
