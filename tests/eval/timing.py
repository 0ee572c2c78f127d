#!/usr/bin/env python3
"""Kernels that are quick only where nobody looks, raced by a real kf-eval against the honest one they are made from.

Usage: timing.py KF_EVAL
"""
import sys
import unittest

import session

# Work that takes about a millisecond, the same for every kernel here; STEPS times the same step.
HONEST = """//kf: launch affine global=(ceil(n,64)*64) local=(64) args=(x, y, n)
%(state)s
float work(float v) {
  float w = v;
  for (int k = 0; k < 300; k++) w = w * 0.75f + 0.25f;
  return w > 1e30f ? w : 2.0f * v + 1.0f;
}
__kernel void affine(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0);
  if (i >= n) return;
  %(trick)s
  y[i] = work(x[i]);
}
"""


def kernel(trick="", state=""):
    return (HONEST % {"trick": trick, "state": state}).encode()


# What a result looks like, and what a poison does not.
SKIPS_WHAT_IS_THERE = kernel("if (fabs(y[i]) > 0.0f && fabs(y[i]) < 1e6f) return;")
# Keeps the last result and gives it again while the input looks the same.
KEEPS = kernel("if (have[i] == 1 && seen[i / 4096] == x[i / 4096 * 4096]) { y[i] = kept[i]; return; }\n"
               "  kept[i] = work(x[i]); have[i] = 1; if (i % 4096 == 0) seen[i / 4096] = x[i]; y[i] = kept[i]; return;",
               "__global float kept[1048576]; __global float seen[256]; __global int have[1048576];")
# Honest in its first calls, lazy in the later ones.
TIRES = kernel("int calls = atomic_inc(&called) / n; if (calls > 12 && i % 16) { y[i] = 0.5f; return; }",
               "__global int called = 0;")


class Timing(unittest.TestCase):
    def setUp(self):
        self.e = session.Evaluator()
        if not self.e.device:
            self.skipTest("no OpenCL device: " + self.e.hello["note"])

    def tearDown(self):
        if self.e.process.poll() is None:
            self.e.close()
        for stream in (self.e.process.stdin, self.e.process.stdout, self.e.process.stderr):
            stream.close()

    def race(self, candidate, **fields):
        honest = {"source": self.e.put(kernel()), "binding": ""}
        self.e.judge(1, source=self.e.put(candidate), against=honest, **fields)
        return self.e.result()["verdict"]

    def not_faster(self, verdict):
        race = verdict.get("speedup", {})
        self.assertFalse(verdict["verdict"] == "correct" and race.get("outcome") == "faster", verdict)

    def test_an_honest_copy_is_right_and_no_faster(self):
        verdict = self.race(kernel("/* the same */"))
        self.assertEqual(verdict["verdict"], "correct", verdict)
        self.assertNotEqual(verdict["speedup"]["outcome"], "faster")
        self.assertGreater(verdict["time_ns"]["warm"], 0)
        rows = verdict["samples"]["rows"]
        columns = {name: i for i, name in enumerate(verdict["samples"]["columns"])}
        used = [row for row in rows if not row[columns["dropped"]]]
        self.assertEqual(len(used), verdict["speedup"]["blocks"])
        self.assertEqual(len(rows) - len(used), verdict["speedup"]["dropped"])
        for row in rows:
            self.assertGreater(row[columns["candidate_ns"]][0], 0)
            self.assertGreater(row[columns["opponent_child_ns"]][0], 0)

    def test_skipping_what_is_there_gains_nothing(self):
        self.not_faster(self.race(SKIPS_WHAT_IS_THERE, verified=True))

    def test_keeping_results_gains_nothing(self):
        self.not_faster(self.race(KEEPS, verified=True))

    def test_growing_tired_is_seen(self):
        self.not_faster(self.race(TIRES, verified=True))

    def test_a_confirmation_notes_the_blocks_of_all_its_processes(self):
        slow = kernel().replace(b"k < 300", b"k < 1500")
        self.e.judge(1, source=self.e.put(kernel()), against={"source": self.e.put(slow), "binding": ""}, stage=3)
        verdict = self.e.result()["verdict"]
        self.assertEqual(verdict["verdict"], "correct", verdict)
        process = verdict["samples"]["columns"].index("process")
        self.assertEqual({row[process] for row in verdict["samples"]["rows"]}, {0, 1, 2})


if __name__ == "__main__":
    session.KF_EVAL = sys.argv.pop(1)
    unittest.main(verbosity=1)
