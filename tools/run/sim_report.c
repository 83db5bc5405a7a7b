/* SPDX-License-Identifier: MIT */
/*
 * sim_report.c -- what a simulated run came to.
 *
 * Everything is computed in integers from virtual time, so that the same run prints the same bytes
 * on every machine.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <nopal/microprotocol.h>
#include "run/sim_report.h"

enum {
	PERCENT = 100,
	MEDIAN = 50,
	TAIL = 99,
	BYTE_BITS = 8,
	UDP_IP_BYTES = 28,
	ROW_ROOM = 128,
};
#define MILLION UINT64_C(1000000)

/* ------------------------------------------------------------------- numbers */

/* Counters that streams have in common with their flow: the greatest, as of the last that ended. */
static void counters_join(struct nopal_counters *sum, const struct nopal_counters *one)
{
#define OF_MESSAGES(name) (strncmp(#name, "messages_", 9) == 0 || strncmp(#name, "bytes_", 6) == 0)
#define JOIN(name, doc)                                                                            \
	if (OF_MESSAGES(name))                                                                     \
		sum->name += one->name;                                                            \
	else if (sum->name < one->name)                                                            \
		sum->name = one->name;
	NOPAL_COUNTERS(JOIN)
#undef JOIN
#undef OF_MESSAGES
}

static void counters_add(struct nopal_counters *sum, const struct nopal_counters *one)
{
#define ADD(name, doc) sum->name += one->name;
	NOPAL_COUNTERS(ADD)
#undef ADD
}

uint64_t sim_report_rate(uint64_t bytes, int64_t time_ns)
{
	if (time_ns <= 0)
		return 0;
	return nopal_scale(bytes * BYTE_BITS, (uint64_t)NOPAL_SECOND, (uint64_t)time_ns);
}

uint64_t sim_report_goodput(const struct sim_receiver *receiver)
{
	return sim_report_rate(receiver->tally.delivered_bytes,
			       receiver->last_delivery_ns - receiver->flow->run->first_send_ns);
}

static int value_compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

void sim_report_sort(int64_t *values, uint64_t count)
{
	qsort(values, count, sizeof(*values), value_compare);
}

int64_t sim_report_at(const int64_t *values, uint64_t count, unsigned percent)
{
	uint64_t rank = (count * percent + PERCENT - 1) / PERCENT;

	return count ? values[rank ? rank - 1 : 0] : 0;
}

/* Which messages: of a load, a flow or a receiver (NULL: of all), and of a kind (SIM_KINDS: of
 * all). */
struct choice {
	const struct sim_load *load;
	const struct sim_receiver *receiver;
	unsigned kind;
};

static uint64_t delays_of_receiver(const struct sim_receiver *receiver, const struct choice *choice,
				   int64_t *delays)
{
	const struct sim_flow *flow = receiver->flow;
	uint64_t count = 0;

	if ((choice->load && flow->load != choice->load) ||
	    (choice->receiver && receiver != choice->receiver))
		return 0;
	for (uint64_t i = 0; i < flow->next; i++) {
		if (receiver->delay_ns[i] == SIM_NO_DELAY ||
		    (choice->kind < SIM_KINDS &&
		     sim_kind_of(&flow->load->kinds, i) != choice->kind))
			continue;
		if (delays)
			delays[count] = receiver->delay_ns[i];
		count++;
	}
	return count;
}

static uint64_t delays_gather(const struct sim_run *run, const struct choice *choice,
			      int64_t *delays)
{
	uint64_t count = 0;

	for (int f = 0; f < run->options.flows; f++)
		for (unsigned r = 0; r < run->flows[f].receiver_count; r++)
			count += delays_of_receiver(&run->flows[f].receivers[r], choice,
						    delays ? delays + count : NULL);
	return count;
}

static struct sim_delays delays_of(const struct sim_run *run, const struct choice *choice)
{
	uint64_t count = delays_gather(run, choice, NULL);
	int64_t *delays = tool_need(calloc(count + 1, sizeof(*delays)));
	struct sim_delays found = { .count = count };

