/* SPDX-License-Identifier: MIT */
/*
 * congestion.c -- every congestion policy on the same bottleneck: how much of it is used,
 * what gets lost, how long packets wait, who yields to whom.
 *
 * 20 Mbit/s, a round trip of 60 ms, a queue of one product of the two (100 packets). All
 * compositions are `bulk` with its congestion section exchanged.  One flow; two flows of the same
 * policy; one against NewReno.  Flows begin at random within a second, the first 20 s are not
 * counted, the next 60 s are.  Utilisation is that of the link, headers included; a tail of the
 * queue is of means over 10 ms; roughness is the deviation of what arrives in a second from its
 * mean.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/dumbbell.h"
#include "load/pair.h"
#include "load/parallel.h"
#include "reproduce/reproduce.h"

enum {
	CONGESTION_PERCENT = 100,
	/* Bounds of the claims. */
	CONGESTION_FULL = 90,	/* percent of the link */
	CONGESTION_SHORT = 4,	/* a queue is short against one so much longer */
	CONGESTION_HALF = 50,	/* percent */
	CONGESTION_NEAR = 10,	/* ... and what is near it */
	CONGESTION_DOUBLE = 17, /* ... and how far from it 1:2 and 2:1 are */
};
#define CONGESTION_EVEN		0.9
#define CONGESTION_STAGGER_NS	NOPAL_SECOND
#define CONGESTION_WARM_NS	(20 * NOPAL_SECOND)
#define CONGESTION_RUN_NS	(60 * NOPAL_SECOND)
#define CONGESTION_QUICK_RUN_NS (20 * NOPAL_SECOND)
#define CONGESTION_LINK		"fwd: rate 20mbit delay 30ms limit 100 rev: rate 20mbit delay 30ms"

#define CONGESTION_WINDOW "windowed_cc {}\nresend_copies { copies = 2 }\n"
#define CONGESTION_BOTH	  CONGESTION_WINDOW "rate_cc {}\n"

/* The signs that a policy goes by, for claims about all of its kind. */
enum congestion_trait {
	CONGESTION_BY_LOSS = 1 << 0,
	CONGESTION_BY_DELAY = 1 << 1,
	CONGESTION_BY_SIZE = 1 << 2, /* it grows with its window */
	CONGESTION_FILLS = 1 << 3,   /* a link that it has alone */
};
#define CONGESTION_LOSS (CONGESTION_BY_LOSS | CONGESTION_FILLS)

static const struct congestion_policy {
	const char *name;
	unsigned traits; /* enum congestion_trait */
	const char *section;
} congestion_policies[] = {
	{ "reno", CONGESTION_LOSS, CONGESTION_WINDOW "tcp_congestion { variant = reno }" },
	{ "newreno", CONGESTION_LOSS, CONGESTION_WINDOW "tcp_congestion { variant = newreno }" },
	{ "cubic", CONGESTION_LOSS, CONGESTION_WINDOW "cubic_congestion {}" },
	{ "cubic_paced", CONGESTION_FILLS, CONGESTION_BOTH "cubic_congestion {}\npacing {}" },
	{ "westwood", CONGESTION_LOSS, CONGESTION_WINDOW "westwood_congestion {}" },
	{ "scalable", CONGESTION_LOSS | CONGESTION_BY_SIZE,
	  CONGESTION_WINDOW "scalable_congestion {}" },
	{ "highspeed", CONGESTION_LOSS | CONGESTION_BY_SIZE,
	  CONGESTION_WINDOW "highspeed_congestion {}" },
	{ "bic", CONGESTION_LOSS | CONGESTION_BY_SIZE, CONGESTION_WINDOW "bic_congestion {}" },
	{ "vegas", CONGESTION_BY_DELAY | CONGESTION_FILLS,
	  CONGESTION_WINDOW "vegas_congestion {}" },
	{ "fast", CONGESTION_FILLS, CONGESTION_WINDOW "fast_congestion {}" },
	{ "scp", CONGESTION_BY_DELAY | CONGESTION_FILLS, CONGESTION_BOTH "scp_congestion {}" },
	{ "bbr", CONGESTION_FILLS,
	  CONGESTION_BOTH "bbr_congestion {}\n"
			  "usual_rtt {}\nloss_compensation {}\nack_train {}\n"
			  "standing_queue {}\nack_aggregation {}\nqueue_drain {}\n"
			  "marked_drain {}" },
	{ "tfrc", CONGESTION_FILLS, "rate_cc {}\ntfrc {}" },
	{ "udt", 0, CONGESTION_BOTH "udt_congestion {}" },
};
enum {
	CONGESTION_RENO,
	CONGESTION_NEWRENO,
	CONGESTION_CUBIC,
	CONGESTION_CUBIC_PACED,
	CONGESTION_WESTWOOD,
	CONGESTION_SCALABLE,
	CONGESTION_HIGHSPEED,
	CONGESTION_BIC,
	CONGESTION_VEGAS,
	CONGESTION_FAST,
	CONGESTION_SCP,
	CONGESTION_BBR,
	CONGESTION_TFRC,
	CONGESTION_UDT,
	CONGESTION_POLICIES,
};

