/* SPDX-License-Identifier: MIT */
/*
 * bbr_gain.h -- how much faster or slower than the bottleneck BBR sends: its modes, and the phases
 * of the one that lasts.
 */
#ifndef NOPAL_BBR_GAIN_H
#define NOPAL_BBR_GAIN_H

#include <nopal/microprotocol.h>

enum bbr_mode {
	BBR_STARTUP,
	BBR_DRAIN,
	BBR_PROBE_BANDWIDTH,
	BBR_PROBE_RTT,
};
/* Percent, as in the paper; 2.77 is 4 ln 2 (BBR's own derivation of startup, 2018). */
enum {
	BBR_UNITY = 100,
	BBR_STARTUP_GAIN = 277,
	BBR_DRAIN_GAIN = 36,
	BBR_PHASES = 8,
	BBR_SLOW_PHASE = 1,
};
static const uint8_t bbr_phase_gain[BBR_PHASES] = { 125, 75, 100, 100, 100, 100, 100, 100 };

static inline uint32_t bbr_gain_of(enum bbr_mode mode, uint32_t phase)
{
	switch (mode) {
	case BBR_STARTUP:
		return BBR_STARTUP_GAIN;
	case BBR_DRAIN:
		return BBR_DRAIN_GAIN;
	case BBR_PROBE_BANDWIDTH:
		return bbr_phase_gain[phase];
	case BBR_PROBE_RTT:
		break;
	}
	return BBR_UNITY;
}

#endif
