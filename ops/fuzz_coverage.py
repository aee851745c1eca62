#!/usr/bin/env python3
"""Which lines of each decoder of outside input its fuzzers reached; fails under 95 %.

Run by `ops/fuzz.sh --coverage`, which leaves an lcov file a fuzzer in the given folder. Lines that no
input can reach stand in tests/fuzz/unreached.txt, each with its reason, and are not counted."""
import glob
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST = 95.0
DECODERS = {  # decoder -> its fuzzers, its sources
    "frames": (["frame"], ["transport/frame.cc", "transport/frame_head.cc", "transport/frame_reader.cc"]),
    "bodies and arrays": (["session"], ["actors/session*.cc", "transport/namespace_wire.cc"]),
    "slabs on disk": (["header"], ["store/slab.cc", "store/slab_store.cc", "store/slot_ops.cc", "store/node_store.cc",
                                   "store/shard_adopt.cc"]),
    "identity, namespaces, tokens": (["files"], ["actors/runtime_dir.cc", "actors/namespace_table.cc",
                                                 "actors/token_table.cc",
                                                 "actors/tenant_limits.cc"]),
    "configuration": (["config"], ["actors/config.cc", "actors/config_keys.cc", "actors/config_load.cc"]),
    "traces": (["trace"], ["ops/trace_reader.cc"]),
    "replies, in the client": (["client"], [f"client/{name}.cc" for name in (
        "call", "client_calls", "engine_drive", "get", "get_shm", "get_tcp", "handshake", "layer_put", "link", "operation",
        "put_shm", "put_tcp", "view")] + ["transport/slab_map.cc"]),
    "http requests": (["http"], ["actors/http_server.cc"]),
}


def read_lcov(path):
    """{source: {line: times}}"""
    lines, source = {}, None
    for row in path.read_text().splitlines():
        if row.startswith("SF:"):
            full = pathlib.Path(row[3:])
            source = str(full.relative_to(ROOT)) if full.is_relative_to(ROOT) else None
        elif row.startswith("DA:") and source:
            line, times = row[3:].split(",")[:2]
            known = lines.setdefault(source, {})
            known[int(line)] = known.get(int(line), 0) + int(times)
    return lines


def read_exceptions():
    """[(source, text, reason)] of `SOURCE | TEXT OF THE LINE | REASON` lines."""
    rows = (ROOT / "tests/fuzz/unreached.txt").read_text().splitlines()
    split = [[part.strip() for part in row.split(" | ")] for row in rows if row and not row.startswith("#")]
    return [tuple(parts) for parts in split]


def main():
    folder = pathlib.Path(sys.argv[1])
    exceptions, failed = read_exceptions(), False
    print("| decoder | fuzzer | lines | reached | exempt | % |\n|---|---|---|---|---|---|")
    missed = []
    for decoder, (fuzzers, patterns) in DECODERS.items():
        infos = [folder / f"{name}.info" for name in fuzzers]
        if not all(info.exists() for info in infos):
            continue
        counts = {}
        for info in infos:
            for source, lines in read_lcov(info).items():
                for line, times in lines.items():
                    known = counts.setdefault(source, {})
                    known[line] = known.get(line, 0) + times
        total = reached = exempt = 0
        sources = sorted({str(pathlib.Path(p).relative_to(ROOT)) for one in patterns for p in glob.glob(str(ROOT / one))})
        for source in sources:
            text, why = (ROOT / source).read_text().splitlines(), None
            for line, times in sorted(counts.get(source, {}).items()):
                total += 1
                if times > 0:
                    reached += 1
                    why = None
                    continue
                # What is named, and what of the same branch follows it.
                why = next((e for e in exceptions if e[0] == source and e[1] in text[line - 1]), why)
                if why:
                    exempt += 1
                else:
                    missed.append(f"{source}:{line}: {text[line - 1].strip()}")
        share = 100.0 * reached / max(1, total - exempt)
        failed = failed or share < LEAST
        print(f"| {decoder} | {', '.join(fuzzers)} | {total} | {reached} | {exempt} | {share:.1f} |")
    print("\n".join(["", "not reached:"] + missed))
    return 1 if failed else 0


sys.exit(main())
