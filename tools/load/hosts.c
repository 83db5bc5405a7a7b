/* SPDX-License-Identifier: MIT */
/*
 * hosts.c -- two hosts on this machine with an emulated link between them.
 *
 *   here 10.9.0.1 --nopal0 [TUN]-- emulator --[TUN] nopal1-- 10.9.0.2 there
 *
 * The emulator is forked, makes two namespaces, keeps them by descriptors, which others enter by
 * way of /proc/PID/fd, and drives the link until it is told to end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "frame/tool.h"
#include "load/hosts.h"

enum { HOSTS_SIDES = 2 };
#define HOSTS_NETMASK "255.255.255.0"

static const char *const hosts_address[] = { "10.9.0.1", "10.9.0.2" };
static const char *const hosts_device[] = { "nopal0", "nopal1" };

/* The emulator's report when it is ready, or cannot be. */
struct hosts_ready {
	int spaces[HOSTS_SIDES]; /* descriptors in the emulator */
	char why[HOSTS_WHY_BYTES];
};

/* --------------------------------------------------------------- a namespace */

static void hosts_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	close(fd);
}

static bool hosts_name(int control, const char *device, unsigned long what, const char *address)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	inet_pton(AF_INET, address, &name.sin_addr);
	memcpy(&request.ifr_addr, &name, sizeof(name));
	return ioctl(control, what, &request) == 0;
}

