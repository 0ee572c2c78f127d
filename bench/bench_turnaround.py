#!/usr/bin/env python3
"""Source in to verdict out: small kernels, none like another, judged one after the other by one kf-eval over its protocol.

The next candidate is sent when the last verdict has come, so nothing is hidden by work in flight. Before the clock starts one
kernel is judged, which builds the opponent and makes the expected data; what comes after is what a search sees.

Usage: bench_turnaround.py KF_EVAL [-n CANDIDATES] [--task FOLDER_WITH_TASK_JSON] [--json]
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
        while True:
            message = json.loads(self.process.stdout.readline())
            if message["op"] == "result":
                if "error" in message:
                    sys.exit(json.dumps(message["error"]))
                return message["verdict"]

    def judge(self, source, **fields):
        begun = time.monotonic()
        self.start(source, **fields)
        verdict = self.result()
        return (time.monotonic() - begun) * 1000, verdict

    def cpu_s(self):
        """Of the judge and of all its children that have ended, killed ones too."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(fields[i]) for i in range(11, 15)) / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def kernel(number):
    return KERNEL.format(group=64, skew=number % 7, number=number + 1).encode()


def spread(values):
    values = sorted(values)
    return statistics.median(values), values[min(len(values) - 1, int(0.9 * len(values)))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kf_eval")
    parser.add_argument("-n", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0)
    options = parser.parse_args()
    e = Evaluator(options.kf_eval, {})
    first, verdict = e.judge(kernel(100000))
    print(f"first verdict of the session {first:.0f} ms ({verdict['verdict']})")
    rows = {"total": [], "build": [], "verify": [], "measure": [], "other": []}
    cpu = e.cpu_s()
    for i in range(options.n):
        time.sleep(options.pause)
        wall, verdict = e.judge(kernel(i))
        if verdict["verdict"] != "correct": sys.exit(json.dumps(verdict))
        ms = verdict["stages_ms"]
        for key in ("build", "verify", "measure"):
            rows[key].append(ms[key])
        rows["total"].append(wall)
        rows["other"].append(wall - ms["build"] - ms["verify"] - ms["measure"])
    cpu = e.cpu_s() - cpu
    for key, values in rows.items():
        print("%-8s p50 %6.0f  p90 %6.0f ms" % (key, *spread(values)))
    print(f"cpu {cpu / options.n:.2f} s a candidate; blocks {verdict['speedup']['blocks']}")
    e.close()


main()
