#!/usr/bin/env python3
"""Faults of candidates, one after the other in one session: each gets the verdict that is its due, the next honest
kernel is right, and nothing is left. KF_EVAL=path/to/kf-eval test_faults.py [unittest options]"""
import platform
import unittest

import faultlib
from faultlib import HONEST, IN_RUNNER, SYSCALL, Stage, attack, kernel

ASSEMBLY = platform.machine() == "x86_64"

# name: (verdicts that are right, kernel)
# The memory of a builder and what it has forked is a sum in which shared pages count for each: a bomb may end as either.
FAULTS = {
    "segmentation fault": ({"crashed"}, kernel("volatile __global int *p = (volatile __global int *)(ulong)(n * 4 + 4); *p = 1;")),
    "segmentation fault in the runner": (
        {"crashed"}, kernel(f"if {IN_RUNNER} {{ volatile __global int *p = (volatile __global int *)(ulong)(n * 4 + 4); *p = 1; }} {HONEST}")),
    "trap": ({"crashed"}, kernel(f"if {IN_RUNNER} __builtin_trap(); {HONEST}")),
    "endless in the builder": ({"timed_out"}, kernel("volatile int go = 1; while (go) ; y[0] = x[0];")),
    "endless in the runner": ({"timed_out"}, kernel(f"volatile int go = 1; if {IN_RUNNER} while (go) ; {HONEST}")),
    "stack overflow": ({"crashed"}, kernel(
        f"volatile char big[64 << 20]; if {IN_RUNNER} for (int i = 0; i < (64 << 20); i += 4096) big[i] = (char)n; {HONEST}")),
    "two gigabytes of local memory": ({"launch_failed"}, kernel(
        f"__local float big[1 << 29]; big[get_local_id(0) << 20] = x[0]; barrier(CLK_LOCAL_MEM_FENCE); if (big[n & 15] == 77.0f) y[0] = 1; {HONEST}")),
    "includes itself": ({"build_failed"}, b"#include __FILE__\n" + kernel(HONEST)),
    "macros that double": ({"build_timeout", "out_of_memory", "build_failed"}, kernel(
        "D34 " + HONEST, "#define D0 y[0] += 1.0f;\n" + "".join(f"#define D{i} D{i - 1} D{i - 1}\n" for i in range(1, 35)))),
    "prints without end": ({"correct", "timed_out"}, kernel(
        f'if (get_global_id(0) == 0) for (int i = 0; i < 20000; i++) printf("{"x" * 500}\\n"); {HONEST}')),
}
if ASSEMBLY:
    FAULTS.update({
        # tgkill of itself
        "abort": ({"crashed"}, attack("sys(234, sys(39, 0, 0, 0, 0), sys(186, 0, 0, 0, 0), 6, 0);", IN_RUNNER)),
        "ends its process": ({"crashed"}, attack("sys(231, 0, 0, 0, 0);", IN_RUNNER)),
        "ends the builder": ({"crashed"}, attack("sys(231, 0, 0, 0, 0);")),
        "sends itself the signal of the judge": ({"correct"}, attack(
            "sys(234, sys(39, 0, 0, 0, 0), sys(186, 0, 0, 0, 0), 9, 0); sys(234, sys(39, 0, 0, 0, 0), sys(186, 0, 0, 0, 0), 0x100000009L, 0);")),
        "fork bomb in the builder": ({"crashed", "out_of_memory"}, attack(
            "for (int i = 0; i < 300; i++) if (sys(57, 0, 0, 0, 0) == 0) for (;;) sys(34, 0, 0, 0, 0); for (;;) sys(34, 0, 0, 0, 0);")),
        "forks that fork in the builder": ({"crashed", "out_of_memory", "timed_out"}, attack("for (;;) sys(57, 0, 0, 0, 0);")),
        "forks that stay in the builder": ({"correct"}, attack(
            "for (int i = 0; i < 4; i++) if (sys(57, 0, 0, 0, 0) == 0) for (;;) sys(34, 0, 0, 0, 0);")),
        "daemons in the builder": ({"correct"}, attack(
            "for (int i = 0; i < 3; i++) if (sys(57, 0, 0, 0, 0) == 0) { sys(112, 0, 0, 0, 0);"
            " if (sys(57, 0, 0, 0, 0) != 0) sys(231, 0, 0, 0, 0); for (;;) sys(34, 0, 0, 0, 0); }")),
        "fork bomb in the runner": ({"correct"}, attack("for (int i = 0; i < 1000; i++) sys(57, 0, 0, 0, 0);", IN_RUNNER)),
        "memory bomb": ({"out_of_memory", "crashed", "timed_out"}, attack(
            "for (;;) { volatile char *p = map(64UL << 20); if ((long)p < 0 && (long)p > -4096) { volatile int *q = 0; *q = 1; }"
            " for (long i = 0; i < (64L << 20); i += 4096) p[i] = 1; }", IN_RUNNER)),
        "memory bomb in the builder": ({"out_of_memory", "crashed"}, attack(
            "for (;;) { volatile char *p = map(64UL << 20); if ((long)p < 0 && (long)p > -4096) { volatile int *q = 0; *q = 1; }"
            " for (long i = 0; i < (64L << 20); i += 4096) p[i] = 1; }")),
        "writes gigabytes": ({"correct", "timed_out"}, attack(
            "char *p = map(1UL << 20); for (int i = 0; i < 4096; i++) sys(1, 1, (long)p, 1L << 20, 0);", IN_RUNNER)),
        "answers unasked": ({"cheat"}, attack("char m[512]; for (int i = 0; i < 512; i++) m[i] = 0; sys(1, 3, (long)m, 512, 0);", IN_RUNNER)),
        "answers at great length": ({"cheat"}, attack("char *p = map(1UL << 20); sys(1, 3, (long)p, 100000, 0);", IN_RUNNER)),
        "floods the socket": ({"cheat", "timed_out"}, attack("char m[64]; for (int i = 0; i < 64; i++) m[i] = 0; for (;;) sys(1, 3, (long)m, 64, 0);", IN_RUNNER)),
        "closes the socket": ({"crashed", "cheat"}, attack("sys(3, 3, 0, 0, 0);", IN_RUNNER)),
        "closes the socket and stays": ({"crashed", "cheat", "timed_out"}, attack("sys(3, 3, 0, 0, 0); for (;;) sys(34, 0, 0, 0, 0);", IN_RUNNER)),
        "closes every descriptor": ({"crashed", "cheat"}, attack("for (int i = 0; i < 64; i++) sys(3, i, 0, 0, 0);", IN_RUNNER)),
        "malformed frames from the builder": ({"cheat", "crashed"}, attack("char *p = map(1UL << 20); for (int i = 0; i < 64; i++) p[i] = 0x7f; sys(1, 3, (long)p, 64, 0);")),
        "half a frame from the builder": ({"cheat", "crashed", "timed_out"}, attack(
            "char *p = map(1UL << 20); p[0] = 4; p[5] = 4; sys(1, 3, (long)p, 100, 0); sys(231, 0, 0, 0, 0);")),
        "floods from the builder": ({"cheat", "crashed", "timed_out"}, attack("char *p = map(1UL << 20); for (;;) sys(1, 3, (long)p, 1L << 20, 0);")),
        "ignores signals": ({"timed_out"}, attack(
            "struct { ulong handler, flags, restorer, mask; } act = {1, 0, 0, 0};"
            " for (int s = 1; s < 65; s++) sys(13, s, (long)&act, 0, 8); for (;;) sys(34, 0, 0, 0, 0);", IN_RUNNER)),
    })


class Faults(Stage):
    LAYER = "namespaces("

    def test_each_fault_is_a_verdict_and_harms_nobody(self):
        rest = self.prepare()
        for name, (right, source) in FAULTS.items():
            with self.subTest(name):
                result = self.result(source)
                self.assertIn("verdict", result, result)
                verdict = result["verdict"]
                self.assertIn(verdict["verdict"], right, verdict.get("diagnosis"))
                self.assertLess(len(verdict.get("log") or ""), 70000)
                self.assertIn("seccomp", verdict["trust"]["enforced"])
                if self.e.hello["upper"].startswith(self.LAYER):
                    self.assertIn(self.LAYER, verdict["trust"]["enforced"])
                self.check_unharmed(rest)
        self.assertIsNone(self.e.process.poll())


class FaultsWithoutUpperLayer(Faults):
    """The same on a machine without namespaces: the base layer has to do."""

    SETTINGS = {**Faults.SETTINGS, "sandbox.upper": False}
    LAYER = "seccomp"


if __name__ == "__main__":
    faultlib.main()
