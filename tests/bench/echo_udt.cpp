/* SPDX-License-Identifier: MIT */
/*
 * echo_udt -- a file goes through UDT 4 to a server in pieces and comes back.
 *
 *     echo_udt BYTES PIECE AHEAD       prints how many nanoseconds it took
 *
 * The client has up to AHEAD pieces under way.  The server is another process, over
 * loopback; packets are as large as a piece.  Every byte is checked.  From connecting
 * to the last byte back, on the cores of `nopal reproduce`.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <udt/udt.h>
#include <unistd.h>

namespace {

const int own_headers = 44; /* IP, UDP and UDT */
const int loopback_mtu = 65535;
const int decimal = 10;

struct echo {
	uint64_t size, piece, ahead;
};

void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "echo_udt: %s: %s\n", what,
		UDT::getlasterror().getErrorMessage());
	exit(1);
}

int64_t now_ns()
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

void pin(int composite)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(composite, &set);
	sched_setaffinity(0, sizeof(set), &set); /* or it runs where it may */
}

char byte_at(uint64_t at)
{
	return (char)((uint32_t)at * UINT32_C(2654435761) >> 24);
}

UDTSOCKET udt_open(const echo &echo)
{
	UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);
	int mtu = (int)echo.piece + own_headers;

	check(socket != UDT::INVALID_SOCK, "socket");
	mtu = mtu < loopback_mtu ? mtu : loopback_mtu;
	check(UDT::setsockopt(socket, 0, UDT_MSS, &mtu, sizeof(mtu)) !=
		      UDT::ERROR,
	      "packet size");
	return socket;
}

void send_all(UDTSOCKET socket, const char *bytes, int length)
{
	for (int done = 0; done < length;) {
		int sent = UDT::send(socket, bytes + done, length - done, 0);

		check(sent > 0, "send");
		done += sent;
	}
}

[[noreturn]] void serve(const echo &echo, int tell)
{
	std::vector<char> bytes(echo.piece);
	sockaddr_in address = {};
	sockaddr_storage peer;
	int length = sizeof(address), got;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin(1);
	UDT::startup();
	UDTSOCKET listener = udt_open(echo);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check(UDT::bind(listener, (sockaddr *)&address, sizeof(address)) !=
		      UDT::ERROR,
	      "bind");
	check(UDT::listen(listener, 1) != UDT::ERROR, "listen");
	UDT::getsockname(listener, (sockaddr *)&address, &length);
	check(write(tell, &address, sizeof(address)) == sizeof(address),
	      "pipe");
	length = sizeof(peer);
	UDTSOCKET socket = UDT::accept(listener, (sockaddr *)&peer, &length);

	check(socket != UDT::INVALID_SOCK, "accept");
	while ((got = UDT::recv(socket, bytes.data(), (int)bytes.size(), 0)) >
	       0)
		send_all(socket, bytes.data(), got);
	_exit(0);
}

void ask(UDTSOCKET socket, const echo &echo)
{
	std::vector<char> bytes(echo.piece);
	uint64_t sent = 0, back = 0;

	while (back < echo.size) {
		while (sent < echo.size &&
		       sent - back < echo.ahead * echo.piece) {
			uint64_t left = echo.size - sent;
			uint64_t length =
				left < echo.piece ? left : echo.piece;

			for (uint64_t i = 0; i < length; i++)
				bytes[i] = byte_at(sent + i);
			send_all(socket, bytes.data(), (int)length);
			sent += length;
		}
		int got = UDT::recv(socket, bytes.data(), (int)bytes.size(), 0);

		check(got > 0, "recv");
		for (int i = 0; i < got; i++, back++)
			check(bytes[(size_t)i] == byte_at(back), "wrong bytes");
	}
}

} /* namespace */

int main(int argc, char **argv)
{
	sockaddr_in address;
	int pipes[2];

	if (argc != 4) {
		fprintf(stderr, "echo_udt BYTES PIECE AHEAD\n");
		return 2;
	}
	echo echo = { strtoull(argv[1], nullptr, decimal),
		      strtoull(argv[2], nullptr, decimal),
		      strtoull(argv[3], nullptr, decimal) };
	if (echo.piece == 0 || pipe(pipes))
		return 2;
	pid_t server = fork();

	if (server == 0)
		serve(echo, pipes[1]);
	close(pipes[1]);
	if (server < 0 ||
	    read(pipes[0], &address, sizeof(address)) != sizeof(address))
		return 1;
	pin(0);
	UDT::startup();
	UDTSOCKET socket = udt_open(echo);
	int64_t begun_ns = now_ns();

	check(UDT::connect(socket, (sockaddr *)&address, sizeof(address)) !=
		      UDT::ERROR,
	      "connect");
	ask(socket, echo);
	printf("%lld\n", (long long)(now_ns() - begun_ns));
	fflush(stdout);
	kill(server, SIGKILL);
	waitpid(server, nullptr, 0);
	_exit(0);
}
