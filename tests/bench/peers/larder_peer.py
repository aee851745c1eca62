#!/usr/bin/env python3
"""Larder's figures in the peers' form: larder_peer.py SOCKET HOST:PORT SECONDS. Needs `larder` on the PATH."""
import json
import subprocess
import sys

from figures import PRESENCE_KEYS, SHAPES, line

NAME = "larder"
PATHS = {"shm": "same-host copy", "tcp": "tcp", "view": "same-host view"}


def bench(operation, *flags):
    command = ["larder", "bench", operation, "--json", "--rounds", "5", *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def show(path, operation, block_bytes, batch, answer):
    line(NAME, path, operation, block_bytes, batch, answer["us_p50"] / 1000, answer["us_p99"] / 1000, answer["rounds"])


def main():
    unix_path, address, seconds = sys.argv[1], sys.argv[2], sys.argv[3]
    for block_bytes, batch in SHAPES:
        # One call at a time, as with the peers; the limits that are measured beside take a part of the time.
        shape = ["--size", str(block_bytes), "--batch", str(batch), "--seconds", str(4 * float(seconds))]
        for operation in ("put", "get"):
            for transport, server in (("shm", unix_path), ("tcp", address)):
                answer = bench(operation, "--transport", transport, "--server", server, "--depth", "1", *shape)
                show(PATHS[transport], operation, block_bytes, batch, answer)
                if transport == "tcp":
                    limit = answer["limit_us_p50"] / 1000
                    line("raw socket", "tcp", operation, block_bytes, batch, limit, answer["limit_us_p99"] / 1000,
                         answer["rounds"])
        show(PATHS["view"], "get", block_bytes, batch, bench("view", "--server", unix_path, *shape))
    for path, server in (("unix", unix_path), ("tcp", address)):
        answer = bench("match", "--server", server, "--positions", str(PRESENCE_KEYS), "--blocks", str(PRESENCE_KEYS),
                       "--seconds", str(2 * float(seconds)))
        show(path, "presence", 0, PRESENCE_KEYS, answer)


if __name__ == "__main__":
    main()