	delays_gather(run, choice, delays);
	sim_report_sort(delays, count);
	found.p50_ns = sim_report_at(delays, count, MEDIAN);
	found.p99_ns = sim_report_at(delays, count, TAIL);
	found.max_ns = sim_report_at(delays, count, PERCENT);
	free(delays);
	return found;
}

uint64_t sim_report_late(const struct sim_run *run, unsigned load, unsigned deadline)
{
	int64_t deadline_ns = run->loads[load].deadline_ns[deadline];
	uint64_t late = 0;

	for (int f = 0; f < run->options.flows; f++) {
		const struct sim_flow *flow = &run->flows[f];

		for (unsigned r = 0; flow->load == &run->loads[load] && r < flow->receiver_count;
		     r++)
			for (uint64_t i = 0; i < flow->next; i++)
				late += flow->receivers[r].delay_ns[i] > deadline_ns;
	}
	return late;
}

void sim_report_late_name(const struct sim_load *loads, unsigned load_count, unsigned load,
			  unsigned deadline, char *text, size_t room)
{
	const struct sim_load *one = &loads[load];

	snprintf(text, room, "late%s%s", load_count > 1 ? " " : "",
		 load_count > 1 ? nopal_plan_info(one->plan)->name : "");
	if (one->deadline_count > 1)
		snprintf(text + strlen(text), room - strlen(text), ", %g ms",
			 (double)one->deadline_ns[deadline] / NOPAL_MILLISECOND);
}

struct sim_delays sim_report_delays(const struct sim_receiver *receiver)
{
	return delays_of(receiver->flow->run, &(struct choice){ NULL, receiver, SIM_KINDS });
}

void sim_report_kind(const struct sim_run *run, const struct sim_load *load, unsigned kind,
		     struct sim_kind_row *ret_row)
{
	*ret_row = (struct sim_kind_row){ .delays = delays_of(
						  run, &(struct choice){ load, NULL, kind }) };
	snprintf(ret_row->names, sizeof(ret_row->names), "%s", load->kinds.one[kind].names);
	for (int f = 0; f < run->options.flows; f++) {
		const struct sim_flow *flow = &run->flows[f];

		if (flow->load != load)
			continue;
		for (unsigned r = 0; r < flow->receiver_count; r++) {
			ret_row->delivered += flow->receivers[r].history.came[kind].delivered;
			ret_row->late += flow->receivers[r].history.came[kind].late;
		}
		for (uint64_t i = 0; i < flow->next; i++)
			ret_row->sent += sim_kind_of(&load->kinds, i) == kind;
	}
}

/* Jain's index, (sum x)^2 / (n * sum x^2), in millionths.  Shares are taken in a unit that keeps
 * 10000 flows of 100 Gbit/s within 64 bits. */
static uint64_t fairness(const struct sim_run *run)
{
	const uint64_t share_bps = 100000;
	uint64_t sum = 0, squares = 0, count = 0;

	for (int f = 0; f < run->options.flows; f++)
		for (unsigned r = 0; r < run->flows[f].receiver_count; r++, count++) {
			uint64_t share =
				sim_report_goodput(&run->flows[f].receivers[r]) / share_bps;

			sum += share;
			squares += share * share;
		}
	return squares ? nopal_scale(nopal_scale(sum, MILLION, count), sum, squares) : 0;
}

