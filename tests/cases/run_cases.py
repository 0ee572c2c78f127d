#!/usr/bin/env python3
"""Judges cases in plain text and compares each verdict with the one the case names.

A case (*.kft): header lines `key: value` (first a comment that says what it shows), a line `---`, then the kernel.
Keys: task (folder below tasks/), file (the kernel's name, by default kernel.cl), binding, set (NAME=VALUE), expect
(verdicts that are right), and what must appear: diagnosis (kind), text, evidence (parts of the diagnosis), cell,
right_cases (RIGHT/CHECKED), not_in_log.

A pair (--pairs): a hostile kernel and an honest one that looks alike. The header, then `--- hostile` or `--- hostile NAME`
before each hostile kernel and `--- honest` before the twin; `--- shared` text stands before all of them. The twin must
be correct. A hostile kernel must get a verdict of `expect`, which never holds `correct`. Further keys: row (of
docs/internals/cheats.md), screen (off: it is about what stands behind the screen of sources), and mode:
  check    judged alone, as `kf eval` does (this if left out);
  race     judged against the twin;
  confirm  judged against the twin up to the confirmation, hidden shapes included.
With `no_gain: allowed` a race may also end as correct and not faster (by a tenth), a confirmation as not confirmed: the
trick ran, and gained nothing.

Usage: run_cases.py KF [NAME...]                                      the cases of this folder, with `kf eval --json`
       run_cases.py KF_EVAL --pairs FOLDER [--group I/N] [NAME...]    pairs, in one session of the evaluator
"""
import argparse
import collections
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SETTINGS = {"verify.call_timeout_ms": 5000}  # of a session: a kernel that hangs must not take half a minute
AT_ONCE = 3  # requests in flight, so that builds overlap
GAIN = 1.1  # a hostile kernel and its twin are not quite the same code; the tricks are written to win more than this


def read_header(head):
    case = {"about": "", "set": []}
    for line in head.splitlines():
        if line.startswith("#"):
            case["about"] = case["about"] or line[1:].strip()
            continue
        key, _, value = line.partition(":")
        if key == "set":
            case["set"].append(value.strip())
        else:
            case[key] = value.strip()
    return case


def read_case(path):
    head, _, kernel = path.read_text().partition("\n---\n")
    return read_header(head), kernel


def read_pair(path):
    """Header and {title: kernel}; titles are "honest", "hostile", "hostile NAME"."""
    head, *parts = ("\n" + path.read_text()).split("\n--- ")
    case, kernels, shared = read_header(head.strip()), {}, ""
    for part in parts:
        title, _, kernel = part.partition("\n")
        if title == "shared":
            shared = kernel
        else:
            kernels[title.strip()] = shared + "\n" + kernel
    if "correct" in case["expect"].split() or "honest" not in kernels or len(kernels) < 2:
        raise ValueError(f"{path.name}: not a pair of a hostile and an honest kernel")
    return case, kernels


def judge(kf, case, kernel):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, case.get("file", "kernel.cl"))
        source.write_text(kernel)
        command = [kf, "eval", str(HERE / "tasks" / case["task"]), str(source), "--json"]
        if "binding" in case:
            command += ["--binding", case["binding"]]
        for setting in case["set"]:
            command += ["--set", setting]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return None, "no verdict within 120 s"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return None, f"exit {done.returncode}, no verdict: {done.stderr.strip()[:400]}"
    return json.loads(lines[-1]), ""


def faults(case, verdict):
    diagnosis = verdict.get("diagnosis") or {}
    if verdict["verdict"] not in case["expect"].split():
        yield f"verdict {verdict['verdict']}, expected {case['expect']} ({diagnosis})"
        return
    if "diagnosis" in case and diagnosis.get("kind") != case["diagnosis"]:
        yield f"diagnosis {diagnosis.get('kind')}, expected {case['diagnosis']}"
    for part in ("text", "evidence"):
        if part in case and case[part] not in diagnosis.get(part, ""):
            yield f"{part} \"{diagnosis.get(part)}\" lacks \"{case[part]}\""
    if "cell" in case and verdict.get("cell") != case["cell"]:
        yield f"cell {verdict.get('cell')}, expected {case['cell']}"
    if "right_cases" in case:
        checks = [c["right"] for c in verdict["cases"] if not c["measured"]]
        if case["right_cases"] != f"{sum(checks)}/{len(checks)}":
            yield f"{sum(checks)}/{len(checks)} check cases are right, expected {case['right_cases']}"
    if "not_in_log" in case and case["not_in_log"] in json.dumps(verdict):
        yield f"\"{case['not_in_log']}\" is in the verdict"
    if verdict["verdict"] != "correct" and not (verdict.get("next") or {}).get("why"):
        yield "a failing verdict says no next step"


def gained(case, verdict):
    """A hostile kernel that was let through: what it won by it, or "" where it won nothing and that is right."""
    if case.get("no_gain") != "allowed":
        return "correct"
    race = verdict.get("speedup") or {}
    if race.get("outcome") != "faster" or (race.get("median") or 0) < GAIN:
        return ""
    return "faster" if case["mode"] == "race" else "confirmed" if verdict.get("confirmed") else ""


