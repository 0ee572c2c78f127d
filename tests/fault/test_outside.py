#!/usr/bin/env python3
"""Faults from outside: killed children, a full or read-only disk, a lost device, a killed judge. None is a verdict on the
candidate: the request fails, and the same one asked again gets its due. KF_EVAL=path/to/kf-eval test_outside.py"""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import faultlib
from faultlib import HONEST, IN_RUNNER, Stage, attack, descendants, kernel, of_session, role_of, wait_until

SLOW = "".join(f"y[i] += x[i] * {i}.5f; y[i] -= x[i] * {i}.5f; " for i in range(40))  # time to be killed in


class Fails(Stage):
    def first_error(self, words):
        """The source of the first request that fails. Processes that were waiting before the fault may still judge some,
        and rightly."""
        for number in range(6):
            source = kernel(HONEST + f"/* {words} {number} */")
            result = self.result(source)
            if "error" in result:
                return source
            self.assertEqual("correct", result["verdict"]["verdict"], result)
        self.fail("the fault was not noticed")


class Killed(Stage):
    def kill_role(self, role, stop):
        """Kills the first process of a role that shows up, until told to stop."""
        for pid in [pid for pid in descendants(self.e.process.pid) if role_of(pid) == role]:
            try:
                os.kill(pid, signal.SIGKILL)
                stop.append(pid)
                return
            except ProcessLookupError:
                pass

    def judged_while_killing(self, role, source):
        """The result of a request during which one process of `role` is killed as soon as it is there."""
        number, killed = self.judge(source), []
        done = threading.Event()

        def hunt():
            while not done.is_set() and not killed:
                self.kill_role(role, killed)
                time.sleep(0.001)

        thread = threading.Thread(target=hunt)
        thread.start()
        result = self.e.result(number)
        done.set()
        thread.join()
        return result, killed

    def check(self, role, source):
        rest = self.prepare()
        result, killed = self.judged_while_killing(role, source)
        self.assertTrue(killed, f"no {role} was seen")
        if "error" in result:
            self.assertIn("killed from outside", result["error"]["message"])
            result = self.result(source)  # nothing of it was kept
        self.assertEqual("correct", result.get("verdict", {}).get("verdict"), result)
        self.check_unharmed(rest)

    def test_a_builder(self):
        self.check("builder", kernel(f"int i = get_global_id(0); if (i < n) {{ y[i] = 0; {SLOW} y[i] = 2.0f * x[i] + 1.0f; }}"))

    def test_a_runner(self):
        self.check("runner", kernel(f"volatile int a = 0; if {IN_RUNNER} for (int k = 0; k < 20000; k++) a += k; {HONEST}"))

    def test_an_oracle_between_requests(self):
        rest, killed = self.prepare(), []
        self.kill_role("oracle", killed)
        self.assertTrue(killed)
        result = self.honest()
        if "error" in result:
            result = self.honest()
        self.assertEqual("correct", result["verdict"]["verdict"], result)
        self.check_unharmed(rest)

    def test_the_child_that_looks_at_the_source(self):
        rest = self.prepare()
        result, _ = self.judged_while_killing("evidence", kernel(HONEST + "/* looked at */"))
        self.assertEqual("correct", result.get("verdict", {}).get("verdict"), result)
        self.check_unharmed(rest)


class Judge(Stage):
    """SIGKILL of the judge: all that it has started ends, also what a builder has started."""

    def kill_judge_during(self, source, what):
        type(self).stop()
        type(self).start()
        self.judge(source)
        threading.Thread(target=self.feed, daemon=True).start()
        session = self.e.process.pid
        self.assertTrue(wait_until(lambda: what([role_of(pid) for pid in of_session(session)]), 60), "it did not start")
        self.e.process.kill()
        self.e.process.wait(timeout=10)
        self.assertTrue(wait_until(lambda: not of_session(session), 5), [role_of(pid) for pid in of_session(session)])

    def feed(self):
        try:
            self.e.result()
        except (AssertionError, ValueError, OSError):
            pass  # it was killed: no answer comes

    def test_while_a_kernel_runs(self):
        self.kill_judge_during(kernel(f"volatile int go = 1; if {IN_RUNNER} while (go) ; {HONEST}"), lambda roles: "runner" in roles)

    def test_while_a_builder_is_full_of_processes(self):
        if not self.e.hello["upper"].startswith("namespaces("):
            self.skipTest("no namespaces here: what a builder has started outlives a killed judge: " + self.e.hello["upper"])
        self.kill_judge_during(
            attack("for (int i = 0; i < 10; i++) if (sys(57, 0, 0, 0, 0) == 0) for (;;) sys(34, 0, 0, 0, 0); for (;;) sys(34, 0, 0, 0, 0);"),
            lambda roles: roles.count("builder") > 8)


class Disk(Fails):
    """The work root on a small file system of its own; needs the right to mount one."""

    @classmethod
    def start(cls):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "kf-fault", str(cls.root)], capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(cls.root, ignore_errors=True)
            raise unittest.SkipTest("no file system can be mounted: " + done.stderr.strip())
        super().start()

    @classmethod
    def stop(cls):
        super().stop()
        subprocess.run(["umount", "-l", str(cls.root)], check=False)

    def check_then(self, mend, words):
        source = self.first_error(words)
        mend()
        self.assertEqual("correct", self.result(source)["verdict"]["verdict"])

    def test_full(self):
        rest = self.prepare()
        filler = self.root / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                pass  # it is full
        self.check_then(filler.unlink, "full")
        self.check_unharmed(rest)

    def test_read_only(self):
        rest = self.prepare()
        subprocess.run(["mount", "-o", "remount,ro", str(self.root)], check=True)
        self.check_then(lambda: subprocess.run(["mount", "-o", "remount,rw", str(self.root)], check=True), "read-only")
        # What could not be removed meanwhile goes with the session.
        self.check_unharmed({**rest, "folders": rest["folders"] + 2})


class Device(Fails):
    """The driver vanishes while a session goes on, and comes back."""

    @classmethod
    def setUpClass(cls):
        cls.vendors = pathlib.Path(tempfile.mkdtemp(prefix="kf-vendors-"))
        for path in pathlib.Path("/etc/OpenCL/vendors").glob("*.icd"):
            shutil.copy(path, cls.vendors)
        cls.ENV = {"OCL_ICD_VENDORS": str(cls.vendors) + "/"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.vendors, ignore_errors=True)

    def test_lost(self):
        rest = self.prepare()
        hidden = self.vendors.with_suffix(".hidden")
        self.vendors.rename(hidden)
        self.vendors.mkdir()
        source = self.first_error("lost")
        self.vendors.rmdir()
        hidden.rename(self.vendors)
        self.assertEqual("correct", self.result(source)["verdict"]["verdict"])
        self.check_unharmed(rest)


if __name__ == "__main__":
    faultlib.main()
