#!/usr/bin/env bash
# A daemon and a worker as two containers would be: each in PID and mount namespaces of its own, with
# nothing in common but the directory of socket and slabs. two_namespaces.sh BIN_DIR; 77: skipped.
set -euo pipefail
bin=$(cd "$1" && pwd)
source "$(dirname "$0")/../../ops/processes.sh"

if ! unshare --mount --pid --fork true 2>/dev/null; then
  echo "skipped: unshare is not permitted here (root or CAP_SYS_ADMIN is needed)"
  exit 77
fi
shared=$(mktemp -d -p /dev/shm --suffix=.larder-test)
daemon=
finish() {
  if [ -n "$daemon" ]; then
    end_process "$daemon" KILL  # unshare ignores SIGTERM; larderd goes with it
  fi
  rm -rf "$shared"
}
trap finish EXIT

# container COMMAND...: /mnt is the shared directory, /dev/shm is private and empty.
container() {
  exec unshare --mount --pid --fork --kill-child --mount-proc bash -euc '
    mount --make-rprivate /
    mount --bind "$0" /mnt
    mount -t tmpfs tmpfs /dev/shm
    exec "$@"' "$shared" "$@"
}

(container "$bin/larderd" --socket /mnt/s --runtime-dir /mnt/run --listen off --http off \
  --host-bytes 16MiB >"$shared/log" 2>&1) &
daemon=$!
for _ in $(seq 100); do
  if [ -S "$shared/s" ]; then break; fi
  sleep 0.1
done

head -c 1048576 /dev/urandom >"$shared/block"
(container bash -euc '
  larder() { "$0/larder" "$@" --server /mnt/s --transport shm; }
  test "$(ls /proc | grep -c "^[0-9]")" -lt 5   # the daemon is not among its processes
  larder put block /mnt/block
  larder get block /mnt/got
  cmp /mnt/block /mnt/got
  larder status | grep -E "^(transport|put_path) "' "$bin") | tee "$shared/said"
grep -q '^transport  *shm$' "$shared/said"
grep -q '^put_path  *staged$' "$shared/said"   # another PID namespace: nobody can be attached to
echo "daemon and worker share a directory alone: put, get and bytes agree"
