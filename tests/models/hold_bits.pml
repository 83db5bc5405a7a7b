/* SPDX-License-Identifier: MIT */
/*
 * hold_bits.pml -- the send, done and deallocate barriers of a segment, with
 * the four rules of docs/architecture.md as switches:
 *
 *   EPOCH       a transmission re-arms every send bit that is not sticky
 *   GENERATION  an event that names a segment which is gone does nothing
 *   DONE        a segment that is done is never sent again
 *   OWNER       a bit is released only while it is held: once an epoch
 *
 * HALF_EPOCH is the tempting half of EPOCH: only the window's bit is re-armed.
 *
 * Three microprotocols hold bits: a driver (send, sticky), a window (send) and
 * retransmission (send, done, deallocate); redundancy holds deallocate alone, so
 * that a segment lives on after it is done.  Memory is reused: a slot carries
 * USES segments, one after the other, and a late event of the first may meet
 * the second.  Loss and time-out are queued events, as acks are, so both may be
 * on their way for one transmission.
 *
 * Invariants:
 *   S1 a handler never looks at a segment that is gone
 *   S2 nothing leaves after it is done         S3 it becomes done once
 *   S4 what is in flight fits the window        S5 only a segment that was never
 *   sent, or that is asked for again, leaves   S6 done means: this very segment
 *   reached the peer                            S7 every segment is freed in the end
 * tests/models/run proves them with all rules, and shows that each rule is
 * needed.
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef USES
#define USES 2
#endif
#define LOSSES	   1
#define DUPLICATES 1
#define HASTE	   1 /* time-outs that fire although an answer is under way */
#define ROOM	   8 /* of the channels: never full with the figures above */

/* bits of the send barrier */
#define DRIVER 1
#define WINDOW 2
#define RESEND 4
/* bits of the deallocate barrier */
#define RETRANSMISSION 1
#define REDUNDANCY     2

mtype = { received, lost, timed_out };

typedef segment {
	bit alive, done, sent, away, asked, counted, armed, reached;
	bit finish_held;
	byte generation;
	byte held, waiting; /* the send barrier: which bits, and how many */
	byte keepers	    /* the deallocate barrier */
};

segment table[SLOTS];
byte window = SLOTS, in_flight, losses, duplicates, haste;
chan network = [ROOM] of { byte, byte };	/* slot, generation */
chan queue = [ROOM] of { mtype, byte, byte };	/* what, slot, generation */

#define it table[slot]
#ifdef DONE
#define refused(segment) segment.done
#else
#define refused(segment) false
#endif
#define ready(segment) (segment.alive && segment.held == WINDOW && !refused(segment))

inline leave(slot)
{
	assert(it.alive && !it.done);		/* S2 */
	assert(!it.sent || it.asked);		/* S5 */
	if
	:: !it.counted -> it.counted = 1; in_flight++
	:: else
	fi;
	assert(in_flight <= window);		/* S4 */
	it.sent = 1; it.away = 1; it.asked = 0; it.armed = 1;
#ifdef EPOCH
	it.held = WINDOW | RESEND;
	it.waiting = 2;
#else
#ifdef HALF_EPOCH
	it.held = WINDOW;
	it.waiting = 1;
#endif
#endif
	network!slot, it.generation
}

/* Release one send bit; the last one lets the segment go. */
inline release(slot, which)
{
	if
#ifdef OWNER
	:: !(it.held & which) -> skip
#endif
	:: else ->
		it.held = it.held & (7 - which);
		if
		:: it.waiting > 0 -> it.waiting--
		:: else
		fi;
		if
		:: it.waiting == 0 -> leave(slot)
		:: else
		fi
	fi
}

/* The window lets those go who wait for nothing else. */
inline grant()
{
	n = 0;
	do
	:: n < SLOTS ->
		if
		:: ready(table[n]) && in_flight < window -> release(n, WINDOW)
		:: else
		fi;
		n++
	:: else -> n = 0; break
	od
}