enum congestion_table {
	CONGESTION_ALONE,
	CONGESTION_TWO,
	CONGESTION_AGAINST,
	CONGESTION_TABLES,
};
static const char *const congestion_tables[CONGESTION_TABLES] = {
	[CONGESTION_ALONE] = "one flow",
	[CONGESTION_TWO] = "two flows of the policy",
	[CONGESTION_AGAINST] = "one flow against newreno",
};

/* ---------------------------------------------------------------------- cells */

static struct report_cell congestion_cell(enum congestion_table table, int policy,
					  const char *column, const char *unit)
{
	return (struct report_cell){ congestion_tables[table], congestion_policies[policy].name,
				     column, unit };
}

static void congestion_add(const struct reproduce_options *options, enum congestion_table table,
			   int policy, const char *column, const char *unit, double value)
{
	report_add(options->report, congestion_cell(table, policy, column, unit), value);
}

static double congestion_mean(const struct reproduce_options *options, enum congestion_table table,
			      int policy, const char *column)
{
	return report_mean(options->report, congestion_cell(table, policy, column, NULL));
}

/* ----------------------------------------------------------------------- runs */

static bool congestion_once(const struct reproduce_options *options,
			    struct nopal_plan *const *plans, enum congestion_table table,
			    int policy, int run)
{
	struct dumbbell bell = {
		.seed = options->seed + (uint64_t)run,
		.flows = table == CONGESTION_ALONE ? 1 : 2,
		.plans = { plans[policy], table == CONGESTION_AGAINST ? plans[CONGESTION_NEWRENO]
								      : plans[policy] },
		.stagger_ns = CONGESTION_STAGGER_NS,
		.warm_ns = CONGESTION_WARM_NS,
		.run_ns = options->quick ? CONGESTION_QUICK_RUN_NS : CONGESTION_RUN_NS,
	};

	if (!bench_link(CONGESTION_LINK, &bell.forward, &bell.reverse))
		return false;
	if (!dumbbell_run(&bell)) {
		fprintf(stderr, "nopal reproduce: a session of %s ended\n",
			congestion_policies[policy].name);
		return false;
	}
	if (table == CONGESTION_TWO)
		congestion_add(options, table, policy, "Jain", "",
			       parallel_fairness(bell.bytes, bell.flows));
	if (table == CONGESTION_AGAINST)
		congestion_add(options, table, policy, "share", "%",
			       CONGESTION_PERCENT * dumbbell_share(&bell));
	congestion_add(options, table, policy, "utilisation", "%",
		       CONGESTION_PERCENT * bell.utilisation);
	congestion_add(options, table, policy, "loss", "%", CONGESTION_PERCENT * bell.loss);
	congestion_add(options, table, policy, "queue, mean", "ms", bell.queue_mean_ms);
	congestion_add(options, table, policy, "queue, p95", "ms", bell.queue_p95_ms);
	if (table == CONGESTION_AGAINST)
		congestion_add(options, table, policy, "roughness", "%",
			       CONGESTION_PERCENT * bell.roughness);
	return true;
}

/* --------------------------------------------------------------------- claims */

/* The least, or the most, that a policy of the trait has there; NAN where one of them was not
 * run. */
static double congestion_extreme(const struct reproduce_options *options,
				 enum congestion_table table, enum congestion_trait trait,
				 const char *column, bool max)
{
	double found = max ? -INFINITY : INFINITY;

	for (int i = 0; i < CONGESTION_POLICIES; i++) {
		double value = congestion_mean(options, table, i, column);

		if (!(congestion_policies[i].traits & trait))
			continue;
		if (isnan(value))
			return NAN;
		if (max ? value > found : value < found)
			found = value;
	}
	return found;
}

static void congestion_claims_own(const struct reproduce_options *options)
{
	struct report *report = options->report;

	report_less(report, "one flow fills the link, whatever its policy but udt's",
		    CONGESTION_FULL,
		    congestion_extreme(options, CONGESTION_ALONE, CONGESTION_FILLS, "utilisation",
				       false),
		    "per cent that count as full; least utilisation");
	report_less(report,
		    "what watches delay keeps the queue short (Brakmo and Peterson 1995; Cen, Pu, "
		    "Walpole 1998)",
		    congestion_extreme(options, CONGESTION_ALONE, CONGESTION_BY_DELAY,
				       "queue, mean", true),
		    congestion_extreme(options, CONGESTION_ALONE, CONGESTION_BY_LOSS, "queue, mean",
				       false) /
			    CONGESTION_SHORT,
		    "ms of queue, the most of vegas and scp; a quarter of the least that waits for "
		    "loss");
	report_less(report, "two flows that wait for loss share the link evenly", CONGESTION_EVEN,
		    congestion_extreme(options, CONGESTION_TWO, CONGESTION_BY_LOSS, "Jain", false),
		    "Jain's index that counts as even; the least");
	report_less(
		report,
		"two flows of vegas do not: who comes later takes the queue of the first for the "
		"path (Mo, La, Anantharam, Walrand 1999)",
		congestion_mean(options, CONGESTION_TWO, CONGESTION_VEGAS, "Jain"),
		congestion_mean(options, CONGESTION_TWO, CONGESTION_NEWRENO, "Jain"),
		"Jain's index of vegas; of newreno");
	report_less(
		report,
		"two flows of bbr keep a queue of one product full (Hock, Bless, Zitterbart 2017)",
		congestion_mean(options, CONGESTION_TWO, CONGESTION_NEWRENO, "queue, mean"),
		congestion_mean(options, CONGESTION_TWO, CONGESTION_BBR, "queue, mean"),
		"ms of queue, newreno; bbr");
}

