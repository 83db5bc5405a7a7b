/* SPDX-License-Identifier: MIT */
/*
 * fused_mutants.h -- what the generator could get wrong, one a line: the config, the mistake, and
 * where no run can show it, why.
 */
#ifndef NOPAL_TEST_FUSED_MUTANTS_H
#define NOPAL_TEST_FUSED_MUTANTS_H

#define BULK(...)                                                                                  \
	"bulk",                                                                                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define AUDIO(...)                                                                                 \
	"ctp_audio",                                                                               \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const struct mutant mutants[] = {
	/* handlers */
	{ BULK("two handlers of ACK_PROCESSED change places", "call_0_ACK_PROCESSED(",
	       "case 0:", MUTATE_SWAP, .call = "buffer_sizing"),
	  "no order is declared between the two: they touch nothing in common" },
	{ BULK("a handler of ACK_PROCESSED is left out", "call_0_ACK_PROCESSED(",
	       "case 0:", MUTATE_DROP, .call = "duplicate_ack") },
	{ BULK("two handlers of SEGMENT_TO_NET change places", "call_0_SEGMENT_TO_NET(",
	       "case #data:", MUTATE_SWAP, .call = "positive_ack") },
	{ BULK("two handlers of SEGMENT_FROM_NET change places", "call_0_SEGMENT_FROM_NET(",
	       "case #data:", MUTATE_SWAP, .call = "windowed_flow"),
	  "no edge rides on these data: one of the two does nothing" },
	{ BULK("two handlers of TURN_END change places", "call_0_TURN_END(", "case 0:", MUTATE_SWAP,
	       .call = "windowed_cc") },
	{ BULK("a handler of SEGMENT_FROM_NET is left out", "call_0_SEGMENT_FROM_NET(",
	       "case #data:", MUTATE_DROP, .call = "sequenced_segments") },
	{ BULK("a handler of TURN_END is left out", "call_0_TURN_END(", "case 0:", MUTATE_DROP,
	       .call = "windowed_cc") },
	{ BULK("a handler of MSG_FROM_USER is left out", "call_0_MSG_FROM_USER(",
	       "case 0:", MUTATE_DROP, .call = "buffer_sizing") },
	{ BULK("a filter cannot say stop", "call_0_SEGMENT_FROM_NET(", "case #data:", MUTATE_DEAF,
	       .call = "sequenced_segments") },
	{ BULK("an ack's handler cannot say stop", "call_0_SEGMENT_FROM_NET(",
	       "case #ack:", MUTATE_DEAF, .call = "positive_ack") },
	{ BULK("a handler gets its neighbour's part", "call_0_SEGMENT_TO_NET(",
	       "case #data:", MUTATE_PART, .call = "retransmit") },
	{ BULK("handlers of acks are called for probes", "call_0_SEGMENT_FROM_NET(",
	       "case #ack:", MUTATE_WORD, 0, "case 40:") },
	{ BULK("handlers of an event are those of no kind", "call_0_ACK_FROM_NET(", "case",
	       MUTATE_FLIP, 32) },
	{ AUDIO("two handlers of SEGMENT_FROM_NET change places", "call_0_SEGMENT_FROM_NET(",
		"case #data:", MUTATE_SWAP, .call = "positive_ack") },
	{ AUDIO("a handler of parity is left out", "call_0_SEGMENT_FROM_NET(",
		"case #parity:", MUTATE_DROP, .call = "forward_error_correction") },
	/* barriers */
	{ BULK("a send bit is not held", "fused_layer[", ".hold = {\n", MUTATE_FLIP, 4,
	       .skip = 1) },
	{ BULK("a done bit is not held", "fused_layer[", ".hold = {\n", MUTATE_FLIP, 2,
	       .skip = 3) },
	{ BULK("a done bit more is held", "fused_layer[", ".hold = {\n", MUTATE_FLIP, 4,
	       .skip = 3) },
	{ BULK("a deallocate bit is not held", "fused_layer[", ".hold = {\n", MUTATE_FLIP, 2,
	       .skip = 5) },
	{ BULK("a send bit is held again though it is sticky", ".rearm", "[0] =", MUTATE_FLIP, 1) },
	{ BULK("no send bit is held again", ".rearm", "[0] =", MUTATE_CLEAR) },
	{ BULK("arriving messages are not held", ".deliver", "=", MUTATE_CLEAR) },
	{ BULK("a part has another one's send bit", "&nopal_retransmit,",
	       ".hold = { [0] =", MUTATE_FLIP, 6) },
	{ AUDIO("parity is not held", ".hold = {\n", "[#parity] =", MUTATE_FLIP, 4) },
	{ AUDIO("parity is not held again", ".rearm", "[#parity] =", MUTATE_CLEAR) },
	/* headers */
	{ BULK("a field is narrower", "\"data\"", ".header = {", MUTATE_ADD, -1, .skip = 3) },
	{ BULK("a field has another slot", "\"data\"", ".header = {", MUTATE_ADD, 1, .skip = 7) },
	{ BULK("slot and width of a field change places", "\"data\"", ".header = {",
	       MUTATE_SWAP_NUMBER, .skip = 2) },
	{ AUDIO("a serial field is expanded from another reference", "\"data\"", ".header = {",
		MUTATE_ADD, 1, .skip = 10) },
	{ AUDIO("a field is not serial", "\"data\"", ".header = {", MUTATE_FLIP, 1, .skip = 9) },
	{ AUDIO("a field is serial that is none", "\"data\"", ".header = {", MUTATE_FLIP, 1,
		.skip = 14) },
	{ BULK("the header has a field less", "\"data\"", ".header = {", MUTATE_ADD, -1) },
	{ BULK("a header's bytes are one more", "\"data\"", ".header = {", MUTATE_ADD, 1,
	       .skip = 1) },
	{ AUDIO("parity's header lacks a field", "\"parity\"", ".header = {", MUTATE_ADD, -1) },
	{ AUDIO("the coded header lacks a field", ".coded", "= {", MUTATE_ADD, -1) },
	{ AUDIO("a coded field is narrower", ".coded", "= {", MUTATE_ADD, -1, .skip = 3) },
	{ AUDIO("a coded field is not serial", ".coded", "= {", MUTATE_FLIP, 1, .skip = 4) },
	{ AUDIO("the coded header has one byte less", ".coded", "= {", MUTATE_ADD, -1, .skip = 1) },
	/* parts */
	{ BULK("a parameter is one more", "@positive_ack", "{ INT64_C(", MUTATE_ADD, 1) },
	{ BULK("a parameter is one less", "@rate_cc", "{ INT64_C(", MUTATE_ADD, -1) },
	{ AUDIO("a block is closed earlier", "@forward_error_correction", "), INT64_C(0), INT64_C(",
		MUTATE_ADD, -100000000) },
	{ AUDIO("a block is one segment longer", "@forward_error_correction", "{ INT64_C(",
		MUTATE_ADD, 1),
	  "read where a session opens, and that is the library's work" },
	{ BULK("a part has another one's parameters", "&nopal_duplicate_ack,", "fused_parameters_",
	       MUTATE_ADD, 1) },
	{ BULK("a part has another one's state", "&nopal_duplicate_ack,", ".state =", MUTATE_ADD,
	       16) },
	{ BULK("a part has another place in the plan", "&nopal_retransmit,", ".index =", MUTATE_ADD,
	       1) },
	{ BULK("timers begin with another one's", "&nopal_positive_ack,",
	       ".first_timer =", MUTATE_ADD, 1) },
	{ BULK("a part writes another one's variable", "&nopal_windowed_cc,", ".shared = {",
	       MUTATE_ADD, 1) },
	{ BULK("a part has another one's kind", "&nopal_positive_ack,", ".kind = {", MUTATE_ADD,
	       1) },
	{ BULK("a part has another one's attribute", "&nopal_sequenced_segments,", ".attribute = {",
	       MUTATE_ADD, -1) },
	{ BULK("a part's attribute is absent", "&nopal_windowed_flow,", ".attribute = {",
	       MUTATE_CLEAR) },
	/* layer */
	{ BULK("nobody reads packet numbers", ".packet_number_slot", "=", MUTATE_CLEAR) },
	{ BULK("packet numbers have another slot", ".packet_number_slot", "=", MUTATE_ADD, 1) },
	{ BULK("the runtime's timers begin one earlier", ".timer_count", "=", MUTATE_ADD, -1) },
	{ BULK("nobody makes connections", "fused_layer[", " },\n};", MUTATE_WORD, 0,
	       ", .connection = NULL },\n};") },
	{ BULK("the layer has a part less", ".part_count", "=", MUTATE_ADD, -1),
	  "units do not read it" },
	/* plan */
	{ BULK("there is no seal", ".seal =", ", .admission", MUTATE_WORD, 0,
	       ", .seal = NULL, .admission") },
	{ BULK("a seal's bytes are one more", ".trailer_bytes", "=", MUTATE_ADD, 1) },
	{ BULK("a body has a byte less", ".body_bytes", "=", MUTATE_ADD, -1) },
	{ BULK("a datagram is shorter", ".datagram_bytes", "=", MUTATE_ADD, -1400) },
	{ BULK("there is no admission", ".admission =", ".kinds = {", MUTATE_WORD, 0,
	       ".admission = NULL, .kinds = {") },
	{ BULK("there are fewer slots", ".slot_count", "=", MUTATE_ADD, -10) },
	{ AUDIO("no slot has a reference", ".serial_of", ".kinds = {", MUTATE_WORD, 0,
		".serial_of = { 0 }, .kinds = {") },
	{ BULK("control is carried", "\"ack\"", ".class =", MUTATE_ADD, 1),
	  "a kind that holds no bit is made and leaves in one way" },
	{ AUDIO("parity is control", "\"parity\"", ".class =", MUTATE_ADD, -1) },
	{ BULK("a kind has no name", "\"ack\"", "\"ack\"", MUTATE_WORD, 0, "(char *)0") },
};

#undef BULK
#undef AUDIO

#endif
