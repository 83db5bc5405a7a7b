/* SPDX-License-Identifier: MIT */
/*
 * live_tun.c -- a link between two TUN devices, for any program's packets.
 *
 *   device 0 --> carrier, forward --> device 1
 *   device 0 <-- carrier, reverse <-- device 1
 *
 * The devices have no offloads: the kernel cuts trains and super-packets and sums their checks
 * before, so that every packet is a packet, as on a wire.  A device's own MTU is 1500, or the
 * link's where that is more; a link with less swallows what is too big without a word, as a black
 * hole on the path does.  Marks of congestion are written into the headers of IP, as a router does
 * it.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "io/live/live_carrier.h"
#include "io/live/live_tun_device.h"

enum {
	TUN_SIDES = 2,
	TUN_BATCH = 64, /* packets of one side, then the other gets a turn */
	TUN_PACKET_BYTES = 64 << 10,
};

struct tun_side {
	struct nopal_tun *tun;
	enum live_direction leaves; /* of what is read here */
	struct live_tun_device device;
	struct event *readable;
};

struct nopal_tun {
	struct tun_side sides[TUN_SIDES];
	struct live_carrier carrier;
	uint8_t packet[TUN_PACKET_BYTES]; /* that is being read */
};

/* ------------------------------------------------- marks in headers of IP */

/* RFC 791 and RFC 8200 with RFC 3168: IPv4 has the field in the lowest bits of byte 1, under a
 * checksum; IPv6 in the middle of byte 1. */
enum {
	TUN_IPV4 = 4,
	TUN_IPV4_BYTES = 20,
	TUN_IPV4_SUM = 10,
	TUN_IPV6 = 6,
	TUN_IPV6_BYTES = 40,
	TUN_IPV6_SHIFT = 4,
	TUN_ECN = 3, /* its bits */
	TUN_VERSION_SHIFT = 4,
	TUN_BYTE_BITS = 8,
};

static bool tun_is(const uint8_t *packet, uint32_t length, unsigned version, uint32_t header_bytes)
{
	return length >= header_bytes && packet[0] >> TUN_VERSION_SHIFT == (int)version;
}

static uint8_t tun_ecn(const uint8_t *packet, uint32_t length)
{
	if (tun_is(packet, length, TUN_IPV4, TUN_IPV4_BYTES))
		return packet[1] & TUN_ECN;
	if (tun_is(packet, length, TUN_IPV6, TUN_IPV6_BYTES))
		return packet[1] >> TUN_IPV6_SHIFT & TUN_ECN;
	return NOPAL_NOT_ECT;
}

/* A mark only ever sets bits, so the word grows by so much; the sum is of ones' complement and
 * falls by it: RFC 1624. */
static void tun_mark_ipv4(uint8_t *packet)
{
	uint32_t grows = (packet[1] & TUN_ECN) ^ TUN_ECN;
	uint32_t sum = (uint32_t)packet[TUN_IPV4_SUM] << TUN_BYTE_BITS | packet[TUN_IPV4_SUM + 1];

	packet[1] |= TUN_ECN;
	sum = (~sum & UINT16_MAX) + grows;
	sum = ~(sum + (sum >> 16)) & UINT16_MAX;
	packet[TUN_IPV4_SUM] = (uint8_t)(sum >> TUN_BYTE_BITS);
	packet[TUN_IPV4_SUM + 1] = (uint8_t)sum;
}

static void tun_mark(uint8_t *packet, uint32_t length)
{
	if (tun_is(packet, length, TUN_IPV4, TUN_IPV4_BYTES))
		tun_mark_ipv4(packet);
	else if (tun_is(packet, length, TUN_IPV6, TUN_IPV6_BYTES))
		packet[1] |= TUN_ECN << TUN_IPV6_SHIFT;
}

/* -------------------------------------------------------------- the devices */

static bool tun_deliver(void *user, struct live_packet *packet)
{
	struct nopal_tun *tun = user;
	struct tun_side *to = &tun->sides[packet->direction == LIVE_FORWARD ? 1 : 0];

	if (packet->ecn == NOPAL_CE)
		tun_mark(packet->bytes, packet->length);
	return write(to->device.fd, packet->bytes, packet->length) == (ssize_t)packet->length;
}

