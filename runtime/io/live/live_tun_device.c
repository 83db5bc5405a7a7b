/* SPDX-License-Identifier: MIT */
/*
 * live_tun_device.c -- make a TUN device, if wanted in another namespace.
 *
 * A TUN device belongs to the namespace in which /dev/net/tun was opened, so the thread visits the
 * namespace for that and comes back; nothing is moved. The device ends with its descriptor: no
 * crash leaves one behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/live/live_tun_device.h"

enum {
	/* What waits to be read: as much as a whole burst of trains, so that a late reader shows as
	 * lateness first and as a loss last. */
	TUN_QUEUE_PACKETS = 10000,
	TUN_PATH_BYTES = 256,
	TUN_DECIMAL = 10,
	TUN_STATISTICS_BYTES = 64 << 10,
	TUN_BEFORE_DROPS = 11, /* numbers before "transmit: drop" of a line */
};

static const char tun_file[] = "/dev/net/tun";
static const char tun_netns_folder[] = "/run/netns/";
static const char tun_fix_root[] =
	"run it as root, or with CAP_NET_ADMIN (and CAP_SYS_ADMIN for --netns)";

static bool tun_refuse(struct nopal_problems *problems, const char *fix, const char *what,
		       const char *name, int error)
{
	nopal_problems_add(problems, NULL, 0,
			   error == EPERM || error == EACCES ? tun_fix_root : fix, "%s `%s`: %s",
			   what, name, strerror(error));
	return false;
}

/* -------------------------------------------------------------- namespaces */

/* Enters a namespace; *ret_home is the way back, -1 where there is none to go. */
static bool tun_enter(const char *netns, int *ret_home, struct nopal_problems *problems)
{
	static const char what[] = "network namespace";
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
				  "`ip netns list` shows what there is",
				  what, netns, errno);
	*ret_home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (*ret_home < 0 || setns(there, CLONE_NEWNET) < 0)
		error = errno;
	close(there);
	if (!error)
		return true;
	if (*ret_home >= 0)
		close(*ret_home);
	*ret_home = -1;
	return tun_refuse(problems, "give a network namespace", what, netns, error);
}

static void tun_leave(int primary)
{
	if (primary < 0)
		return;
	setns(primary, CLONE_NEWNET);
	close(primary);
}

/* -------------------------------------------------------------------- make */

static bool tun_make(struct live_tun_device *device, const char *name,
		     struct nopal_problems *problems)
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

/* Sets what a device has: its MTU, its queue, and that it is up. */
static bool tun_tune(struct live_tun_device *device, uint32_t mtu, struct nopal_problems *problems)
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

/* -------------------------------------------------------------- statistics */

/* The number behind `before` others, each with spaces before it. */
static uint64_t tun_number(const char *at, int before)
{
	for (; before > 0; before--) {
		at += strspn(at, " ");
		at += strcspn(at, " ");
	}
	return strtoull(at, NULL, TUN_DECIMAL);
}

/* What follows "NAME:" on a line of its own. */
static const char *tun_line(const char *page, const char *name)
{
	size_t length = strlen(name);

	while (page) {
		page += strspn(page, " \n");
		if (strncmp(page, name, length) == 0 && page[length] == ':')
			return page + length + 1;
		page = strchr(page, '\n');
	}
	return NULL;
}

static uint64_t tun_dropped(const struct live_tun_device *device)
{
	char page[TUN_STATISTICS_BYTES];
	ssize_t length = pread(device->statistics, page, sizeof(page) - 1, 0);
	const char *line;

	if (length <= 0)
		return 0;
	page[length] = '\0';
	line = tun_line(page, device->name);
	return line ? tun_number(line, TUN_BEFORE_DROPS) : 0;
}

uint64_t nopal__live_tun_device_missed(const struct live_tun_device *device)
{
	return tun_dropped(device) - device->missed;
}

/* ---------------------------------------------------------- open and close */

bool nopal__live_tun_device_open(struct live_tun_device *device, const struct nopal_tun_side *side,
				 uint32_t mtu, struct nopal_problems *problems)
{
	bool made;
	int primary;

	*device = (struct live_tun_device){ .fd = -1, .statistics = -1 };
	if (!tun_enter(side->netns, &primary, problems))
		return false;
	made = tun_make(device, side->device, problems) && tun_tune(device, mtu, problems);
	/* keeps showing the namespace in which it was opened */
	device->statistics = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	tun_leave(primary);
	device->missed = tun_dropped(device);
	if (!made)
		nopal__live_tun_device_close(device);
	return made;
}

void nopal__live_tun_device_close(struct live_tun_device *device)
{
	if (device->fd >= 0)
		close(device->fd);
	if (device->statistics >= 0)
		close(device->statistics);
	device->fd = device->statistics = -1;
}
