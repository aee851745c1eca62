#!/usr/bin/env bash
# From nothing to a served trace: installs packages, builds, starts a larderd of its own on private paths,
# replays a recorded production trace with 4 worker processes over shared memory and then over TCP, and
# stops what it started. May be run again and again; touches no other larderd.
set -euo pipefail
cd "$(dirname "$0")/.."
source ops/processes.sh

readonly capacity=655360000 # 10,000 blocks of 64 KiB
readonly trace=tests/data/traces/conversation_trace.jsonl.zst
say() { printf '\n== %s\n' "$*"; }

say "packages"
ops/install-deps.sh
say "build (build/release)"
ops/build.sh release larder larderd

dir=
daemon=
stop() {
  local pid=$daemon
  daemon=
  if [ -n "$dir" ]; then rm -rf "$dir"; fi
  if [ -n "$pid" ]; then end_process "$pid"; fi
}
trap stop EXIT
trap 'exit 130' INT TERM

# Slabs belong on tmpfs. A container's /dev/shm often has 64 MiB: then a plain directory serves.
place=/dev/shm
room=$(df --output=avail -B1 "$place" 2>/dev/null | tail -n 1 || echo 0)
if [ "${room:-0}" -lt $((capacity + capacity / 10)) ]; then
  place=${TMPDIR:-/tmp}
  echo "/dev/shm has only ${room:-0} bytes free: slabs go to $place"
fi
dir=$(mktemp -d -p "$place" --suffix=.larder-demo)
export PATH=$PWD/build/release/bin:$PATH
export LARDER_SERVER=$dir/larderd.sock

start() { # PORT; true when it answers
  larderd --socket "$LARDER_SERVER" --listen "127.0.0.1:$1" --http off --runtime-dir "$dir/runtime" \
    --host-bytes "$capacity" --log-file "$dir/larderd.log" 2>"$dir/larderd.err" &
  daemon=$!
  for _ in $(seq 100); do
    if larder status >/dev/null 2>&1; then return 0; fi
    kill -0 "$daemon" 2>/dev/null || break
    sleep 0.1
  done
  echo "no larderd at port $1"
  if end_process "$daemon"; then echo "it did not answer"; fi
  daemon=
  return 1
}

say "larderd: $capacity bytes, shared memory at $LARDER_SERVER"
port=
for _ in 1 2 3; do # a port that is taken is tried no second time
  candidate=$((20000 + RANDOM % 20000))
  if start "$candidate"; then
    port=$candidate
    break
  fi
done
if [ -z "$port" ]; then
  echo "larderd did not start:" >&2
  cat "$dir"/larderd.* >&2
  exit 1
fi

say "replay over shared memory, 4 workers: $(basename "$trace")"
larder replay --workers 4 --transport shm "$trace"
say "replay over TCP (127.0.0.1:$port), 4 workers"
larder replay --workers 4 --transport tcp --server "127.0.0.1:$port" "$trace"

say "what larderd says"
larder status | grep -E "^(put_path|get_hits|put_stored|evictions|capacity_bytes|used_bytes|blocks|shards|io_threads) "

say "try next"
cat <<TEXT
  export PATH=$PWD/build/release/bin:\$PATH
  larderd &                                      # a quarter of this machine's memory, loopback only
  larder put hello README.md && larder get hello # any bytes under any name
  larder top                                     # live
  larder bench get --size 1MiB,16MiB             # against the machine's own memcpy
  larder replay --workers 2 tests/data/traces/synthetic_trace.jsonl.zst
  ops/test.sh                                    # every test
TEXT