static void tun_on_readable(evutil_socket_t fd, short what, void *argument)
{
	struct tun_side *side = argument;
	struct nopal_tun *tun = side->tun;
	int64_t now_ns = nopal__live_carrier_now(&tun->carrier);

	(void)what;
	for (int i = 0; i < TUN_BATCH; i++) {
		ssize_t length = read(fd, tun->packet, sizeof(tun->packet));

		if (length <= 0) {
			/* another hand took the device away */
			if (length < 0 && errno != EAGAIN && errno != EINTR)
				event_del(side->readable);
			break;
		}
		nopal__live_carrier_enter(&tun->carrier, side->leaves, NULL, tun->packet,
					  (uint32_t)length, tun_ecn(tun->packet, (uint32_t)length),
					  now_ns);
	}
	nopal__live_carrier_turn(&tun->carrier);
}

/* ---------------------------------------------------------- open and close */

static bool tun_side_open(struct nopal_tun *tun, struct event_base *base,
			  const struct nopal_tun_side sides[], enum live_direction leaves,
			  struct nopal_problems *problems)
{
	struct tun_side *side = &tun->sides[leaves];
	uint32_t mtu = NOPAL__LINK_MTU;

	for (unsigned i = 0; i < LIVE_DIRECTIONS; i++)
		if (tun->carrier.engine[i].link.mtu > mtu)
			mtu = tun->carrier.engine[i].link.mtu;
	side->tun = tun;
	side->leaves = leaves;
	if (!nopal__live_tun_device_open(&side->device, &sides[leaves], mtu, problems))
		return false;
	side->readable =
		event_new(base, side->device.fd, EV_READ | EV_PERSIST, tun_on_readable, side);
	if (side->readable && event_add(side->readable, NULL) == 0)
		return true;
	nopal_problems_add(problems, NULL, 0, "give it more memory", "no event for the device");
	return false;
}

void nopal_tun_close(struct nopal_tun *tun)
{
	for (unsigned i = 0; i < TUN_SIDES; i++) {
		if (tun->sides[i].readable)
			event_free(tun->sides[i].readable);
		nopal__live_tun_device_close(&tun->sides[i].device);
	}
	nopal__live_carrier_close(&tun->carrier);
	free(tun);
}

struct nopal_tun *nopal_tun_open(struct event_base *base, const struct nopal_tun_side sides[2],
				 const struct nopal_link *forward, const struct nopal_link *reverse,
				 uint64_t seed, struct nopal_problems *problems)
{
	const struct nopal_link *const words[] = { forward, reverse };
	struct nopal_tun *tun = calloc(1, sizeof(*tun));
	bool good = false;
	int error;

	if (!tun)
		return NULL;
	for (unsigned i = 0; i < TUN_SIDES; i++)
		tun->sides[i].device.fd = tun->sides[i].device.statistics = -1;
	error = nopal__live_carrier_open(&tun->carrier, base, words, 0, seed, tun_deliver, tun);
	if (error)
		nopal_problems_add(problems, NULL, 0, "give other words of the link", "no link: %s",
				   strerror(-error));
	else
		good = tun_side_open(tun, base, sides, LIVE_FORWARD, problems) &&
		       tun_side_open(tun, base, sides, LIVE_REVERSE, problems);
	if (good)
		return tun;
	nopal_tun_close(tun);
	return NULL;
}

void nopal_tun_counters(const struct nopal_tun *tun, struct nopal_link_counters *ret_forward,
			struct nopal_link_counters *ret_reverse)
{
	const struct live_carrier *carrier = &tun->carrier;

	*ret_forward = carrier->engine[LIVE_FORWARD].counters;
	*ret_reverse = carrier->engine[LIVE_REVERSE].counters;
	ret_forward->missed = nopal__live_tun_device_missed(&tun->sides[LIVE_FORWARD].device);
	ret_reverse->missed = nopal__live_tun_device_missed(&tun->sides[LIVE_REVERSE].device);
}
