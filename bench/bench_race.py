#!/usr/bin/env python3
"""Can a race be trusted? Speaks the wire protocol (docs/formats/wire.md) to one kf-eval and races kernels whose
relation is known.

    bench_race.py KF_EVAL [-n N] [--load none|both|...] [--kernel NAME]... [--no-power]

A/A: a kernel against a renamed copy of itself, N times, idle and with a spinner on every core: how many ties
(48 of 50 is the aim), how many false claims, and what a race costs. Power: a kernel against one slowed by about
5 % and 10 %; the true ratio comes from a long series of the same run, and the share detected is compared with
the share that the stopping rule detects in blocks drawn again from that series (95 % interval, Wilson).
"""
import argparse
import json
import math
import multiprocessing
import os
import pathlib
import random
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "eval"))
import wireclient  # noqa: E402

TASKS = pathlib.Path(__file__).resolve().parent.parent / "tasks"
LOOKS = (8, 12, 24, 48)
GAIN = math.log(1.01)


def spin():
    while True:
        pass


class Load:
    """A spinner on every core, at ordinary priority."""

    def __init__(self, on):
        self.processes = [multiprocessing.Process(target=spin, daemon=True) for _ in range(os.cpu_count())] if on else []

    def __enter__(self):
        for process in self.processes:
            process.start()
        time.sleep(0.2 if self.processes else 0)

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            process.join()


class Evaluator(wireclient.Evaluator):
    def __init__(self, program, settings):
        super().__init__(program, settings=settings or None)
        self.number = 0

    def add(self, data):
        self.blobs[wireclient.sha(data)] = data
        return wireclient.sha(data)

    def race(self, task, candidate, against, **fields):
        self.number += 1
        source = self.add(candidate.encode())
        opponent = {"source": self.add(against.encode()), "binding": ""}
        self.judge(self.number, source, task=task, against=opponent, **fields)
        message = self.result(self.number)
        if "verdict" not in message:
            raise SystemExit(f"bench_race: {message}")
        return message["verdict"]


# ---- kernels ----

CHAIN_REFERENCE = """void chain_ref(const kf_real *x, kf_real *y, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    kf_real v = x[i];
    for (int k = 0; k < %d; k++) v = v * (kf_real)0.75 + (kf_real)0.25;
    y[i] = v;
  }
}
"""
# Every output is the same whatever `more` is: what the further steps compute is multiplied by an input's zero.
CHAIN_KERNEL = """//kf: launch chain global=(ceil(n,64)*64) local=(64) args=(x, y, n)
__kernel void chain(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  float v = x[i], w = v;
  for (int k = 0; k < %d; k++) v = v * 0.75f + 0.25f;
  for (int k = 0; k < %d; k++) w = w * 0.75f + 0.25f;
  y[i] = v + (w > 1e30f ? w : 0.0f);
}
"""


def chain(n, steps):
    """Steps that depend on each other, n times side by side."""
    task = {
        "name": "chain", "language": "opencl",
        "symbols": {"n": {"default": n, "min": 1, "max": 1 << 24}},
        "args": [{"name": "x", "role": "in", "type": "f32", "shape": ["n"], "fill": "normal"},
                 {"name": "y", "role": "out", "type": "f32", "shape": ["n"]},
                 {"name": "n", "role": "size", "type": "i32"}],
        "kernel": {"opencl": "kernel.cl"}, "reference": {"file": "reference.c", "entry": "chain_ref"},
        "compare": {"y": "bound"}, "error": {"kind": "calibrated"}, "determinism": "bitwise", "baseline": "kernel",
        "check": {"cases": [{"n": 1}, {"n": 33}]}, "measure": {"cases": [{"n": n}]},
    }
    make = lambda more: CHAIN_KERNEL % (steps, round(steps * more))
    return task, {"kernel.cl": make(0), "reference.c": CHAIN_REFERENCE % steps}, make


def row_softmax():
    task = {
        "name": "row_softmax", "language": "opencl",
        "symbols": {"rows": {"default": 4096, "min": 1, "max": 16384}, "cols": {"default": 1024, "min": 1, "max": 8192}},
        "args": [{"name": "x", "role": "in", "type": "f32", "shape": ["rows", "cols"], "fill": "normal"},
                 {"name": "y", "role": "out", "type": "f32", "shape": ["rows", "cols"]},
                 {"name": "rows", "role": "size", "type": "i32"}, {"name": "cols", "role": "size", "type": "i32"}],
        "kernel": {"opencl": "kernel.cl"}, "reference": {"file": "reference.c", "entry": "row_softmax_ref"},
        "compare": {"y": "bound"}, "error": {"kind": "calibrated"}, "determinism": "bitwise", "baseline": "kernel",
        "check": {"cases": [{"rows": 3, "cols": 17}]}, "measure": {"cases": [{"rows": 4096, "cols": 1024}]},
    }
    folder = TASKS / "row_softmax"
    files = {name: (folder / name).read_text() for name in ("kernel.cl", "reference.c")}
    return task, files, lambda more: files["kernel.cl"]


KERNELS = {"0.1 ms": lambda: chain(4096, 64), "1 ms": lambda: chain(16384, 160), "row_softmax": row_softmax}


def renamed(source, number):
    """The same program under another text, so that nothing can take it for the same one."""
    lines = source.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("//kf: launch"))
    entry = lines[at].split()[2]
    return source.replace(f"launch {entry} ", f"launch {entry}_{number} ").replace(f"void {entry}(", f"void {entry}_{number}(")


