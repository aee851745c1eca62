#!/usr/bin/env bash
# Builds every fuzzer and runs it, two side by side; prints what each did, and how many inputs there
# have been over all runs. A crash ends it with status 1 and the input's name.
#
#   ops/fuzz.sh [SECONDS_EACH] [FUZZER…]          60 seconds, all of them
#   ops/fuzz.sh --coverage [SECONDS_EACH] […]     and then: which lines of each decoder they reached
#
# LARDER_FUZZ_COUNT names the file that keeps the count (build/fuzz-count.tsv), LARDER_FUZZ_PRESET the
# build (fuzz: they alone; asan has them, too). What the fuzzers find grows in build/PRESET/found/NAME;
# inputs that crash are put beside it.
set -euo pipefail
cd "$(dirname "$0")/.."

coverage=
if [ "${1:-}" = --coverage ]; then
  coverage=1
  shift
fi
seconds=60
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi
readonly preset=${LARDER_FUZZ_PRESET:-fuzz} count_file=${LARDER_FUZZ_COUNT:-build/fuzz-count.tsv} corpus=tests/fuzz/corpus
readonly build=build/$preset
readonly found=$build/found

ops/build.sh "$preset"
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for fuzzer in "$build"/bin/*_fuzz; do names+=("$(basename "$fuzzer" _fuzz)"); done
fi

run_one() { # NAME: its log goes to build/PRESET/NAME.log
  local name=$1 dictionary=()
  mkdir -p "$found/$name"
  [ ! -f "tests/fuzz/dict/$name.dict" ] || dictionary=(-dict="tests/fuzz/dict/$name.dict")
  # First the corpus alone, then what grows from it. Without -entropic, whose bookkeeping grows with the
  # corpus until it takes most of the time; at full length, because fields stand anywhere in an input.
  "$build/bin/${name}_fuzz" -runs=0 "$corpus/$name" >"$build/$name.log" 2>&1 &&
    "$build/bin/${name}_fuzz" -max_total_time="$seconds" -timeout=25 -len_control=0 -rss_limit_mb=2048 -malloc_limit_mb=256 -entropic=0 -print_funcs=0 -print_final_stats=1 \
      "${dictionary[@]}" -artifact_prefix="$found/$name-" "$found/$name" "$corpus/$name" >"$build/$name.log" 2>&1
}
# Deep stacks of every allocation cost a tenth of the time; run an input that crashed without this.
export ASAN_OPTIONS=malloc_context_size=4
export -f run_one
export seconds build found corpus
failed=0
printf '%s\0' "${names[@]}" | xargs -0 -n 1 -P 2 bash -c 'run_one "$1"' run_one || failed=1

touch "$count_file"
printf '%-9s %12s %9s %8s %14s %16s\n' fuzzer inputs 'inputs/s' corpus 'past the first' 'past, all runs'
for name in "${names[@]}"; do
  log=$build/$name.log
  if ! grep -q '^stat::number_of_executed_units' "$log" || grep -q 'ERROR: \|SUMMARY: ' "$log"; then
    printf '%-9s FAILED, see %s\n' "$name" "$log"
    tail -n 40 "$log"
    continue
  fi
  awk -v name="$name" -v counts="$count_file" '
    /^stat::number_of_executed_units/ { inputs = $2 }
    /^stat::average_exec_per_sec/ { rate = $2 }
    / corp: / { for (i = 1; i < NF; ++i) if ($i == "corp:") { split($(i + 1), size, "/"); corpus = size[1] } }
    /^larder: .* past the first check/ { past = $4 }
    END {
      while ((getline line < counts) > 0) { split(line, was, "\t"); seen[was[1]] = was[2]; deep[was[1]] = was[3] }
      close(counts)
      seen[name] += inputs; deep[name] += past
      for (one in seen) printf "%s\t%d\t%d\n", one, seen[one], deep[one] > counts
      printf "%-9s %12d %9d %8d %14d %16d\n", name, inputs, rate, corpus, past, deep[name]
    }' "$log"
done
[ $failed -eq 0 ] || exit 1
[ -n "$coverage" ] || exit 0

ops/build.sh coverage
for name in "${names[@]}"; do
  fuzzer=build/coverage/bin/${name}_fuzz
  LLVM_PROFILE_FILE=build/coverage/$name.profraw "$fuzzer" -runs=0 "$corpus/$name" "$found/$name" >"build/coverage/$name.log" 2>&1
  llvm-profdata merge -sparse "build/coverage/$name.profraw" -o "build/coverage/$name.profdata"
  llvm-cov export -format=lcov -instr-profile="build/coverage/$name.profdata" "$fuzzer" >"build/coverage/$name.info"
done
python3 ops/fuzz_coverage.py build/coverage
