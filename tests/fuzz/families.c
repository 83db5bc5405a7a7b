/* SPDX-License-Identifier: MIT */
#include "plan/plan.h"
#include "families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELIABLY                                                                                   \
	"positive_ack { selective = on } retransmission_timer {}\nduplicate_ack {}\n"              \
	"rtt_estimation {}\nretransmit {}\n"
#define WINDOWED  "windowed_cc {}\necn_response {}\n"
#define ONE_WAY	  "transport_driver {}\nresize {}\nvirtual_circuit {}\nsequenced_segments {}\n"
#define EARLY	  "early_data { nonces = 4  window = 1s  all = on }\n"
#define DATAGRAMS "transport_driver {}\nfixed_size {}\nsequenced_segments {}\n"

static const struct family families[] = {
	{ "minimal", "extends = ctp_minimal\n", 1, false },
	{ "bulk", "extends = bulk\n", 1, false },
	{ "block_fec", "extends = ctp_audio\n", 1, false },
	{ "sliding_fec",
	  DATAGRAMS "virtual_circuit {}\n"
		    "adaptive_redundancy { every = 4 reorder = 2 }\n"
		    "sliding_window_fec { sources = 4 repairs = 2 window = 16 }\n"
		    "checksum { algorithm = ones_complement }\n",
	  1, false },
	{ "streams", "extends = streams\n", 1, false },
	{ "shared_flow", "extends = udt4_shared\n", 1, false },
	{ "group", "extends = one_to_many_quorum\n", 2, false },
	{ "multicast", "extends = multicast\n", 2, false },
	{ "header_compression",
	  DATAGRAMS "virtual_circuit {}\nheader_compression {}\n" RELIABLY WINDOWED
		    "bic_congestion {}\nreliable_fifo {}\nchecksum {}\n",
	  1, false },
	{ "rtp", "extends = rtp_audio\n", 1, false },
	{ "one_to_many_format", "extends = one_to_many_paper\n", 1, false },
	{ "aead", "extends = bulk_aead\naead { update = 8 }\n", 1, false },
	{ "go_back_n",
	  "transport_driver {}\nvirtual_circuit {}\nfour_tuple {}\n"
	  "resize {}\nsequenced_segments {}\n"
	  "go_back_n { window = 8  piggyback = on }\nrtt_estimation {}\n"
	  "duplicate_ack {}\nreliable_fifo {}\ncheck_integrity {}\n",
	  1, false },
	{ "partial",
	  DATAGRAMS "virtual_circuit {}\n" RELIABLY WINDOWED "vegas_congestion {}\n"
		    "partial_reliability {}\nsemantic_order { after_2 = on }\n"
		    "out_of_band {}\nchecksum {}\n",
	  1, false },
	{ "compression",
	  "transport_driver {}\nvirtual_circuit {}\nresize {}\n"
	  "sequenced_segments {}\n" RELIABLY WINDOWED "highspeed_congestion {}\n"
	  "reliable_fifo {}\ncompression {}\ncheck_integrity {}\n",
	  1, false },
	{ "coalesce",
	  "transport_driver {}\nsequenced_messages {}\n"
	  "sequenced_segments {}\ncoalesce { delay = 20ms }\n"
	  "lossy_fifo {}\nxon_xoff { high = 1KiB low = 256B }\n",
	  1, false },
	{ "tags",
	  DATAGRAMS RELIABLY WINDOWED "scalable_congestion {}\n"
				      "partial_reliability {}\n"
				      "tag_matching { unexpected = 8 }\n"
				      "rts_cts { buffer = 16KiB initial = 2KiB ahead = 1KiB }\n",
	  1, false },
	{ "paths",
	  DATAGRAMS "virtual_circuit {}\nparallel_channels {}\n" RELIABLY WINDOWED
		    "westwood_congestion {}\n"
		    "reliable_fifo {}\nchecksum {}\n",
	  1, true },
	{ "rates",
	  DATAGRAMS "virtual_circuit {}\nkeep_alive {}\nmtu_discovery {}\n"
		    "positive_ack {} retransmission_timer {}\nrtt_estimation {}\nduplicate_ack {}\n"
		    "rate_cc {}\ntfrc {}\nrate_feedback {}\n"
		    "source_quench { mark = 2KiB }\nlossy_fifo {}\nchecksum {}\n",
	  1, false },
	{ "balance", "extends = one_to_many_balance\n", 2, false },
	{ "plain_udp", "extends = plain_udp\n", 1, false },
	{ "losses",
	  DATAGRAMS "virtual_circuit {}\n"
		    "positive_ack { selective = on  piggyback = on } retransmission_timer {}\n"
		    "rtt_estimation {}\nretransmit {}\nrack_detection {}\n"
		    "tail_probe {}\npath_memory {}\necn_response {}\n"
		    "windowed_cc {}\ncubic_congestion {}\nreliable_fifo {}\n"
		    "check_fifo {}\ncheck_holds {}\nchecksum {}\n",
	  1, false },
	{ "jitter",
	  DATAGRAMS "virtual_circuit {}\nsequenced_messages {}\n"
		    "fixed_rate_jitter {}\n"
		    "rate_cc {}\nreserved_rate { rate = 100kbit }\n",
	  1, false },
	{ "lz4",
	  "transport_driver {}\nvirtual_circuit {}\nresize {}\n"
	  "sequenced_segments {}\n" RELIABLY WINDOWED "fast_congestion {}\nrate_cc {}\npacing {}\n"
	  "reliable_fifo {}\ncompression { algorithm = lz4 }\n"
	  "check_integrity {}\n",
	  1, false },
	{ "partial_stream",
	  "transport_driver {}\nvirtual_circuit {}\nresize {}\n"
	  "sequenced_segments {}\n" RELIABLY "negative_ack {}\n"
	  "partial_reliability {}\nwindowed_flow { buffer = 16KiB }\n"
	  "reliable_fifo {}\nchecksum {}\n",
	  1, false },
	{ "partial_fec",
	  DATAGRAMS "virtual_circuit {}\n" RELIABLY
		    "forward_error_correction { n = 5 k = 4 flush = 50ms }\n"
		    "partial_reliability {}\nreliable_fifo {}\nchecksum {}\n",
	  1, false },
	{ "early", ONE_WAY EARLY RELIABLY "reliable_fifo {}\nchecksum {}\n", 1, false },
	{ "early_sealed", ONE_WAY EARLY RELIABLY "reliable_fifo {}\n", 1, false, .keyed = true },
};
enum { FAMILIES = sizeof(families) / sizeof(*families) };
/* So that an input keeps its family when one is added. */
enum { FAMILIES_MAX = 32 };
_Static_assert((int)FAMILIES <= (int)FAMILIES_MAX, "make room for more");

