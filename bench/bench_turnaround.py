#!/usr/bin/env python3
"""Source in to verdict out: small kernels, none like another, judged one after the other by one kf-eval over its protocol.

The next candidate is sent when the last verdict has come and --pause seconds have passed, in which spare processes get ready:
a model takes longer than that to write a kernel. Two kernels are judged before the clock starts; they build the opponent, make
the expected data, and let the session keep spares. The device's lock is waited for like by any other: for numbers that mean
something, nothing else may run on the machine.

Usage: bench_turnaround.py KF_EVAL [-n CANDIDATES] [--pause SECONDS]
"""
import argparse
import json
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "eval"))
import wireclient  # noqa: E402

TASK = {**wireclient.TASK, "check": {"cases": [{"n": 1}, {"n": 33}, {"n": 1000}, {"n": 4099}]}, "measure": {"cases": [{"n": 262144}]}}

# Right for every value of STEP and SKEW, and different machine code for each: nothing is found in a cache.
KERNEL = """//kf: launch affine global=(ceil(n,{group})*{group}) local=({group}) args=(x, y, n)
__kernel void affine(__global const float *x, __global float *y, int n) {{
  int i = get_global_id(0);
  int end = n + {skew};
  if (i < end - {skew}) y[i] = 2.0f * x[i] + 1.0f;
  else if (i == -{number}) y[0] = {number}.0f;
}}
"""


class Evaluator(wireclient.Evaluator):
    """One kf-eval; blobs are put ahead of the request that names them."""

    def __init__(self, program):
        super().__init__(program, settings={}, task=TASK)
        if not self.device:
            sys.exit("no OpenCL device: " + self.hello["note"])
        for data in list(self.blobs.values()):
            self.put(data)
        self.number = 0

    def verdict(self):
        """The verdict, and after how many seconds the first check began."""
        begun, checking = time.monotonic(), None
        while True:
            message = self.read()
            if message["op"] == "progress" and message["what"] == "checking":
                checking = time.monotonic() - begun
            if message["op"] == "result":
                if "error" in message:
                    sys.exit(json.dumps(message["error"]))
                return message["verdict"], checking

    def time(self, source, **fields):
        """Milliseconds of the whole, of what came before the first check, and the verdict."""
        begun = time.monotonic()
        self.number += 1
        self.judge(self.number, self.put(source), against={"source": self.kernel, "binding": ""}, **{"blocks_max": 12, **fields})
        verdict, checking = self.verdict()
        return (time.monotonic() - begun) * 1000, (checking or 0) * 1000, verdict

    def cpu_s(self):
        """Of the judge, and of its children that have ended, killed ones and theirs too."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = [int(fields[i]) / os.sysconf("SC_CLK_TCK") for i in range(11, 15)]
        return ticks[0] + ticks[1], ticks[2] + ticks[3]


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
    e = Evaluator(options.kf_eval)
    first, _, _ = e.time(kernel(100000))
    e.time(kernel(100001))
    times = {name: [] for name in ("total", "build", "verify", "measure", "other")}
    blocks, judge_s, children_s = [], 0, 0
    for i in range(options.n):
        time.sleep(options.pause)
        before = e.cpu_s()
        wall, _, verdict = e.time(kernel(i))
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
    cached = [e.time(kernel(i), stage=0)[1] for i in range(options.n)]
    print(f"{'ms, %d candidates' % options.n:26} {'p50':>8} {'p90':>8}")
    for name, values in times.items():
        row({"total": "source in to verdict out"}.get(name, "  " + name), values)
    row("request to check, cached", cached)
    print(f"first verdict of the session {first:.0f} ms; {statistics.median(blocks):.0f} blocks a race")
    print(f"CPU seconds a candidate: judge {judge_s / options.n:.2f}, children that ended {children_s / options.n:.2f}")
    e.close()


if __name__ == "__main__":
    main()
