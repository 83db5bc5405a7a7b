/* SPDX-License-Identifier: MIT */
/* vanilla -- number every message with one byte, and tell the sender of each gap */
#include <nopal/microprotocol.h>

enum { VANILLA_NUMBER };  /* its attributes */
enum { VANILLA_GAP };	  /* its kinds of segments */
enum { VANILLA_MISSING }; /* its shared variables */
enum {
	VANILLA_NUMBERS = 255, /* 1 to 255; 0 numbers nothing */
	VANILLA_AHEAD = 128,   /* from so many numbers ahead on, a message is a late one */
	VANILLA_GAP_BYTES = 2,
};

struct vanilla {
	unsigned next;	   /* number of the next message that we send */
	unsigned expected; /* number of the next message that the peer sends */
};

static unsigned vanilla_after(unsigned number)
{
	return number % VANILLA_NUMBERS + 1;
}

static enum nopal_verdict vanilla_on_from_user(struct nopal_at at, struct nopal_message *message)
{
	struct vanilla *self = nopal_state(at);

	nopal_set(at, message, VANILLA_NUMBER, self->next);
	self->next = vanilla_after(self->next);
	return NOPAL_CONTINUE;
}

static void vanilla_tell(struct nopal_at at, unsigned first, unsigned count)
{
	struct nopal_writer writer;
	struct nopal_segment *gap =
		nopal_control_begin(at, VANILLA_GAP, VANILLA_GAP_BYTES, &writer);

	if (!gap)
		return;
	nopal_write(&writer, first, 1);
	nopal_write(&writer, count, 1);
	nopal_control_send(at.session, gap, nopal_written(&writer));
}

static enum nopal_verdict vanilla_on_from_net(struct nopal_at at, struct nopal_segment *segment)
{
	struct vanilla *self = nopal_state(at);
	unsigned number = (unsigned)nopal_get(at, segment, VANILLA_NUMBER);
	unsigned ahead = (number + VANILLA_NUMBERS - self->expected) % VANILLA_NUMBERS;

	if (number == 0)
		return NOPAL_STOP;
	if (ahead >= VANILLA_AHEAD)
		return NOPAL_CONTINUE;
	if (ahead > 0)
		vanilla_tell(at, self->expected, ahead);
	self->expected = vanilla_after(number);
	return NOPAL_CONTINUE;
}

static enum nopal_verdict vanilla_on_gap(struct nopal_at at, struct nopal_segment *segment)
{
	struct nopal_reader reader = nopal_body_reader(&segment->body);
	int64_t count;

	nopal_read(&reader, 1); /* the number of the first */
	count = (int64_t)nopal_read(&reader, 1);
	if (nopal_read_complete(&reader))
		nopal_shared_set(at, VANILLA_MISSING,
				 nopal_shared_get(at, VANILLA_MISSING) + count);
	return NOPAL_STOP;
}

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
