/* SPDX-License-Identifier: MIT */
/*
 * promise_words.c -- the values of each quality of service, in words.
 */
#include <nopal/nopal.h>

/* Of several lines the first one counts all of whose bits a value has: the best come first, and the
 * last has none. */
struct words {
	unsigned value;
	const char *word, *meaning;
};

static const struct words delivery_words[] = {
	{ NOPAL_ALL, "all", "every message arrives, or the session ends and says so" },
	{ NOPAL_IN_TIME, "all in time",
	  "every message arrives but those that are dropped as late, or given up" },
	{ NOPAL_REPAIRED, "repaired", "redundancy repairs what it can; other losses remain" },
	{ 0, "some", "what the network loses is lost" },
};
static const struct words order_words[] = {
	{ NOPAL_AS_SENT, "as sent", "in the order of sending, without gaps" },
	{ NOPAL_FORWARD, "with gaps", "in the order of sending; missing messages leave gaps" },
	{ NOPAL_BY_TAG, "by tag", "those of one tag in the order of sending" },
	{ NOPAL_AFTER_NAMED, "after predecessors", "after the messages that a message names" },
	{ 0, "none", "as messages arrive" },
};
static const struct words duplicates_words[] = {
	{ NOPAL_ONCE, "none", "each message is delivered once" },
	{ NOPAL_ONCE_A_SESSION, "none in a session",
	  "each message is delivered once, unless the receiver has forgotten the session" },
	{ 0, "possible", "whatever the network doubles is delivered twice" },
};
static const struct words integrity_words[] = {
	{ NOPAL_READERS, "private", "nobody on the way reads, forges or repeats a datagram" },
	{ NOPAL_FORGERS, "authentic", "forged datagrams are dropped" },
	{ NOPAL_ACCIDENTS, "accidents", "damaged datagrams are dropped" },
	{ 0, "none", "the 16-bit checksum of UDP alone" },
};
static const struct words lateness_words[] = {
	{ NOPAL_LATE_DROPPED, "bounded", "later messages are dropped" },
	{ 0, "unbounded", "messages are delivered whenever they arrive" },
};
static const struct words outcome_words[] = {
	{ NOPAL_AT_APPLICATION, "consumed",
	  "`delivered` means: the application of the peer had the message" },
	{ NOPAL_AT_TRANSPORT, "acknowledged",
	  "`delivered` means: the transport of the peer has the message" },
	{ 0, "left", "nobody knows more than that a message has left" },
};
static const struct words receivers_words[] = {
	{ NOPAL_EVERY, "every one", "each destination gets each message" },
	{ NOPAL_KEEPING_UP, "those that keep up",
	  "each destination that is not too slow gets each message" },
	{ NOPAL_SO_MANY, "so many", "a number of destinations get each message" },
	{ 0, "any", "one destination or more gets each message" },
};
static const struct words pace_words[] = {
	{ NOPAL_NETWORK_PACE, "congestion control", "the network sets the rate of sending" },
	{ NOPAL_FIXED_RATE, "fixed rate",
	  "the configured rate, whatever the network bears: not for shared networks" },
	{ 0, "application", "segments leave as fast as they come: not for shared networks" },
};
static const struct words buffer_words[] = {
	{ NOPAL_BOUNDED, "flow control", "a slow receiver slows its sender" },
	{ 0, "unbounded", "a slow receiver holds data up to its budget, and then ends" },
};
static const struct words death_words[] = {
	{ NOPAL_NOTICED, "noticed", "a silent peer is found out" },
	{ NOPAL_WHILE_SENDING, "while sending",
	  "a silent peer is found out while data wait for an ack" },
	{ 0, "never", "a silent peer is not noticed" },
};
static const struct words opening_words[] = {
	{ NOPAL_AGREED | NOPAL_PROVEN | NOPAL_KNOWN_PEER, "known peer",
	  "before data flow, the peer has proved its address and its key, and "
	  "that it composes alike" },
	{ NOPAL_AGREED | NOPAL_PROVEN, "handshake",
	  "before data flow, the peer has proved its address, and that it composes alike" },
	{ NOPAL_AGREED | NOPAL_KNOWN_PEER, "known key",
	  "data flow at once; the first datagrams show the key and the composition of the peer" },
	{ NOPAL_PROVEN, "proven address",
	  "the peer has proved its address; that it composes alike is for its operator" },
	{ NOPAL_AGREED, "agreed",
	  "data flow at once; the first datagrams say which composition they are of" },
	{ 0, "any datagram", "data flow at once, and any datagram counts" },
};
static const struct words size_words[] = {
	{ NOPAL_ANY_SIZE, "any", "long messages are cut into segments" },
	{ 0, "one segment", "a message is no longer than a segment" },
};
static const struct words labels_words[] = {
	{ NOPAL_EACH_MESSAGE, "each message",
	  "attributes of a layer above travel with each message" },
	{ 0, "first of several",
	  "messages that share a segment share the attributes of the first" },
};
static const struct words progress_words[] = {
	{ NOPAL_GOES_ON, "goes on", "nothing waits for ever" },
	{ 0, "may stand still", "some messages may wait for ever" },
};

static const struct {
	const char *name;
	const struct words *words;
} qualities[NOPAL_QUALITIES] = {
	[NOPAL_DELIVERY] = { "delivery", delivery_words },
	[NOPAL_ORDER] = { "order", order_words },
	[NOPAL_DUPLICATES] = { "duplicates", duplicates_words },
	[NOPAL_INTEGRITY] = { "integrity", integrity_words },
	[NOPAL_LATENESS] = { "lateness", lateness_words },
	[NOPAL_OUTCOME] = { "outcome", outcome_words },
	[NOPAL_RECEIVERS] = { "receivers", receivers_words },
	[NOPAL_PACE] = { "pace", pace_words },
	[NOPAL_BUFFER] = { "buffer", buffer_words },
	[NOPAL_DEATH] = { "death of the peer", death_words },
	[NOPAL_OPENING] = { "opening", opening_words },
	[NOPAL_MESSAGE_SIZE] = { "message size", size_words },
	[NOPAL_LABELS] = { "labels", labels_words },
	[NOPAL_PROGRESS] = { "progress", progress_words },
};

static const struct words *words_of(enum nopal_quality quality, unsigned value)
{
	const struct words *one = qualities[quality].words;

	while ((one->value & value) != one->value)
		one++;
	return one;
}

const char *nopal_quality_name(enum nopal_quality quality)
{
	return qualities[quality].name;
}

const char *nopal_quality_word(enum nopal_quality quality, unsigned value)
{
	return words_of(quality, value)->word;
}

const char *nopal_quality_meaning(enum nopal_quality quality, unsigned value)
{
	return words_of(quality, value)->meaning;
}

const char *nopal_stage_name(enum nopal_stage stage)
{
	static const char *const names[NOPAL_STAGES] = {
		[NOPAL_OPENING_STAGE] = "opening", [NOPAL_SEAL_STAGE] = "seal",
		[NOPAL_RECOVERY] = "recovery",	   [NOPAL_FILTER] = "filter",
		[NOPAL_REASSEMBLY] = "reassembly", [NOPAL_SENDING] = "sending",
		[NOPAL_ORDERING] = "ordering",	   [NOPAL_TIMING] = "timing",
		[NOPAL_GIVING_UP] = "giving up",   [NOPAL_FAN_OUT] = "fan-out",
	};

	return names[stage];
}
