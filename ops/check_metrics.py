#!/usr/bin/env python3
"""Starts larderd, gives it work, and checks /metrics and whatever is drawn or alerted from it.

check_metrics.py BIN_DIR   (folder of larderd and larder; run from the root of the repository)

/metrics must parse strictly, follow Prometheus' conventions and count what was done; every metric and
label in ops/grafana/larder.json and ops/prometheus/larder.rules.yml must be served."""
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from exposition import check_conventions, parse

DASHBOARD = pathlib.Path("ops/grafana/larder.json")
RULES = pathlib.Path("ops/prometheus/larder.rules.yml")
TARGET_LABELS = {"instance", "job"}  # Prometheus adds them
SELECTOR = re.compile(r"\b(larder_[a-z0-9_]+)(?:\{([^}]*)\})?")
BY = re.compile(r"\bby \(([^)]*)\)")


def free_port():
    """Below the ports that the kernel gives to connections: there one could be taken meanwhile."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


TOKEN = "0123456789abcdef-red"


class Daemon:
    def __init__(self, bin_dir, folder):
        self.bin, self.folder = pathlib.Path(bin_dir).resolve(), pathlib.Path(folder)
        self.http, self.tcp = free_port(), free_port()
        self.socket = str(self.folder / "s")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("LARDER_")}
        tokens = self.folder / "tokens"
        tokens.write_text(f"{TOKEN} red read write\n")
        tokens.chmod(0o600)
        self.process = subprocess.Popen(
            [self.bin / "larderd", "--socket", self.socket, "--runtime-dir", self.folder / "run", "--host-bytes", "8MiB",
             "--http", f"127.0.0.1:{self.http}", "--listen", f"127.0.0.1:{self.tcp}", "--log-file", self.folder / "log",
             "--token-file", tokens],
            env=self.environment)

    def larder(self, *words, server=None):
        server = server or self.socket
        token = [] if server == self.socket else ["--token", TOKEN]  # beside the socket all are strangers
        command = [self.bin / "larder", *words, "--server", server, *token]
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE).returncode

    def wait(self):
        for _ in range(200):
            if self.process.poll() is not None or self.larder("status") == 0:
                return
            time.sleep(0.05)
        raise RuntimeError("larderd does not answer")

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http}/metrics") as answer:
            return answer.read().decode()

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


def work(daemon):
    """16 blocks of 1 MiB into 8 MiB, over both transports; gets that hit and one that misses."""
    block = daemon.folder / "block"
    block.write_bytes(os.urandom(1 << 20))
    for server in (daemon.socket, f"127.0.0.1:{daemon.tcp}"):
        for n in range(8):
            assert daemon.larder("put", f"{server}-{n}", str(block), server=server) == 0
        assert daemon.larder("get", f"{server}-7", str(daemon.folder / "got"), server=server) == 0
        assert (daemon.folder / "got").read_bytes() == block.read_bytes()
        assert daemon.larder("match", "absent", server=server) == 1
    assert daemon.larder("get", "absent", str(daemon.folder / "got")) == 1


def total(families, name, **labels):
    """Sum over the series of sample `name` that have these labels."""
    family = next(f for f in families.values() if f.owns(name))
    return sum(v for n, have, v in family.samples if n == name and labels.items() <= have.items())


def check_counts(families):
    wanted = [
        ("larder_put_stored_total", {}, 16), ("larder_put_bytes_total", {}, 16 << 20), ("larder_get_hits_total", {}, 2),
        ("larder_build_info", {"policy": "lru"}, 1), ("larder_capacity_bytes", {}, 8 << 20),
    ] + [("larder_operation_seconds_count", {"operation": o, "transport": t}, n)
         for o, t, n in (("put", "shm", 8), ("put", "tcp", 8), ("get", "tcp", 1), ("match", "shm", 1), ("match", "tcp", 1))]
    wanted += [("larder_tenant_operation_seconds_count", {"tenant": who, "operation": "put", "transport": way}, n)
               for who, way, n in (("red", "tcp", 8), ("red", "shm", 0), ("default", "shm", 8))]
    wanted += [("larder_tenant_pinned_bytes", {}, 0)]
    for name, labels, value in wanted:
        if total(families, name, **labels) != value:
            raise ValueError(f"{name}{labels}: {total(families, name, **labels)}, not {value}")
    if total(families, "larder_evictions_total", cause="capacity") < 8:
        raise ValueError("larder_evictions_total: 16 MiB went into 8 MiB and fewer than 8 blocks left")


def expressions():
    def walk(node):
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "expr" and isinstance(value, str):
                    yield value
                yield from walk(value)
        elif isinstance(node, list):
            for value in node:
                yield from walk(value)
    found = list(walk(json.loads(DASHBOARD.read_text())))
    found += [line.split("expr:", 1)[1] for line in RULES.read_text().splitlines() if line.strip().startswith("expr:")]
    if len(found) < 20:
        raise ValueError(f"only {len(found)} expressions in {DASHBOARD} and {RULES}")
    return found


def check_expressions(families):
    for text in expressions():
        labels = set(TARGET_LABELS)
        for name, selector in SELECTOR.findall(text):
            family = next((f for f in families.values() if f.owns(name)), None)
            if family is None:
                raise ValueError(f"{name} is not served, in: {text}")
            labels |= family.labels()
            for matcher in filter(None, selector.split(",")):
                if re.split(r"[=!]", matcher)[0].strip() not in labels:
                    raise ValueError(f"{name} has no label {matcher}, in: {text}")
        for group in BY.findall(text):
            if unknown := {one.strip() for one in group.split(",")} - labels:
                raise ValueError(f"no label {unknown}, in: {text}")


def main(bin_dir):
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="larder-metrics-", dir=place) as folder:
        daemon = Daemon(bin_dir, folder)
        try:
            daemon.wait()
            work(daemon)
            time.sleep(1)  # shards publish their counters a few times a second
            families = parse(daemon.metrics())
        finally:
            daemon.stop()
    check_conventions(families)
    check_counts(families)
    check_expressions(families)
    print(f"{len(families)} metrics, {len(expressions())} expressions")


if __name__ == "__main__":
    main(sys.argv[1])
