/* SPDX-License-Identifier: MIT */
/*
 * error_text.c -- the library's version, and its errors in words.
 *
 * An errno value says less than the call that returned it knows: the words here are those of
 * Nopal's calls, and of the C library for values that Nopal only hands on from the kernel.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <nopal/nopal.h>

static const struct error_text {
	int error;
	const char *text;
} error_texts[] = {
	{ 0, "no error" },
	{ EACCES, "the file is not executable, or may not be opened" },
	{ EADDRINUSE, "another socket has this address and port" },
	{ EADDRNOTAVAIL, "no interface of this host has the address" },
	{ EAFNOSUPPORT, "addresses of this family are not supported here" },
	{ EAGAIN, "the send buffer is full: wait until the session is writable" },
	{ EALREADY, "the same is under way already" },
	{ EDQUOT, "the quota of the file system is used up" },
	{ EBADMSG, "the next message is no piece of the file" },
	{ EBUSY, "the endpoint has sessions already" },
	{ ECANCELED, "the callback of progress asked to stop" },
	{ ECONNREFUSED, "the peer refused the session" },
	{ ECONNRESET, "the session broke, and messages may be missing" },
	{ EFBIG, "the file would be longer than this process may make it" },
	{ EEXIST, "the destination is there already" },
	{ EINVAL, "an argument is not valid for this call or composition" },
	{ EIO, "a device failed, or a file is damaged" },
	{ EHOSTUNREACH, "no link leads to that host" },
	{ EMSGSIZE, "the message is longer than the limit of the plan" },
	{ ENOBUFS, "the limit of memory, objects or receives is reached" },
	{ ENODATA, "the file ended before all of it was sent" },
	{ ENOENT, "no destination, ticket, file or plugin has this name or number" },
	{ ENOEXEC, "the file is no plugin of this version of Nopal" },
	{ ENOMEM, "out of memory" },
	{ ENOSPC, "no room is left for another one" },
	{ ENOSYS, "no microprotocol of the composition does this" },
	{ ENOTCONN, "the session is not open" },
	{ ENOTSUP, "the composition does not support this call" },
	{ EPERM, "this is not permitted" },
	{ EPIPE, "the session has closed" },
	{ ERANGE, "the number is out of range" },
	{ ETIMEDOUT, "the time has passed" },
};

const char *nopal_strerror(int error)
{
	const char *text = NULL;

	for (size_t i = 0; i < sizeof(error_texts) / sizeof(error_texts[0]); i++)
		if (error_texts[i].error == -(int64_t)error)
			return error_texts[i].text;
	if (error < 0 && error != INT_MIN)
		text = strerrordesc_np(-error);
	return text ? text : "an unknown error";
}

const char *nopal_version(void)
{
	return NOPAL_VERSION;
}
