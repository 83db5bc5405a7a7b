/* SPDX-License-Identifier: MIT */
/*
 * receiver_path.h -- the path to one of many destinations, as its reports show it: is the path
 * congested at this rate, or does it lose segments whatever the rate is?
 *
 * A loss is congestion where a queue stands, as one does before it overflows.  Where none stands,
 * for it is short, numbers tell: of the segments that are judged together more are lost than at a
 * rate that the path surely carries, by three standard deviations.  Losses in a row count once, for
 * the same event may drop several segments.  A share of more than a tenth is never random.
 *
 * The share of the rate that passes is the share of the segments that arrives, times the time in
 * which they left over the time in which they arrived, which is longer by the growth of the queue.
 *
 * After Fu, Liew, TCP Veno, JSAC 2003 (by a queue random losses are told from others); Cardwell and
 * others, BBR, 2016 (losses at slow rates are random, see random_loss.h); Casetti and others, TCP
 * Westwood, 2002 (what passed says how far to fall).
 */
#ifndef NOPAL_RECEIVER_PATH_H
#define NOPAL_RECEIVER_PATH_H

#include "../congestion/standing_queue.h"

enum {
	RECEIVER_PATH_ONE = 1 << 20,	 /* a share of 1 */
	RECEIVER_PATH_SMOOTH = 512,	 /* segments of which the loss is known */
	RECEIVER_PATH_TOGETHER = 1024,	 /* are judged so, at most */
	RECEIVER_PATH_ENOUGH = 2048,	 /* slow ones, for a tenth to be too much */
	RECEIVER_PATH_MEMORY = 8192,	 /* of slow ones */
	RECEIVER_PATH_FEW = 64,		 /* slow ones say nothing */
	RECEIVER_PATH_DEVIATIONS = 9,	 /* three, squared */
	RECEIVER_PATH_RANDOM_PARTS = 10, /* one of so many at most */
	RECEIVER_PATH_FLOODED = RECEIVER_PATH_ONE / 8 * 7, /* less passes */
	RECEIVER_PATH_PASSED_SMOOTH = 4,
	RECEIVER_PATH_PASSED_MAX = 2 * RECEIVER_PATH_ONE,
	RECEIVER_PATH_PASSED_PARTS = 2,	  /* one of so many at least */
	RECEIVER_PATH_REPORTED = 1 << 20, /* an honest report has no more */
};
/* An older least round trip is replaced by the next, as in min_rtt.h. */
#define RECEIVER_PATH_OLD_NS	 (10 * NOPAL_SECOND)
#define RECEIVER_PATH_MIN_RTT_NS NOPAL_MILLISECOND

/* Lies in the words that a policy has of each destination, which are 0 at first. */
struct receiver_path {
	int64_t rtt_ns;		    /* smoothed */
	int64_t min_ns, found_ns;   /* the least round trip */
	int64_t latest_ns, left_ns; /* the latest one, and when it began */
	int64_t queued_ns;	    /* since when all met a queue; 0: the latest did not */
	uint32_t loss;		    /* smoothed share, near the least rate */
	uint32_t hurt;		    /* the same of congestion, at any */
	/* Segments at slow rates, and in how many rows those went missing. */
	uint32_t slow, slow_lost, slow_rows;
	uint32_t sent, lost, rows; /* that are judged together */
	uint32_t since;		   /* segments of the next round trip */
	uint32_t left_a_second;	   /* segments, before the latest; 0: unknown */
	int32_t passed;		   /* of the rate, smoothed */
};

static inline struct receiver_path *receiver_path_of(struct nopal_destination *destination)
{
	_Static_assert(sizeof(struct receiver_path) <= NOPAL_PACE_WORDS * sizeof(uint64_t),
		       "each destination has room for it");
	return (struct receiver_path *)nopal_pace(destination);
}

/* ------------------------------------------------------------------- round trips */

static inline void receiver_path_meet(struct receiver_path *path,
				      const struct nopal_channel_report *report, int64_t now_ns)
{
	/* Segments that left in `left_ns` arrived in `came_ns`: longer while the queue grows. */
	int64_t left_ns = report->left_ns - path->left_ns;
	int64_t came_ns = left_ns + report->sample_ns - path->latest_ns;
	int64_t passed = RECEIVER_PATH_PASSED_MAX;

	if (!path->min_ns || report->sample_ns <= path->min_ns ||
	    now_ns - path->found_ns > RECEIVER_PATH_OLD_NS) {
		path->min_ns = report->sample_ns;
		path->found_ns = now_ns;
	}
	if (standing_queue_is_small(report->sample_ns, path->min_ns))
		path->queued_ns = 0;
	else if (!path->queued_ns)
		path->queued_ns = now_ns;
	if (path->left_ns) {
		path->left_a_second = 0;
		if (left_ns > 0) {
			path->left_a_second =
				(uint32_t)nopal_scale(path->since, NOPAL_SECOND, (uint64_t)left_ns);
			if (came_ns > left_ns / RECEIVER_PATH_PASSED_PARTS)
				passed = (int64_t)nopal_scale((uint64_t)left_ns, RECEIVER_PATH_ONE,
							      (uint64_t)came_ns);
			path->passed +=
				(int32_t)((passed - path->passed) / RECEIVER_PATH_PASSED_SMOOTH);
		}
	} else {
		path->passed = RECEIVER_PATH_ONE;
	}
	path->latest_ns = report->sample_ns;
	path->left_ns = report->left_ns;
	path->since = 0;
}

