#!/usr/bin/env python3
"""Speaks the evaluator's protocol (docs/formats/wire.md) to a real kf-eval, and checks what it promises.

Usage: session.py KF_EVAL
"""
import os
import signal
import sys
import time
import unittest

from wireclient import ENDLESS, TASK_DIR, Evaluator, alive, descendants, role_of

KF_EVAL = ""

CORRECT_TOO = b"""//kf: launch affine global=(ceil(n,64)*64) local=(64) args=(x, y, n)
__kernel void affine(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  y[i] = fma(2.0f, x[i], 1.0f);
}
"""

WRONG = CORRECT_TOO.replace(b"1.0f", b"1.5f")


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

    def spares(self):
        """Pids of waiting runners and builders, once there are some; none is made before the first verdict."""
        deadline = time.time() + 60
        while time.time() < deadline:
            found = [pid for pid in descendants(self.e.process.pid) if role_of(pid) in ("runner", "builder")]
            if len(found) >= 5:
                return found
            time.sleep(0.05)
        self.fail("no spares within 60 s")

    def test_spares_that_died_cost_no_verdict(self):
        self.e.judge(1)
        self.e.result()
        for pid in self.spares():
            os.kill(pid, signal.SIGKILL)
        self.e.judge(2, source=self.e.put(CORRECT_TOO))
        self.assertEqual(self.e.result()["verdict"]["verdict"], "correct")

    def test_spares_that_hang_while_they_open_cost_no_verdict(self):
        self.e.judge(1)
        self.e.result()
        frozen, deadline = set(), time.time() + 2
        while time.time() < deadline:  # from their start on
            for pid in set(descendants(self.e.process.pid)) - frozen:
                if role_of(pid) in ("runner", "builder"):
                    os.kill(pid, signal.SIGSTOP)
                    frozen.add(pid)
        self.assertTrue(frozen)
        self.e.judge(2, source=self.e.put(CORRECT_TOO))
        self.assertEqual(self.e.result()["verdict"]["verdict"], "correct")
        self.assertEqual(self.e.close(), 0)
        self.assertEqual([pid for pid in frozen if alive(pid)], [])

    def test_the_same_machine_code_shares_a_judgement(self):
        other = self.e.put(b"/* the same */\n" + CORRECT_TOO.replace(b"int i", b"const int i"))
        source = self.e.put(CORRECT_TOO)
        for number, name in enumerate((source, other, source, self.e.put(WRONG)), 1):
            self.e.judge(number, source=name)
        verdicts = [self.e.result(number)["verdict"] for number in (1, 2, 3, 4)]
        self.assertEqual([v["verdict"] for v in verdicts], ["correct", "correct", "correct", "wrong_output"])
        self.assertEqual(verdicts[1]["shared_with"], source)
        self.assertEqual(verdicts[1]["source_sha256"], other)
        self.assertEqual(verdicts[1]["time_ns"], verdicts[0]["time_ns"])
        self.assertNotIn("shared_with", verdicts[2])  # asked for again: measured again
        self.assertNotIn("shared_with", verdicts[3])

    def test_the_opponents_machine_code_is_verified_and_ties(self):
        own = (TASK_DIR / "kernel.cl").read_bytes()
        self.e.judge(1, source=self.e.put(own + b"/* mine */\n"), against={"source": self.e.kernel, "binding": ""})
        verdict = self.e.result()["verdict"]
        self.assertEqual(verdict["verdict"], "correct")
        self.assertEqual((verdict["speedup"]["outcome"], verdict["speedup"]["blocks"]), ("tie", 0))
        self.assertIn("same machine code", verdict["speedup"]["why"])
        self.assertTrue(all(case["right"] for case in verdict["cases"]))

    def test_builds_go_on_while_another_is_judged(self):
        self.e.judge(1)
        self.e.result()
        self.spares()
        for number in (2, 3):
            source = self.e.put(CORRECT_TOO.replace(b"1.0f", b"(%d.0f - %d.0f)" % (number, number - 1)).replace(b"64", b"32" if number == 2 else b"16"))
            self.e.judge(number, source=source, against={"source": self.e.kernel, "binding": ""})
        results = [self.e.result(), self.e.result()]
        self.assertEqual(sorted(r["id"] for r in results), [2, 3])
        for result in results:  # a busy machine may make the times of the race too unsteady for a claim
            self.assertIn(result["verdict"]["verdict"], ("correct", "unstable"), result)

    def test_end_of_input_leaves_no_folder(self):
        self.e.judge(1, stage=0)
        self.e.result()
        pid = self.e.process.pid
        self.assertEqual(self.e.close(), 0)
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith(f"kf-eval-{pid}-")], [])


if __name__ == "__main__":
    KF_EVAL = sys.argv.pop(1)
    unittest.main(verbosity=1)
