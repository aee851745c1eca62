#!/usr/bin/env bash
# Measures everything that the README claims, on this machine: starts larderds of its own on private paths,
# runs every benchmark against the machine's own limits, writes the raw JSON and a table, stops what it
# started. Touches no other larderd.
#
#   ops/bench.sh [DIR]            everything, 10 to 15 minutes; DIR: default tests/bench/results/<date>
#   ops/bench.sh --quick [DIR]    shows in less than a minute that all of it works; figures mean little
#   ops/bench.sh --peers [DIR]    and Redis, Valkey and Mooncake Store beside Larder (installs them into
#                                 $PEERS_DIR: see tests/bench/peers/README.md)
set -euo pipefail
cd "$(dirname "$0")/.."
source ops/processes.sh

quick=
peers=
out=
for word in "$@"; do
  case $word in
    --quick) quick=1 ;;
    --peers) peers=1 ;;
    -*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) out=$word ;;
  esac
done
out=${out:-tests/bench/results/$(date +%F)}
mkdir -p "$out"
if [ -e "$out/machine.json" ]; then rm -f "$out"/*.json "$out"/*.err "$out"/peers.*; fi # of a former run

small="--size 64KiB --batch 32"
large="--size 1MiB,4MiB,16MiB --batch 1"
rounds=7 seconds=3 capacity=4GiB full_capacity=2GiB blocks=1000000 idle_seconds=20 call_limit=300 total_limit=2400 step_blocks=10000000
lookups="10000 100000 1000000 10000000"
sizes_hot="small large" sizes_other="small large"
if [ -n "$quick" ]; then
  large="--size 4MiB --batch 1"
  rounds=5 seconds=0.2 capacity=192MiB full_capacity=128MiB blocks=20000 idle_seconds=2 call_limit=20 total_limit=240 step_blocks=20000
  lookups="10000 100000" sizes_other=small
fi

ops/build.sh release larder larderd larder_index_lookup larder_index_memory larder_longest_step
readonly bin=$PWD/build/release/bin trace=tests/data/traces/conversation_trace.jsonl.zst
export PATH=$bin:$PATH

daemon='' dir='' load=''
stop_daemon() { # [SIGNAL]
  [ -n "$daemon" ] || return 0
  local pid=$daemon
  daemon=
  end_process "$pid" "${1:-TERM}"
}
finish() {
  if [ -n "$dir" ]; then rm -rf "$dir"; fi
  if [ -n "$load" ]; then end_process "$load" KILL; fi
  stop_daemon
}
trap finish EXIT
trap 'exit 130' INT TERM

room_mib() { # what slabs can have, in MiB: a third of the memory stays free
  local memory place
  memory=$(awk '/^MemAvailable/ { print int($2 / 1024 * 2 / 3) }' /proc/meminfo)
  place=$(df --output=avail -BM /dev/shm | tail -n 1 | tr -dc 0-9)
  echo $((memory < place ? memory : place))
}
dir=$(mktemp -d -p /dev/shm --suffix=.larder-bench)
export LARDER_SERVER=$dir/larderd.sock
tcp=

start_daemon() { # CAPACITY [FLAG…]: waits until it serves
  local bytes=$1
  shift
  for _ in 1 2 3; do # a port that is taken is tried no second time
    tcp=127.0.0.1:$((20000 + RANDOM % 20000))
    larderd --socket "$LARDER_SERVER" --listen "$tcp" --http off --runtime-dir "$dir/runtime" \
      --host-bytes "$bytes" --log-file "$dir/larderd.log" "$@" 2>"$dir/larderd.err" &
    daemon=$!
    local until=$((SECONDS + 60))
    until larder status >/dev/null 2>&1; do
      if ! kill -0 "$daemon" 2>/dev/null || [ $SECONDS -gt $until ]; then break; fi
    done
    if kill -0 "$daemon" 2>/dev/null; then return 0; fi
    wait "$daemon" || echo "larderd ended with status $?" >&2
    daemon=
  done
  cat "$dir/larderd.err" "$dir/larderd.log" >&2
  exit 1
}
fresh_daemon() { # CAPACITY [FLAG…]: without blocks of a former one
  stop_daemon
  rm -rf "$dir/runtime"
  start_daemon "$@"
}

failed=
in_time() { # NAME: false when all the time is used
  if [ $SECONDS -lt "$total_limit" ]; then return 0; fi
  echo "$1 left out: $total_limit s are over" >&2
  failed="$failed $1"
  return 1
}
measure() { # NAME COMMAND…: its JSON goes to NAME.json
  local name=$1 begun=$SECONDS
  shift
  in_time "$name" || return 0
  printf '%-32s ' "$name"
  if timeout "$call_limit" "$@" >"$out/$name.json" 2>"$out/$name.err"; then
    rm -f "$out/$name.err"
    printf 'ok %4d s\n' $((SECONDS - begun))
  else
    printf 'FAILED after %d s: %s\n' $((SECONDS - begun)) "$(tail -n 1 "$out/$name.err")"
    rm -f "$out/$name.json"
    failed="$failed $name"
  fi
}
bench() { # NAME OPERATION FLAGS…
  local name=$1
  shift
  # shellcheck disable=SC2068
  measure "$name" larder bench $@ --rounds "$rounds" --seconds "$seconds" --json
}

# Every way of the bytes, in one mode.
bytes_rows() { # MODE SIZES FLAGS…
  local mode=$1 sizes=$2 way size
  shift 2
  for size in $sizes; do
    for way in "get shm" "put shm" "put shm --heap" "get tcp" "put tcp"; do
      # shellcheck disable=SC2206
      local words=($way) server=()
      if [ "${words[1]}" = tcp ]; then server=(--server "$tcp"); fi
      # shellcheck disable=SC2086
      bench "${words[0]}-${words[1]}${words[2]:+-any-memory}-$size-$mode" "${words[0]}" --transport "${words[1]}" \
        ${words[2]:-} ${server[@]+"${server[@]}"} ${!size} "$@"
    done
  done
}

# Views and matches, in one mode.
calls_rows() { # SUFFIX FLAGS…
  local suffix=$1
  shift
  # shellcheck disable=SC2086
  bench "view$suffix" view --transport shm $large "$@"
  bench "match$suffix" match --blocks "$blocks" "$@"
}

# What TLS 1.3 costs: the same rows against the same raw socket, which has none.
tls_rows() {
  local size way
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -keyout "$dir/key.pem" -out "$dir/cert.pem" \
    -subj /CN=larder-bench -addext subjectAltName=IP:127.0.0.1 2>/dev/null
  chmod 600 "$dir/key.pem"
  fresh_daemon "$capacity" --tls-cert "$dir/cert.pem" --tls-key "$dir/key.pem"
  for size in $sizes_other; do
    for way in get put; do
      # shellcheck disable=SC2086
      bench "$way-tls-$size-hot" "$way" --transport tcp --server "$tcp" --tls-ca "$dir/cert.pem" ${!size}
    done
  done
}

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$daemon/stat"; }
idle_row() { # what a larderd without clients costs
  local before after rss
  sleep 1
  before=$(cpu_ticks)
  sleep "$idle_seconds"
  after=$(cpu_ticks)
  rss=$(awk '/^Rss(Anon|File)/ { sum += $2 } END { print sum }' "/proc/$daemon/status")
  printf '{"seconds": %d, "cpu_percent": %s, "beyond_slabs_kib": %d, "kernel_tick_ms": %d}\n' "$idle_seconds" \
    "$(awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$idle_seconds" 'BEGIN { print 100 * t / hz / s }')" \
    "$rss" $((1000 / $(getconf CLK_TCK)))
}
stat_of() { larder status | awk -v name="$1" '$1 == name { print $2 }'; }

# Fills a store with a trace's blocks of 64 KiB, kills the daemon in the middle of puts, and times the next one until a
# block that was acknowledged before is served.
restart_row() {
  local mib=$1 begun ended blocks until=$((SECONDS + call_limit))
  fresh_daemon "${mib}MiB"
  larder replay --workers 2 --block-bytes 64KiB --no-progress "$trace" >/dev/null 2>&1 &
  load=$!
  until [ "$(stat_of evictions)" -gt 0 ] || ! kill -0 "$load" 2>/dev/null; do
    if [ $SECONDS -gt $until ]; then return 1; fi
    sleep 0.2
  done
  head -c 65536 /dev/urandom >"$dir/probe"
  larder put probe "$dir/probe" >/dev/null || return 1
  blocks=$(stat_of blocks)
  stop_daemon KILL
  end_process "$load" KILL
  load=
  begun=$(date +%s%N)
  start_daemon "${mib}MiB"
  larder get probe "$dir/back" >/dev/null || return 1
  ended=$(date +%s%N)
  cmp "$dir/probe" "$dir/back" || return 1
  printf '{"capacity_mib": %d, "blocks_before": %s, "blocks_after": %s, "ms_until_served": %d}\n' "$mib" "$blocks" \
    "$(stat_of blocks)" $(((ended - begun) / 1000000))
}
row_of() { # NAME FUNCTION ARGS…: as measure, for a function that may start a daemon
  local name=$1 begun=$SECONDS
  shift
  in_time "$name" || return 0
  printf '%-32s ' "$name"
  if "$@" >"$out/$name.json"; then
    printf 'ok %4d s\n' $((SECONDS - begun))
  else
    rm -f "$out/$name.json"
    echo FAILED
    failed="$failed $name"
  fi
}

python3 ops/bench_machine.py "$bin" >"$out/machine.json"

fresh_daemon "$capacity"
bytes_rows hot "$sizes_hot"
bytes_rows pause "$sizes_other" --pause-ms 10
calls_rows ""
calls_rows -pause --pause-ms 10
fresh_daemon "$capacity" --spin-us 0
bytes_rows nospin "$sizes_other" --spin-us 0
calls_rows -nospin --spin-us 0
tls_rows
fresh_daemon "$capacity"
bench match-under-load match --blocks "$blocks" --under-load
flood_token=0123456789abcdef-flood
(umask 077 && echo "$flood_token flood admin" >"$dir/tokens")
fresh_daemon "$capacity" --token-file "$dir/tokens"
bench match-under-flood match --blocks "$blocks" --under-load --load-clients 8 --load-token "$flood_token"
fresh_daemon "$full_capacity"
# shellcheck disable=SC2086
bench put-full-small put --full $small
fresh_daemon "$full_capacity"
# shellcheck disable=SC2086
bench put-full-large put --full $large
# shellcheck disable=SC2086
measure index-lookup larder_index_lookup $lookups
measure index-memory larder_index_memory "$blocks"
measure longest-step larder_longest_step "$step_blocks"
fresh_daemon "$capacity"
row_of idle idle_row
mib=$(room_mib)
if [ -n "$quick" ]; then mib=256; fi
row_of restart restart_row $((mib < 8192 ? mib : 8192))
stop_daemon
if [ -n "$peers" ]; then
  echo peers
  tests/bench/peers/run.sh "$out/peers.jsonl" 5 || failed="$failed peers"
fi

python3 ops/bench_table.py "$out" >"$out/RESULTS.md"
cat "$out/RESULTS.md"
if [ -n "$failed" ]; then
  echo "failed:$failed" >&2
  exit 1
fi
