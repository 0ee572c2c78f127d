#!/usr/bin/env bash
# run_fuzz.sh PARSER - runs the libFuzzer binary of a parser, if the fuzz preset has been built (else: skipped).
#
# It runs for KF_FUZZ_SECONDS, or for a minute where the change under test touches the parser's sources (the folders
# its first line links, or its line in fuzz/targets.txt) and 5 seconds where not. The change is everything since the merge base with the main
# branch, or since the last commit on the main branch itself, and what is not committed.
# Found inputs and the grown corpus stay in build/fuzz/.
set -euo pipefail
cd "$(dirname "$0")/.."
parser=$1
binary=build/fuzz/bin/fuzz_$parser
if [[ ! -x $binary ]]; then
  echo "skipped: $binary has not been built (cmake --preset fuzz && cmake --build --preset fuzz)"
  exit 77
fi

base_commit() {
  local branch base head
  head=$(git rev-parse HEAD 2>/dev/null) || return 0
  for branch in ${KF_FUZZ_BASE:-origin/main main}; do
    base=$(git merge-base HEAD "$branch" 2>/dev/null) || continue
    if [[ $base != "$head" ]]; then
      echo "$base"
      return 0
    fi
  done
  git rev-parse --quiet --verify HEAD~1 || true
}

change_touches() { # paths...
  local base
  base=$(base_commit)
  [[ -n $base ]] && ! git diff --quiet "$base" -- "$@"
}

sources_of() { # parser
  local listed folders others
  listed=$(sed -n "s/^$1: *//p" fuzz/targets.txt)
  if [[ -n $listed ]]; then
    echo "$listed"
    return
  fi
  folders=$(sed -n '/links:/{p;q}' "fuzz/fuzz_$1.c" | grep -o 'kf_[a-z]*' | sed 's,^kf_,src/,' || true)
  others=$(grep -v '^src/base$' <<<"$folders" || true)
  tr '\n' ' ' <<<"${others:-src/base}"
}

seconds=${KF_FUZZ_SECONDS:-}
if [[ -z $seconds ]]; then
  read -r -a paths <<<"$(sources_of "$parser")"
  seconds=5
  if change_touches "${paths[@]}" "fuzz/fuzz_$parser.c"; then seconds=60; fi
fi

mkdir -p "build/fuzz/corpus/$parser" build/fuzz/found
options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="build/fuzz/found/$parser-")
if [[ -f fuzz/dict/$parser.dict ]]; then options+=(-dict="fuzz/dict/$parser.dict"); fi
echo "$binary for $seconds s"
exec "$binary" "${options[@]}" "build/fuzz/corpus/$parser" "fuzz/corpus/$parser"
