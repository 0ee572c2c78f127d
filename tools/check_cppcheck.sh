#!/usr/bin/env bash
# check_cppcheck.sh BUILD - cppcheck over src/ and the fuzz driver; results are kept in BUILD/cppcheck for the next run.
#
# A false report is silenced where it stands: // cppcheck-suppress id ; why
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
if ! command -v cppcheck >/dev/null; then
  echo "skipped: cppcheck is not installed (package cppcheck)"
  exit 77
fi
mkdir -p "$build/cppcheck"
# Not wanted: system headers (missingIncludeSystem: its own model of libc is used) and macros of unknown libraries
# (unknownMacro); readdir, which glibc makes safe as long as threads do not share the DIR (readdirCalled).
# normalCheckLevelMaxBranches is a remark on the tool itself.
cppcheck --quiet --std=c11 --language=c -j "$(nproc)" --cppcheck-build-dir="$build/cppcheck" \
  --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
  --suppress=missingIncludeSystem --suppress=unknownMacro --suppress=readdirCalled \
  --suppress=normalCheckLevelMaxBranches \
  --template='{file}:{line}:{column}: {severity}: {message} [{id}]' \
  --library=posix,gnu -D_GNU_SOURCE -D__GNUC__ -D__linux__ -D__x86_64__ -I src src fuzz/replay_main.c
echo "clean"
