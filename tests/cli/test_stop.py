#!/usr/bin/env python3
"""Runs that end otherwise: interrupted, killed, on a full disk, without a device, from a newer kf. Nothing is lost."""
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess

from clitest import KF, TINY, CliTest, main, need_device, wait_for


class Stopped(CliTest):
    def wait_until_judged(self, count):
        """The id of the run of this folder once so many candidates have a verdict."""
        def judged():
            rows = self.kf("list", "--json").lines()
            return rows[0]["run"] if rows and sum(rows[0]["verdicts"].values()) >= count else None
        return wait_for(judged, f"{count} verdicts", 300)

    def events(self, run):
        with sqlite3.connect(f"file:{self.dir}/.kf/runs/{run}.db?mode=ro", uri=True) as db:
            return db.execute("select seq, kind, body from event order by seq").fetchall()

    def test_the_first_interrupt_drains_and_prints_how_to_go_on(self):
        run = self.start("run", TINY, "--evals", "50")
        name = self.wait_until_judged(2)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=300)
        self.assertEqual(5, run.returncode, err)
        self.assertIn("stopping", err)
        self.assertIn(f"go on:        kf run --resume {name}\n", out)
        before = self.events(name)
        done = self.kf("run", "--resume", name, "--evals", "4", code=0, timeout=600)
        self.assertIn("evaluations  ", done.out)
        after = self.events(name)
        self.assertEqual(before, after[:len(before)])
        self.assertTrue(self.kf("replay", name, "--json", code=0).lines()[0]["identical"])

    def test_a_killed_run_goes_on_where_it_was(self):
        run = self.start("run", TINY, "--evals", "4")
        name = self.wait_until_judged(2)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        before = self.events(name)
        (state,) = self.kf("list", "--json", code=0).lines()
        self.assertFalse(state["finished"])
        self.kf("run", "--resume", "last", code=0, timeout=600)
        after = self.events(name)
        self.assertEqual(before, after[:len(before)])
        (row,) = self.kf("show", name, "--json", code=0).lines()
        self.assertTrue(row["finished"])
        self.assertLessEqual(row["evaluations"], 4)
        self.assertTrue(self.kf("replay", name, "--json", code=0).lines()[0]["identical"])

    def test_one_writer_at_a_time(self):
        run = self.start("run", TINY, "--evals", "50")
        name = self.wait_until_judged(1)
        self.fails(2, "run", "--resume", name, says=str(run.pid))
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=300)
        self.assertEqual(5, run.returncode)


class Environment(CliTest):
    def test_no_device(self):
        self.fails(4, "run", TINY, "--device", "opencl:9", says="opencl:9", hint="kf doctor")
        self.assertFalse((self.dir / ".kf").exists())

    def test_an_unknown_proposer(self):
        self.fails(2, "run", TINY, "--proposer", "nobody", says='"nobody"', hint="builtin")

    def test_a_full_disk(self):
        small = self.dir / "small"
        small.mkdir()
        probe = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", str(small)], capture_output=True)
        if probe.returncode != 0:
            self.skipTest("no small file system can be mounted here: " + probe.stderr.decode().strip())
        script = f'mount -t tmpfs -o size=150k tmpfs {small} && "{KF}" run {TINY} --evals 30 --db {small}/run.db'
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=600)
        self.assertEqual(4, done.returncode, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^kf: error: .*small/run\.db.*full")
        self.assertRegex(done.stderr, r"(?m)^kf: hint: free some space")


class Foreign(CliTest):
    """Databases that are not ours to read."""

    def fails_everywhere(self, path, says, hint=None):
        self.fails(2, "show", path, says=says, hint=hint)
        self.fails(2, "run", "--resume", path, says=says, hint=hint)
        self.fails(2, "replay", path, says=says, hint=hint)

    def test_a_newer_database(self):
        run = self.start("run", TINY, "--evals", "50")
        name = wait_for(lambda: next(iter(self.kf("list", "--json").lines()), {}).get("run"), "a run")
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=300)
        path = self.dir / ".kf/runs" / f"{name}.db"
        with sqlite3.connect(path) as db:
            db.execute("pragma user_version = 999")
        self.fails_everywhere(path, says="newer kf", hint="update kf")
        listed = self.kf("list", code=0)
        self.assertIn("newer kf", listed.err)

    def test_something_else(self):
        path = self.dir / "text.db"
        path.write_text("no database\n")
        self.fails_everywhere(path, says="text.db: not a run database")


if __name__ == "__main__":
    need_device()
    main()
