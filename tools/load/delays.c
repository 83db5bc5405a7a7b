/* SPDX-License-Identifier: MIT */
/*
 * delays.c -- flows of one kind that share a bottleneck, and how long their messages take.
 *
 * A message begins with the time of its writing and its number.  Live, each flow is two processes
 * of its own, and tallies are in memory that all of them share.
 */
#include "load/delays.h"

#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <nopal/microprotocol.h>
#include "frame/tool.h"
#include "load/clock.h"
#include "load/dumbbell.h"

enum { DELAYS_POLL_MS = 1000 };
#define DELAYS_OPENING_NS NOPAL_SECOND
#define DELAYS_GRACE_NS	  (5 * NOPAL_SECOND) /* what is under way may still come */
/* The paper's TCP, as the kernel has it. */
#define DELAYS_CONGESTION "reno"

struct delays_head {
	int64_t written_ns;
	uint64_t number;
};

/* The arrivals of one flow. */
struct delays_tally {
	struct delays_seen seen;
	uint64_t first, highest; /* numbers of what is counted */
	int64_t came_ns;	 /* the last one */
	double last_ms;		 /* its delay */
	bool bunch;		 /* it came together with the one before it */
};

struct delays_run;
/* One end of a flow. */
struct delays_end {
	struct side side;
	struct delays_run *run;
	struct delays_tally *tally;
	int index;
	uint64_t number;
	bool writes, sending, ended;
};

struct delays_run {
	struct delays *delays;
	int64_t from_ns, until_ns; /* messages that were written then are counted */
	struct nopal_world *world;
	struct delays_tally *tallies; /* by flow */
	struct delays_end from[DELAYS_FLOWS], to[DELAYS_FLOWS];
};

/* ------------------------------------------------------------------- tallies */

static void delays_note(struct delays_end *to, const struct delays_head *head, int64_t now_ns)
{
	struct delays_tally *tally = to->tally;
	struct delays_seen *seen = &tally->seen;
	double ms = (double)(now_ns - head->written_ns) / NOPAL_MILLISECOND;

	if (head->written_ns < to->run->from_ns || head->written_ns >= to->run->until_ns)
		return;
	if (!seen->count || head->number < tally->first)
		tally->first = head->number;
	if (head->number > tally->highest)
		tally->highest = head->number;
	if (seen->count) {
		seen->steps_ms += fabs(ms - tally->last_ms);
		seen->bunches += now_ns == tally->came_ns && !tally->bunch;
		tally->bunch = now_ns == tally->came_ns;
		seen->together += tally->bunch;
	}
	tally->last_ms = ms;
	tally->came_ns = now_ns;
	seen->count++;
	seen->sum_ms += ms;
	seen->squares_ms += ms * ms;
	seen->bins[ms < DELAYS_BINS - 1 ? (int)ms : DELAYS_BINS - 1]++;
}

static void delays_gather(struct delays_run *run)
{
	struct delays_seen *all = &run->delays->seen;

	memset(all, 0, sizeof(*all));
	for (int i = 0; i < run->delays->flows; i++) {
		const struct delays_tally *tally = &run->tallies[i];
		const struct delays_seen *one = &tally->seen;

		if (!one->count)
			continue;
		all->count += one->count;
		all->missing += tally->highest - tally->first + 1 - one->count;
		all->together += one->together;
		all->bunches += one->bunches;
		all->sum_ms += one->sum_ms;
		all->squares_ms += one->squares_ms;
		all->steps_ms += one->steps_ms;
		for (int bin = 0; bin < DELAYS_BINS; bin++)
			all->bins[bin] += one->bins[bin];
	}
}

double delays_quantile_ms(const struct delays_seen *seen, double share)
{
	double rank = share * (double)seen->count;
	uint64_t below = 0;

	for (int bin = 0; bin < DELAYS_BINS; bin++) {
		uint64_t here = seen->bins[bin];

		if (here && (double)(below + here) >= rank)
			return bin + (rank - (double)below) / (double)here;
		below += here;
	}
	return NAN;
}

