/* SPDX-License-Identifier: MIT */
/*
 * full_pipe.h -- has a startup filled the pipe?
 *
 * The pipe is full when for three rounds the bandwidth did not grow by a quarter: more in flight
 * brings no more (Cardwell et al., BBR, 2016).
 */
#ifndef NOPAL_FULL_PIPE_H
#define NOPAL_FULL_PIPE_H

#include <nopal/microprotocol.h>

enum {
	FULL_PIPE_ROUNDS = 3,
	FULL_PIPE_GROWTH = 125, /* percent */
	FULL_PIPE_UNITY = 100,
};

struct full_pipe {
	uint64_t grown_bps; /* growth is against it */
	uint32_t rounds;    /* without growth */
	bool full;
};

static inline void full_pipe_begin(struct full_pipe *pipe)
{
	*pipe = (struct full_pipe){ .full = false };
}

/* With each ack; `round`: one ended that tells of the bandwidth. */
static inline void full_pipe_note(struct full_pipe *pipe, bool round, uint64_t bandwidth_bps)
{
	if (pipe->full || !round)
		return;
	if (bandwidth_bps >= nopal_scale(pipe->grown_bps, FULL_PIPE_GROWTH, FULL_PIPE_UNITY)) {
		pipe->grown_bps = bandwidth_bps;
		pipe->rounds = 0;
	} else {
		pipe->rounds++;
	}
	pipe->full = pipe->rounds >= FULL_PIPE_ROUNDS;
}

#endif
