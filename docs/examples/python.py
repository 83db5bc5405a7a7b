#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python.py -- a client and a server from another language: the C interface by ctypes.

    NOPAL_LIBRARY=libnopal.so.0 python3 python.py

The environment says where the library is; without it the loader looks for libnopal.so.0.
The program needs no compiler and no binding: it declares the calls that it makes, with the
types of connections.h.  A set tells which of several connections are readable.

python.py [CONFIG] prints:

    client 0 was answered: HELLO FROM 0
    client 1 was answered: HELLO FROM 1
    client 2 was answered: HELLO FROM 2
    all closed well
"""
import ctypes
import os
import sys

SECOND = 10**9
READABLE = 1


class Address(ctypes.Structure):
    _fields_ = [("ip", ctypes.c_uint8 * 16), ("port", ctypes.c_uint16),
                ("interface", ctypes.c_uint16)]


class Entry(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("line", ctypes.c_int), ("cause", ctypes.c_char_p),
                ("fix", ctypes.c_char_p), ("warning", ctypes.c_bool)]


class Problems(ctypes.Structure):
    _fields_ = [("entries", ctypes.POINTER(Entry)), ("count", ctypes.c_size_t),
                ("room", ctypes.c_size_t), ("errors", ctypes.c_size_t),
                ("no_memory", ctypes.c_bool)]


class Ready(ctypes.Structure):
    _fields_ = [("connection", ctypes.c_void_p), ("listener", ctypes.c_void_p),
                ("events", ctypes.c_uint), ("user", ctypes.c_void_p)]


nopal = ctypes.CDLL(os.environ.get("NOPAL_LIBRARY", "libnopal.so.0"))
problems = Problems()


def declare(name, result, *arguments):
    function = getattr(nopal, name)
    function.restype = result
    function.argtypes = arguments
    return function


pointer, text, size, time = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64
listen = declare("nopal_listen", pointer, text, text, pointer)
dial = declare("nopal_dial", pointer, text, text, time, pointer)
accept = declare("nopal_accept", pointer, pointer, time, pointer)
send = declare("nopal_connection_send", ctypes.c_int, pointer, pointer, size, time)
receive = declare("nopal_connection_receive", ctypes.c_int64, pointer, pointer, size, time)
close = declare("nopal_connection_close", ctypes.c_int, pointer, time, pointer)
listener_address = declare("nopal_listener_address", None, pointer, pointer)
listener_close = declare("nopal_listener_close", None, pointer)
address_format = declare("nopal_address_format", text, pointer, pointer)
set_new = declare("nopal_connections_new", pointer)
set_add = declare("nopal_connections_add", ctypes.c_int, pointer, pointer, ctypes.c_uint, pointer)
set_wait = declare("nopal_connections_wait", size, pointer, pointer, size, time)
set_free = declare("nopal_connections_free", None, pointer)


def good(result):
    """A pointer, or the problems as an exception."""
    if result is None:
        raise SystemExit("\n".join(problems.entries[i].cause.decode()
                                   for i in range(problems.count)))
    return result


def serve(connections):
    """Answers as many messages as there are connections in capitals."""
    members = set_new()
    ready = (Ready * len(connections))()
    room = ctypes.create_string_buffer(1500)
    for connection in connections:
        set_add(members, connection, READABLE, None)
    left = len(connections)
    while left:
        for i in range(set_wait(members, ready, len(ready), 5 * SECOND)):
            one = ready[i].connection
            if ready[i].events & READABLE:
                length = receive(one, room, len(room), 0)
                send(one, room.raw[:length].upper(), length, 5 * SECOND)
                left -= 1
    set_free(members)


def main():
    config = sys.argv[1].encode() if len(sys.argv) > 1 else b"bulk"
    address, place = Address(), ctypes.create_string_buffer(64)
    listener = good(listen(config, b"127.0.0.1:0", ctypes.byref(problems)))
    listener_address(listener, ctypes.byref(address))
    address_format(ctypes.byref(address), place)
    clients = [good(dial(config, place.value, 5 * SECOND, ctypes.byref(problems)))
               for _ in range(3)]
    servers = [good(accept(listener, 5 * SECOND, ctypes.byref(problems))) for _ in clients]
    for i, client in enumerate(clients):
        hello = f"hello from {i}".encode()
        send(client, hello, len(hello), 5 * SECOND)
    serve(servers)
    for i, client in enumerate(clients):
        room = ctypes.create_string_buffer(1500)
        length = receive(client, room, len(room), 5 * SECOND)
        print(f"client {i} was answered: {room.raw[:length].decode()}")
    ends = [close(one, 5 * SECOND, ctypes.byref(problems)) for one in clients + servers]
    listener_close(listener)
    print("all closed well" if not any(ends) else "some did not close well")


main()
