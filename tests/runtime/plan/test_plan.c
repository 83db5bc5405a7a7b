/* SPDX-License-Identifier: MIT */
/* Sealing of a config: slots, kinds, headers, masks, limits. */
#include <string.h>

#include "plan/plan.h"
#include "support/fakes.h"
#include "support/rig.h"
#include "support/test.h"

enum { UDP_BYTES = 28, MTU = 1500, FINGERPRINT = 8 };

/* `zebra` declares two kinds, `ant` one; both put fields on the wire. */
enum { ZEBRA_NOTE, ZEBRA_LOAD };
enum { ZEBRA_COUNT, ZEBRA_LOCAL, ZEBRA_ABSENT };
enum { ANT_MARK, ANT_BYTE, ANT_COUNT };

FAKE(zebra,
     .attributes = FAKE_ATTRIBUTES({ .name = "z_count",
				     .access = NOPAL_WRITE,
				     .wire_bytes = 4,
				     .kinds = NOPAL_CARRIED,
				     .serial = true },
				   { .name = "z_local", .access = NOPAL_WRITE },
				   { .name = "z_nobody", .access = NOPAL_READ_OPTIONAL }),
     .kinds = (const struct nopal_kind[]){ { "note", NOPAL_KIND_CONTROL, "" },
					   { "load", NOPAL_KIND_CARRIED, "" },
					   { 0 } },
     .holds = FAKE_HOLDS({ "zebra sends", NOPAL_SEND, NOPAL_DATA, false },
			 { "zebra ends", NOPAL_DONE, NOPAL_CARRIED, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, fake_on_segment, .kinds = NOPAL_CARRIED)));

FAKE(ant,
     .attributes = FAKE_ATTRIBUTES(
	     { .name = "a_mark", .access = NOPAL_WRITE, .wire_bytes = 2, .kinds = NOPAL_OWN_KIND },
	     { .name = "a_byte", .access = NOPAL_WRITE, .wire_bytes = 1 },
	     { .name = "z_count", .access = NOPAL_READ }),
     .kinds = (const struct nopal_kind[]){ { "crumb", NOPAL_KIND_CONTROL, "" }, { 0 } },
     .holds = FAKE_HOLDS({ "ant sends", NOPAL_SEND, NOPAL_CARRIED, true },
			 { "ant delivers", NOPAL_DELIVER, NOPAL_DATA, false }),
     .bindings = FAKE_BINDINGS(NOPAL_ON(SEGMENT_TO_NET, fake_on_segment)));

static const char FORWARD[] = "transport_driver {}\nfixed_size {}\nant {}\nzebra {}\n";
static const char BACKWARD[] = "zebra {}\nant {}\nfixed_size {}\ntransport_driver {}\n";

static struct nopal_plan *plan;

static int setup(void **state)
{
	(void)state;
	rig_add(&zebra);
	rig_add(&ant);
	plan = rig_plan(FORWARD);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nopal_plan_unref(plan);
	return 0;
}

EACH_TEST(setup, teardown);

static const struct nopal_part *part_of(const struct nopal_plan *one, const char *name)
{
	for (size_t i = 0; i < nopal_plan_part_count(one); i++)
		if (strcmp(nopal_plan_part(one, i)->microprotocol->name, name) == 0)
			return nopal_plan_part(one, i);
	fail_msg("no microprotocol %s in the plan", name);
	return NULL;
}

TEST(test_a_name_is_one_slot_for_all_who_use_it)
{
	const struct nopal_part *z = part_of(plan, "zebra");
	const struct nopal_part *a = part_of(plan, "ant");

	assert_true(z->attribute[ZEBRA_COUNT] > 0);
	assert_int_equal(z->attribute[ZEBRA_COUNT], a->attribute[ANT_COUNT]);
	assert_string_equal(plan->slot_name[z->attribute[ZEBRA_COUNT]], "z_count");
	assert_true(nopal_has((struct nopal_at){ .part = z }, ZEBRA_LOCAL));
	for (int i = ANT_MARK; i <= ANT_BYTE; i++)
		for (int j = ZEBRA_COUNT; j <= ZEBRA_LOCAL; j++)
			assert_int_not_equal(a->attribute[i], z->attribute[j]);
}

TEST(test_what_nobody_writes_is_slot_0)
{
	assert_false(nopal_has((struct nopal_at){ .part = part_of(plan, "zebra") }, ZEBRA_ABSENT));
}

