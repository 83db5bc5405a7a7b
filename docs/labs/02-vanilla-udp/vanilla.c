/* SPDX-License-Identifier: MIT */
/* vanilla -- number every message with one byte, and tell the sender of each gap */
#include <nopal/microprotocol.h>

enum { VANILLA_NUMBER };  /* its attributes */
enum { VANILLA_GAP };	  /* its kinds of segments */
enum { VANILLA_MISSING }; /* its shared variables */

struct vanilla {
	unsigned next;	   /* number of the next message that we send */
	unsigned expected; /* number of the next message that the peer sends */
};

/* Task 1. The application sends `message`.
 * nopal_set(at, message, VANILLA_NUMBER, n) writes the byte that travels with it. */
static enum nopal_verdict vanilla_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	(void)at, (void)message;
	return NOPAL_CONTINUE;
}

/* Task 2. A datagram with a message arrived; nopal_get(at, segment, VANILLA_NUMBER) is its byte.
 * NOPAL_CONTINUE lets it go to the application, NOPAL_STOP drops it.
 * A segment of your own: nopal_control_begin(at, VANILLA_GAP, bytes, &writer), nopal_write() for
 * each number, nopal_control_send(at.session, segment, nopal_written(&writer)). */
static enum nopal_verdict vanilla_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_CONTINUE;
}

/* Task 3. A gap segment of the peer arrived; read it with nopal_body_reader(&segment->body),
 * nopal_read() and nopal_read_complete(), and count in the shared variable VANILLA_MISSING. */
static enum nopal_verdict vanilla_on_gap(struct nopal_at at, struct nopal_segment *segment)
{
	(void)at, (void)segment;
	return NOPAL_STOP; /* nobody else knows this kind */
}

/* A session begins; the state is all zeros before. */
static int vanilla_open(struct nopal_at at)
{
	struct vanilla *self = nopal_state(at);

	self->next = 1;
	self->expected = 1;
	return 0;
}

const struct nopal_microprotocol nopal_vanilla = {
	NOPAL_DESCRIBE(vanilla, labs,
		       "number every message with one byte, and tell the sender of each gap"),
	.attributes = NOPAL_ATTRIBUTES([VANILLA_NUMBER] = { "vanilla_number", NOPAL_WRITE,
							    "1 to 255, and 1 again",
							    .wire_bytes = 1, .kinds = NOPAL_DATA }),
	.shared = NOPAL_SHARED([VANILLA_MISSING] = { "vanilla_missing", NOPAL_WRITE, 0,
						     "messages that the peer misses" }),
	.kinds = NOPAL_KINDS([VANILLA_GAP] = { "gap", NOPAL_KIND_CONTROL,
					       "first number of a gap, and how many miss", 0 }),
	.bindings = NOPAL_BINDINGS(
		NOPAL_ON(MSG_FROM_USER, vanilla_on_from_user, .before = "message_segments"),
		NOPAL_ON(SEGMENT_FROM_NET, vanilla_on_from_net),
		NOPAL_ON_OWN(VANILLA_GAP, vanilla_on_gap)),
	.state_size = sizeof(struct vanilla),
	.open = vanilla_open,
};