double delays_share(const struct delays_seen *seen, int from_ms, int to_ms)
{
	uint64_t sum = 0;

	for (int bin = from_ms; bin < DELAYS_BINS && (!to_ms || bin < to_ms); bin++)
		sum += seen->bins[bin];
	return seen->count ? (double)sum / (double)seen->count : NAN;
}

double delays_deviation_ms(const struct delays_seen *seen)
{
	double count = (double)seen->count, mean = seen->sum_ms / count;

	return seen->count ? sqrt(fmax(seen->squares_ms / count - mean * mean, 0)) : NAN;
}

double delays_step_ms(const struct delays_seen *seen)
{
	return seen->count > 1 ? seen->steps_ms / (double)(seen->count - 1) : NAN;
}

double delays_missing(const struct delays_seen *seen)
{
	return seen->count ? (double)seen->missing / (double)(seen->missing + seen->count) : NAN;
}

double delays_together(const struct delays_seen *seen)
{
	return seen->count ? (double)seen->together / (double)seen->count : NAN;
}

double delays_bunches(const struct delays_seen *seen)
{
	return seen->count ? (double)seen->bunches / (double)seen->count : NAN;
}

/* ------------------------------------------------------------------- configs */

/* Events may come from within nopal_send(): one at a time. */
static void delays_write(struct delays_end *from)
{
	uint8_t bytes[DELAYS_MAX_BYTES] = { 0 };
	struct delays_head head;

	if (from->sending || !from->writes || !from->side.session)
		return;
	from->sending = true;
	do {
		head = (struct delays_head){ side_now(&from->side), from->number++ };
		memcpy(bytes, &head, sizeof(head));
	} while (nopal_send(from->side.session, bytes, from->run->delays->bytes, 0) == 0);
	from->number--;
	from->sending = false;
}

static void delays_on_sender(void *user, const struct side_event *event)
{
	struct delays_end *from = user;

	if (event->kind == SIDE_OPENED)
		from->side.session = event->session;
	if (event->kind == SIDE_OPENED || event->kind == SIDE_WRITABLE)
		delays_write(from);
	if (event->kind != SIDE_ENDED || from->side.over)
		return;
	from->ended = true;
	if (from->side.loop)
		side_over(&from->side);
}

static void delays_on_receiver(void *user, const struct side_event *event)
{
	struct delays_end *to = user;
	struct delays_head head = { 0 };

	if (event->kind != SIDE_RECEIVED)
		return;
	nopal_message_copy(event->message, 0, &head, sizeof(head));
	delays_note(to, &head, side_now(&to->side));
}

/* --------------------------------------------------------------------- a run */

static bool delays_begin(struct delays_run *run)
{
	int flows = run->delays->flows;
	size_t bytes = (size_t)flows * sizeof(*run->tallies);

	run->tallies = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->tallies == MAP_FAILED)
		return false;
	for (int i = 0; i < flows; i++) {
		struct delays_end end = { .run = run, .tally = &run->tallies[i], .index = i };

		run->from[i] = run->to[i] = end;
		run->from[i].side.on = delays_on_sender;
		run->to[i].side.on = delays_on_receiver;
	}
	return true;
}

static void delays_finish(struct delays_run *run)
{
	munmap(run->tallies, (size_t)run->delays->flows * sizeof(*run->tallies));
}

static int64_t delays_stagger(const struct delays *delays, int flow)
{
	return dumbbell_draw(delays->seed * DELAYS_FLOWS + (uint64_t)flow, delays->stagger_ns);
}

/* ----------------------------------------------------------------- simulated */

static void delays_start(void *user)
{
	struct delays_end *from = user;

	from->writes = true;
	delays_write(from);
}