const struct family *family_of(uint8_t byte)
{
	return &families[byte % FAMILIES_MAX % FAMILIES];
}

const struct family *family_named(const char *name)
{
	const struct family *family = families;

	while (strcmp(family->name, name) != 0)
		family++;
	return family;
}

/* The key is in a file, which nobody but its owner may write, until the config is read. */
static void add_key(char *text, size_t room, char *path)
{
	static const char key[] = "a key of more than sixteen bytes";
	size_t used = strlen(text);
	int file = mkstemp(path);

	if (file < 0 || write(file, key, sizeof(key)) != sizeof(key))
		abort();
	close(file);
	snprintf(text + used, room - used, "aead { psk_file = \"%s\" }\n", path);
}

/* Is it only a library that is missing? */
static bool wants_library(const struct nopal_problems *problems)
{
	return problems->count && problems->entries[0].fix &&
	       strstr(problems->entries[0].fix, "build");
}

static struct nopal_plan *make_plan(const struct family *family)
{
	struct nopal_problems problems = { 0 };
	struct nopal_plan *plan;
	char text[2048], path[] = "/tmp/nopal-fuzz-XXXXXX";

	/* shipped configs are found, and interpreted, wherever this runs */
	setenv("NOPAL_CONFIGS", NOPAL_SOURCE_ROOT "/configs", 1);
	setenv("NOPAL_FUSED", "off", 1);
	snprintf(text, sizeof(text), "%s", family->config);
	if (family->keyed)
		add_key(text, sizeof(text), path);
	plan = nopal_plan_parse(text, family->name, NULL, &problems);
	if (family->keyed)
		unlink(path);
	if (!plan && !wants_library(&problems)) {
		nopal_problems_print(&problems, stderr);
		abort();
	}
	nopal_problems_fini(&problems);
	return plan;
}

struct nopal_plan *family_plan(const struct family *family)
{
	static struct nopal_plan *plans[FAMILIES];
	static bool made[FAMILIES];
	size_t index = (size_t)(family - families);

	if (!made[index])
		plans[index] = make_plan(family);
	made[index] = true;
	return plans[index];
}
