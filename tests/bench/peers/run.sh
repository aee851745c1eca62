#!/usr/bin/env bash
# Larder, Redis, Valkey and Mooncake Store in turns, pass by pass; appends nothing, writes OUT.jsonl anew and
# a table beside it (OUT.md). Ends what it started. Needs root for a network namespace, else leaves Mooncake out.
#
#   tests/bench/peers/run.sh OUT.jsonl [PASSES, 5] [SECONDS a figure, 1]
#   PEERS_DIR     where the peers are kept; default ~/.cache/larder-peers
#   PEERS_LARDER  directory of larder and larderd; default build/release/bin
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../../ops/processes.sh"
readonly here out=${1:?usage: run.sh OUT.jsonl [PASSES [SECONDS]]} passes=${2:-5} seconds=${3:-1}
export PEERS_DIR=${PEERS_DIR:-$HOME/.cache/larder-peers}
readonly peers=$PEERS_DIR python=$PEERS_DIR/python/bin/python
readonly bin=${PEERS_LARDER:-$here/../../../build/release/bin}
readonly space=larder-peers-$$ limit=180 # seconds that one peer may take a pass
"$here/install.sh" >&2
libraries=$(find "$peers/root" -name '*.so*' -printf '%h\n' | sort -u | paste -sd:)

mooncake=
dir=$(mktemp -d -p /dev/shm --suffix=.larder-peers)
started=()
end_all() {
  for pid in ${started[@]+"${started[@]}"}; do
    end_process "$pid" KILL
  done
  started=()
}
finish() {
  end_all
  rm -rf "$dir"
  if [ -n "$mooncake" ]; then ip netns del "$space"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

wait_for() { # COMMAND…: until it succeeds, 20 s at most
  local until=$((SECONDS + 20))
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -gt $until ]; then return 1; fi
    sleep 0.1
  done
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

larder_pass() {
  local port
  port=$(free_port)
  "$bin/larderd" --socket "$dir/larder.sock" --listen "127.0.0.1:$port" --http off --runtime-dir "$dir/runtime" \
    --host-bytes 2GiB --log-file "$dir/larder.log" 2>"$dir/larder.err" &
  started+=($!)
  wait_for "$bin/larder" status --server "$dir/larder.sock" || return 1
  PATH=$bin:$PATH timeout "$limit" python3 "$here/larder_peer.py" "$dir/larder.sock" "127.0.0.1:$port" "$seconds"
}
resp_pass() { # NAME PROGRAM
  local port
  port=$(free_port)
  LD_LIBRARY_PATH=$libraries "$2" --bind 127.0.0.1 --port "$port" --unixsocket "$dir/$1.sock" --save '' --appendonly no \
    --maxmemory 2gb --maxmemory-policy allkeys-lru --dir "$dir" >"$dir/$1.log" 2>&1 &
  started+=($!)
  wait_for test -S "$dir/$1.sock" || return 1
  timeout "$limit" "$python" "$here/resp_peer.py" "$1" "$dir/$1.sock" "$port" "$seconds"
}
# Its transfer engine and its master take ports on every address: nobody else sees this namespace.
inside=(ip netns exec "$space" env LD_LIBRARY_PATH="$libraries" MC_STORE_MEMCPY=0
  MC_TCP_ENABLE_CONNECTION_POOL=1 GLOG_minloglevel=2)
mooncake_pass() {
  rm -f "$dir/ready"
  "${inside[@]}" "$peers/python/bin/mooncake_master" --rpc_address=127.0.0.1 --rpc_port=50051 --metrics_host=127.0.0.1 \
    --metrics_port=9003 --logtostderr >"$dir/master.log" 2>&1 &
  started+=($!)
  wait_for "${inside[@]}" bash -c 'exec 3<>/dev/tcp/127.0.0.1/50051' || return 1
  # Not by way of timeout: ended by KILL, it would leave its child behind.
  "${inside[@]}" "$python" "$here/mooncake_peer.py" own "$dir/ready" "$limit" >"$dir/own.log" 2>&1 &
  started+=($!)
  wait_for test -e "$dir/ready" || return 1
  "${inside[@]}" timeout "$limit" "$python" "$here/mooncake_peer.py" measure "$seconds" 2>"$dir/mooncake.err"
}

if ip netns add "$space" 2>/dev/null; then
  mooncake=1
  ip netns exec "$space" ip link set lo up
else
  echo "no network namespace: Mooncake Store is left out" >&2
fi
redis=$(find "$peers/root" -path "*/bin/redis-server" | head -n 1)
: >"$out"
failed=
turn() { # NAME FUNCTION ARGS…
  local name=$1
  shift
  "$@" >>"$out" || { failed="$failed $name"; find "$dir" -name '*.err' -o -name '*.log' | xargs -r tail -n 3 >&2; }
  end_all
  rm -rf "${dir:?}"/*
}
for pass in $(seq "$passes"); do
  echo "pass $pass of $passes" >&2
  turn larder larder_pass
  turn redis resp_pass redis "$redis"
  turn valkey resp_pass valkey "$peers/valkey-server"
  if [ -n "$mooncake" ]; then turn mooncake mooncake_pass; fi
done
python3 "$here/summary.py" "$out" >"${out%.jsonl}.md"
if [ -n "$failed" ]; then
  echo "failed:$failed" >&2
  exit 1
fi
