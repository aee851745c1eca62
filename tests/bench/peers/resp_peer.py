#!/usr/bin/env python3
"""Redis or Valkey as a store of blocks: resp_peer.py NAME SOCKET PORT SECONDS."""
import itertools
import os
import socket
import sys

from figures import COLD_BYTES, PRESENCE_KEYS, SHAPES, report

PIECES_MAX = 1000  # of one sendmsg: the kernel takes 1024


class Connection:
    """Speaks RESP with the bytes of blocks neither joined nor copied on this side."""

    def __init__(self, stream):
        self.stream = stream
        self.line_buffer = memoryview(bytearray(1))

    def send(self, pieces):
        pieces = [memoryview(piece) for piece in pieces]
        at = 0
        while at < len(pieces):
            sent = self.stream.sendmsg(pieces[at:at + PIECES_MAX])
            while at < len(pieces) and sent >= len(pieces[at]):
                sent -= len(pieces[at])
                at += 1
            if sent:
                pieces[at] = pieces[at][sent:]

    def receive(self, place):
        while place:
            got = self.stream.recv_into(place)
            if got == 0:
                sys.exit("the server closed the connection")
            place = place[got:]

    def receive_line(self):
        out = bytearray()
        while not out.endswith(b"\r\n"):
            self.receive(self.line_buffer)
            out += self.line_buffer
        return bytes(out[:-2])

    def expect(self, line):
        got = self.receive_line()
        if got != line:
            sys.exit(f"expected {line!r}, got {got[:80]!r}")

    def put(self, keys, blocks):
        pieces = [b"*%d\r\n$4\r\nMSET\r\n" % (1 + 2 * len(keys))]
        for key, block in zip(keys, blocks):
            pieces += [b"$%d\r\n%b\r\n$%d\r\n" % (len(key), key, len(block)), block, b"\r\n"]
        self.send(pieces)
        self.expect(b"+OK")

    def get(self, keys, places):
        self.send([b"*%d\r\n$4\r\nMGET\r\n" % (1 + len(keys)), b"".join(b"$%d\r\n%b\r\n" % (len(k), k) for k in keys)])
        self.expect(b"*%d" % len(keys))
        end = memoryview(bytearray(2))
        for place in places:
            self.expect(b"$%d" % len(place))
            self.receive(place)
            self.receive(end)

    def count_present(self, keys):
        """EXISTS with many keys answers how many there are, in one command."""
        self.send([b"*%d\r\n$6\r\nEXISTS\r\n" % (1 + len(keys)), b"".join(b"$%d\r\n%b\r\n" % (len(k), k) for k in keys)])
        return int(self.receive_line()[1:])

    def count_present_each(self, keys):
        """A command a key, sent in one go: each key has its own answer, of four bytes."""
        self.send([b"".join(b"*2\r\n$6\r\nEXISTS\r\n$%d\r\n%b\r\n" % (len(k), k) for k in keys)])
        answers = bytearray(len(keys) * len(b":1\r\n"))
        self.receive(memoryview(answers))
        return answers.count(b":1\r\n")

    def clear(self):
        self.send([b"*2\r\n$8\r\nFLUSHALL\r\n$4\r\nSYNC\r\n"])
        self.expect(b"+OK")


def cut(area, block_bytes, batch):
    return [area[n * block_bytes:(n + 1) * block_bytes] for n in range(batch)]


def measure_shape(name, path, connection, shape, seconds, source, target):
    block_bytes, batch = shape
    rounds = COLD_BYTES // (block_bytes * batch)
    blocks, places = cut(source, block_bytes, batch), cut(target, block_bytes, batch)

    def names():
        for n in itertools.cycle(range(rounds)):
            yield [b"%d/%d/%d" % (block_bytes, n, i) for i in range(batch)]

    connection.clear()
    for _, keys in zip(range(rounds), names()):  # gets must not depend on how far the puts came
        connection.put(keys, blocks)
    to_put, to_get = names(), names()
    report(name, path, "put", block_bytes, batch, lambda: connection.put(next(to_put), blocks), seconds)
    report(name, path, "get", block_bytes, batch, lambda: connection.get(next(to_get), places), seconds)
    if target[:block_bytes * batch] != source[:block_bytes * batch]:
        sys.exit("other bytes came back")


def measure_presence(name, path, connection, seconds):
    keys = [b"present/%d" % n for n in range(PRESENCE_KEYS)]
    connection.clear()
    connection.put(keys, [b"x"] * PRESENCE_KEYS)

    for operation, count in (("presence", connection.count_present), ("presence of each", connection.count_present_each)):

        def call(count=count):
            if count(keys) != PRESENCE_KEYS:
                sys.exit("a key is missing")

        report(name, path, operation, 0, PRESENCE_KEYS, call, seconds)


def connect(path, unix_path, port):
    if path == "unix":
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(unix_path)
        return stream
    stream = socket.create_connection(("127.0.0.1", port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return stream


def main():
    name, unix_path, port, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    size = max(block_bytes * batch for block_bytes, batch in SHAPES)
    source = memoryview(os.urandom(size))
    target = memoryview(bytearray(size))
    for path in ("unix", "tcp"):
        connection = Connection(connect(path, unix_path, port))
        for shape in SHAPES:
            measure_shape(name, path, connection, shape, seconds, source, target)
        measure_presence(name, path, connection, seconds)
        connection.clear()


if __name__ == "__main__":
    main()