/* How far the share is from the half. */
static double congestion_uneven(const struct reproduce_options *options, int policy)
{
	return fabs(congestion_mean(options, CONGESTION_AGAINST, policy, "share") -
		    CONGESTION_HALF);
}

/* Beside newreno, too, those of UDT's policies that are made for large windows, and its own. */
static void congestion_claims_against(const struct reproduce_options *options)
{
	struct report *report = options->report;

	report_less(
		report, "what watches delay yields to newreno (Mo, La, Anantharam, Walrand 1999)",
		congestion_extreme(options, CONGESTION_AGAINST, CONGESTION_BY_DELAY, "share", true),
		CONGESTION_HALF, "per cent of the link, the most of vegas and scp; the half");
	report_less(report, "cubic has no less than newreno beside it (RFC 9438, section 4.3)",
		    CONGESTION_HALF - CONGESTION_NEAR,
		    congestion_mean(options, CONGESTION_AGAINST, CONGESTION_CUBIC, "share"),
		    "nearly the half; per cent of the link");
	report_less(report, "westwood and newreno are friendly (Grieco and Mascolo 2004)",
		    congestion_uneven(options, CONGESTION_WESTWOOD), CONGESTION_NEAR,
		    "per cent from the half; what is near");
	report_less(report,
		    "tfrc has within a factor of two of newreno beside it (RFC 5348, section 1)",
		    congestion_uneven(options, CONGESTION_TFRC), CONGESTION_DOUBLE,
		    "per cent from the half; what a third is");
	report_less(report, "tfrc is smoother than newreno (RFC 5348, section 1)",
		    congestion_mean(options, CONGESTION_AGAINST, CONGESTION_TFRC, "roughness"),
		    congestion_mean(options, CONGESTION_AGAINST, CONGESTION_NEWRENO, "roughness"),
		    "deviation of seconds from their mean in per cent, each beside newreno: tfrc; "
		    "newreno");
	report_less(
		report,
		"what grows with its window takes more than newreno beside it (RFC 3649, section "
		"6)",
		CONGESTION_HALF,
		congestion_extreme(options, CONGESTION_AGAINST, CONGESTION_BY_SIZE, "share", false),
		"the half; per cent of the link, the least of scalable, highspeed and bic");
	report_less(report,
		    "udt and newreno are friendly where little is in flight (Gu and Grossman 2007)",
		    congestion_uneven(options, CONGESTION_UDT), CONGESTION_NEAR,
		    "per cent from the half; what is near");
}

int reproduce_congestion(const struct reproduce_options *options)
{
	struct nopal_plan *plans[CONGESTION_POLICIES] = { NULL };
	bool good = true;

	for (int i = 0; good && i < CONGESTION_POLICIES; i++) {
		const char *text = report_format(
			options->report,
			"extends = \"bulk\"\n"
			"without = { resend_copies, windowed_cc, rate_cc, bbr_congestion,\n"
			"usual_rtt, loss_compensation, ack_train, standing_queue,\n"
			"ack_aggregation, queue_drain, marked_drain }\n%s\n",
			congestion_policies[i].section);

		plans[i] = bench_parse(text, congestion_policies[i].name);
		good = plans[i] != NULL;
	}
	for (int table = 0; table < CONGESTION_TABLES; table++)
		for (int policy = 0; policy < CONGESTION_POLICIES && good; policy++) {
			const char *name = congestion_policies[policy].name;

			if (!reproduce_wanted(options->rows, name))
				continue;
			reproduce_say(options, "%s: %s", congestion_tables[table], name);
			for (int run = 0; good && run < options->runs; run++)
				good = congestion_once(options, plans, (enum congestion_table)table,
						       policy, run);
		}
	congestion_claims_own(options);
	congestion_claims_against(options);
	for (int i = 0; i < CONGESTION_POLICIES; i++)
		nopal_plan_unref(plans[i]);
	return good ? TOOL_GOOD : TOOL_FAILED;
}
