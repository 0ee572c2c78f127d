#!/usr/bin/env bash
# check_needed.sh PROGRAM - the shared libraries PROGRAM needs are those of libc: copying it to a machine installs it.
#
# Symbols newer than glibc 2.34 are refused too. Where the machine's own glibc is newer than Debian 12's (2.36) they
# come in with the archives that are linked, so there the oldest glibc that will do is only printed.
# Exits with 77 ("skipped" to ctest) where PROGRAM has not been built.
set -euo pipefail
program=$1
if [[ ! -x $program ]]; then
  echo "skipped: $program has not been built (cmake --preset release && cmake --build --preset release)"
  exit 77
fi
needed=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
others=$(grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux[a-z0-9_-]*)\.so\.[0-9]+$' <<<"$needed" || true)
if [[ -n $others ]]; then
  echo "$program needs more than libc:"
  echo "$others"
  exit 1
fi
echo "$program needs ${needed//$'\n'/ }"

newest=$(objdump -T "$program" | grep -o 'GLIBC_2\.[0-9]*' | sort -V -u | tail -1)
echo "newest symbols: $newest"
built_with=$(getconf GNU_LIBC_VERSION)
if [[ ${newest#GLIBC_2.} -gt 34 && ${built_with#glibc 2.} -le 36 ]]; then
  objdump -T "$program" | grep "$newest"
  exit 1
fi