static void totals_make(const struct sim_run *run, struct sim_totals *totals)
{
	struct nopal_counters of_flow = { 0 };
	uint64_t left;

	*totals = (struct sim_totals){ .all_delivered = true, .all_well = true };
	for (int i = 0; i < run->options.flows; i++) {
		const struct sim_flow *flow = &run->flows[i];

		counters_join(&of_flow, &flow->sender.counters);
		if (flow->stream + 1 == (unsigned)run->options.streams) {
			counters_add(&totals->sender, &of_flow);
			of_flow = (struct nopal_counters){ 0 };
		}
		totals->messages_sent += flow->next;
		totals->sent_bytes += flow->sent_bytes;
		for (unsigned r = 0; r < flow->receiver_count; r++) {
			const struct sim_receiver *receiver = &flow->receivers[r];

			counters_add(&totals->receiver, &receiver->end.counters);
#define ADD(name) totals->tally.name += receiver->tally.name;
			SIM_TALLY(ADD)
#undef ADD
			if (receiver->last_delivery_ns > totals->last_delivery_ns)
				totals->last_delivery_ns = receiver->last_delivery_ns;
		}
		totals->all_delivered &= flow->complete;
		totals->all_well &= !flow->sender.ended || flow->sender.how == NOPAL_ENDED_WELL;
	}
	totals->delays = delays_of(run, &(struct choice){ NULL, NULL, SIM_KINDS });
	totals->duration_ns = run->last_ns;
	totals->goodput_bps = sim_report_rate(totals->tally.delivered_bytes,
					      totals->last_delivery_ns - run->first_send_ns);
	left = totals->sender.datagram_bytes_out + totals->sender.datagrams_out * UDP_IP_BYTES;
	if (totals->tally.delivered_bytes && left > totals->tally.delivered_bytes)
		totals->overhead_ppm = nopal_scale(left - totals->tally.delivered_bytes, MILLION,
						   totals->tally.delivered_bytes);
	totals->fairness_ppm = fairness(run);
	nopal_sim_link_counters(run->world, 0, 1, &totals->link);
}

int64_t sim_report_queue_ns(const struct nopal_link_counters *link)
{
	uint64_t queued = link->entered - link->overflowed - link->too_big;

	return queued ? link->queue_delay_sum_ns / (int64_t)queued : 0;
}

const char *sim_report_end_word(const struct sim_end *end)
{
	static const char *const words[] = {
		[NOPAL_ENDED_WELL] = "well",
		[NOPAL_REFUSED] = "refused",
		[NOPAL_UNREACHABLE] = "unreachable",
		[NOPAL_NOT_AUTHENTIC] = "not_authentic",
		[NOPAL_PEER_LOST] = "peer_lost",
		[NOPAL_GAVE_UP] = "gave_up",
		[NOPAL_ABORTED] = "aborted",
		[NOPAL_RESOURCE] = "resource",
		[NOPAL_RUNTIME_LIMIT] = "runtime_limit",
		[NOPAL_UNDELIVERED] = "undelivered",
	};

	if (!end->existed)
		return "never_open";
	return end->ended ? words[end->how] : "open";
}

/* --------------------------------------------------------------------- table */

/* A number of nanoseconds with three digits behind the point of its unit. */
static void time_row(const char *name, int64_t time_ns)
{
	static const struct {
		int64_t scale;
		const char *name;
	} units[] = { { NOPAL_SECOND, "s" },
		      { NOPAL_MILLISECOND, "ms" },
		      { NOPAL_MICROSECOND, "us" } };
	const int64_t thousand = 1000;
	size_t i = 0;

	while (i < 2 && time_ns < units[i].scale)
		i++;
	printf("  %-22s %" PRId64 ".%03" PRId64 " %s\n", name, time_ns / units[i].scale,
	       time_ns % units[i].scale / (units[i].scale / thousand), units[i].name);
}

static void count_row(const char *name, uint64_t value)
{
	printf("  %-22s %" PRIu64 "\n", name, value);
}

/* Millionths as a number with `unit` per million. */
static void share_row(const char *name, uint64_t ppm, const char *unit, uint64_t per_unit)
{
	const uint64_t thousand = 1000;

	printf("  %-22s %" PRIu64 ".%03" PRIu64 "%s\n", name, ppm / per_unit,
	       ppm % per_unit / (per_unit / thousand), unit);
}