TEST(test_serials_alone_have_a_reference)
{
	const struct nopal_part *z = part_of(plan, "zebra");

	assert_int_equal(plan->serial_count, 1);
	assert_int_equal(plan->serial_of[z->attribute[ZEBRA_COUNT]], 1);
	assert_int_equal(plan->serial_of[z->attribute[ZEBRA_LOCAL]], 0);
	assert_int_equal(plan->serial_of[0], 0);
}

TEST(test_kinds_are_numbered_by_name)
{
	const struct nopal_part *z = part_of(plan, "zebra");
	const struct nopal_part *a = part_of(plan, "ant");

	assert_int_equal(a->kind[0], NOPAL_KIND_FIRST_OWN);
	assert_int_equal(z->kind[ZEBRA_NOTE], NOPAL_KIND_FIRST_OWN + 1);
	assert_int_equal(z->kind[ZEBRA_LOAD], NOPAL_KIND_FIRST_OWN + 2);
	assert_string_equal(plan->kinds[a->kind[0]].name, "crumb");
	assert_ptr_equal(plan->kinds[a->kind[0]].part, a);
	assert_int_equal(plan->kinds[z->kind[ZEBRA_LOAD]].class, NOPAL_KIND_CARRIED);
	assert_null(plan->kinds[NOPAL_KIND_FIRST_OWN + 3].name);
}

TEST(test_header_bytes_by_kind)
{
	const struct nopal_part *z = part_of(plan, "zebra");
	const struct nopal_part *a = part_of(plan, "ant");

	assert_int_equal(plan->kinds[NOPAL_KIND_DATA].header.bytes, 4 + 1);
	assert_int_equal(plan->kinds[z->kind[ZEBRA_LOAD]].header.bytes, 4);
	assert_int_equal(plan->kinds[z->kind[ZEBRA_NOTE]].header.bytes, 0);
	assert_int_equal(plan->kinds[a->kind[0]].header.bytes, 2);
	assert_int_equal(plan->kinds[NOPAL_KIND_CONNECT].header.bytes, 0);
	assert_int_equal(plan->kinds[NOPAL_KIND_REPLY].header.bytes, 0);
}

TEST(test_fields_go_by_the_names_of_microprotocols)
{
	const struct nopal_header *header = &plan->kinds[NOPAL_KIND_DATA].header;

	assert_int_equal(header->count, 2);
	assert_int_equal(header->fields[0].slot, part_of(plan, "ant")->attribute[ANT_BYTE]);
	assert_false(header->fields[0].serial);
	assert_int_equal(header->fields[1].slot, part_of(plan, "zebra")->attribute[ZEBRA_COUNT]);
	assert_true(header->fields[1].serial);
}

TEST(test_what_a_kind_holds)
{
	const struct nopal_layer *layer = &plan->layers[0];
	const struct nopal_part *z = part_of(plan, "zebra");
	const struct nopal_part *a = part_of(plan, "ant");
	uint32_t driver = part_of(plan, "transport_driver")->hold[NOPAL_SEND];
	uint8_t load = z->kind[ZEBRA_LOAD], crumb = a->kind[0];

	assert_int_equal(layer->hold[NOPAL_SEND][NOPAL_KIND_DATA],
			 driver | z->hold[NOPAL_SEND] | a->hold[NOPAL_SEND]);
	assert_int_equal(layer->hold[NOPAL_SEND][load], driver | a->hold[NOPAL_SEND]);
	assert_int_equal(layer->hold[NOPAL_SEND][crumb], 0);
	assert_int_equal(layer->hold[NOPAL_DONE][load], z->hold[NOPAL_DONE]);
	assert_int_equal(layer->deliver, a->hold[NOPAL_DELIVER]);
	assert_int_equal(layer->rearm[NOPAL_KIND_DATA], z->hold[NOPAL_SEND]);
	assert_int_equal(layer->rearm[load], 0);
}

TEST(test_each_bit_has_one_owner)
{
	const struct nopal_part *z = part_of(plan, "zebra");
	const struct nopal_part *a = part_of(plan, "ant");

	assert_int_equal(z->hold[NOPAL_SEND] & a->hold[NOPAL_SEND], 0);
	assert_int_equal(z->hold[NOPAL_SEND] & (z->hold[NOPAL_SEND] - 1), 0);
	assert_int_equal(z->hold[NOPAL_DEALLOCATE], 0);
	assert_int_equal(z->hold[NOPAL_DELIVER], 0);
}

