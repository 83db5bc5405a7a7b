/* SPDX-License-Identifier: MIT */
/*
 * live_tun.c -- a link between two TUN devices, for any program's packets.
 *
 *   device 0 --> carrier, forward --> device 1
 *   device 0 <-- carrier, reverse <-- device 1
 *
 * The devices have no offloads: the kernel cuts trains and super-packets and sums their checks
 * before, so that every packet is a packet, as on a wire.  A device's own MTU is 1500, or the
 * link's where that is more; a link with less swallows longer packets without a word, as a black
 * hole on the path does.  Marks of congestion are written into the headers of IP, as a router does
 * it.
 *
 * A TUN device belongs to the namespace in which /dev/net/tun was opened, so the thread visits the
 * namespace for that and comes back; nothing is moved. The device ends with its descriptor: no
 * crash leaves one behind.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nopal/microprotocol.h>
#include "io/live/live.h"

enum {
	TUN_SIDES = 2,
	TUN_BATCH = 64, /* packets of one side, then the other gets a turn */
	TUN_PACKET_BYTES = 64 << 10,
	/* Packets that wait to be read: as many as a whole burst of trains, so that a late reader
	 * shows as lateness first and as a loss last. */
	TUN_QUEUE_PACKETS = 10000,
	TUN_PATH_BYTES = 256,
	TUN_DECIMAL = 10,
	TUN_STATISTICS_BYTES = 64 << 10,
	TUN_BEFORE_DROPS = 11, /* numbers before "transmit: drop" of a line */
};

struct tun_side {
	struct nopal_tun *tun;
	enum live_direction leaves; /* of packets that are read here */
	int fd;			    /* -1: closed; reads and writes do not block */
	int statistics;		    /* the kernel's page of its namespace's devices */
	uint64_t missed;	    /* its count when the device was made */
	char name[IFNAMSIZ];
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

/* ------------------------------------------------------------------- devices */

static const char tun_file[] = "/dev/net/tun";
static const char tun_netns_folder[] = "/run/netns/";
static const char tun_fix_root[] =
	"run it as root, or with CAP_NET_ADMIN (and CAP_SYS_ADMIN for --netns)";

static bool tun_refuse(struct nopal_problems *problems, const char *fix, const char *thing,
		       const char *name, int error)
{
	nopal_problems_add(problems, NULL, 0,
			   error == EPERM || error == EACCES ? tun_fix_root : fix, "%s `%s`: %s",
			   thing, name, strerror(error));
	return false;
}

/* Enters a namespace; *ret_home is the one to come back to, -1: the thread stays. */
static bool tun_enter(const char *netns, int *ret_home, struct nopal_problems *problems)
{
	static const char thing[] = "network namespace";
	char path[TUN_PATH_BYTES];
	int there, error = 0;

	*ret_home = -1;
	if (!netns)
		return true;
	snprintf(path, sizeof(path), "%s%s", strchr(netns, '/') ? "" : tun_netns_folder, netns);
	there = open(path, O_RDONLY | O_CLOEXEC);
	if (there < 0)
		return tun_refuse(problems,
				  "make it first: ip netns add NAME; "
				  "`ip netns list` shows all",
				  thing, netns, errno);
	*ret_home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*ret_home < 0 || setns(there, CLONE_NEWNET) < 0)
		error = errno;
	close(there);
	if (!error)
		return true;
	if (*ret_home >= 0)
		close(*ret_home);
	*ret_home = -1;
	return tun_refuse(problems, "give a network namespace", thing, netns, error);
}

static bool tun_make(struct tun_side *side, const char *name, struct nopal_problems *problems)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };

	if (!*name || strlen(name) >= sizeof(request.ifr_name))
		return tun_refuse(problems, "1 to 15 characters, as in nopal0", "device name", name,
				  EINVAL);
	side->fd = open(tun_file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (side->fd < 0)
		return tun_refuse(problems,
				  "load the driver: modprobe tun; give a container the "
				  "device: --device /dev/net/tun",
				  "no TUN devices:", tun_file, errno);
	memcpy(request.ifr_name, name, strlen(name) + 1);
	if (ioctl(side->fd, TUNSETIFF, &request) < 0)
		return tun_refuse(problems,
				  "choose a name that no device has; `ip link` "
				  "shows those",
				  "TUN device", name, errno);
	memcpy(side->name, request.ifr_name, sizeof(side->name));
	return true;
}

