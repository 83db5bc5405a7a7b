/* SPDX-License-Identifier: MIT */
/*
 * blocking.c -- a client and a server by calls that block: a message there and back.
 *
 *     cc -o blocking blocking.c $(pkg-config --cflags --libs nopal)
 *
 * ./blocking [CONFIG] prints:
 *
 *     the server received: hello
 *     the client received: hello
 *     the client sent 1 message of 5 bytes
 */
#include <inttypes.h>
#include <nopal/nopal.h>
#include <stdio.h>

static const int64_t timeout_ns = 5 * NOPAL_SECOND;

/* Receives a message, which is printed, and its length. */
static size_t receive(struct nopal_connection *connection, const char *side, char *bytes,
		      size_t room)
{
	int64_t length = nopal_connection_receive(connection, bytes, room, timeout_ns);

	if (length < 0) {
		fprintf(stderr, "the %s received nothing: %s\n", side, nopal_strerror((int)length));
		return 0;
	}
	printf("the %s received: %.*s\n", side, (int)length, bytes);
	return (size_t)length;
}

/* The server's side of the conversation is in this thread, too: each connection works in a thread
 * of its own. */
static int converse(struct nopal_connection *client, struct nopal_connection *server)
{
	char bytes[64];
	size_t length;

	nopal_connection_send(client, "hello", 5, timeout_ns);
	length = receive(server, "server", bytes, sizeof(bytes));
	nopal_connection_send(server, bytes, length, timeout_ns);
	length = receive(client, "client", bytes, sizeof(bytes));
	return length == 5 ? 0 : 1;
}

int main(int count, char **words)
{
	const char *config = count > 1 ? words[1] : "bulk";
	struct nopal_problems problems = { 0 };
	struct nopal_connection *client = NULL, *server = NULL;
	struct nopal_connection_info info;
	char text[NOPAL_ADDRESS_TEXT];
	struct nopal_address address;
	int result = 1;

	struct nopal_listener *listener = nopal_listen(config, "127.0.0.1:0", &problems);

	if (listener) {
		nopal_listener_address(listener, &address);
		nopal_address_format(&address, text);
		client = nopal_dial(config, text, timeout_ns, &problems);
	}
	if (client)
		server = nopal_accept(listener, timeout_ns, &problems);
	if (server) {
		result = converse(client, server);
		nopal_connection_look(client, &info);
		printf("the client sent %" PRIu64 " message of %" PRIu64 " bytes\n",
		       info.counters.messages_sent, info.counters.bytes_sent);
	}

	/* waits until both sides have all that was sent */
	if (client && nopal_connection_close(client, timeout_ns, &problems))
		result = 1;
	if (server && nopal_connection_close(server, timeout_ns, &problems))
		result = 1;
	if (listener)
		nopal_listener_close(listener);
	nopal_problems_print(&problems, stderr);
	nopal_problems_fini(&problems);
	return result;
}
