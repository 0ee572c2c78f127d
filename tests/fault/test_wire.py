#!/usr/bin/env python3
"""Rubbish on the wire of a real kf-eval: mutated requests, random bytes, lies about sizes. It answers errors, or ends with
one line and a documented exit code; it never hangs, crashes or leaves anything. KF_EVAL=path/to/kf-eval test_wire.py"""
import json
import os
import random
import select
import shutil
import tempfile
import time
import unittest

import faultlib
from faultlib import Evaluator, of_session, sha, wait_until

SECONDS = 6
SEED = 20240607
VALUES = [None, True, -1, 0, 2**63 - 1, 1.5, "", "x" * 5000, "\u0000", "../../etc/passwd", [], [[[]]], {}, {"op": "judge"}, "opencl:0", "0" * 64]


class Rubbish(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="kf-wire-")
        self.random = random.Random(SEED)

    def tearDown(self):
        shutil.rmtree(self.root, ignore_errors=True)

    def start(self):
        return Evaluator(faultlib.KF_EVAL, env={"TMPDIR": self.root, "KF_LOCK_DIR": self.root})

    def request(self, e):
        return self.random.choice([
            {"op": "hello", "protocol": [1, 0], "settings": {"measure.delta": 0.01}},
            {"op": "judge", "id": self.random.randrange(5), "task": e.task, "device": "opencl:0", "stage": 0, "against": None,
             "candidate": {"source": e.kernel, "binding": ""}, "deadline_ms": 50},
            {"op": "inspect", "id": self.random.randrange(5), "device": "opencl:0", "source": e.kernel, "deadline_ms": 50},
            {"op": "cancel", "id": self.random.randrange(5)},
            {"op": "dance"},
        ])

    def mutate(self, value, depth=0):
        if isinstance(value, dict) and value and self.random.random() < 0.7:
            name = self.random.choice(list(value))
            if self.random.random() < 0.2:
                return {k: v for k, v in value.items() if k != name}
            return {**value, name: self.mutate(value[name], depth + 1)}
        return self.random.choice(VALUES)

    def pump(self, e, data):
        """Writes without ever being blocked by unread answers; False once the other end is closed."""
        out, sent = e.process.stdin.fileno(), 0
        end = time.monotonic() + 30
        os.set_blocking(out, False)
        while sent < len(data):
            self.assertLess(time.monotonic(), end, "kf-eval does not read")
            readable, writable, _ = select.select([e.process.stdout], [out], [], 1)
            if readable and not os.read(e.process.stdout.fileno(), 65536):
                return False
            if writable:
                try:
                    sent += os.write(out, data[sent:])
                except BrokenPipeError:
                    return False
                except BlockingIOError:
                    pass
        return True

    def finish(self, e):
        """Closes its input; it has to end by itself, with a code that is documented, and leave nothing."""
        session = e.process.pid
        try:
            e.process.stdin.close()
        except BrokenPipeError:
            pass
        end = time.monotonic() + 60
        while time.monotonic() < end and os.read(e.process.stdout.fileno(), 65536):
            pass
        code = e.process.wait(timeout=60)
        errors = e.process.stderr.read().decode(errors="replace")
        e.process.stdout.close()
        e.process.stderr.close()
        self.assertIn(code, (0, 2, 4), errors)
        self.assertNotIn("Sanitizer", errors)
        self.assertTrue(wait_until(lambda: not of_session(session)), of_session(session))
        self.assertEqual([], [name for name in os.listdir(self.root) if name.startswith("kf-eval-")])
        return code

    def test_mutated_requests(self):
        end, sessions, lines = time.monotonic() + SECONDS, 0, 0
        while time.monotonic() < end:
            e, open_ = self.start(), True
            sessions += 1
            while open_ and time.monotonic() < end:
                message = self.request(e)
                for _ in range(self.random.randrange(3)):
                    message = self.mutate(message)
                open_ = self.pump(e, json.dumps(message).encode() + b"\n")
                lines += 1
            self.finish(e)
        print(f"{lines} lines in {sessions} sessions")
        self.assertGreater(lines, 20)

    def test_mutated_bytes(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            e = self.start()
            data = bytearray(b"".join(json.dumps(self.request(e)).encode() + b"\n" for _ in range(4)))
            for _ in range(self.random.randrange(1, 6)):
                data[self.random.randrange(len(data))] = self.random.randrange(256)
            self.pump(e, bytes(data))
            self.finish(e)

    def test_mutated_tasks(self):
        """A task is JSON inside a blob: each is refused or judged, and the session goes on."""
        e = self.start()
        self.pump(e, b"".join(json.dumps({"op": "put", "sha256": name, "size": len(data)}).encode() + b"\n" + data
                              for name, data in e.blobs.items()))
        task = json.loads(e.blobs[e.task])
        for number in range(40):
            data = json.dumps(self.mutate(task)).encode()
            message = {"op": "judge", "id": 100 + number, "task": sha(data), "device": e.device, "stage": 0, "against": None,
                       "candidate": {"source": e.kernel, "binding": ""}, "deadline_ms": 200}
            put = json.dumps({"op": "put", "sha256": sha(data), "size": len(data)}).encode() + b"\n" + data
            self.assertTrue(self.pump(e, put + json.dumps(message).encode() + b"\n"))
        self.assertEqual(0, self.finish(e))

    def test_a_blob_that_is_not_what_it_says(self):
        for text in (b'{"op":"put","sha256":"' + b"0" * 64 + b'","size":3}\nabc', b'{"op":"put","sha256":"x","size":3}\nabc',
                     b'{"op":"put","sha256":"' + b"0" * 64 + b'","size":99999999999}\n', b'{"op":"put","sha256":"' + b"0" * 64 + b'","size":-1}\n',
                     b"x" * (1 << 23), b"[" * 100000 + b"\n", b"\0" * 1000 + b"\n", b'{"op":"judge"}\n', b'{"op":"judge","id":1}\n'):
            e = self.start()
            self.pump(e, text)
            self.finish(e)


if __name__ == "__main__":
    faultlib.main()
