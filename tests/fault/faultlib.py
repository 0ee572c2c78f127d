"""faultlib.py - what the tests of faults share: hostile kernels, one kf-eval with a work root of its own, and the
check that nothing of a fault is left: no process, no folder, no descriptor, and the next honest verdict is right."""
import os
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "eval"))
from wireclient import Evaluator, descendants, of_session, role_of, sha  # noqa: E402,F401

KF_EVAL = os.environ.get("KF_EVAL", "")
SKIPPED = 77

HEAD = "//kf: launch affine global=(ceil(n,64)*64) local=(64) args=(x, y, n)\n"
PROTO = "__kernel void affine(__global const float *x, __global float *y, int n)"
HONEST = "int i = get_global_id(0); if (i < n) y[i] = 2.0f * x[i] + 1.0f;"
# The trial launch of a build sees one half everywhere; random inputs do not repeat a value.
IN_RUNNER = "(n > 2 && (x[0] != x[1] || x[1] != x[2]))"

SYSCALL = """long sys(long n, long a, long b, long c, long d) {
  long r;
  __asm__ volatile("movq %5, %%r10; xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; syscall" : "=a"(r)
    : "a"(n), "D"(a), "S"(b), "d"(c), "r"(d) : "rcx", "r11", "r10", "r8", "r9", "memory");
  return r;
}
void *map(ulong bytes) {
  long r;
  __asm__ volatile("movq $34, %%r10; movq $-1, %%r8; xorl %%r9d, %%r9d; syscall" : "=a"(r)
    : "a"(9L), "D"(0L), "S"(bytes), "d"(3L) : "rcx", "r11", "r10", "r8", "r9", "memory");
  return (void *)r;
}
"""


def kernel(body, before=""):
    return (HEAD + before + PROTO + " {\n" + body + "\n}\n").encode()


def attack(body, where=None):
    """`body` in the first work-item (of the runner only, with where=IN_RUNNER), then the honest answer."""
    guard = "get_global_id(0) == 0" + (f" && {where}" if where else "")
    return kernel(f"if ({guard}) {{ {body} }}\n{HONEST}", SYSCALL)


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


class Stage(unittest.TestCase):
    """One kf-eval for a whole class of tests, in a temporary folder of its own."""

    # The hostile kernels hold assembly: what is shown is what stands behind the refusal of it.
    SETTINGS = {"sandbox.screen": False, "build.timeout_ms": 20000, "verify.call_timeout_ms": 1500, "sandbox.memory_mib": 2048}
    ENV = {}

    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="kf-fault-"))
        cls.locks = pathlib.Path(tempfile.mkdtemp(prefix="kf-locks-"))  # nothing is timed here: no need to wait for others
        cls.start()
        cls.honest_number = 0

    @classmethod
    def start(cls):
        cls.e = Evaluator(KF_EVAL, settings=cls.SETTINGS, env={"TMPDIR": str(cls.root), "KF_LOCK_DIR": str(cls.locks), **cls.ENV})
        if not cls.e.device:
            note = cls.e.hello["note"]
            cls.stop()
            raise unittest.SkipTest("no OpenCL device: " + note)
        cls.number = 0

    @classmethod
    def stop(cls):
        if cls.e.process.poll() is None:
            cls.e.close()
        for stream in (cls.e.process.stdin, cls.e.process.stdout, cls.e.process.stderr):
            stream.close()

    @classmethod
    def tearDownClass(cls):
        cls.stop()
        shutil.rmtree(cls.root, ignore_errors=True)
        shutil.rmtree(cls.locks, ignore_errors=True)

    def judge(self, source, stage=0, **fields):
        type(self).number += 1
        self.e.judge(self.number, source=self.e.put(source), stage=stage, **fields)
        return self.number

    def result(self, source, stage=0, **fields):
        return self.e.result(self.judge(source, stage, **fields))

    def honest(self, stage=0):
        """A right kernel that was never seen before."""
        type(self).honest_number += 1
        return self.result(kernel(HONEST + f" /* {self.honest_number} */"), stage)

    # ---- what is left ----

    def processes(self):
        pid = self.e.process.pid
        return sorted(set(descendants(pid)) | set(of_session(pid)))

    def folders(self):
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob("*/*"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.e.process.pid}/fd"))

    def rest(self):
        """What a session keeps between requests: processes by role, folders, descriptors. The first verdicts have
        to be through: references and what is kept ready are made then."""
        return {"processes": len(self.processes()), "folders": len(self.folders()), "descriptors": self.descriptors()}

    def settled(self, rest):
        now = self.rest()
        return all(now[what] <= rest[what] for what in rest) and all(role_of(pid) for pid in self.processes())

    def prepare(self):
        """Two honest verdicts; returns what the session keeps."""
        for _ in range(2):
            self.assertEqual("correct", self.honest()["verdict"]["verdict"])
        rest = self.rest()
        while True:  # processes that wait for the next candidate take a while to be ready
            time.sleep(1.5)
            now = self.rest()
            if now == rest:
                return rest
            rest = now

    def check_unharmed(self, rest):
        result = self.honest()
        self.assertEqual("correct", result.get("verdict", {}).get("verdict"), result)
        self.assertTrue(wait_until(lambda: self.settled(rest)),
                        f"left behind: {self.rest()}, at rest {rest}; {self.folders()} "
                        f"{[(pid, role_of(pid)) for pid in self.processes()]}")


def main():
    if not KF_EVAL:
        sys.exit("KF_EVAL names the program")
    program = unittest.main(verbosity=2, exit=False)
    result = program.result
    for test, why in result.skipped:
        print(f"skipped: {test}: {why}")
    if result.wasSuccessful() and result.skipped and len(result.skipped) >= result.testsRun:
        sys.exit(SKIPPED)
    sys.exit(0 if result.wasSuccessful() else 1)
