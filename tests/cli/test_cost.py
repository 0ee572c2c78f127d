#!/usr/bin/env python3
"""`kf --help` takes at most 30 ms and 16 MB: nothing is touched before it is needed. Of the release build only, since
sanitizers cost more than that by themselves."""
import os
import resource
import subprocess
import sys
import time

from clitest import SOURCE, skip_all

TRIES, SECONDS, KIB = 10, 0.030, 16 * 1024


def main():
    kf = os.environ.get("KF_RELEASE", str(SOURCE / "build" / "release" / "bin" / "kf"))
    if not os.path.exists(kf):
        skip_all(f"{kf} is not built")
    best = min(run(kf) for _ in range(TRIES))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"kf --help: {best * 1e3:.1f} ms, {peak} KiB")
    opened = traced(kf)
    for word in ("libOpenCL", "libclang", ".kf/", "libsqlite3.so" if "libsqlite3" not in linked(kf) else "\0"):
        if word in opened:
            sys.exit(f"kf --help opens {word}")
    if best > SECONDS or peak > KIB:
        sys.exit(f"more than {SECONDS * 1e3:.0f} ms or {KIB} KiB")


def run(kf):
    begin = time.perf_counter()
    subprocess.run([kf, "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def linked(kf):
    return subprocess.run(["ldd", kf], capture_output=True, text=True, check=True).stdout


def traced(kf):
    """Files that the loader and the program opened, by the loader's own account."""
    env = {**os.environ, "LD_DEBUG": "files"}
    return subprocess.run([kf, "--help"], capture_output=True, text=True, check=True, env=env).stderr


if __name__ == "__main__":
    main()
