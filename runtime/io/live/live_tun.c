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
#include "io/live/live_carrier.h"

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

struct tun_device {
	int fd;		 /* -1: closed; reads and writes do not block */
	int statistics;	 /* the kernel's page of its namespace's devices */
	uint64_t missed; /* its count when the device was made */
	char name[IFNAMSIZ];
};

struct tun_side {
	struct nopal_tun *tun;
	enum live_direction leaves; /* of packets that are read here */
	struct tun_device device;
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

/* A mark only ever sets bits, so the word grows by so much; the sum of IPv4 is of ones' complement
 * and falls by it: RFC 1624. */
static void tun_mark(uint8_t *packet, uint32_t length)
{
	uint32_t grows, sum;

	if (tun_is(packet, length, TUN_IPV6, TUN_IPV6_BYTES))
		packet[1] |= TUN_ECN << TUN_IPV6_SHIFT;
	if (!tun_is(packet, length, TUN_IPV4, TUN_IPV4_BYTES))
		return;
	grows = (packet[1] & TUN_ECN) ^ TUN_ECN;
	packet[1] |= TUN_ECN;
	sum = (uint32_t)packet[TUN_IPV4_SUM] << TUN_BYTE_BITS | packet[TUN_IPV4_SUM + 1];
	sum = (~sum & UINT16_MAX) + grows;
	sum = ~(sum + (sum >> 16)) & UINT16_MAX;
	packet[TUN_IPV4_SUM] = (uint8_t)(sum >> TUN_BYTE_BITS);
	packet[TUN_IPV4_SUM + 1] = (uint8_t)sum;
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

static bool tun_make(struct tun_device *device, const char *name, struct nopal_problems *problems)
{
	struct ifreq request = { .ifr_flags = IFF_TUN | IFF_NO_PI };

	if (!*name || strlen(name) >= sizeof(request.ifr_name))
		return tun_refuse(problems, "1 to 15 characters, as in nopal0", "device name", name,
				  EINVAL);
	device->fd = open(tun_file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (device->fd < 0)
		return tun_refuse(problems,
				  "load the driver: modprobe tun; give a container the "
				  "device: --device /dev/net/tun",
				  "no TUN devices:", tun_file, errno);
	memcpy(request.ifr_name, name, strlen(name) + 1);
	if (ioctl(device->fd, TUNSETIFF, &request) < 0)
		return tun_refuse(problems,
				  "choose a name that no device has; `ip link` "
				  "shows those",
				  "TUN device", name, errno);
	memcpy(device->name, request.ifr_name, sizeof(device->name));
	return true;
}

/* Sets the MTU of a device and its queue, and brings it up. */
static bool tun_tune(struct tun_device *device, uint32_t mtu, struct nopal_problems *problems)
{
	int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;
	struct ifreq request = { 0 };

	memcpy(request.ifr_name, device->name, sizeof(request.ifr_name));
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
	return !error || tun_refuse(problems, "give the link a smaller mtu", "TUN device",
				    device->name, error);
}

/* From the line "NAME: NUMBER ..." of the device. */
static uint64_t tun_dropped(const struct tun_device *device)
{
	char page[TUN_STATISTICS_BYTES];
	ssize_t length = pread(device->statistics, page, sizeof(page) - 1, 0);
	size_t name = strlen(device->name);
	const char *at = page;

	if (length <= 0)
		return 0;
	page[length] = '\0';
	for (; at; at = strchr(at, '\n')) {
		at += strspn(at, " \n");
		if (strncmp(at, device->name, name) == 0 && at[name] == ':')
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

static void device_close(struct tun_device *device)
{
	if (device->fd >= 0)
		close(device->fd);
	if (device->statistics >= 0)
		close(device->statistics);
	device->fd = device->statistics = -1;
}

/* Makes the device in a namespace (NULL: the caller's) and brings it up.  False: a problem was
 * added, and the device is closed. */
static bool device_open(struct tun_device *device, const struct nopal_tun_side *side, uint32_t mtu,
			struct nopal_problems *problems)
{
	bool made;
	int home;

	*device = (struct tun_device){ .fd = -1, .statistics = -1 };
	if (!tun_enter(side->netns, &home, problems))
		return false;
	made = tun_make(device, side->device, problems) && tun_tune(device, mtu, problems);
	/* keeps showing the namespace in which it was opened */
	device->statistics = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	if (home >= 0) {
		setns(home, CLONE_NEWNET);
		close(home);
	}
	device->missed = tun_dropped(device);
	if (!made)
		device_close(device);
	return made;
}

/* ------------------------------------------------------------------- packets */

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
	if (!device_open(&side->device, &sides[leaves], mtu, problems))
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
		device_close(&tun->sides[i].device);
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

/* Packets that the kernel dropped because they were not read in time. */
static uint64_t tun_missed(const struct tun_device *device)
{
	return tun_dropped(device) - device->missed;
}

void nopal_tun_counters(const struct nopal_tun *tun, struct nopal_link_counters *ret_forward,
			struct nopal_link_counters *ret_reverse)
{
	const struct live_carrier *carrier = &tun->carrier;

	*ret_forward = carrier->engine[LIVE_FORWARD].counters;
	*ret_reverse = carrier->engine[LIVE_REVERSE].counters;
	ret_forward->missed = tun_missed(&tun->sides[LIVE_FORWARD].device);
	ret_reverse->missed = tun_missed(&tun->sides[LIVE_REVERSE].device);
}
