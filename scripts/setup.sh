#!/usr/bin/env bash
# setup.sh [build|test] - installs the packages that are missing on Debian 12 / Ubuntu 24.04.
#
# "build" (the default): what building and running kf needs. "test": the tests, checks and fuzz targets as well.
# Looks for what is needed, not for packages, so tools from elsewhere count. Where all is there it does nothing and
# touches no network; else it runs apt-get, as root or with sudo.
set -euo pipefail

set_name=${1:-build}
if [[ $set_name != build && $set_name != test ]]; then
  echo "usage: setup.sh [build|test]" >&2
  exit 2
fi

have_program() { command -v "$1" >/dev/null; }
have_module() { have_program pkg-config && pkg-config --exists "$1"; }
have_file() { compgen -G "$1" >/dev/null; } # a pattern
have_cmake() {
  have_program cmake &&
    cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || (v[1] == 3 && v[2] >= 25)) }'
}
have_library() { # a shared library of the loader's
  local loader
  loader=$(command -v ldconfig || echo /sbin/ldconfig)
  "$loader" -p 2>/dev/null | grep "[[:space:]]$1" >/dev/null
}
have_libclang() { have_library 'libclang-[0-9.]*so\.1' || have_file '/usr/lib/llvm-*/lib/libclang*.so.1'; }
have_clang_header() { have_file '/usr/lib/llvm-*/include/clang-c/Index.h' || have_file /usr/include/clang-c/Index.h; }
have_fuzzer() { # the sanitizer runtimes of the clang in use
  have_program clang &&
    have_file "$(clang -print-resource-dir)/lib/linux/libclang_rt.fuzzer-$(uname -m).a"
}
have_version_14() { # of a clang tool, under either name
  have_program "$1-14" || { have_program "$1" && "$1" --version | grep -q 'version 14\.'; }
}

# probe | package, or packages of which the first that the distribution has is taken
needs=(
  "have_cmake|cmake"
  "have_program ninja|ninja-build"
  "have_program gcc|gcc"
  "have_file /usr/include/stdio.h|libc6-dev"
  "have_program pkg-config|pkg-config"
  "have_program git|git"
  "have_program python3|python3"
  "have_program zstd|zstd"
  "have_module jansson|libjansson-dev"
  "have_module libsodium|libsodium-dev"
  "have_module yaml-0.1|libyaml-dev"
  "have_module libcmark|libcmark-dev"
  "have_module libuv|libuv1-dev"
  "have_module sqlite3|libsqlite3-dev"
  "have_module libzstd|libzstd-dev"
  "have_module libseccomp|libseccomp-dev"
  "have_file /usr/include/CL/cl.h|opencl-c-headers opencl-headers"
  "have_clang_header|libclang-dev"
  # Opened at run time.
  "have_library libOpenCL\.so\.1|ocl-icd-libopencl1"
  "have_file /etc/OpenCL/vendors/*.icd|pocl-opencl-icd"
  "have_libclang|libclang1"
)
if [[ $set_name == test ]]; then
  needs+=(
    "have_module cmocka|libcmocka-dev"
    "have_program clang|clang"
    "have_fuzzer|libclang-rt-14-dev libclang-rt-dev"
    "have_version_14 clang-format|clang-format-14 clang-format"
    "have_version_14 clang-tidy|clang-tidy-14 clang-tidy"
    "have_program cppcheck|cppcheck"
    "have_program readelf|binutils"
    "have_file /usr/bin/time|time"
    "have_program strace|strace"
  )
fi

# Sets `missing` to the rows whose probe fails.
find_missing() {
  local row
  missing=()
  for row in "${needs[@]}"; do
    # The probe is a command with a word that may hold a pattern: no expansion here.
    local words
    read -r -a words <<<"${row%%|*}"
    if ! "${words[@]}"; then missing+=("$row"); fi
  done
}

# Prints the first package of a row that the distribution has, or the first of all.
choose_package() {
  local package first=
  for package in ${1##*|}; do
    first=${first:-$package}
    if apt-cache show "$package" >/dev/null 2>&1; then
      echo "$package"
      return
    fi
  done
  echo "$first"
}

# Prints the packages of all missing rows on one line.
choose_packages() {
  local row
  for row in "${missing[@]}"; do choose_package "$row"; done | paste -s -d ' '
}

find_missing
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "setup: everything needed to $set_name is here"
  exit 0
fi

if ! have_program apt-get; then
  echo "setup: missing here, and this is neither Debian nor Ubuntu; install what these packages hold:" >&2
  for row in "${missing[@]}"; do choose_package "$row" | sed 's/^/  /' >&2; done
  exit 4
fi
as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! have_program sudo; then
    echo "setup: packages are missing and installing them needs root or sudo; as root, run:" >&2
    echo "  apt-get install -y --no-install-recommends $(choose_packages)" >&2
    exit 4
  fi
  as_root=(sudo)
fi

echo "setup: apt-get update"
# A source that cannot be reached is no reason to stop: the packages may come from the others.
"${as_root[@]}" apt-get update -q || echo "setup: apt-get update failed, going on with the lists that are here" >&2
read -r -a packages <<<"$(choose_packages)"
echo "setup: installing ${packages[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends "${packages[@]}"

find_missing
# Ubuntu 24.04 may lack version 14 of these: their checks then say that they are skipped.
for row in "${missing[@]}"; do
  case $row in
    have_version_14*) echo "setup: ${row##*|}: not version 14, its check will be skipped" ;;
    *)
      echo "setup: still missing after installing: ${row##*|}" >&2
      exit 4
      ;;
  esac
done