/* Sets the MTU of a device and its queue, and brings it up. */
static bool tun_tune(const struct tun_side *side, struct nopal_problems *problems)
{
	int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;
	struct ifreq request = { 0 };
	uint32_t mtu = NOPAL__LINK_MTU;

	for (unsigned i = 0; i < LIVE_DIRECTIONS; i++)
		if (side->tun->carrier.engine[i].link.mtu > mtu)
			mtu = side->tun->carrier.engine[i].link.mtu;
	memcpy(request.ifr_name, side->name, sizeof(request.ifr_name));
	request.ifr_qlen = TUN_QUEUE_PACKETS;
	if (control < 0 || ioctl(control, SIOCSIFTXQLEN, &request) < 0)
		error = errno;
	request.ifr_mtu = (int)mtu;
	if (!error && ioctl(control, SIOCSIFMTU, &request) < 0)
		error = errno;
	if (!error && ioctl(control, SIOCGIFFLAGS, &request) < 0)
		error = errno;
	request.ifr_flags |= IFF_UP;
	if (!error && ioctl(control, SIOCSIFFLAGS, &request) < 0)
		error = errno;
	if (control >= 0)
		close(control);
	return !error ||
	       tun_refuse(problems, "give the link a smaller mtu", "TUN device", side->name, error);
}

