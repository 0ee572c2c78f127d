#!/usr/bin/env python3
"""check_words.py [ROOT] - the repository stands alone.

Refuses, in the text files that git has or could add: references to documents that are not here (EVALUATION 4, DESIGN,
section ...), the mark [t], numbers of issues, absolute paths of one machine, and TODO. The paths /tmp/... are refused
in pages (.md) only: as a default they may stand in code. A line that must hold such a word says so with
"words: allowed".
"""
import os
import re
import subprocess
import sys

_DOCUMENT = r"\b(?:EVALUATION|CONTRACTS|SEARCH|DESIGN)(?:\.md\b|[ ,]+(?:\d|[Ss]ection|Trust|Timing|Correctness|Memory|Inputs|[Cc]heats))"
EVERYWHERE = [
    (re.compile(_DOCUMENT), "a document that is not in the repository: name a page under docs/ or a README.md"),
    (re.compile(r"(?:^|[\s(])\[t\](?=$|[\s).,;:])"), "a mark that is explained nowhere here"),
    (re.compile(r"\b(?:issue|PR|pull request) #?\d", re.IGNORECASE), "a number of a tracker: say the reason instead"),
    (re.compile(r"\bissue #", re.IGNORECASE), "a number of a tracker: say the reason instead"),
    (re.compile(r"(?<![\w.~}\)-])/(?:srv|mnt)/"), "a path of one machine"),
    (re.compile(r"(?<!\w)(?:TODO|FIXME|XXX)\b"), "an open end: do it, or name it as a known gap"),
]
PAGES = [(re.compile(r"(?<![\w.~])/(?:root|home|tmp)/\w"), "a path of one machine")]
# Attacks and tests of the sandbox name such files on purpose; this check and its test hold the words themselves.
OWN = {"tools/check_words.py", "tools/test_checks.py"}
ALLOWED = "words: allowed"


def tracked(root):
    """Paths, relative to root and sorted, of what git has or could add; of all files where there is no git."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0:
        paths = listed.stdout.decode().split("\0")
    else:
        paths = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, names in os.walk(root) for name in names]
    return sorted({p for p in paths if p and os.path.isfile(os.path.join(root, p))} - OWN)


def complaints(path, text):
    """Yields (line number, match, reason)."""
    rules = EVERYWHERE + (PAGES if path.endswith(".md") else [])
    # A reference may be broken over two lines of a comment: look at pairs too.
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if ALLOWED in line:
            continue
        found = [(match.group().strip(), why) for rule, why in rules for match in [rule.search(line)] if match]
        if not found and number < len(lines):
            joined = line.rstrip() + " " + re.sub(r"^[\s/*#]+", "", lines[number])
            found = [(match.group(), rule[1]) for rule in EVERYWHERE[:1]
                     for match in [rule[0].search(joined)] if match and match.start() < len(line)
                     and match.end() > len(line)]
        for word, why in found:
            yield number, word, why


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    bad, read = 0, 0
    for path in tracked(root):
        with open(os.path.join(root, path), "rb") as file:
            data = file.read()
        if b"\0" in data or path.startswith("fuzz/corpus/"):
            continue  # no text, or inputs that may hold anything
        read += 1
        for number, word, why in complaints(path, data.decode("utf-8", "replace")):
            print(f'{path}:{number}: "{word}": {why}')
            bad += 1
    print(f"{read} files read")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
