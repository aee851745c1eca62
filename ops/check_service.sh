#!/usr/bin/env bash
# Runs larderd as its unit would, without systemd: user larder, /run/larder, a notify socket, the
# packaged configuration; and sees who can reach it by `larder status` without flags. Everything
# happens in a mount namespace with a /run, /etc/passwd and /dev/shm of its own.
# check_service.sh BIN_DIR CONFIG; 77: skipped.
set -euo pipefail
bin=$(cd "$1" && pwd)
config=$(realpath "$2")
repo=$(cd "$(dirname "$0")/.." && pwd)

if ! unshare --mount true 2>/dev/null; then
  echo "skipped: unshare is not permitted here (root or CAP_SYS_ADMIN is needed)"
  exit 77
fi
unset LARDER_SERVER LARDER_CONFIG XDG_RUNTIME_DIR
exec unshare --mount --pid --fork --kill-child --mount-proc bash -euo pipefail -s "$bin" "$config" "$repo" <<'INSIDE'
bin=$1 config=$2 repo=$3
readonly larder_id=64044 member_id=64045 stranger_id=64046
mount --make-rprivate /
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
passwd=$(cat /etc/passwd) group=$(cat /etc/group) binaries=$(mktemp -d)
cp "$bin/larder" "$bin/larderd" "$config" "$binaries"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/bin && cp "$binaries"/* /run/bin && rm -r "$binaries"
{ echo "$passwd" | grep -v '^larder:'; echo "larder:x:$larder_id:$larder_id::/:/usr/sbin/nologin"; } >/run/passwd
{ echo "$group" | grep -v '^larder:'; echo "larder:x:$larder_id:"; } >/run/group
mount --bind /run/passwd /etc/passwd
mount --bind /run/group /etc/group
as() { setpriv --reuid "$1" --regid "$1" "${@:2}"; }

# What RuntimeDirectory= and tmpfiles.d do.
install -d -o larder -g larder -m 0750 /run/larder
install -d -o larder -g larder -m 0700 /dev/shm/larder
python3 -c '
import os, socket
one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
one.bind("/run/notify")
os.chmod("/run/notify", 0o777)
one.settimeout(20)
print(one.recv(4096).decode(), flush=True)' >/run/notified &
notified=$!
until [ -S /run/notify ]; do sleep 0.05; done
NOTIFY_SOCKET=/run/notify setpriv --reuid $larder_id --regid $larder_id --clear-groups \
  /run/bin/larderd --config "/run/bin/$(basename "$config")" --host-bytes 16MiB --listen off --http off \
  >/run/log 2>&1 &
daemon=$!
wait $notified || { cat /run/log >&2; exit 1; }
grep -q '^READY=1$' /run/notified
grep -q "^MAINPID=$daemon$" /run/notified

/run/bin/larder status >/run/said || { echo "root cannot use it" >&2; exit 1; }
as $member_id --groups $larder_id /run/bin/larder status >/run/said || { echo "the group cannot use it" >&2; exit 1; }
grep -q '^transport  *shm$' /run/said
if as $stranger_id --clear-groups /run/bin/larder status >/dev/null 2>&1; then
  echo "a stranger can use it" >&2
  exit 1
fi
/run/bin/larder doctor --host-bytes 16MiB >/run/said || { cat /run/said >&2; exit 1; }
grep -q '^ok *daemon_user ' /run/said

kill -TERM $daemon
wait $daemon
# Another user's directory in its place is refused, by root too.
chown $stranger_id /run/larder
touch /run/larder/larderd.sock
if /run/bin/larder status >/run/said 2>&1; then exit 1; fi
grep -q 'or user larder' /run/said
echo "READY=1 came; root and the group reach it, a stranger does not; it ends with 0 on SIGTERM"
INSIDE
