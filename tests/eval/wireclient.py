"""wireclient.py - a client of the evaluator's protocol (docs/formats/wire.md) for tests: one kf-eval, messages in, messages
out, and what can be seen of its processes in /proc."""
import hashlib
import json
import os
import pathlib
import subprocess

TASK_DIR = pathlib.Path(__file__).resolve().parent.parent / "cases" / "tasks" / "affine"
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
    "check": {"cases": [{"n": 1}, {"n": 33}]},
    "measure": {"cases": [{"n": 65536}]},
}

ENDLESS = b"""//kf: launch affine global=(ceil(n,64)*64) local=(64) args=(x, y, n)
__kernel void affine(__global const float *x, __global float *y, int n) {
  volatile int go = 1;
  while (go) ;
  y[0] = x[0];
}
"""


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Evaluator:
    """One kf-eval. `settings` go into the hello; `env` on top of ours; it leads a session of its own, so that whatever it
    starts can be told by the session's number."""

    def __init__(self, program, settings=None, env=None, task=None):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env={**os.environ, **(env or {})}, start_new_session=True)
        self.hello = self.read()
        if settings is not None:
            self.send({"op": "hello", "protocol": [1, 0], "settings": settings})
        files = {name: (TASK_DIR / name).read_bytes() for name in ("kernel.cl", "reference.c")}
        self.blobs = {sha(data): data for data in files.values()}
        task = json.dumps({"task": task or TASK, "files": {name: sha(data) for name, data in files.items()}}).encode()
        self.task = sha(task)
        self.blobs[self.task] = task
        self.kernel = sha(files["kernel.cl"])
        self.device = self.hello["devices"][0]["id"] if self.hello["devices"] else ""

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def put(self, data):
        self.blobs[sha(data)] = data
        self.process.stdin.write(json.dumps({"op": "put", "sha256": sha(data), "size": len(data)}).encode() + b"\n" + data)
        self.process.stdin.flush()
        return sha(data)

    def judge(self, number, source=None, **fields):
        self.send({"op": "judge", "id": number, "task": self.task, "device": self.device, "stage": 2, "against": None,
                   "candidate": {"source": source or self.kernel, "binding": ""}, **fields})

    def result(self, number=None):
        """The next result, answering what is needed on the way."""
        while True:
            message = self.read()
            if message is None:
                raise AssertionError("kf-eval ended: " + self.process.stderr.read().decode())
            if message["op"] == "need":
                for name in message["sha256"]:
                    self.put(self.blobs[name])
            elif message["op"] == "result" and number in (None, message["id"]):
                return message

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(timeout=20)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def descendants(pid):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(fields[1]) == pid and fields[0] != "Z":
                found += [int(entry.name)] + descendants(int(entry.name))
    return found


def of_session(session):
    """Processes that belong to a session, whoever their parent is; the leader is not counted."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != session:
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def role_of(pid):
    """What `--role` a process was started with; "" if it is none of ours (any more)."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return words[2].decode() if len(words) > 2 and words[1] == b"--role" else ""


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