TEST(test_handlers_are_called_for_their_kinds_alone)
{
	const struct nopal_calls *calls = plan->layers[0].calls[NOPAL_SEGMENT_TO_NET];
	const struct nopal_part *z = part_of(plan, "zebra");
	uint8_t load = z->kind[ZEBRA_LOAD];

	assert_int_equal(calls[NOPAL_KIND_DATA].count, calls[load].count + 1);
	for (uint32_t i = 0; i < calls[load].count; i++)
		assert_ptr_not_equal(calls[load].call[i].part, part_of(plan, "ant"));
	assert_int_equal(calls[z->kind[ZEBRA_NOTE]].count, 0);
}

TEST(test_sizes_add_up_to_the_mtu)
{
	assert_int_equal(nopal_plan_info(plan)->header_bytes, 1 + 4 + 4 + 1);
	assert_int_equal(plan->datagram_bytes, MTU - UDP_BYTES);
	assert_int_equal(nopal_plan_info(plan)->body_bytes + nopal_plan_info(plan)->header_bytes +
				 FINGERPRINT,
			 MTU - UDP_BYTES);
}

TEST(test_the_message_limit_is_one_body)
{
	struct nopal_plan *small, *large;

	assert_int_equal(nopal_plan_info(plan)->message_limit, nopal_plan_info(plan)->body_bytes);
	small = rig_plan("message_limit = 100B\ntransport_driver {}\n"
			 "fixed_size {}\n");
	assert_int_equal(nopal_plan_info(small)->message_limit, 100);
	nopal_plan_unref(small);
	large = rig_plan("transport_driver {}\nresize {}\n"
			 "sequenced_segments {}\n");
	assert_true(nopal_plan_info(large)->message_limit > nopal_plan_info(large)->body_bytes);
	nopal_plan_unref(large);
}

TEST(test_fields_for_people_are_those_of_the_header)
{
	const struct nopal_plan_field *fields;
	size_t count = nopal_plan_fields(plan, &fields);
	uint32_t bytes = 0;

	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++)
		bytes += fields[i].bytes;
	assert_int_equal(bytes, nopal_plan_info(plan)->header_bytes);
	assert_string_equal(fields[2].attribute, "a_byte");
	assert_string_equal(fields[2].microprotocol, "ant");
	assert_null(fields[0].microprotocol);
}

/* Peers need not write their configs alike. */
TEST(test_the_order_of_sections_changes_nothing_on_the_wire)
{
	struct nopal_plan *other = rig_plan(BACKWARD);

	assert_true(nopal_plan_info(plan)->fingerprint == nopal_plan_info(other)->fingerprint);
	assert_string_equal(nopal_plan_info(plan)->canonical, nopal_plan_info(other)->canonical);
	for (uint8_t code = 0; code < NOPAL_KIND_ROOM; code++) {
		const struct nopal_kind_plan *here = &plan->kinds[code];
		const struct nopal_kind_plan *there = &other->kinds[code];

		assert_int_equal(here->name == NULL, there->name == NULL);
		if (here->name)
			assert_string_equal(here->name, there->name);
		assert_int_equal(here->header.count, there->header.count);
		for (unsigned i = 0; i < here->header.count; i++) {
			const struct nopal_field *a = &here->header.fields[i];
			const struct nopal_field *b = &there->header.fields[i];

			assert_string_equal(plan->slot_name[a->slot], other->slot_name[b->slot]);
			assert_int_equal(a->bytes, b->bytes);
			assert_int_equal(a->serial, b->serial);
		}
	}
	nopal_plan_unref(other);
}

TEST(test_another_part_is_another_fingerprint)
{
	struct nopal_plan *other = rig_plan("transport_driver {}\nfixed_size {}\nzebra {}\n");

	assert_false(nopal_plan_info(plan)->fingerprint == nopal_plan_info(other)->fingerprint);
	nopal_plan_unref(other);
}

TEST(test_a_reference_keeps_the_plan)
{
	struct nopal_plan *again = nopal_plan_ref(plan);

	nopal_plan_unref(plan);
	assert_string_equal(nopal_plan_info(again)->name, "rig");
	plan = again;
}

TEST(test_what_was_wrong_before_is_not_the_configs_fault)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *other;

	nopal_problems_add(&problems, "other.conf", 1, NULL, "it is empty");
	other = nopal_plan_parse(FORWARD, "t.conf", NULL, &problems);
	assert_non_null(other);
	assert_int_equal(problems.errors, 1);
	nopal_plan_unref(other);
	assert_null(nopal_plan_parse("ant {}\n", "t.conf", NULL, &problems));
	assert_true(problems.errors > 1);
	nopal_problems_fini(&problems);
}