static void kind_row(const struct sim_run *run, const struct sim_load *load, unsigned kind)
{
	struct sim_kind_row row;

	sim_report_kind(run, load, kind, &row);
	printf("  messages %s%s%s%s: %" PRIu64 " sent, %" PRIu64 " delivered",
	       run->load_count > 1 ? "of " : "",
	       run->load_count > 1 ? nopal_plan_info(load->plan)->name : "",
	       *row.names ? (run->load_count > 1 ? " with " : "with ")
			  : (run->load_count > 1 ? " without properties" : "without properties"),
	       row.names, row.sent, row.delivered);
	if (load->deadline_count)
		printf(", %" PRIu64 " late", row.late);
	printf("\n");
	time_row("  their delay, p50", row.delays.p50_ns);
	time_row("  their delay, p99", row.delays.p99_ns);
}

void sim_report_title(const struct sim_options *options, const struct sim_load *loads,
		      unsigned load_count)
{
	for (unsigned i = 0; i < load_count; i++)
		printf("%s%s", i ? ", " : "", nopal_plan_info(loads[i].plan)->name);
	printf(" over %s, seed", *options->link_text ? options->link_text : "an ideal link");
}

static void late_rows(const struct sim_run *run)
{
	char name[ROW_ROOM];

	for (unsigned l = 0; l < run->load_count; l++)
		for (unsigned i = 0; i < run->loads[l].deadline_count; i++) {
			sim_report_late_name(run->loads, run->load_count, l, i, name, sizeof(name));
			count_row(name, sim_report_late(run, l, i));
		}
}

/* Arrivals at one receiver. */
static void receiver_row(const struct sim_receiver *receiver)
{
	const uint64_t kilo = 1000;
	uint64_t goodput = sim_report_goodput(receiver) / kilo;
	struct sim_delays delays = sim_report_delays(receiver);

	printf("%" PRIu64 " bytes, %" PRIu64 ".%03" PRIu64 " Mbit/s, delay %" PRId64
	       " us, p99 %" PRId64 " us\n",
	       receiver->tally.delivered_bytes, goodput / kilo, goodput % kilo,
	       delays.p50_ns / NOPAL_MICROSECOND, delays.p99_ns / NOPAL_MICROSECOND);
}

static void flow_rows(const struct sim_flow *flow)
{
	const struct sim_run *run = flow->run;
	const struct sim_end *end = &flow->sender;
	char name[ROW_ROOM];

	if (run->options.flows == 1 && flow->receiver_count == 1 && end->ended &&
	    end->how == NOPAL_ENDED_WELL)
		return;
	snprintf(name, sizeof(name), "session %u%s%s", flow->index, run->load_count > 1 ? " " : "",
		 run->load_count > 1 ? nopal_plan_info(flow->load->plan)->name : "");
	printf("  %-22s %s%s%s", name, sim_report_end_word(end), end->text ? ": " : "",
	       end->text ? end->text : "");
	if (flow->receiver_count == 1) {
		printf(", ");
		receiver_row(&flow->receivers[0]);
		return;
	}
	printf("\n");
	for (unsigned r = 0; r < flow->receiver_count; r++) {
		const struct sim_end *there = &flow->receivers[r].end;

		printf("    destination %-8u %s, ", r + 1, sim_report_end_word(there));
		receiver_row(&flow->receivers[r]);
	}
}