/* Has a queue stood for a round trip, and was it met in the last one? */
static inline bool receiver_path_is_queued(const struct receiver_path *path, int64_t now_ns)
{
	int64_t met_ns = path->left_ns + path->latest_ns;

	return path->queued_ns && now_ns - met_ns <= path->rtt_ns &&
	       now_ns - path->queued_ns >= path->min_ns;
}

/* There is a queue, and it grows: more leaves than passes. */
static inline bool receiver_path_is_flooded(const struct receiver_path *path)
{
	return path->queued_ns && path->passed < RECEIVER_PATH_FLOODED;
}

/* ------------------------------------------------------------------------- losses */

static inline uint32_t receiver_path_smooth(uint32_t share, uint64_t lost, uint64_t of)
{
	uint64_t all = RECEIVER_PATH_SMOOTH + of;

	return (uint32_t)(nopal_scale(share, RECEIVER_PATH_SMOOTH, all) +
			  nopal_scale(lost, RECEIVER_PATH_ONE, all));
}

/* Notes a report, before it is judged. */
static inline void receiver_path_note(struct receiver_path *path,
				      struct nopal_channel_report *report, int64_t now_ns)
{
	if (report->arrived > RECEIVER_PATH_REPORTED)
		report->arrived = RECEIVER_PATH_REPORTED;
	if (report->missing > RECEIVER_PATH_REPORTED)
		report->missing = RECEIVER_PATH_REPORTED;
	if (report->rows > report->missing)
		report->rows = report->missing;
	path->rtt_ns = report->rtt_ns > RECEIVER_PATH_MIN_RTT_NS ? report->rtt_ns
								 : RECEIVER_PATH_MIN_RTT_NS;
	path->since += (uint32_t)(report->arrived + report->missing);
	if (report->sample_ns > 0)
		receiver_path_meet(path, report, now_ns);
}

/* The segments that are judged together begin with the next report. */
static inline void receiver_path_begin(struct receiver_path *path)
{
	path->sent = path->lost = path->rows = 0;
}

/* Are so many rows lost that it is no chance? Two counts deviate: this one, and that of slow
 * segments.  A tenth of the segments at most are lost by chance: as many as at slow rates, where
 * that is `known`, else the tenth. */
static inline bool receiver_path_overflows(const struct receiver_path *path, bool known)
{
	uint64_t slow = path->slow > RECEIVER_PATH_FEW ? path->slow : RECEIVER_PATH_FEW;
	uint64_t random = nopal_scale(path->slow_rows, path->sent, slow);
	uint64_t max = nopal_scale(path->sent / RECEIVER_PATH_RANDOM_PARTS, path->rows, path->lost);
	uint64_t beyond;

	if (!known || random > max)
		random = max;
	beyond = path->rows > random ? path->rows - random : 0;

	if (slow >= RECEIVER_PATH_ENOUGH && path->slow_lost > slow / RECEIVER_PATH_RANDOM_PARTS)
		return true;
	return beyond * beyond >
	       nopal_scale(RECEIVER_PATH_DEVIATIONS * (random + 1), slow + path->sent, slow);
}

/* Is the path congested?  `known`: as above; before, a queue that grows is congestion, too, though
 * nothing is lost yet.  Such a path is hurt as by one loss, or another would stand for all. */
static inline bool receiver_path_judge(struct receiver_path *path,
				       const struct nopal_channel_report *report, int64_t now_ns,
				       bool known)
{
	uint64_t sent = report->arrived + report->missing;
	bool queued = receiver_path_is_queued(path, now_ns);
	bool flooded = queued && receiver_path_is_flooded(path), congested;

	if (path->sent >= RECEIVER_PATH_TOGETHER)
		receiver_path_begin(path);
	path->sent += (uint32_t)sent;
	path->lost += (uint32_t)report->missing;
	path->rows += (uint32_t)report->rows;
	congested = report->missing ? queued || receiver_path_overflows(path, known)
				    : flooded && !known;
	path->hurt = receiver_path_smooth(path->hurt, congested ? report->missing : flooded, sent);
	return congested;
}

/* A report of segments that left at a rate that is slow for this path.  Where they met a queue the
 * rate was not slow: they count as free of loss, and what was learned wrong fades. */
static inline void receiver_path_learn(struct receiver_path *path,
				       const struct nopal_channel_report *report)
{
	path->slow += (uint32_t)(report->arrived + report->missing);
	if (!path->queued_ns) {
		path->slow_lost += (uint32_t)report->missing;
		path->slow_rows += (uint32_t)report->rows;
	}
	if (path->slow < RECEIVER_PATH_MEMORY)
		return;
	path->slow /= 2;
	path->slow_lost /= 2;
	path->slow_rows /= 2;
}

/* A few reports are no reason to fall to nothing. */
static inline uint32_t receiver_path_bounded(int64_t passed)
{
	const int64_t min = RECEIVER_PATH_ONE / RECEIVER_PATH_PASSED_PARTS;

	if (passed < min)
		passed = min;
	return passed < RECEIVER_PATH_ONE ? (uint32_t)passed : RECEIVER_PATH_ONE;
}

/* The share of the rate that passes, by times of arrival. */
static inline uint32_t receiver_path_passing(const struct receiver_path *path)
{
	return receiver_path_bounded(path->passed);
}

/* The share that passed, by that and by losses. */
static inline uint32_t receiver_path_passed(const struct receiver_path *path)
{
	uint32_t passing = receiver_path_passing(path);

	if (!path->sent)
		return passing;
	return receiver_path_bounded(
		(int64_t)nopal_scale(passing, path->sent - path->lost, path->sent));
}

#endif
