#!/usr/bin/env bash
# Configures and builds one preset: ops/build.sh PRESET [TARGET…]. Uses ccache when it is there, and as
# many compilers as cores and memory (1.5 GiB each) allow; LARDER_JOBS names another number.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: ops/build.sh PRESET [TARGET…]}
shift
if [ -z "${CMAKE_CXX_COMPILER_LAUNCHER:-}" ] && command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache
  # Precompiled headers need the sloppiness; another clone then hits, too.
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi
memory_jobs=$(awk '/^MemAvailable/ { print int($2 / 1572864) }' /proc/meminfo)
jobs=${LARDER_JOBS:-$(nproc)}
if [ -z "${LARDER_JOBS:-}" ] && [ "$jobs" -gt "$memory_jobs" ]; then jobs=$memory_jobs; fi
if [ "$jobs" -lt 1 ]; then jobs=1; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep '^-- larder:' "$log" || true
targets=()
for target in "$@"; do targets+=(--target "$target"); done
cmake --build --preset "$preset" -j "$jobs" "${targets[@]}" >"$log" 2>&1 || { tail -n 60 "$log" >&2; exit 1; }
tail -n 1 "$log"