/* A namespace of this process's own; its descriptor, or negative. */
static int hosts_space(void)
{
	int control, space;
	struct ifreq request = { 0 };

	if (unshare(CLONE_NEWNET))
		return -errno;
	space = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (space < 0 || control < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", "lo");
	if (ioctl(control, SIOCGIFFLAGS, &request))
		return -errno;
	request.ifr_flags |= IFF_UP;
	if (ioctl(control, SIOCSIFFLAGS, &request) != 0)
		return -errno;
	close(control);
	/* the kernel's own talk would be counted; every run begins afresh */
	hosts_write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	hosts_write("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
	return space;
}

static bool hosts_configure(int space, int side)
{
	int control;
	bool good;

	if (setns(space, CLONE_NEWNET))
		return false;
	control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	good = control >= 0 &&
	       hosts_name(control, hosts_device[side], SIOCSIFADDR, hosts_address[side]) &&
	       hosts_name(control, hosts_device[side], SIOCSIFNETMASK, HOSTS_NETMASK);
	if (control >= 0)
		close(control);
	return good;
}

/* -------------------------------------------------------------- the emulator */

struct hosts_emulator {
	struct loop *loop;
	struct nopal_tun *tun;
	struct hosts_ready ready;
	int reports;
};

static void hosts_on_end(void *user)
{
	struct hosts_emulator *emulator = user;

	loop_stop(emulator->loop);
}

/* Both namespaces, and the link between them; false: the report says why not. */
static bool hosts_link(struct hosts_emulator *emulator,
		       const struct nopal_link *const links[HOSTS_SIDES], uint64_t seed)
{
	struct hosts_ready *ready = &emulator->ready;
	char paths[HOSTS_SIDES][HOSTS_PATH_BYTES];
	struct nopal_tun_side sides[HOSTS_SIDES];
	const int *spaces = ready->spaces;

	for (int side = 0; side < HOSTS_SIDES; side++) {
		ready->spaces[side] = hosts_space();
		if (spaces[side] < 0) {
			snprintf(ready->why, sizeof(ready->why), "no network namespaces (%s)",
				 strerror(-spaces[side]));
			return false;
		}
		snprintf(paths[side], sizeof(paths[side]), "/proc/self/fd/%d", spaces[side]);
		sides[side].device = hosts_device[side];
		sides[side].netns = paths[side];
	}
	emulator->loop = loop_new(NULL);
	if (emulator->loop)
		emulator->tun = nopal_tun_open(loop_base(emulator->loop), sides, links[0], links[1],
					       seed, NULL);
	if (emulator->tun && hosts_configure(spaces[0], 0) && hosts_configure(spaces[1], 1) &&
	    loop_on_interrupt(emulator->loop, hosts_on_end, emulator))
		return true;
	snprintf(ready->why, sizeof(ready->why), "no TUN devices (%s)", strerror(errno));
	return false;
}

__attribute__((noreturn)) static void hosts_emulate(
	const struct nopal_link *const links[HOSTS_SIDES], uint64_t seed, int reports)
{
	struct hosts_emulator emulator = { .reports = reports };
	struct nopal_link_counters did[HOSTS_SIDES] = { 0 };
	cpu_set_t any;
	bool good;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	memset(&any, 0xff, sizeof(any));
	sched_setaffinity(0, sizeof(any), &any);
	good = hosts_link(&emulator, links, seed);
	if (write(reports, &emulator.ready, sizeof(emulator.ready)) !=
		    (ssize_t)sizeof(emulator.ready) ||
	    !good)
		_exit(1);
	hosts_hurry();
	loop_run(emulator.loop);
	nopal_tun_counters(emulator.tun, &did[0], &did[1]);
	_exit(write(reports, did, sizeof(did)) != (ssize_t)sizeof(did));
}

void hosts_hurry(void)
{
	struct sched_param lowest = {
		.sched_priority = sched_get_priority_min(SCHED_RR),
	};

	sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest);
}

/* -------------------------------------------------------------- open, close */

bool hosts_open(struct hosts *hosts, const struct nopal_link *forward,
		const struct nopal_link *reverse, uint64_t seed)
{
	const struct nopal_link *const links[HOSTS_SIDES] = { forward, reverse };
	struct hosts_ready ready = { .why = "the emulator did not start" };
	int pipes[2];
	bool good;

	*hosts = (struct hosts){ .reports = -1 };
	hosts->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	good = hosts->home >= 0 && pipe2(pipes, O_CLOEXEC) == 0;
	if (good) {
		fflush(stdout);
		hosts->emulator = fork();
		if (hosts->emulator == 0)
			hosts_emulate(links, seed, pipes[1]);
		close(pipes[1]);
		hosts->reports = pipes[0];
	}
	good = good && hosts->emulator > 0 &&
	       read(hosts->reports, &ready, sizeof(ready)) == (ssize_t)sizeof(ready) &&
	       ready.why[0] == '\0';
	if (!good) {
		memcpy(hosts->why, ready.why, sizeof(ready.why));
		hosts_close(hosts, NULL);
		return false;
	}
	snprintf(hosts->here, sizeof(hosts->here), "/proc/%d/fd/%d", (int)hosts->emulator,
		 ready.spaces[0]);
	snprintf(hosts->there, sizeof(hosts->there), "/proc/%d/fd/%d", (int)hosts->emulator,
		 ready.spaces[1]);
	hosts->place = (struct bench_place){ hosts->here, hosts->there, hosts_address[1] };
	return true;
}

void hosts_close(struct hosts *hosts, struct nopal_link_counters ret_did[2])
{
	struct nopal_link_counters did[HOSTS_SIDES] = { 0 };

	if (hosts->emulator > 0)
		kill(hosts->emulator, SIGTERM);
	if (hosts->reports >= 0 && read(hosts->reports, did, sizeof(did)) != (ssize_t)sizeof(did))
		memset(did, 0, sizeof(did));
	if (hosts->emulator > 0)
		waitpid(hosts->emulator, NULL, 0);
	if (hosts->reports >= 0)
		close(hosts->reports);
	if (hosts->home >= 0) {
		setns(hosts->home, CLONE_NEWNET);
		close(hosts->home);
	}
	hosts->emulator = 0;
	hosts->reports = hosts->home = -1;
	if (ret_did)
		memcpy(ret_did, did, sizeof(did));
}
