#!/usr/bin/env python3
"""check_tidy.py BUILD [FILE...] - clang-tidy (.clang-tidy) over BUILD/compile_commands.json, or over FILEs of it.

A clean result is remembered under BUILD/tidy/ by the content of everything it depends on: the source, the project
headers it includes, the command, the configuration and the version of clang-tidy. A second run is then quick.
Exits with 77 ("skipped" to ctest) where clang-tidy 14 is missing: other versions know other checks.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import csource

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WANTED = "14"


def find_tidy():
    for name in ("clang-tidy-" + WANTED, "clang-tidy"):
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], stdout=subprocess.PIPE, check=True, text=True).stdout
            if re.search(r"version " + WANTED + r"\.", version):
                return path, version
    return None, None


def closure(path, generated, seen):
    """Adds to `seen` the source at `path` and every project header it reaches."""
    if path in seen:
        return seen
    seen.add(path)
    for _, quoted, name in csource.includes(csource.read(path)):
        if quoted:
            for folder in (os.path.join(ROOT, "src"), os.path.dirname(path), *generated):
                if os.path.isfile(os.path.join(folder, name)):
                    closure(os.path.normpath(os.path.join(folder, name)), generated, seen)
                    break
    return seen


def flags(entry):
    """Folders of the entry's -I and files of its -include."""
    words = shlex.split(entry["command"])
    folders = [w[2:] for w in words if w.startswith("-I") and len(w) > 2]
    forced = [words[i + 1] for i, w in enumerate(words[:-1]) if w == "-include" and os.path.isabs(words[i + 1])]
    return folders, forced


def stamp(entry, version, config):
    folders, forced = flags(entry)
    seen = set()
    for path in [entry["file"], *forced]:
        closure(os.path.normpath(path), folders, seen)
    digest = hashlib.sha256(f"{version}\0{config}\0{entry['command']}".encode())
    for path in sorted(seen):
        with open(path, "rb") as file:
            digest.update(path.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def check(tidy, build, entry):
    """Returns clang-tidy's complaints about one file, "" when there are none."""
    # The compiler of the build may be gcc: warnings only gcc has are not known to clang, which is no matter.
    done = subprocess.run([tidy, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option", entry["file"]],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return ""
    return done.stdout + (done.stderr if not done.stdout.strip() else "")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, chosen = sys.argv[1], {os.path.abspath(p) for p in sys.argv[2:]}
    tidy, version = find_tidy()
    if tidy is None:
        print(f"skipped: clang-tidy {WANTED} is not installed (package clang-tidy-{WANTED})")
        return 77
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        sys.exit(f"{build}: no compile_commands.json: configure it first (cmake --preset dev)")
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = {e["file"]: e for e in json.load(file)}  # one check a file, however often it is compiled
    entries = [e for name, e in sorted(entries.items()) if not chosen or name in chosen]
    if not entries:
        sys.exit(f"{build}/compile_commands.json: no such files")
    config = "\0".join(csource.read(os.path.join(ROOT, name)) for name in (".clang-tidy", "tests/.clang-tidy"))
    clean = os.path.join(build, "tidy")
    os.makedirs(clean, exist_ok=True)

    todo = []
    for entry in entries:
        mark = os.path.join(clean, stamp(entry, version, config))
        if not os.path.exists(mark):
            todo.append((entry, mark))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (entry, mark), text in zip(todo, pool.map(lambda t: check(tidy, build, t[0]), todo)):
            if text:
                bad += 1
                print(text.rstrip(), flush=True)
            else:
                with open(mark, "w", encoding="utf-8") as file:
                    file.write(os.path.relpath(entry["file"], ROOT) + "\n")
    print(f"{len(entries)} files, {len(todo)} checked now, {bad} with complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