class Contest:
    def __init__(self, evaluator, name):
        task, files, self.make = KERNELS[name]()
        self.evaluator, self.name, self.base = evaluator, name, files["kernel.cl"]
        listing = {path: evaluator.add(text.encode()) for path, text in files.items()}
        self.task = evaluator.add(json.dumps({"task": task, "files": listing}).encode())
        self.time_ns = 0

    def race(self, candidate, **fields):
        begun = time.monotonic()
        verdict = self.evaluator.race(self.task, candidate, self.base, verified=True, **fields)
        return verdict, time.monotonic() - begun


# ---- the stopping rule again, for what it should detect ----

def rank(n, level):
    r, tail = 0, 0.0
    for k in range(n // 2):
        tail += math.comb(n, k) / 2 ** n
        if 1 - 2 * tail < level:
            break
        r = k + 1
    return r


RANKS = {n: rank(n, 1 - 0.0182) for n in LOOKS}


def detects(ds):
    """Whether a race that sees these blocks, in this order, ends as faster."""
    for n in LOOKS:
        low = sorted(ds[:n])[RANKS[n] - 1]
        high = sorted(ds[:n])[n - RANKS[n]]
        if low > GAIN:
            return True
        if high < GAIN:
            return False
    return False


def wilson(hits, n):
    z, p = 1.96, hits / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def log_ratios(verdict):
    if "samples" not in verdict:
        return
    columns = {name: i for i, name in enumerate(verdict["samples"]["columns"])}
    for row in verdict["samples"]["rows"]:
        if not row[columns["dropped"]]:
            pairs = zip(row[columns["opponent_ns"]], row[columns["candidate_ns"]])
            yield statistics.mean(math.log(o / c) for o, c in pairs)


# ---- the two series ----

def same_series(contest, n, load):
    outcomes, spans, blocks, dropped, sigmas, slots = {}, [], [], 0, [], []
    copy = renamed(contest.base, 1)
    contest.race(copy)  # builds
    with Load(load == "both"):
        for _ in range(n):
            verdict, span = contest.race(copy)
            race = verdict.get("speedup", {"outcome": "none", "blocks": 0, "dropped": 0})
            outcome = race["outcome"] if verdict["verdict"] == "correct" else verdict["verdict"]
            if outcome not in ("tie",):
                print("  !", outcome, json.dumps(verdict.get("diagnosis")), race.get("low"), race.get("median"),
                      race.get("high"), race["blocks"], flush=True)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
            spans.append(span)
            blocks.append(race["blocks"])
            dropped += race["dropped"]
            ds = list(log_ratios(verdict))
            if len(ds) > 1:
                sigmas.append(statistics.stdev(ds))
            if "samples" in verdict:
                at = verdict["samples"]["columns"].index("span_ns")
                slots += [row[at] for row in verdict["samples"]["rows"]]
    print(f"{contest.name:12} {load:5} {outcomes.get('tie', 0):3} of {n:3} ties   faster {outcomes.get('faster', 0)} "
          f"slower {outcomes.get('slower', 0)} other {n - sum(outcomes.get(k, 0) for k in ('tie', 'faster', 'slower'))}   "
          f"time {verdict['time_ns']['cold'] / 1e6:.3f} ms, warm {verdict['time_ns'].get('warm', 0) / 1e6:.3f}   "
          f"race {statistics.median(spans) * 1e3:5.0f} ms (max {max(spans) * 1e3:.0f}), "
          f"{statistics.median(blocks):.0f} blocks of {statistics.median(slots) / 1e6 if slots else 0:.2f} ms, "
          f"{dropped} dropped, sigma {statistics.median(sigmas) if sigmas else 0:.2%}", flush=True)


def power_series(contest, n, more, load):
    """How often a gain of about `more` is found: the candidate is the quick kernel, the opponent the slowed one."""
    slowed = contest.make(more)
    quick = renamed(contest.base, 2)
    keep, contest.base = contest.base, slowed
    with Load(load == "both"):
        long_series = []
        for _ in range(2):
            verdict, _ = contest.race(quick, blocks_min=48, blocks_max=48)
            long_series += list(log_ratios(verdict))
        hits = sum(contest.race(quick)[0]["speedup"]["outcome"] == "faster" for _ in range(n))
    contest.base = keep
    generator = random.Random(1)
    trials = 2000
    predicted = sum(detects([generator.choice(long_series) for _ in range(48)]) for _ in range(trials)) / trials
    low, high = wilson(hits, n)
    verdict = "agrees" if low - 1e-9 <= predicted <= high + 1e-9 else "DIFFERS"
    print(f"{contest.name:12} {load:5} slowed by {more:.0%}: true ratio {math.exp(statistics.median(long_series)):.4f}, "
          f"sigma {statistics.stdev(long_series):.2%}; found {hits} of {n} ({low:.0%} to {high:.0%}), "
          f"predicted {predicted:.0%}: {verdict}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kf_eval")
    parser.add_argument("-n", type=int, default=10)
    parser.add_argument("--load", action="append", choices=("none", "both"))
    parser.add_argument("--kernel", action="append", choices=tuple(KERNELS))
    parser.add_argument("--no-power", action="store_true")
    parser.add_argument("--no-same", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    settings = {name: json.loads(value) for name, value in (item.split("=", 1) for item in options.set)}
    evaluator = Evaluator(options.kf_eval, settings)
    for name in options.kernel or KERNELS:
        contest = Contest(evaluator, name)
        for load in options.load or ("none", "both"):
            if not options.no_same:
                same_series(contest, options.n, load)
            if not options.no_power and name != "row_softmax":
                for more in (0.05, 0.10):
                    power_series(contest, options.n, more, load)
    evaluator.close()


if __name__ == "__main__":
    main()
