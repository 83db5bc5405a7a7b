/* SPDX-License-Identifier: MIT */
#include "support/made_trial.h"

enum { ROOM = 512, BYTES = 24 };

static struct lab_message messages[ROOM];
static struct lab_datagram datagrams[ROOM];
static struct lab_delivery deliveries[ROOM];
static struct lab_step steps[ROOM];
struct lab_trial made;

void made_begin(const char *name, int hosts)
{
	made = (struct lab_trial){
		.name = name,
		.messages = messages,
		.datagrams = datagrams,
		.deliveries = deliveries,
		.steps = steps,
		.host_count = hosts,
	};
}

void made_message(int host, int64_t us)
{
	messages[made.message_count++] = (struct lab_message){ .host = host,
							       .sent_ns = us * NOPAL_MICROSECOND,
							       .delivered_ns = -1 };
}

struct lab_datagram *made_datagram(int from, int to, int64_t us, int64_t arrives_us,
				   uint32_t message)
{
	struct lab_datagram *one = &datagrams[made.datagram_count++];

	*one = (struct lab_datagram){
		.time_ns = us * NOPAL_MICROSECOND,
		.from = from,
		.to = to,
		.length = BYTES,
		.arrived_ns = arrives_us < 0 ? -1 : arrives_us * NOPAL_MICROSECOND,
		.copies = arrives_us >= 0,
		.message = message,
	};
	for (const struct lab_datagram *before = datagrams; before < one; before++)
		one->again += message && before->from == from && before->message == message;
	return one;
}

void made_delivery(int host, int64_t us, uint32_t message)
{
	deliveries[made.delivery_count++] = (struct lab_delivery){
		.time_ns = us * NOPAL_MICROSECOND, .host = host, .message = message
	};
	if (message && messages[message - 1].deliveries++ == 0)
		messages[message - 1].delivered_ns = us * NOPAL_MICROSECOND;
}

void made_step(int64_t us, bool failed, const char *text)
{
	steps[made.step_count++] =
		(struct lab_step){ us * NOPAL_MICROSECOND, failed, (char *)text };
	made.failed |= failed;
}

void made_loss(void)
{
	made_begin("the second datagram is lost", 2);
	for (int i = 0; i < 3; i++)
		made_message(0, i * 20000);
	made_datagram(0, 1, 0, 10000, 1);
	made_delivery(1, 10000, 1);
	made_datagram(1, 0, 10000, 20000, 0);
	made_datagram(0, 1, 20000, -1, 2);
	made_datagram(0, 1, 40000, 50000, 3)->corrupt = true;
	made_datagram(0, 1, 240000, 250000, 3)->copies = 2;
	made_delivery(1, 250000, 3);
	made_datagram(1, 0, 250000, 260000, 0);
	made_step(0, false, "The application sends 3 messages, one every 20 ms.");
	made_step(20000, false, "The network loses the datagram with message 2.");
	made_step(40000, false,
		  "The datagram with message 3 arrives with other bytes: it must be dropped.");
	made_step(240000, false, "Message 3 leaves again, 200 ms after its first datagram.");
	made_step(
		2000000, true,
		"Message 2 was to be delivered within 2 s. It never was: its datagram left once, at "
		"20 ms, and was not sent again.");
}

void made_long(void)
{
	made_begin("forty messages in order, <b>some</b> & \"late\"", 2);
	for (uint32_t i = 1; i <= 40; i++) {
		int64_t us = (i - 1) * 5000;

		made_message(0, us);
		if (i == 12 || i == 31) {
			made_datagram(0, 1, us, -1, i);
			made_datagram(0, 1, us + 60000, us + 80000, i);
			made_delivery(1, us + 80000, i);
		} else {
			made_datagram(0, 1, us, us + 20000, i);
			made_delivery(1, us + 20000, i);
		}
		made_datagram(1, 0, us + 20000, us + 40000, 0);
	}
	made_step(150000, false, "The network loses message 31.");
	made_step(175000, true, "Message 32 is delivered at 0.175 s, before message 31.");
}

void made_group(void)
{
	made_begin("two of six lose a message", 7);
	made_message(0, 0);
	for (int to = 1; to <= 6; to++) {
		made_datagram(0, to, 0, to == 3 || to == 6 ? -1 : 10000 + to * 300, 1);
		if (to != 3 && to != 6)
			made_delivery(to, 10000 + to * 300, 1);
	}
	for (int to = 1; to <= 5; to++)
		if (to != 3)
			made_datagram(to, 0, 10000 + to * 300, 20000 + to * 300, 0);
}
