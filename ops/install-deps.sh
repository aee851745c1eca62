#!/usr/bin/env bash
# Installs the Debian 12 packages that Larder needs; those that are there already cost nothing.
#
#   ops/install-deps.sh          to build, run and test
#   ops/install-deps.sh --all    and what only ops/test.sh needs: clang (fuzzers), clang-format, clang-tidy, dpkg-dev (packages)
#
# Works as root or with sudo. Needs a Debian mirror only when a package is missing.
set -euo pipefail

build=(
  cmake ninja-build g++ ccache pkg-config python3
  libcaf-dev libabsl-dev libspdlog-dev libfmt-dev libprotobuf-dev protobuf-compiler
  libxxhash-dev libssl-dev libzstd-dev prometheus-cpp-dev libboost1.74-dev
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  libboost-test-dev libbenchmark-dev librapidcheck-dev openssl
)
checks=(clang clang-format clang-tidy libclang-rt-dev dpkg-dev file)

wanted=("${build[@]}")
case "${1:-}" in
  "") ;;
  --all) wanted+=("${checks[@]}") ;;
  *) echo "usage: $0 [--all]" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "$0: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
  install -y --no-install-recommends "${missing[@]}" >/dev/null