bool delays_run(struct delays *delays)
{
	struct delays_run run = {
		.delays = delays,
		.from_ns = DELAYS_OPENING_NS + delays->stagger_ns + delays->warm_ns,
		.world = nopal_sim_new(delays->seed),
	};
	bool begun = run.world && delays_begin(&run);
	bool good = begun && nopal_sim_dumbbell(run.world, delays->flows, &delays->edge,
						&delays->forward, &delays->reverse) >= 0;

	run.until_ns = run.from_ns + delays->run_ns;
	/* Some compositions leave no room in the queue for others that open: all open before they
	 * write. */
	for (int i = 0; good && i < delays->flows; i++) {
		struct delays_end *from = &run.from[i], *to = &run.to[i];

		from->side.world = to->side.world = run.world;
		good = side_connect(run.world, 2 * i, 2 * i + 1, delays->plan, from, to) &&
		       nopal_sim_at(run.world, DELAYS_OPENING_NS + delays_stagger(delays, i),
				    delays_start, from) >= 0;
	}
	if (good)
		nopal_sim_run(run.world, run.until_ns + DELAYS_GRACE_NS);
	for (int i = 0; good && i < delays->flows; i++)
		good = !run.from[i].ended;
	if (good)
		delays_gather(&run);
	if (run.world)
		nopal_world_free(run.world);
	if (begun)
		delays_finish(&run);
	return good;
}

/* ---------------------------------------------------------------------- live */

/* The kernel's TCP: a message whose first byte finds no room gets a new time. */
static void delays_ask(void *user, int fd)
{
	const struct delays_end *from = user;
	const struct delays *delays = from->run->delays;
	size_t whole = delays->bytes, left = whole;
	uint8_t bytes[DELAYS_MAX_BYTES] = { 0 };
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	struct delays_head head = { 0 };
	int half = delays->send_buffer / 2; /* the kernel doubles it, for what it needs itself */

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, DELAYS_CONGESTION, strlen(DELAYS_CONGESTION));
	while ((head.written_ns = clock_now_ns()) < from->run->until_ns) {
		ssize_t sent;

		if (left == whole)
			memcpy(bytes, &head, sizeof(head));
		sent = send(fd, bytes + whole - left, left, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && (errno != EAGAIN || poll(&room, 1, DELAYS_POLL_MS) < 0))
			return;
		if (sent > 0)
			left -= (size_t)sent;
		if (left)
			continue;
		left = whole;
		head.number++;
	}
}

static void delays_answer(void *user, int fd)
{
	struct delays_end *to = user;
	uint8_t bytes[DELAYS_MAX_BYTES];
	struct delays_head head;

	while (bench_socket_receive(fd, bytes, to->run->delays->bytes)) {
		memcpy(&head, bytes, sizeof(head));
		delays_note(to, &head, clock_now_ns());
	}
}

bool delays_run_live(struct delays *delays, const struct bench_place *pair)
{
	struct delays_run run = {
		.delays = delays,
		.from_ns = clock_now_ns() + delays->stagger_ns + delays->warm_ns,
	};
	const struct side_place place = { .live = true, .pair = *pair };
	pid_t flows[DELAYS_FLOWS] = { 0 };
	bool good = delays_begin(&run);
	int status;

	if (!good)
		return false;
	run.until_ns = run.from_ns + delays->run_ns;
	for (int i = 0; i < delays->flows; i++) {
		struct delays_end *from = &run.from[i];
		struct side_work work = {
			.protocol = delays->plan ? SIDE_CONFIG : SIDE_TCP,
			.plan = delays->plan,
			.opener = &from->side,
			.listener = &run.to[i].side,
			.ask = delays_ask,
			.answer = delays_answer,
		};

		flows[i] = fork();
		if (flows[i] != 0)
			continue;
		/* One flow, in a process of its own. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		poll(NULL, 0, (int)(delays_stagger(delays, i) / NOPAL_MILLISECOND));
		from->writes = true;
		from->side.patience_ns = run.until_ns - clock_now_ns() + DELAYS_GRACE_NS;
		_exit(side_work(&work, &place) && !from->ended ? 0 : 1);
	}
	for (int i = 0; i < delays->flows; i++)
		good = flows[i] > 0 && waitpid(flows[i], &status, 0) == flows[i] && status == 0 &&
		       good;
	if (good)
		delays_gather(&run);
	delays_finish(&run);
	return good;
}
