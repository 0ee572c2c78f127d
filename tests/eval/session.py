#!/usr/bin/env python3
"""Speaks the evaluator's protocol (docs/formats/wire.md) to a real kf-eval, and checks what it promises.

Usage: session.py KF_EVAL
"""
import os
import signal
import sys
import time
import unittest

from wireclient import ENDLESS, Evaluator, alive, descendants

KF_EVAL = ""


class Session(unittest.TestCase):
    def setUp(self):
        self.e = Evaluator(KF_EVAL)
        if not self.e.device:
            self.skipTest("no OpenCL device: " + self.e.hello["note"])

    def tearDown(self):
        if self.e.process.poll() is None:
            self.e.close()
        for stream in (self.e.process.stdin, self.e.process.stdout, self.e.process.stderr):
            stream.close()

    def test_hello_names_protocol_devices_and_sandbox(self):
        self.assertEqual(self.e.hello["op"], "hello")
        self.assertEqual(self.e.hello["protocol"][0], 1)
        self.assertIn("seccomp", self.e.hello["sandbox"])

    def test_missing_blobs_are_asked_for_once_and_the_verdict_is_correct(self):
        self.e.judge(7)
        result = self.e.result()
        self.assertEqual(result["id"], 7)
        self.assertEqual(result["verdict"]["verdict"], "correct", result)
        self.assertGreater(result["verdict"]["time_ns"]["median"], 0)

    def test_every_request_gets_exactly_one_result(self):
        for number in range(1, 5):
            self.e.judge(number, stage=0)
        seen = sorted(self.e.result()["id"] for _ in range(4))
        self.assertEqual(seen, [1, 2, 3, 4])

    def test_a_kernel_raced_against_itself_is_no_winner(self):
        self.e.judge(1, against={"source": self.e.kernel, "binding": ""}, verified=True)
        race = self.e.result()["verdict"]["speedup"]
        self.assertNotEqual(race["outcome"], "dropped")
        self.assertGreaterEqual(race["blocks"], 6)

    def test_unknown_op_is_an_error_and_the_session_goes_on(self):
        self.e.send({"op": "dance"})
        self.assertEqual(self.e.read()["op"], "error")
        self.e.judge(1, stage=0)
        self.assertEqual(self.e.result()["verdict"]["verdict"], "correct")

    def test_unknown_device_is_an_infrastructure_error(self):
        self.e.judge(1, device="opencl:77")
        self.assertIn("opencl:77", self.e.result()["error"]["message"])

    def test_cancel_of_a_waiting_job(self):
        self.e.judge(1)
        self.e.judge(2)
        self.e.send({"op": "cancel", "id": 2})
        results = {r["id"]: r for r in (self.e.result(), self.e.result())}
        self.assertIn("error", results[2])
        self.assertIn("verdict", results[1])

    def test_garbage_ends_the_session_with_one_line(self):
        self.e.process.stdin.write(b"{nonsense\n")
        self.e.process.stdin.flush()
        self.assertEqual(self.e.process.wait(timeout=10), 4)
        lines = self.e.process.stderr.read().decode().strip().splitlines()
        self.assertTrue(lines and "wire" in lines[0], lines)

    def test_killed_it_leaves_no_process(self):
        source = self.e.put(ENDLESS)
        self.e.judge(1, source=source)
        for name in list(self.e.blobs):
            self.e.put(self.e.blobs[name])
        time.sleep(2)
        children = descendants(self.e.process.pid)
        self.assertTrue(children)
        self.e.process.send_signal(signal.SIGKILL)
        self.e.process.wait(timeout=10)
        deadline = time.time() + 3
        while any(alive(pid) for pid in children) and time.time() < deadline:
            time.sleep(0.02)
        self.assertEqual([pid for pid in children if alive(pid)], [])

    def test_end_of_input_leaves_no_folder(self):
        self.e.judge(1, stage=0)
        self.e.result()
        pid = self.e.process.pid
        self.assertEqual(self.e.close(), 0)
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith(f"kf-eval-{pid}-")], [])


if __name__ == "__main__":
    KF_EVAL = sys.argv.pop(1)
    unittest.main(verbosity=1)
