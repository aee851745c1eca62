#!/usr/bin/env python3
"""The table of one run of ops/bench.sh, in markdown: bench_table.py DIRECTORY-OF-ITS-JSON."""
import json
import pathlib
import sys

MODES = {"hot": "hot", "pause": "10 ms pause", "nospin": "no spinning"}
# way -> heading, goal for 1 to 16 MiB, goal for batches of 64 KiB
WAYS = {
    "get-shm": ("get, shm", 0.85, 0.75),
    "put-shm": ("put, shm, registered memory", 0.90, 0.75),
    "put-shm-any-memory": ("put, shm, any memory", 0.95, 0.75),
    "get-tcp": ("get, TCP", 0.95, 0.85),
    "put-tcp": ("put, TCP", 0.95, 0.85),
    "get-tls": ("get, TLS 1.3", None, None),  # its cost: the socket beside it has no TLS
    "put-tls": ("put, TLS 1.3", None, None),
}


def load(directory, name):
    path = directory / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() and path.stat().st_size else None


def size(count):
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def head(*names):
    row(names)
    row(["---"] * len(names))


def bytes_rows(directory):
    head("path", "blocks", "mode", "MiB/s", "limit MiB/s", "limit", "ratio", "±", "to memcpy", "p50 µs", "p99 µs", "goal")
    for way, (name, goal_large, goal_small) in WAYS.items():
        for mode, mode_name in MODES.items():
            for kind in ("small", "large"):
                for r in (load(directory, f"{way}-{kind}-{mode}") or {"rows": []})["rows"]:
                    goal = goal_small if kind == "small" else goal_large
                    memcpy = f'{r["ratio_memcpy"]:.2f}' if "ratio_memcpy" in r else "–"
                    row([name, f'{size(r["bytes"])} × {r["batch"]}', mode_name, f'{r["mib_s"]:.0f}', f'{r["limit_mib_s"]:.0f}',
                         r["limit"], f'{r["ratio"]:.2f}', f'{r["ratio_spread_percent"]:.0f} %', memcpy, f'{r["us_p50"]:.0f}',
                         f'{r["us_p99"]:.0f}', "–" if goal is None else f"≥ {goal:.2f}"])
    print()


def full_rows(directory):
    rows = [r for kind in ("small", "large") for r in (load(directory, f"put-full-{kind}") or {"rows": []})["rows"]]
    if not rows:
        return
    head("put into a full store", "p99 µs", "empty p99 µs", "copy p99 µs", "to empty (≤ 1.5)", "to copy (≤ 1.3)", "evicted")
    for r in rows:
        row([f'{size(r["bytes"])} × {r["batch"]}', f'{r["us_p99"]:.0f}', f'{r["empty_us_p99"]:.0f}', f'{r["limit_us_p99"]:.0f}',
             f'{r["p99_ratio_to_empty"]:.2f}', f'{r["p99_ratio_to_copy"]:.2f}', r["evicted"]])
    print()


def lookup_rows(directory):
    answer = load(directory, "index-lookup")
    if not answer:
        return
    head("lookup of random keys", "ns a key", "±", "random load ns", "ratio (≤ 2)")
    for r in answer["rows"]:
        row([f'{r["blocks"]:,} blocks', f'{r["lookup_ns"]:.0f}', f'{r["lookup_spread_percent"]:.0f} %', f'{r["load_ns"]:.0f}',
             f'{r["ratio"]:.2f}'])
    print()


def step_rows(directory):
    answer = load(directory, "longest-step")
    if not answer:
        return
    over = [r for r in answer["rows"] if r["longest_us"] > answer["goal_us"]]
    print(f'Longest steps with {answer["blocks"]:,} blocks of 256 B, in CPU time of their thread: '
          f'{len(answer["rows"]) - len(over)} of {len(answer["rows"])} kinds stay within {answer["goal_us"]} µs; the others:\n')
    head("step", "steps", "mean µs", "longest µs (≤ 1,000)")
    for r in sorted(over, key=lambda r: -r["longest_us"]):
        row([r["step"], f'{r["count"]:,}', f'{r["mean_us"]:.0f}', f'{r["longest_us"]:,.0f}'])
    print()


def single_rows(directory):
    """Figures that stand alone: (what, figure, goal)."""
    for mode, mode_name in MODES.items():
        suffix = "" if mode == "hot" else f"-{mode}"
        for r in (load(directory, "view" + suffix) or {"rows": []})["rows"]:
            yield f'view of {size(r["bytes"])}, {mode_name}', f'{r["us_p50"]:.1f} µs median, {r["us_p99"]:.1f} µs p99', "≤ 20 µs"
        m = load(directory, "match" + suffix)
        if m:
            yield (f'match of {m["batch"]:,} positions, {m["blocks"]:,} blocks, {mode_name}',
                   f'{m["us_p50"]:.0f} µs median, {m["us_p99"]:.0f} µs p99; in the io thread {m["residence_us_p50"]:.0f} and '
                   f'{m["residence_us_p99"]:.0f} µs; an echo {m["limit_us_p50"]:.0f} µs', "≤ 150 µs median")
    for name, what in (("load", "a full store evicts"), ("flood", "another tenant floods a full store from 8 connections")):
        m = load(directory, f"match-under-{name}")
        if not m:
            continue
        yield (f"match while {what}: p99 in the io thread",
               f'{m["loaded_residence_us_p99"]:.0f} µs, idle {m["residence_us_p99"]:.0f} µs: {m["residence_p99_ratio"]:.2f} times '
               f'(load: {m["load_mib_s"]:.0f} MiB/s, {m["load_cores"]:.1f} cores)', "≤ 2 × idle")
        yield ("the same, p99 at the client",
               f'{m["loaded_us_p99"]:.0f} µs; with as much CPU burnt elsewhere {m["control_us_p99"]:.0f} µs', "told")
    m = load(directory, "index-memory")
    if m:
        yield f'index and LRU policy, {m["blocks"]:,} blocks', f'{m["resident_bytes_a_block"]:.1f} B a block', "≤ 96"
    m = load(directory, "idle")
    if m:
        yield "idle larderd, CPU", f'{m["cpu_percent"]:.2f} % of a core over {m["seconds"]} s', "< 1 %"
        yield "idle larderd, memory beyond its slabs", f'{m["beyond_slabs_kib"] / 1024:.1f} MiB', "< 64 MiB"
    m = load(directory, "restart")
    if m:
        yield (f'kill -9 to serving, {m["capacity_mib"]:,} MiB, {m["blocks_after"]:,} blocks of 64 KiB',
               f'{m["ms_until_served"]} ms', "≤ 1 s")


def main():
    directory = pathlib.Path(sys.argv[1])
    machine = load(directory, "machine") or {}
    print("# One run of ops/bench.sh\n\nMedians of rounds in which Larder and the limits took turns; ± is half the range of the "
          "ratio over rounds. Goals are for the hot mode. Raw JSON beside this file.\n")
    for name, value in machine.items():
        print(f"- {name}: {value}")
    print()
    bytes_rows(directory)
    full_rows(directory)
    lookup_rows(directory)
    step_rows(directory)
    head("what", "figure", "goal")
    for cells in single_rows(directory):
        row(cells)
    peers = directory / "peers.md"
    if peers.exists():
        print("\n" + peers.read_text())


if __name__ == "__main__":
    main()
