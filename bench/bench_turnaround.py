#!/usr/bin/env python3
"""Source in to verdict out: small kernels, none like another, judged one after the other by one kf-eval over its protocol.

The next candidate is sent when the last verdict has come and --pause seconds have passed, in which spare processes get ready:
a model takes longer than that to write a kernel. Two kernels are judged before the clock starts; they build the opponent, make
the expected data, and let the session keep spares. The device's lock is waited for like by any other: for numbers that mean
something, nothing else may run on the machine.

Usage: bench_turnaround.py KF_EVAL [-n CANDIDATES] [--pause SECONDS]
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

TASK_DIR = pathlib.Path(__file__).resolve().parent.parent / "tests" / "cases" / "tasks" / "affine"

TASK = {
    "name": "affine",
    "language": "opencl",
    "symbols": {"n": {"default": 4096, "min": 1, "max": 1048576}},
    "args": [
        {"name": "x", "role": "in", "type": "f32", "shape": ["n"], "fill": "normal"},
        {"name": "y", "role": "out", "type": "f32", "shape": ["n"]},
        {"name": "n", "role": "size", "type": "i32"},
    ],
    "kernel": {"opencl": "kernel.cl"},
    "reference": {"file": "reference.c", "entry": "affine_ref"},
    "compare": {"y": "bound"},
    "error": {"kind": "calibrated"},
    "determinism": "bitwise",
    "baseline": "kernel",
    "check": {"cases": [{"n": 1}, {"n": 33}, {"n": 1000}, {"n": 4099}]},
    "measure": {"cases": [{"n": 262144}]},
}

# Right for every value of STEP and SKEW, and different machine code for each: nothing is found in a cache.
KERNEL = """//kf: launch affine global=(ceil(n,{group})*{group}) local=({group}) args=(x, y, n)
__kernel void affine(__global const float *x, __global float *y, int n) {{
  int i = get_global_id(0);
  int end = n + {skew};
  if (i < end - {skew}) y[i] = 2.0f * x[i] + 1.0f;
  else if (i == -{number}) y[0] = {number}.0f;
}}
"""


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Evaluator:
    """One kf-eval; blobs are put ahead of the request that names them."""

    def __init__(self, program, settings):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hello = json.loads(self.process.stdout.readline())
        if not self.hello["devices"]:
            sys.exit("no OpenCL device: " + self.hello["note"])
        self.device = self.hello["devices"][0]["id"]
        self.send({"op": "hello", "protocol": self.hello["protocol"], "settings": settings})
        files = {name: (TASK_DIR / name).read_bytes() for name in ("kernel.cl", "reference.c")}
        for data in files.values():
            self.put(data)
        self.task = self.put(json.dumps({"task": TASK, "files": {name: sha(data) for name, data in files.items()}}).encode())
        self.kernel = sha(files["kernel.cl"])
        self.number = 0

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def put(self, data):
        self.process.stdin.write(json.dumps({"op": "put", "sha256": sha(data), "size": len(data)}).encode() + b"\n" + data)
        return sha(data)

    def start(self, source, **fields):
        self.number += 1
        name = self.put(source)
        self.send({"op": "judge", "id": self.number, "task": self.task, "device": self.device, "stage": 2, "against": {"source": self.kernel, "binding": ""},
                   "candidate": {"source": name, "binding": ""}, "blocks_max": 12, **fields})
        return self.number

    def result(self):
        """The verdict, and after how many seconds the first check began."""
        begun, checking = time.monotonic(), None
        while True:
            message = json.loads(self.process.stdout.readline())
            if message["op"] == "progress" and message["what"] == "checking":
                checking = time.monotonic() - begun
            if message["op"] == "result":
                if "error" in message:
                    sys.exit(json.dumps(message["error"]))
                return message["verdict"], checking

    def judge(self, source, **fields):
        """Milliseconds of the whole, of what came before the first check, and the verdict."""
        begun = time.monotonic()
        self.start(source, **fields)
        verdict, checking = self.result()
        return (time.monotonic() - begun) * 1000, (checking or 0) * 1000, verdict

    def cpu_s(self):
        """Of the judge, and of its children that have ended, killed ones and theirs too."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = [int(fields[i]) / os.sysconf("SC_CLK_TCK") for i in range(11, 15)]
        return ticks[0] + ticks[1], ticks[2] + ticks[3]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


def kernel(number):
    return KERNEL.format(group=64, skew=number % 7, number=number + 1).encode()


def row(name, values):
    values = sorted(values)
    print(f"{name:26} {statistics.median(values):8.0f} {values[min(len(values) - 1, int(0.9 * len(values)))]:8.0f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kf_eval")
    parser.add_argument("-n", type=int, default=20)
    parser.add_argument("--pause", type=float, default=2)
    options = parser.parse_args()
    e = Evaluator(options.kf_eval, {})
    first, _, _ = e.judge(kernel(100000))
    e.judge(kernel(100001))
    times = {name: [] for name in ("total", "build", "verify", "measure", "other")}
    blocks, judge_s, children_s = [], 0, 0
    for i in range(options.n):
        time.sleep(options.pause)
        before = e.cpu_s()
        wall, _, verdict = e.judge(kernel(i))
        after = e.cpu_s()
        if verdict["verdict"] != "correct" or "shared_with" in verdict:
            sys.exit(json.dumps(verdict))
        stages = verdict["stages_ms"]
        for name in ("build", "verify", "measure"):
            times[name].append(stages[name])
        times["total"].append(wall)
        times["other"].append(wall - stages["build"] - stages["verify"] - stages["measure"])
        blocks.append(verdict["speedup"]["blocks"])
        judge_s += after[0] - before[0]
        children_s += after[1] - before[1]
    cached = [e.judge(kernel(i), stage=0)[1] for i in range(options.n)]
    print(f"{'ms, %d candidates' % options.n:26} {'p50':>8} {'p90':>8}")
    for name, values in times.items():
        row({"total": "source in to verdict out"}.get(name, "  " + name), values)
    row("request to check, cached", cached)
    print(f"first verdict of the session {first:.0f} ms; {statistics.median(blocks):.0f} blocks a race")
    print(f"CPU seconds a candidate: judge {judge_s / options.n:.2f}, children that ended {children_s / options.n:.2f}")
    e.close()


if __name__ == "__main__":
    main()
