#!/usr/bin/env python3
"""Judges every tests/cases/*.kft with `kf eval --json` and compares the verdict with the one the case names.

A case: header lines `key: value` (first line a comment that says what it shows), a line `---`, then the kernel.
Keys: task (folder below tasks/), file (the kernel's name, by default kernel.cl), binding, set (NAME=VALUE), expect
(verdicts that are right), and what must appear: diagnosis (kind), text, evidence (parts of the diagnosis), cell,
not_in_log.
Usage: run_cases.py KF [NAME...]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def read_case(path):
    head, _, kernel = path.read_text().partition("\n---\n")
    case = {"about": "", "set": []}
    for line in head.splitlines():
        if line.startswith("#"):
            case["about"] = line[1:].strip()
            continue
        key, _, value = line.partition(":")
        if key == "set":
            case["set"].append(value.strip())
        else:
            case[key] = value.strip()
    return case, kernel


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
    if "not_in_log" in case and case["not_in_log"] in json.dumps(verdict):
        yield f"\"{case['not_in_log']}\" is in the verdict"
    if verdict["verdict"] != "correct" and not (verdict.get("next") or {}).get("why"):
        yield "a failing verdict says no next step"


def main():
    kf, names = sys.argv[1], sys.argv[2:]
    paths = sorted(HERE.glob("*.kft"))
    failed = 0
    for path in paths:
        if names and path.stem not in names:
            continue
        case, kernel = read_case(path)
        verdict, why = judge(kf, case, kernel)
        problems = [why] if verdict is None else list(faults(case, verdict))
        failed += bool(problems)
        print(f"{'FAIL' if problems else 'ok  '} {path.stem}: {case['about']}")
        for problem in problems:
            print(f"     {problem}")
    print(f"{len(paths)} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
