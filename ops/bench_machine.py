#!/usr/bin/env python3
"""Prints what figures depend on, as one JSON object: bench_machine.py DIRECTORY-OF-LARDERD."""
import json
import os
import pathlib
import platform
import subprocess
import sys

THP = pathlib.Path("/sys/kernel/mm/transparent_hugepage")


def first_line(command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10).stdout.splitlines()[0].strip()
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return ""


def chosen(path):
    """The word in brackets of a kernel setting."""
    try:
        words = path.read_text().split()
    except OSError:
        return ""
    return next((w.strip("[]") for w in words if w.startswith("[")), "")


def field(path, name):
    for line in pathlib.Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def build_facts(bin_dir):
    """Compiler and flags, as CMake's cache has them."""
    cache = pathlib.Path(bin_dir).parent / "CMakeCache.txt"
    values = dict(line.split("=", 1) for line in cache.read_text().splitlines() if "=" in line and line[0] not in "#/")
    names = {key.split(":")[0]: value for key, value in values.items()}
    build = names.get("CMAKE_BUILD_TYPE", "")
    return {"compiler": first_line([names.get("CMAKE_CXX_COMPILER", "c++"), "--version"]), "build_type": build,
            "flags": f'{names.get("CMAKE_CXX_FLAGS", "")} {names.get("CMAKE_CXX_FLAGS_" + build.upper(), "")}'.strip()}


def main():
    facts = {
        "cpu": field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(field("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "kernel": platform.release(),
        "thp": chosen(THP / "enabled"),
        "thp_shmem": chosen(THP / "shmem_enabled"),
        "load_average": os.getloadavg()[0],
        "commit": first_line(["git", "describe", "--always", "--dirty"]),
    }
    print(json.dumps(facts | build_facts(sys.argv[1]), indent=1))


if __name__ == "__main__":
    main()
