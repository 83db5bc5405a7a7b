/* SPDX-License-Identifier: MIT */
/*
 * bbr_model.h -- the shared variables by which bbr_congestion and the parts that modify it meet.
 *
 * bbr_congestion writes its model of the path; a part of role path_model_modifier reads it and
 * writes modifiers, which bbr_congestion reads with the next ack, or a neutral value where no such
 * part is there.  All modifiers are written before bbr_congestion handles ACK_PROCESSED, from the
 * model as the ack before left it.
 */
#ifndef NOPAL_BBR_MODEL_H
#define NOPAL_BBR_MODEL_H

#include <nopal/microprotocol.h>

/* Rows of the model: of its one writer, and of a reader. */
#define BBR_MODEL_BANDWIDTH(access)                                                                \
	"bottleneck_bps", access, 0, "largest rate of delivery of the last ten rounds"
#define BBR_MODEL_MIN_RTT(access) "path_rtt_ns", access, 0, "round trip of the path without a queue"
#define BBR_MODEL_ROUND(access)	  "delivery_round", access, 0, "round trips of what is delivered"
#define BBR_MODEL_SLOW(access)                                                                     \
	"sends_slowly", access, 0, "1: what leaves now is no more than the bottleneck takes"
#define BBR_MODEL_SAMPLE(access)                                                                   \
	"rate_sample_packet", access, -1, "segment whose sample the ack is; -1: none"
#define BBR_MODEL_LIMITED(access)                                                                  \
	"rate_sample_limited", access, 0, "1: the application had no more to send then"
#define BBR_MODEL_STARTING(access) "in_startup", access, 1, "1: the bandwidth is looked for"

/* Modifiers. */
#define BBR_USUAL_RTT(access)                                                                      \
	"usual_rtt_ns", access, -1, "round trip that most packets have; 0: none; -1: as timed"
#define BBR_OVERTAKEN(access)                                                                      \
	"overtaken_rtt_ns", access, 0,                                                             \
		"packets overtake: round trip of the first that was overtaken; 0: none was"
#define BBR_EARLY_RTT(access)                                                                      \
	"early_rtt_ns", access, 0, "a shorter round trip was told early; 0: none was"
#define BBR_EARLY_MAX(access)                                                                      \
	"early_most_bytes", access, INT64_MAX, "more told early by one ack is no bandwidth"
#define BBR_PASSED(access) "passed_bytes", access, 0, "of the sample, lost behind the bottleneck"
#define BBR_RANDOM_LOSS(access)                                                                    \
	"random_loss_ppm", access, 0, "share of transmissions lost without congestion"
#define BBR_STARTUP_MIN(access)                                                                    \
	"startup_least_bps", access, 0, "rate that startup goes to at once; 0: not known"
#define BBR_STARTUP_MAX(access)                                                                    \
	"startup_most_bps", access, 0, "rate that startup does not exceed; 0: none"
#define BBR_LOSES(access)	 "startup_overflows", access, 0, "1: startup lost too much"
#define BBR_QUEUE_STANDS(access) "queue_stands", access, 0, "1: for a whole round trip"
#define BBR_BURST(access)	 "ack_burst_bytes", access, 0, "bytes that acks run ahead"
#define BBR_DRAINS(access)	 "drain_requests", access, 0, "so often a queue had to go"
#define BBR_SLOW_ROUNDS(access)	 "drain_round_trips", access, 1, "longest slow phase"
#define BBR_PROBE_RTT_PERCENT(access)                                                              \
	"probe_rtt_percent", access, 0, "of a product, kept in probe rtt; 0: four segments"

/* The round trip of an ack, where it was timed; 0: none. */
static inline int64_t bbr_timed_rtt(const struct nopal_ack *ack, int64_t latest_ns)
{
	return ack->largest_is_new && ack->largest_sent_ns >= 0 ? latest_ns : 0;
}

/* Roles of a part that modifies the model. */
#define BBR_MODIFIER                                                                               \
	.provides = NOPAL_ROLES({ "path_model_modifier" }),                                        \
	.needs = NOPAL_RELATIONS({ "path_model", "a model of the path is modified" })

#endif