static void report_table(const struct sim_run *run, const struct sim_totals *totals)
{
	const struct nopal_counters *sender = &totals->sender;

	sim_report_title(&run->options, run->loads, run->load_count);
	printf(" %" PRIu64 "\n", run->options.seed);
	for (int i = 0; i < run->options.flows; i++)
		flow_rows(&run->flows[i]);
	time_row("virtual time", totals->duration_ns);
	count_row("messages sent", totals->messages_sent);
	count_row("messages delivered", totals->tally.delivered_messages);
	count_row("bytes delivered", totals->tally.delivered_bytes);
	if (sender->messages_missing)
		count_row("missing, says sender", sender->messages_missing);
	if (sim_report_took_no_time(totals->tally.delivered_bytes, totals->goodput_bps))
		printf("  %-22s %s\n", "goodput", "without bound: in no time");
	else
		share_row("goodput", totals->goodput_bps, " Mbit/s", MILLION);
	if (run->options.flows > 1 || run->options.destinations > 1)
		share_row("fairness (Jain)", totals->fairness_ppm, "", MILLION);
	if (totals->tally.duplicate_messages)
		count_row("duplicates", totals->tally.duplicate_messages);
	if (totals->tally.out_of_order_messages)
		count_row("out of order", totals->tally.out_of_order_messages);
	late_rows(run);
	time_row("message delay, p50", totals->delays.p50_ns);
	time_row("message delay, p99", totals->delays.p99_ns);
	time_row("message delay, max", totals->delays.max_ns);
	for (unsigned l = 0; l < run->load_count; l++)
		for (unsigned i = 0;
		     run->loads[l].kinds.with.rule_count && i < run->loads[l].kinds.count; i++)
			kind_row(run, &run->loads[l], i);
	count_row("datagrams", sender->datagrams_out);
	count_row("resends", sender->resends);
	count_row("segments lost", sender->segments_lost);
	count_row("segments timed out", sender->segments_timeout);
	share_row("overhead", totals->overhead_ppm, " %", MILLION / PERCENT);
	count_row("lost on the link", totals->link.lost);
	count_row("dropped at the queue", totals->link.overflowed);
	time_row("queue delay, mean", sim_report_queue_ns(&totals->link));
	time_row("queue delay, peak", totals->link.queue_delay_peak_ns);
	printf("  %-22s %s\n", "bytes verified",
	       totals->tally.wrong_bytes       ? "NO"
	       : totals->tally.delivered_bytes ? "yes"
					       : "none came");
	if (totals->tally.wrong_bytes)
		count_row("wrong bytes", totals->tally.wrong_bytes);
	printf("  %-22s %016" PRIx64 "\n", "trace hash", run->trace_hash);
}

/* Says what is wrong.  False: the run failed. */
static bool report_verdict(struct sim_run *run, const struct sim_totals *totals)
{
	const struct judgement *judgement = &run->judgement;
	bool broken = judge_is_broken(judgement), sound, lacks_messages;

	sound = totals->all_well && !totals->tally.wrong_bytes && !broken;
	/* Lost messages are no failure of a config that does not promise them, nor of a run that
	 * was to be short. */
	lacks_messages = run->lacks_messages && !run->options.duration_given;
	fflush(stdout);
	/* A standstill is reported, whether it was promised to go on or not. */
	if (*run->stuck && judgement->of[NOPAL_PROGRESS].verdict != JUDGE_BROKEN)
		fprintf(stderr, "nopal: stopped: %s\n", run->stuck);
	judge_say(judgement, stderr);
	if (sound && lacks_messages)
		fprintf(stderr,
			"nopal: not all messages were delivered, and the composition promises it\n");
	if (broken || judgement->end || *run->stuck || run->stranded)
		judge_say_held(run->suspects, stderr);
	return sound && !lacks_messages;
}

bool sim_report_end(struct sim_run *run)
{
	struct sim_totals totals;

	totals_make(run, &totals);
	if (run->options.json || run->options.jsonl)
		sim_report_json(run, &totals);
	else
		report_table(run, &totals);
	return report_verdict(run, &totals);
}

bool sim_report_one(struct sim_run *run, struct sim_series *series)
{
	struct sim_totals totals;
	bool good;

	totals_make(run, &totals);
	good = report_verdict(run, &totals);
	if (!good)
		fprintf(stderr, "nopal: so it was with seed %" PRIu64 "\n", run->options.seed);
	sim_series_add(series, run, &totals, good);
	return good;
}
