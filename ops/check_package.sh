#!/usr/bin/env bash
# Looks at the Debian packages in a folder: contents, control fields, maintainer scripts, the unit; and
# runs what they hold. Installs nothing. check_package.sh FOLDER
set -euo pipefail
folder=$1
server=$(ls -t "$folder"/larder_*.deb | head -n 1)
dev=$(ls -t "$folder"/larder-dev_*.deb | head -n 1)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() { echo "$*" >&2; exit 1; }
# has DEB PATH...: the package holds each file, owned by root.
has() {
  local contents path
  contents=$(dpkg-deb --contents "$1")
  for path in "${@:2}"; do
    grep -Eq "^-[rwx-]{9} root/root .* \\./$path\$" <<<"$contents" || fail "$1 has no file $path of root"
  done
}
field() { dpkg-deb --field "$1" "$2"; }

has "$server" usr/bin/larderd usr/bin/larder etc/larder/larder.toml \
  usr/lib/systemd/system/larderd.service usr/lib/sysusers.d/larder.conf usr/lib/tmpfiles.d/larder.conf \
  usr/share/man/man8/larderd.8 usr/share/man/man1/larder.1 usr/share/bash-completion/completions/larder usr/share/bash-completion/completions/larderd
has "$dev" usr/lib/liblarder.a usr/include/larder/client/client.h usr/lib/cmake/larder/larder-config.cmake
! dpkg-deb --contents "$server" | grep -Eq '\./usr/(include|lib/.*\.a$)' || fail "$server holds what is for developers"

test "$(field "$server" Package)" = larder
test "$(field "$server" Architecture)" = "$(dpkg --print-architecture)"
test "$(field "$server" Version)" = "$(build/release/bin/larderd --version | cut -d' ' -f2)"
field "$server" Depends | grep -q 'libc6 (>= ' || fail "Depends lacks what dpkg-shlibdeps finds"
field "$server" Depends | grep -q 'libcaf-core' || fail "Depends lacks CAF"
field "$dev" Depends | grep -q 'libabsl-dev' || fail "larder-dev: Depends lacks Abseil"

dpkg-deb --extract "$server" "$root/files"
dpkg-deb --extract "$dev" "$root/files"
dpkg-deb --control "$server" "$root/control"
test "$(cat "$root/control/conffiles")" = /etc/larder/larder.toml
for script in postinst prerm postrm; do
  test -x "$root/control/$script" || fail "$script cannot be run"
  sh -n "$root/control/$script"
done
"$root/files/usr/bin/larder" config check "$root/files/etc/larder/larder.toml"

# With the paths of this folder: systemd-analyze looks whether they exist. Its pages are not installed.
unit=$root/files/usr/lib/systemd/system/larderd.service
if command -v systemd-analyze >/dev/null; then
  sed "s|/usr/bin/|$root/files/usr/bin/|" "$unit" >"$root/larderd.service"
  said=$(systemd-analyze verify --man=no --recursive-errors=no "$root/larderd.service" 2>&1) || fail "unit: $said"
  if grep -F larderd.service <<<"$said"; then fail "systemd-analyze has something to say of the unit"; fi
else
  echo "systemd-analyze: not installed, the unit is not verified"
fi

ops/check_service.sh "$root/files/usr/bin" "$root/files/etc/larder/larder.toml" || test $? = 77
bash -euc '
  source "$1"
  complete_of() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _larder; echo "${COMPREPLY[*]}"; }
  test "$(complete_of larder sta)" = status
  test "$(complete_of larder bench pu)" = put
  [[ " $(complete_of larder put name --tr) " = *" --transport "* ]]
  test "$(complete_of larderd --host)" = --host-bytes' bash "$root/files/usr/share/bash-completion/completions/larder"
echo "packages: contents, control fields, scripts, unit, configuration, completion and service are right"
