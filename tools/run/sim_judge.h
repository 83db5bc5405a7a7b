/* SPDX-License-Identifier: MIT */
/*
 * sim_judge.h -- the facts of a simulated run, and the end of one that stands still.
 */
#ifndef NOPAL_SIM_JUDGE_H
#define NOPAL_SIM_JUDGE_H

#include "run/sim.h"

/* From time to time while it runs; false: it stands still, and is cut. */
bool sim_judge_goes_on(struct sim_run *run);
/* Is it time for that?  After each step: so many have passed, or so much time. */
enum { SIM_JUDGE_STEPS = 4096 };
static inline bool sim_judge_is_due(struct sim_run *run)
{
	struct sim_progress *progress = &run->progress;

	return ++progress->steps % SIM_JUDGE_STEPS == 0 ||
	       nopal_world_now(run->world) >= progress->at_ns + progress->patience_ns;
}
/* Nothing is left to happen. */
void sim_judge_idle(struct sim_run *run);
/* The holds of a session when it ended, or holds when the run does. */
void sim_judge_held(struct sim_run *run, struct sim_end *end, const struct nopal_session *session);
/* One of the destinations of the flow's sender ended: the same. */
void sim_judge_destination(struct sim_flow *flow, const struct nopal_destination_info *info);
/* When all has ended: verdicts, and whom they blame. */
void sim_judge(struct sim_run *run);

#endif
