#!/usr/bin/env python3
"""Medians over the passes of run.sh and the means that compare: summary.py OUT.jsonl"""
import collections
import json
import math
import statistics
import sys

from figures import SHAPES


def medians(path):
    """(peer, path, operation, block_bytes) -> rate of the median call, in keys a second; and p50, p99 in ms."""
    found = collections.defaultdict(list)
    with open(path) as lines:
        for text in lines:
            figure = json.loads(text)
            found[figure["peer"], figure["path"], figure["operation"], figure["block_bytes"]].append(figure)
    return {key: {name: statistics.median(f[name] for f in figures) for name in ("mib_s", "keys_s", "p50_ms", "p99_ms")}
            | {"batch": figures[0]["batch"], "passes": len(figures)} for key, figures in found.items()}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def means(rows, ours, theirs, operation):
    """Larder's rate over that of the best of `theirs`, shape by shape; nothing when a figure is missing."""
    ratios = []
    for block_bytes, _ in SHAPES:
        own = rows.get((*ours, operation, block_bytes))
        best = [rows[*their, operation, block_bytes]["keys_s"] for their in theirs if (*their, operation, block_bytes) in rows]
        if own is None or not best:
            return None
        ratios.append(own["keys_s"] / max(best))
    return geometric_mean(ratios)


def comparisons(rows):
    """(what, operation, ratio, goal)"""
    stores = [(peer, path) for peer in ("redis", "valkey") for path in ("unix", "tcp")]
    mooncake = [("mooncake", "tcp")]
    copy, view, tcp = ("larder", "same-host copy"), ("larder", "same-host view"), ("larder", "tcp")
    for operation in ("get", "put"):
        yield "same-host copy / best Redis or Valkey", operation, means(rows, copy, stores, operation), "≥ 1.5"
        yield "same-host copy / Mooncake, two processes", operation, means(rows, copy, mooncake, operation), "≥ 2"
        over_tcp = [("redis", "tcp"), ("valkey", "tcp"), *mooncake]
        yield "TCP / best peer over TCP", operation, means(rows, tcp, over_tcp, operation), "≥ 1.5, or next row"
        yield "TCP / raw socket", operation, means(rows, tcp, [("raw socket", "tcp")], operation), "≥ 0.95"
    yield "view / best of all peers", "get", means(rows, view, stores + mooncake, "get"), "≥ 3"
    own = rows.get(("larder", "unix", "presence", 0))
    for what, operations in (("each key answered", ["presence of each"]), ("or counted", ["presence of each", "presence"])):
        best = [row["keys_s"] for (peer, _, operation, _), row in rows.items()
                if operation in operations and peer != "larder"]
        ratio = own["keys_s"] / max(best) if own and best else None
        yield f"1,000 present keys / best of all peers, {what}", "presence", ratio, "≥ 5"


def table(*columns):
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))


def main():
    rows = medians(sys.argv[1])
    print("## Beside Redis, Valkey and Mooncake Store\n")
    print("One run, all in turns; medians over passes. A view copies nothing: its rate is that of handing out the blocks.\n")
    table("geometric mean over shapes", "operation", "ratio", "goal")
    for what, operation, ratio, goal in comparisons(rows):
        print(f"| {what} | {operation} | {'–' if ratio is None else f'{ratio:.2f}'} | {goal} |")
    print()
    table("peer", "path", "operation", "blocks", "MiB/s", "keys/s", "p50 ms", "p99 ms", "passes")
    for (peer, path, operation, block_bytes), row in sorted(rows.items(), key=lambda item: (item[0][2], item[0][3], item[0])):
        blocks = f'{block_bytes >> 10} KiB × {row["batch"]}' if block_bytes else f'{row["batch"]} keys'
        rate = f'{row["mib_s"]:.0f}' if block_bytes else "–"
        print(f'| {peer} | {path} | {operation} | {blocks} | {rate} | {row["keys_s"]:.0f} | {row["p50_ms"]:.3f} | '
              f'{row["p99_ms"]:.3f} | {row["passes"]} |')


if __name__ == "__main__":
    main()
