#!/usr/bin/env bash
# Installs what is missing, builds and runs every test; each stage prints its time, the first that fails
# ends it. CI calls this script, nothing else. May be run again and again: builds are incremental.
#
#   ops/test.sh            format, layers, release, installed and Debian packages, ASan + UBSan, TSan, fuzzers (a minute each; LARDER_FUZZ_SECONDS)
#   ops/test.sh --all      and clang-tidy, fuzzers for 10 minutes each, tests 20 times over
#   ops/test.sh STAGE…     only these, in this order
set -euo pipefail
cd "$(dirname "$0")/.."

fuzz_seconds=${LARDER_FUZZ_SECONDS:-60}
stages=(install format layers release package asan tsan fuzz)
if [ "${1:-}" = --all ]; then
  shift
  fuzz_seconds=600
  stages+=(tidy repeat)
elif [ $# -gt 0 ]; then
  stages=("$@")
fi
readonly log_dir=build/logs
mkdir -p "$log_dir"

sources() { find actors client gpu ops policies store tests transport -name '*.h' -o -name '*.cc'; }

stage_install() { ops/install-deps.sh --all; }
stage_format() { sources | xargs clang-format --dry-run -Werror; }
stage_layers() { python3 ops/check_layers.py; }

run_ctest() { # PRESET
  ctest --preset "$1" --timeout 1200 -j "$(nproc)"
}
stage_release() {
  ops/build.sh release
  run_ctest release
  timeout 300 ops/bench.sh --quick build/bench # that benchmarks work, not how fast anything is
}
# What a client author does: install, find_package(larder), build the example against it, nothing else.
stage_package() {
  ops/build.sh release
  local prefix
  prefix=$(mktemp -d)
  trap 'rm -rf "$prefix"' RETURN
  cmake --install build/release --prefix "$prefix/larder"
  cmake -S client/example -B "$prefix/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix/larder" \
    -DCMAKE_BUILD_TYPE=Release
  cmake --build "$prefix/build"
  "$prefix/larder/bin/larder" --version
  "$prefix/larder/bin/larderd" --version
  cpack --config build/release/CPackConfig.cmake -G DEB
  ops/check_package.sh build/release/packages
}
stage_asan() {
  ops/build.sh asan
  run_ctest asan
}
# The parts free of CAF: CAF 0.17 is not instrumented.
stage_tsan() {
  ops/build.sh tsan
  run_ctest tsan
}
stage_fuzz() { LARDER_FUZZ_PRESET=asan ops/fuzz.sh "$fuzz_seconds"; } # what stage asan built
stage_tidy() {
  ops/build.sh release
  sources | grep '\.cc$' | grep -v '^tests/' | xargs -n 1 -P "$(nproc)" clang-tidy --quiet -p build/release
}
stage_repeat() { ctest --preset release --timeout 600 --repeat until-fail:20; }

total=$SECONDS
for stage in "${stages[@]}"; do
  declare -F "stage_$stage" >/dev/null || { echo "unknown stage $stage" >&2; exit 2; }
  log=$log_dir/$stage.log
  printf '%-8s ' "$stage"
  begun=$SECONDS
  # A stage is a process of its own, so that `set -e` holds inside it.
  if bash -euo pipefail -c "$(declare -f); $(declare -p fuzz_seconds); stage_$stage" >"$log" 2>&1; then
    printf 'ok      %4d s\n' $((SECONDS - begun))
  else
    printf 'FAILED  %4d s, see %s\n' $((SECONDS - begun)) "$log"
    tail -n 60 "$log"
    exit 1
  fi
done
printf 'all      ok      %4d s\n' $((SECONDS - total))
