#!/usr/bin/env bash
# The long forms of tests/soak on larderds of their own: kills with every put checked, and hours of mixed load
# with faults. Prints the seed first: the same seed draws the same kills and faults again.
#
#   ops/soak.sh [DIR]                    both (kills in both builds, then an hour); JSON and logs go to DIR
#   ops/soak.sh kills [--seed N] [DIR]   100,000 acknowledged puts and 200 kills, at kill points (preset asan) and
#                                        at random moments; then 100,000 and 200 in the release build
#   ops/soak.sh soak [--seed N] [--seconds N] [DIR]
set -euo pipefail
cd "$(dirname "$0")/.."

seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
seconds=3600 puts=100000 kills=200 forms=() out=build/soak
while [ $# -gt 0 ]; do
  case $1 in
    kills | soak) forms+=("$1") ;;
    --seed) seed=${2:?}; shift ;;
    --seconds) seconds=${2:?}; shift ;;
    --puts) puts=${2:?}; shift ;;
    --kills) kills=${2:?}; shift ;;
    -*) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done
if [ ${#forms[@]} -eq 0 ]; then forms=(kills soak); fi
mkdir -p "$out"

failed=
measure() { # NAME PRESET ARGS…
  local name=$1 bin=build/$2/bin/larder_soak begun=$SECONDS
  shift 2
  echo "$name: $bin $*"
  if "$bin" "$@" --json "$out/$name.json" >"$out/$name.log" 2>&1; then
    printf '%s ok, %d s\n' "$name" $((SECONDS - begun))
  else
    printf '%s FAILED after %d s, see %s; again: %s %s\n' "$name" $((SECONDS - begun)) "$out/$name.log" "$bin" "$*"
    failed="$failed $name"
  fi
}

for form in "${forms[@]}"; do
  case $form in
    kills)
      for preset in asan release; do
        ops/build.sh "$preset" larder_soak
        measure "kills-$preset" "$preset" kills --seed "$seed" --puts "$puts" --kills "$kills"
      done
      ;;
    soak)
      ops/build.sh release larder_soak
      measure soak release soak --seed "$seed" --seconds "$seconds"
      ;;
  esac
done
if [ -n "$failed" ]; then exit 1; fi
