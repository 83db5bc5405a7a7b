/* SPDX-License-Identifier: MIT */
/* talk.c -- frames over a stream socket, in buffers that grow. */
#include "lab/talk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frame/tool.h"

enum { TALK_ROOM = 4096 };

void talk_init(struct talk *talk, int fd)
{
	*talk = (struct talk){ .fd = fd };
}

void talk_fini(struct talk *talk)
{
	free(talk->in);
	free(talk->out);
	*talk = (struct talk){ .fd = -1 };
}

static void talk_room(uint8_t **bytes, size_t *room, size_t wanted)
{
	if (wanted <= *room)
		return;
	*room = wanted < TALK_ROOM ? TALK_ROOM : 2 * wanted;
	*bytes = tool_need(realloc(*bytes, *room));
}

void talk_put(struct talk *talk, enum talk_word word, int64_t time_ns, uint64_t number,
	      uint64_t other, const void *body, size_t length)
{
	const struct talk_frame frame = { (uint32_t)length, word, time_ns, number, other };

	talk_room(&talk->out, &talk->out_room, talk->out_used + sizeof(frame) + length);
	memcpy(talk->out + talk->out_used, &frame, sizeof(frame));
	if (length)
		memcpy(talk->out + talk->out_used + sizeof(frame), body, length);
	talk->out_used += sizeof(frame) + length;
}

int talk_flush(struct talk *talk)
{
	size_t done = 0;
	int error = 0;

	while (talk->fd >= 0 && done < talk->out_used && error == 0) {
		ssize_t written =
			send(talk->fd, talk->out + done, talk->out_used - done, MSG_NOSIGNAL);

		if (written > 0)
			done += (size_t)written;
		else if (errno != EINTR)
			error = -errno;
	}
	talk->out_used -= done;
	if (talk->out_used)
		memmove(talk->out, talk->out + done, talk->out_used);
	return error;
}

int talk_next(struct talk *talk, struct talk_frame *ret_frame, const uint8_t **ret_body)
{
	size_t there = talk->in_used - talk->in_from;

	if (there < sizeof(*ret_frame))
		return 0;
	memcpy(ret_frame, talk->in + talk->in_from, sizeof(*ret_frame));
	if (ret_frame->length > TALK_BODY_MAX)
		return -EPROTO;
	if (there < sizeof(*ret_frame) + ret_frame->length)
		return 0;
	*ret_body = talk->in + talk->in_from + sizeof(*ret_frame);
	talk->in_from += sizeof(*ret_frame) + ret_frame->length;
	return 1;
}

/* Room for bytes behind those that were not yet read. */
static void talk_in_room(struct talk *talk, size_t more)
{
	if (talk->in_from) {
		talk->in_used -= talk->in_from;
		memmove(talk->in, talk->in + talk->in_from, talk->in_used);
		talk->in_from = 0;
	}
	talk_room(&talk->in, &talk->in_room, talk->in_used + more);
}

void talk_carry(struct talk *from, struct talk *to)
{
	talk_in_room(to, from->out_used);
	if (from->out_used)
		memcpy(to->in + to->in_used, from->out, from->out_used);
	to->in_used += from->out_used;
	from->out_used = 0;
}

int64_t talk_read(struct talk *talk)
{
	ssize_t got;

	talk_in_room(talk, TALK_ROOM);
	do
		got = read(talk->fd, talk->in + talk->in_used, talk->in_room - talk->in_used);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	talk->in_used += (size_t)got;
	return got;
}
