/* SPDX-License-Identifier: MIT */
/*
 * channel_repair.h -- the state of channel_repair, and the handlers of its two halves,
 * channel_sender.c and channel_receiver.c.
 */
#ifndef NOPAL_CHANNEL_REPAIR_H
#define NOPAL_CHANNEL_REPAIR_H

#include <nopal/microprotocol.h>

#include "../status/outstanding.h"

struct channel_repair_parameters {
	int64_t backoff_ns, again_ns, report_ns, every, patience_ns, window;
};

/* attributes */
enum {
	CHANNEL_REPAIR_NUMBER,
	CHANNEL_REPAIR_AGE, /* destinations that have joined since then had it so */
	CHANNEL_REPAIR_DESTINATION,
	CHANNEL_REPAIR_MESSAGE,
};
/* kinds */
enum {
	CHANNEL_REPAIR_POINT,
	CHANNEL_REPAIR_NAK,
	CHANNEL_REPAIR_REPORT,
	CHANNEL_REPAIR_TOP,
};
/* timers */
enum { CHANNEL_REPAIR_REMIND, CHANNEL_REPAIR_ASK, CHANNEL_REPAIR_TELL };
/* shared variables */
enum {
	CHANNEL_REPAIR_NAKS,
	CHANNEL_REPAIR_SUPPRESSED,
	CHANNEL_REPAIR_UNMET,
};

enum {
	CHANNEL_REPAIR_NUMBER_BYTES = 8,
	CHANNEL_REPAIR_COUNT_BYTES = 4,
	CHANNEL_REPAIR_POINT_BYTES = 2 * CHANNEL_REPAIR_NUMBER_BYTES,
	CHANNEL_REPAIR_REPORT_BYTES =
		2 * CHANNEL_REPAIR_NUMBER_BYTES + 4 * CHANNEL_REPAIR_COUNT_BYTES,
	CHANNEL_REPAIR_RANGES = 64, /* of one nak, at most */
	CHANNEL_REPAIR_HOLES = 8,   /* whose times are known */
	/* A gap and a length: varints of 64 bits. */
	CHANNEL_REPAIR_RANGE_BYTES = 20,
	CHANNEL_REPAIR_NAK_BYTES =
		CHANNEL_REPAIR_NUMBER_BYTES + CHANNEL_REPAIR_RANGES * CHANNEL_REPAIR_RANGE_BYTES,
};

/* The sender's notes of a destination. */
enum {
	CHANNEL_REPAIR_CUMULATIVE, /* below it all has its outcome, as far as it was multicast */
	CHANNEL_REPAIR_SINCE,	   /* the age with which it joined */
	CHANNEL_REPAIR_RTT,	   /* smoothed, ns */
	CHANNEL_REPAIR_STAYS,	   /* since when its cumulative ack does, below the end; 0: no */
	CHANNEL_REPAIR_FIRST,	   /* number that is for it */
	CHANNEL_REPAIR_ORDER,	   /* message that is */
};

struct channel_sender {
	struct outstanding multicast; /* numbers with copies whose outcome is open */
	uint64_t next;		      /* number; 0: nothing has left */
	uint64_t order;		      /* one past the last message of which a part left */
	uint64_t age;
	int64_t left_ns;   /* the last first transmission */
	int64_t remind_ns; /* how long to wait for the next reminder */
	uint32_t lost;	   /* repairs, as the nak says that is read now */
};

struct channel_receiver {
	struct nopal_numbers seen;
	/* Where its part begins; first 0: not told yet. */
	uint64_t first, order;
	uint64_t top; /* one past the highest number that is known to exist */
	uint64_t latest;
	int64_t latest_ns;
	/* Since the last report; missing is negative when some came late that an earlier report
	 * counted. */
	uint32_t arrived, rows;
	int64_t missing;
	uint64_t told; /* cumulative ack of the last report */
	bool asked;    /* and has not heard of a repair since */
	/* How far the path was seen to reorder, and after how many naks without such sight that is
	 * forgotten. */
	int64_t late_ns;
	uint32_t persist;
	uint64_t ripe;	  /* holes below it are asked for next */
	uint64_t repairs; /* what is below it may be a repair */
	struct channel_hole {
		uint64_t first;
		int64_t found_ns;
	} holes[CHANNEL_REPAIR_HOLES]; /* of late: a ring */
	uint32_t newest;
};

struct channel_repair {
	struct channel_sender sender;
	struct channel_receiver receiver;
};

/* Numbers of one message, from low to high: the first, and then for each range the gap to it and
 * its length. */
struct channel_ranges {
	struct nopal_reader reader;
	uint64_t first, end; /* of the range that is read now */
};
static inline struct channel_ranges nopal__channel_ranges(struct nopal_reader reader)
{
	return (struct channel_ranges){ .reader = reader };
}
/* False: there is none, or it makes no sense. */
static inline bool nopal__channel_next(struct channel_ranges *ranges)
{
	uint64_t gap, length;

	if (!nopal_read_left(&ranges->reader))
		return false;
	gap = ranges->end ? nopal_read_varint(&ranges->reader)
			  : nopal_read(&ranges->reader, CHANNEL_REPAIR_NUMBER_BYTES);
	length = nopal_read_varint(&ranges->reader);
	if (ranges->reader.bad || !length || gap > INT64_MAX - ranges->end)
		return false;
	ranges->first = ranges->end + gap;
	if (length > INT64_MAX - ranges->first)
		return false;
	ranges->end = ranges->first + length;
	return true;
}

/* channel_sender.c */
nopal_SEND_SEGMENT_handler nopal__channel_sent;
nopal_COPY_DONE_handler nopal__channel_on_copy;
nopal_SEGMENT_DONE_handler nopal__channel_on_done;
nopal_DESTINATION_ADDED_handler nopal__channel_added;
nopal_DESTINATION_OPENED_handler nopal__channel_opened;
nopal_DESTINATION_JOINED_handler nopal__channel_heard;
nopal_DESTINATION_ENDED_handler nopal__channel_ended;
nopal_SEGMENT_FROM_NET_handler nopal__channel_nak, nopal__channel_report;
nopal_timer_handler nopal__channel_remind;

/* channel_receiver.c */
nopal_SEGMENT_FROM_NET_handler nopal__channel_point, nopal__channel_data, nopal__channel_top;
nopal_timer_handler nopal__channel_ask, nopal__channel_tell;

#endif