def pair_faults(case, title, verdict):
    if title == "honest":
        if verdict["verdict"] != "correct":
            yield f"the honest twin is {verdict['verdict']} ({verdict.get('diagnosis')}) {verdict.get('log', '')[:600]}"
    elif verdict["verdict"] != "correct":
        yield from faults(case, verdict)
    elif gained(case, verdict):
        yield f"judged {gained(case, verdict)}: {verdict.get('speedup') or verdict.get('time_ns')}"


def in_short(verdict):
    diagnosis, race = verdict.get("diagnosis") or {}, verdict.get("speedup") or {}
    text = verdict["verdict"] + (f" ({diagnosis['kind']}: {diagnosis.get('text', '')[:90]})" if diagnosis.get("kind") else "")
    if race.get("outcome") and verdict["verdict"] == "correct":
        text += f" {race['outcome']} {race.get('median')}" + (" confirmed" if verdict.get("confirmed") else "")
    return text


class Pairs:
    """One session of the evaluator, started anew only if it ends."""

    def __init__(self, program, folder, settings):
        sys.path.insert(0, str(HERE.parent / "eval"))
        import session  # the protocol's other end, as its own tests use it
        session.KF_EVAL = program
        self.new, self.folder, self.evaluator, self.number = session.Evaluator, folder, None, 0
        self.settings = settings

    def start(self):
        self.evaluator = self.new()
        if not self.evaluator.device:
            print("skipped: no OpenCL device: " + self.evaluator.hello["note"])
            sys.exit(0)
        self.evaluator.send({"op": "hello", "protocol": [1, 0], "settings": self.settings})

    def task(self, name):
        """The hash of the task's message; task.yaml is written as JSON, which YAML contains."""
        import hashlib
        folder = self.folder / "tasks" / name
        files = {}
        for path in sorted(folder.iterdir()):
            if path.name != "task.yaml":
                data = path.read_bytes()
                files[path.name] = hashlib.sha256(data).hexdigest()
                self.evaluator.blobs[files[path.name]] = data
        task = json.loads((folder / "task.yaml").read_text())
        data = json.dumps({"task": task, "files": files}).encode()
        self.evaluator.blobs[hashlib.sha256(data).hexdigest()] = data
        return hashlib.sha256(data).hexdigest()

    def ask(self, case, title, kernels):
        self.number += 1
        fields = {"task": self.task(case["task"]), "stage": 2}
        fields["candidate"] = {"source": self.evaluator.put(kernels[title].encode()), "binding": case.get("binding", "")}
        if title != "honest" and case["mode"] != "check":
            fields["against"] = {"source": self.evaluator.put(kernels["honest"].encode()), "binding": ""}
            fields["stage"] = 3 if case["mode"] == "confirm" else 2
        self.evaluator.judge(self.number, **fields)
        return self.number

    def verdicts(self, jobs):
        """Yields (job, verdict or None, why) in the order of the answers."""
        waiting, flying = collections.deque(jobs), {}
        while waiting or flying:
            if not self.evaluator:
                self.start()
            while waiting and len(flying) < AT_ONCE:
                job = waiting.popleft()
                flying[self.ask(*job)] = job
            try:
                result = self.evaluator.result()
            except (AssertionError, BrokenPipeError) as ended:
                # Whoever was being judged is to blame, and that may be any of these.
                for job in flying.values():
                    yield job, None, f"the evaluator ended: {ended}"
                flying, self.evaluator = {}, None
                continue
            job = flying.pop(result["id"])
            yield job, result.get("verdict"), str(result.get("error", ""))


def run_pairs(program, folder, group, names):
    part, parts = (int(word) for word in group.split("/"))
    jobs = []
    for path in sorted(folder.glob("*.kft"))[part - 1::parts]:
        if names and not any(path.stem.startswith(name) for name in names):
            continue
        case, kernels = read_pair(path)
        case.setdefault("mode", "check")
        case["name"] = path.stem
        jobs += [(case, title, kernels) for title in kernels]
    failed, begun = 0, time.monotonic()
    screened = [job for job in jobs if job[0].get("screen") != "off"]
    others = [job for job in jobs if job[0].get("screen") == "off"]
    without = dict(SETTINGS, **{"sandbox.screen": False})
    for (case, title, _), verdict, why in itertools.chain(Pairs(program, folder, SETTINGS).verdicts(screened),
                                                          Pairs(program, folder, without).verdicts(others)):
        problems = [why] if verdict is None else list(pair_faults(case, title, verdict))
        failed += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {case['name']}, {title}: {in_short(verdict) if verdict else 'no verdict'}", flush=True)
        for problem in problems:
            print(f"     {problem}")
    print(f"{len(jobs)} kernels, {failed} failed, {time.monotonic() - begun:.0f} s")
    return failed


def run_cases(kf, names):
    paths = [path for path in sorted(HERE.glob("*.kft")) if not names or path.stem in names]
    failed = 0
    for path in paths:
        case, kernel = read_case(path)
        verdict, why = judge(kf, case, kernel)
        problems = [why] if verdict is None else list(faults(case, verdict))
        failed += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {path.stem}: {case['about']}")
        for problem in problems:
            print(f"     {problem}")
    print(f"{len(paths)} cases, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--pairs", type=pathlib.Path)
    parser.add_argument("--group", default="1/1")
    parser.add_argument("names", nargs="*")
    options = parser.parse_intermixed_args()
    if options.pairs:
        return 1 if run_pairs(options.program, options.pairs, options.group, options.names) else 0
    return 1 if run_cases(options.program, options.names) else 0


if __name__ == "__main__":
    sys.exit(main())
