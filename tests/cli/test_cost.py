#!/usr/bin/env python3
"""`kf --help` takes at most 30 ms and 16 MB: nothing is touched before it is needed. Of the release build only, since
sanitizers cost more than that by themselves."""
import fcntl
import os
import pathlib
import subprocess
import sys
import time

from clitest import SOURCE, skip_all, wait_for

TIME = "/usr/bin/time"
TRIES, SECONDS, KIB = 10, 0.030, 16 * 1024


def main():
    kf = os.environ.get("KF_RELEASE", str(SOURCE / "build" / "release" / "bin" / "kf"))
    if not os.path.exists(kf):
        skip_all(f"{kf} is not built")
    seconds, peak = min(timed(kf) for _ in range(TRIES)), peak_kib(kf)
    print(f"kf --help: {seconds * 1e3:.1f} ms, {peak} KiB")
    for word in ("libOpenCL", "libclang", "libpocl"):
        if word in loaded(kf):
            sys.exit(f"kf --help loads {word}")
    if seconds > SECONDS or peak > KIB:
        sys.exit(f"more than {SECONDS * 1e3:.0f} ms or {KIB} KiB")


def timed(kf):
    begin = time.perf_counter()
    subprocess.run([kf, "--help"], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def peak_kib(kf):
    """Looks at the process while it waits to write into a full pipe, when its work is done. (What wait4 reports includes
    the memory of this program, from before the exec.)"""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(writer, fcntl.F_SETFL, 0)
    process = subprocess.Popen([kf, "--help"], stdout=writer)
    os.close(writer)

    def status():
        fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines())
        is_ours = pathlib.Path(f"/proc/{process.pid}/exe").resolve() == pathlib.Path(kf).resolve()
        return fields if is_ours and fields["State"].strip().startswith("S") else None

    peak = int(wait_for(status, "kf to fill the pipe", 10)["VmHWM"].split()[0])
    while os.read(reader, 1 << 16):
        pass
    process.wait()
    return peak


def loaded(kf):
    """What the loader says that it loads."""
    return subprocess.run([kf, "--help"], capture_output=True, text=True, check=True, env={**os.environ, "LD_DEBUG": "files"}).stderr


if __name__ == "__main__":
    main()