inline uncount(slot)
{
	if
	:: it.counted -> it.counted = 0; in_flight--
	:: else
	fi
}

inline keep_no_more(slot, who)
{
	it.keepers = it.keepers & (3 - who);
	if
	:: it.keepers == 0 -> it.alive = 0; it.armed = 0
	:: else
	fi
}

/* SEGMENT_LOST and SEGMENT_TIMEOUT */
inline ask_again(slot)
{
	uncount(slot);
	window = 1;
	if
	:: refused(it) -> skip
#ifdef OWNER
	:: !it.away -> skip /* asked for already, in this epoch */
#endif
	:: else ->
		it.away = 0; it.asked = 1;
#ifndef EPOCH
		/* figure 4 of the paper: clear the bit, then set it */
		if
		:: !(it.held & RESEND) -> it.held = it.held | RESEND; it.waiting++
		:: else
		fi;
#endif
		release(slot, RESEND)
	fi;
	grant()
}

/* SEGMENT_RECEIVED */
inline finish(slot)
{
	uncount(slot);
	it.armed = 0;
	if
#ifdef OWNER
	:: !it.finish_held -> skip
#endif
	:: else ->
		assert(it.reached);		/* S6 */
		assert(!it.done);		/* S3 */
		it.finish_held = 0;
		it.done = 1;
		keep_no_more(slot, RETRANSMISSION)
	fi;
	grant()
}

proctype runtime()
{
	mtype what;
	byte slot, generation, n;

end:	do
	:: atomic {
		queue?what, slot, generation;
		if
#ifdef GENERATION
		:: !it.alive || it.generation != generation -> skip
#endif
		:: else ->
			assert(it.alive);	/* S1 */
			if
			:: what == received -> finish(slot)
			:: else -> ask_again(slot)
			fi
		fi;
		what = 0; slot = 0; generation = 0
	   }
	od
}

inline arrive(slot, generation)
{
	if
	:: it.generation == generation -> it.reached = 1
	:: else
	fi;
	queue!received, slot, generation
}

proctype path()
{
	byte slot, generation;

end:	do
	:: atomic {
		network?slot, generation;
		if
		:: arrive(slot, generation)
		:: duplicates < DUPLICATES -> duplicates++;
			arrive(slot, generation); queue!received, slot, generation
		:: losses < LOSSES -> losses++; queue!lost, slot, generation
		:: losses < LOSSES -> losses++ /* found by the timer alone */
		fi;
		slot = 0; generation = 0
	   }
	od
}

#define silent (len(network) == 0 && len(queue) == 0)

proctype timer(byte slot)
{
end:	do
	:: atomic {
		it.armed && (silent || haste < HASTE) ->
		if
		:: silent -> skip
		:: else -> haste++
		fi;
		it.armed = 0;
		queue!timed_out, slot, it.generation
	   }
	od
}

proctype redundancy(byte slot)
{
end:	do
	:: atomic {
		it.alive && it.sent && (it.keepers & REDUNDANCY) ->
		keep_no_more(slot, REDUNDANCY)
	   }
	od
}

/* The application: fills each slot USES times, and waits for the last to go. */
proctype application(byte slot)
{
	byte used, n;

	do
	:: atomic {
		!it.alive && used < USES ->
		used++;
		it.alive = 1; it.done = 0; it.sent = 0; it.away = 0;
		it.asked = 0; it.reached = 0; it.counted = 0;
		it.finish_held = 1;
		it.keepers = RETRANSMISSION | REDUNDANCY;
		it.generation = used;
		it.held = DRIVER | WINDOW | RESEND; it.waiting = 3;
		release(slot, DRIVER);
		release(slot, RESEND);
		grant()
	   }
	:: !it.alive && used == USES -> break	/* S7: else an invalid end */
	od
}

init
{
	byte slot;

	atomic {
		run runtime();
		run path();
		do
		:: slot < SLOTS ->
			run timer(slot); run redundancy(slot);
			run application(slot); slot++
		:: else -> break
		od
	}
}