/* From the line "NAME: NUMBER ..." of the device. */
static uint64_t tun_dropped(const struct tun_side *side)
{
	char page[TUN_STATISTICS_BYTES];
	ssize_t length = pread(side->statistics, page, sizeof(page) - 1, 0);
	size_t name = strlen(side->name);
	const char *at = page;

	if (length <= 0)
		return 0;
	page[length] = '\0';
	for (; at; at = strchr(at, '\n')) {
		at += strspn(at, " \n");
		if (strncmp(at, side->name, name) == 0 && at[name] == ':')
			break;
	}
	if (!at)
		return 0;
	at += name + 1;
	for (int before = TUN_BEFORE_DROPS; before > 0; before--) {
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	return strtoull(at, NULL, TUN_DECIMAL);
}

/* A mark only ever sets bits, so the word grows by so much; the sum of IPv4 is of ones' complement
 * and falls by it: RFC 1624. */
static bool tun_deliver(void *user, struct live_packet *packet)
{
	struct nopal_tun *tun = user;
	struct tun_side *to = &tun->sides[packet->direction == LIVE_FORWARD ? 1 : 0];
	uint8_t *bytes = packet->bytes;
	uint32_t grows, sum;

	if (packet->ecn == NOPAL_CE && tun_is(bytes, packet->length, TUN_IPV6, TUN_IPV6_BYTES))
		bytes[1] |= TUN_ECN << TUN_IPV6_SHIFT;
	if (packet->ecn == NOPAL_CE && tun_is(bytes, packet->length, TUN_IPV4, TUN_IPV4_BYTES)) {
		grows = (bytes[1] & TUN_ECN) ^ TUN_ECN;
		bytes[1] |= TUN_ECN;
		sum = (uint32_t)bytes[TUN_IPV4_SUM] << TUN_BYTE_BITS | bytes[TUN_IPV4_SUM + 1];
		sum = (~sum & UINT16_MAX) + grows;
		sum = ~(sum + (sum >> 16)) & UINT16_MAX;
		bytes[TUN_IPV4_SUM] = (uint8_t)(sum >> TUN_BYTE_BITS);
		bytes[TUN_IPV4_SUM + 1] = (uint8_t)sum;
	}
	return write(to->fd, bytes, packet->length) == (ssize_t)packet->length;
}

static void tun_on_readable(evutil_socket_t fd, short what, void *argument)
{
	struct tun_side *side = argument;
	struct nopal_tun *tun = side->tun;
	int64_t now_ns = nopal__live_carrier_now(&tun->carrier);

	(void)what;
	for (int i = 0; i < TUN_BATCH; i++) {
		ssize_t length = read(fd, tun->packet, sizeof(tun->packet));
		uint8_t ecn = NOPAL_NOT_ECT;

		if (length <= 0) {
			/* another hand took the device away */
			if (length < 0 && errno != EAGAIN && errno != EINTR)
				event_del(side->readable);
			break;
		}
		if (tun_is(tun->packet, (uint32_t)length, TUN_IPV4, TUN_IPV4_BYTES))
			ecn = tun->packet[1] & TUN_ECN;
		else if (tun_is(tun->packet, (uint32_t)length, TUN_IPV6, TUN_IPV6_BYTES))
			ecn = tun->packet[1] >> TUN_IPV6_SHIFT & TUN_ECN;
		nopal__live_carrier_enter(&tun->carrier, side->leaves, NULL, tun->packet,
					  (uint32_t)length, ecn, now_ns);
	}
	nopal__live_carrier_turn(&tun->carrier);
}

/* ---------------------------------------------------------- open and close */

/* Makes the device in its namespace (NULL: the caller's) and brings it up.  False: a problem was
 * added. */
static bool tun_side_open(struct tun_side *side, struct event_base *base,
			  const struct nopal_tun_side *wanted, struct nopal_problems *problems)
{
	bool made;
	int home;

	if (!tun_enter(wanted->netns, &home, problems))
		return false;
	made = tun_make(side, wanted->device, problems) && tun_tune(side, problems);
	/* keeps showing the namespace in which it was opened */
	side->statistics = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	if (home >= 0) {
		setns(home, CLONE_NEWNET);
		close(home);
	}
	side->missed = tun_dropped(side);
	if (!made)
		return false;
	side->readable = event_new(base, side->fd, EV_READ | EV_PERSIST, tun_on_readable, side);
	if (side->readable && event_add(side->readable, NULL) == 0)
		return true;
	nopal_problems_add(problems, NULL, 0, "give it more memory", "no event for the device");
	return false;
}

void nopal_tun_close(struct nopal_tun *tun)
{
	for (struct tun_side *side = tun->sides; side < tun->sides + TUN_SIDES; side++) {
		if (side->readable)
			event_free(side->readable);
		if (side->fd >= 0)
			close(side->fd);
		if (side->statistics >= 0)
			close(side->statistics);
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
	bool good = true;
	int error;

	if (!tun)
		return NULL;
	for (unsigned i = 0; i < TUN_SIDES; i++)
		tun->sides[i] = (struct tun_side){
			.tun = tun, .leaves = (enum live_direction)i, .fd = -1, .statistics = -1
		};
	error = nopal__live_carrier_open(&tun->carrier, base, words, 0, seed, tun_deliver, tun);
	if (error)
		nopal_problems_add(problems, NULL, 0, "give other words of the link", "no link: %s",
				   strerror(-error));
	for (unsigned i = 0; !error && good && i < TUN_SIDES; i++)
		good = tun_side_open(&tun->sides[i], base, &sides[i], problems);
	if (!error && good)
		return tun;
	nopal_tun_close(tun);
	return NULL;
}

/* `missed`: packets that the kernel dropped because they were not read in time. */
void nopal_tun_counters(const struct nopal_tun *tun, struct nopal_link_counters *ret_forward,
			struct nopal_link_counters *ret_reverse)
{
	const struct tun_side *sides = tun->sides;

	*ret_forward = tun->carrier.engine[LIVE_FORWARD].counters;
	*ret_reverse = tun->carrier.engine[LIVE_REVERSE].counters;
	ret_forward->missed = tun_dropped(&sides[LIVE_FORWARD]) - sides[LIVE_FORWARD].missed;
	ret_reverse->missed = tun_dropped(&sides[LIVE_REVERSE]) - sides[LIVE_REVERSE].missed;
}
