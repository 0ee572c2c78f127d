"""clitest.py - what the tests of the command line share: running kf, golden texts, JSON lines, skipping with a reason.

Every test_*.py of this folder is a program of its own: KF=path/to/kf test_x.py [unittest options].
KF_RECORD=1 writes the golden texts instead of comparing with them. Exit status 77: skipped.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
GOLDEN = HERE / "golden"
TINY = HERE.parent / "data" / "tiny"
KF = os.environ.get("KF", str(SOURCE / "build" / "dev" / "bin" / "kf"))
RECORD = os.environ.get("KF_RECORD") == "1"
SKIPPED = 77


class Result:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def lines(self):
        """The objects of --json."""
        return [json.loads(line) for line in self.out.splitlines()]

    def __str__(self):
        return f"exit {self.code}\nstdout:\n{self.out}\nstderr:\n{self.err}"


def skip_all(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


class CliTest(unittest.TestCase):
    """Each test works in a fresh folder of its own."""

    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="kf-cli-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def kf(self, *args, code=None, timeout=300, env=None, cwd=None):
        done = subprocess.run([KF, *map(str, args)], capture_output=True, text=True, timeout=timeout,
                              cwd=cwd or self.dir, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
        result = Result(done)
        if code is not None:
            self.assertEqual(code, result.code, f"kf {' '.join(map(str, args))}\n{result}")
        return result

    def start(self, *args, env=None):
        return subprocess.Popen([KF, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.dir, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                start_new_session=True)

    def golden(self, name, text):
        path = GOLDEN / name
        if RECORD:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            return
        self.assertTrue(path.exists(), f"{path} is missing: KF_RECORD=1 writes it")
        self.assertEqual(path.read_text(), text, f"{name}: KF_RECORD=1 writes it anew")

    def fails(self, code, *args, says, hint=None, **more):
        """A failure: the exit code, one line that says where and what, and a hint."""
        result = self.kf(*args, code=code, **more)
        errors = [line for line in result.err.splitlines() if line.startswith("kf: error: ")]
        hints = [line for line in result.err.splitlines() if line.startswith("kf: hint: ")]
        self.assertEqual(1, len(errors), result)
        self.assertIn(says, errors[0])
        if hint is not None:
            self.assertEqual(1, len(hints), result)
            self.assertIn(hint, hints[0])
        return result

    def copy_tiny(self):
        target = self.dir / "tiny"
        shutil.copytree(TINY, target)
        return target

    def edit(self, path, old, new):
        text = path.read_text()
        self.assertIn(old, text)
        path.write_text(text.replace(old, new))


def need_device():
    """Skips the whole program where no device works."""
    done = subprocess.run([KF, "doctor", "--json"], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        skip_all("no device works here, see kf doctor")


def wait_for(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"timed out waiting for {what}")


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0], *sys.argv[1:]])
