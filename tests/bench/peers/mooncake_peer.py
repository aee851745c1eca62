#!/usr/bin/env python3
"""Mooncake Store, with its master at 127.0.0.1:50051.

  mooncake_peer.py own READY-FILE SECONDS  lends 2 GiB until it is ended, or for so long
  mooncake_peer.py measure SECONDS         puts and gets from another process"""
import itertools
import pathlib
import signal
import sys
import time

import numpy
from mooncake.store import MooncakeDistributedStore

from figures import COLD_BYTES, PRESENCE_KEYS, SHAPES, report

MASTER = "127.0.0.1:50051"
LENT_BYTES = 2 << 30
LOCAL_BYTES = 64 << 20
NAME, PATH = "mooncake", "tcp"


def open_store(port, lent):
    store = MooncakeDistributedStore()
    if store.setup(f"127.0.0.1:{port}", "P2PHANDSHAKE", lent, LOCAL_BYTES, "tcp", "", MASTER) != 0:
        sys.exit("setup failed")
    return store


def own(ready, seconds):
    signal.alarm(seconds)
    store = open_store(50072, LENT_BYTES)
    pathlib.Path(ready).touch()
    signal.pause()
    store.close()


def registered(store, array):
    if store.register_buffer(array.ctypes.data, array.nbytes) != 0:
        sys.exit("register_buffer failed")
    return array


class ShapeRun:
    """Puts under new names; what is older than COLD_BYTES is removed, outside the clock."""

    def __init__(self, store, shape, source, target):
        self.store, (self.block_bytes, self.batch) = store, shape
        self.from_places = [source.ctypes.data + n * self.block_bytes for n in range(self.batch)]
        self.to_places = [target.ctypes.data + n * self.block_bytes for n in range(self.batch)]
        self.sizes = [self.block_bytes] * self.batch
        self.most = COLD_BYTES // (self.block_bytes * self.batch)
        self.number = itertools.count()
        self.live = []
        self.next_get = 0

    def put(self):
        if len(self.live) >= self.most:
            self.remove(self.live.pop(0))
        n = next(self.number)
        keys = [f"{self.block_bytes}/{n}/{i}" for i in range(self.batch)]
        start = time.perf_counter()
        answers = self.store.batch_put_from(keys, self.from_places, self.sizes)
        taken = 1000 * (time.perf_counter() - start)
        if any(answer != 0 for answer in answers):
            sys.exit(f"put: {answers[:4]}")
        self.live.append(keys)
        return taken

    def get(self):
        keys = self.live[self.next_get % len(self.live)]
        self.next_get += 1
        answers = self.store.batch_get_into(keys, self.to_places, self.sizes)
        if any(answer != self.block_bytes for answer in answers):
            sys.exit(f"get: {answers[:4]}")

    def fill(self):
        while len(self.live) < self.most:
            self.put()

    def remove(self, keys):
        for key in keys:
            self.store.remove(key, True)

    def clear(self):
        for keys in self.live:
            self.remove(keys)


def measure_presence(store, seconds):
    block = registered(store, numpy.zeros(4096, dtype=numpy.uint8))
    keys = [f"present/{n}" for n in range(PRESENCE_KEYS)]
    for at in range(0, PRESENCE_KEYS, 100):
        store.batch_put_from(keys[at:at + 100], [block.ctypes.data] * 100, [block.nbytes] * 100)

    def call():
        if any(answer != 1 for answer in store.batch_is_exist(keys)):
            sys.exit("a key is missing")

    report(NAME, PATH, "presence of each", 0, PRESENCE_KEYS, call, seconds)
    store.unregister_buffer(block.ctypes.data)


def measure(seconds):
    store = open_store(50071, 0)
    size = max(block_bytes * batch for block_bytes, batch in SHAPES)
    source = registered(store, numpy.random.default_rng(1).integers(0, 255, size, dtype=numpy.uint8))
    target = registered(store, numpy.zeros(size, dtype=numpy.uint8))
    for shape in SHAPES:
        run = ShapeRun(store, shape, source, target)
        run.fill()
        report(NAME, PATH, "put", *shape, run.put, seconds)
        report(NAME, PATH, "get", *shape, run.get, seconds)
        moved = shape[0] * shape[1]
        if not numpy.array_equal(source[:moved], target[:moved]):
            sys.exit("other bytes came back")
        run.clear()
    measure_presence(store, seconds)
    for area in (source, target):
        store.unregister_buffer(area.ctypes.data)
    store.close()


if __name__ == "__main__":
    if sys.argv[1] == "own":
        own(sys.argv[2], int(sys.argv[3]))
    else:
        measure(float(sys.argv[2]))
