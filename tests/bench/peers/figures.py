"""What every peer's benchmark shares: shapes, the timed loop, the form of a figure."""
import json
import time

KIB, MIB = 1 << 10, 1 << 20
SHAPES = [(64 * KIB, 32), (1 * MIB, 16), (4 * MIB, 8)]  # bytes of a block, blocks a call
COLD_BYTES = 768 * MIB  # keys go round through so much: larger than any cache
PRESENCE_KEYS = 1000
WARM_UP_CALLS = 3
CALLS_MIN = 10


def time_calls(call, seconds):
    """Milliseconds of each call. `call` may answer its own time, when not all of it is to count."""
    for _ in range(WARM_UP_CALLS):
        call()
    taken = []
    begun = time.perf_counter()
    while len(taken) < CALLS_MIN or time.perf_counter() < begun + seconds:
        start = time.perf_counter()
        own = call()
        taken.append(1000 * (time.perf_counter() - start) if own is None else own)
    return sorted(taken)


def line(peer, path, operation, block_bytes, batch, p50_ms, p99_ms, calls):
    """One figure; rates are those of the median call."""
    print(json.dumps({
        "peer": peer, "path": path, "operation": operation, "block_bytes": block_bytes, "batch": batch,
        "mib_s": block_bytes * batch / MIB / (p50_ms / 1000), "keys_s": batch / (p50_ms / 1000),
        "p50_ms": p50_ms, "p99_ms": p99_ms, "calls": calls}), flush=True)


def report(peer, path, operation, block_bytes, batch, call, seconds):
    taken = time_calls(call, seconds)
    line(peer, path, operation, block_bytes, batch, taken[len(taken) // 2], taken[len(taken) * 99 // 100], len(taken))
