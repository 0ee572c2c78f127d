#!/usr/bin/env python3
"""A whole search of six candidates on the small task, and everything that is then said about it."""
import json
import pathlib
import shutil
import subprocess
import tempfile

from clitest import KF, TINY, CliTest, main, need_device

EVALS = 6


class Searched(CliTest):
    """One run for all tests of the class; they read it or work on a copy."""

    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="kf-cli-run-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        done = subprocess.run([KF, "run", str(TINY), "--evals", str(EVALS), "--seed", "1"], cwd=cls.home,
                              capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
        cls.code, cls.out, cls.err = done.returncode, done.stdout, done.stderr

    def setUp(self):
        super().setUp()
        self.assertEqual(0, self.code, self.err)

    def ask(self, *args, code=0, **more):
        return self.kf(*args, code=code, cwd=self.home, **more)

    def summary(self):
        return self.ask("show", "--json").lines()[0]

    def test_progress_is_on_stderr_and_the_result_on_stdout(self):
        self.assertRegex(self.err, rf"(?m)^kf: \d+/{EVALS} evaluated.*cell")
        self.assertRegex(self.err, r"best [\d.e+]+x \([\d.e+]+\.\.[\d.e+]+\)")
        self.assertRegex(self.out, r"(?m)^best +[\d.]+x \([\d.]+x to [\d.]+x\) over the baseline")
        self.assertRegex(self.out, r"(?m)^take it home: kf export \S+ --form kernel")
        self.assertNotIn("evaluated", self.out)

    def test_list(self):
        (row,) = self.ask("list", "--json").lines()
        self.assertEqual(("tiny", EVALS, True), (row["task"], row["evaluations"], row["finished"]))
        text = self.ask("list").out.splitlines()
        self.assertEqual("run task device evaluations best worked state".split(), text[0].split())
        self.assertIn(row["run"], text[1])
        self.assertEqual("no runs below nowhere\n", self.ask("list", "--runs", "nowhere").out)

    def test_show(self):
        summary = self.summary()
        self.assertEqual(EVALS, summary["evaluations"])
        self.assertGreaterEqual(summary["cells"], 1)
        self.assertEqual(summary["cells"], len(summary["archive"]))
        self.assertGreater(sum(summary["verdicts"].values()), 0)
        best = summary["best"]["speedup"]
        self.assertTrue(0 < best["low"] <= best["median"] <= best["high"])
        text = self.ask("show").out
        for word in ("archive", "how the best came to be", "speed-up", "binding"):
            self.assertIn(word, text)
        run = summary["run"]
        for name in (run, run[:-2], "last", f".kf/runs/{run}.db"):
            self.assertEqual(text, self.ask("show", name).out)

    def test_show_a_candidate(self):
        best = self.summary()["best"]["candidate"]
        (row,) = self.ask("show", "last", best, "--json").lines()
        self.assertEqual(("correct", best), (row["verdict"], row["candidate"]))
        self.assertEqual(best, row["lineage"][-1])
        self.assertEqual(4, len(row["cases"]))
        text = self.ask("show", "last", best).out
        for word in (f"candidate {best} of run", "judged", "lineage", "cases", "rows=17,cols=33"):
            self.assertIn(word, text)
        self.fails(2, "show", "last", "9999", says="no candidate 9999: they are numbered 1 to", cwd=self.home)
        self.fails(2, "show", "last", "x", says='candidate: "x"', cwd=self.home)
        self.fails(2, "show", "other", says='run "other"', cwd=self.home)

    def test_best_and_export(self):
        best = self.ask("best")
        self.assertIn("__kernel void tiny", best.out)
        self.assertNotIn(" in {", best.out)
        self.assertIn("over the baseline", best.err)
        exported = self.dir / "best.cl"
        result = self.ask("export", "last", "--form", "kernel", "-o", exported)
        self.assertEqual(best.out, exported.read_text())
        self.assertIn("judged again: correct", result.err)
        self.kf("eval", TINY, exported, "--no-race", code=0)
        (row,) = self.ask("export", "--json", "-o", self.dir / "again.cl").lines()
        self.assertEqual(("correct", str(self.dir / "again.cl")), (row["verdict"], row["written"]))
        self.fails(2, "export", "--json", says="--json needs -o FILE", cwd=self.home)
        self.assertIn(" in {", self.ask("best", "--template").out + " in {" * ("param" not in best.out))

    def test_replay(self):
        (row,) = self.ask("replay", "--json").lines()
        self.assertTrue(row["identical"])
        self.assertGreater(row["decisions"], EVALS)
        self.assertIn("all identical", self.ask("replay").out)

    def test_a_changed_decision_is_found(self):
        import sqlite3
        source = self.home / ".kf/runs" / (self.summary()["run"] + ".db")
        copy = self.dir / "changed.db"
        with sqlite3.connect(source) as old, sqlite3.connect(copy) as new:
            old.backup(new)
        with sqlite3.connect(copy) as db:
            tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
            self.assertIn("event", tables)
            (seq,) = db.execute("select max(seq) from event where body like '%\"half\":%'").fetchone()
            body = db.execute("select body from event where seq = ?", (seq,)).fetchone()[0]
            text = body.decode() if isinstance(body, bytes) else body
            event = json.loads(text)
            event["half"] += 1
            changed = json.dumps(event, sort_keys=True, separators=(",", ":"))
            db.execute("update event set body = ? where seq = ?",
                       (changed.encode() if isinstance(body, bytes) else changed, seq))
        (row,) = self.kf("replay", copy, "--json", code=1).lines()
        self.assertFalse(row["identical"])
        self.assertEqual(seq, row["first_difference"])
        self.assertIn(f"the first difference at event {seq}", self.kf("replay", copy, code=1).out)

    def test_gc(self):
        (row,) = self.ask("gc", "--json").lines()
        self.assertEqual(0, row["blobs"])
        self.assertTrue(self.ask("replay", "--json").lines()[0]["identical"])


class Around(CliTest):
    def test_dry_run(self):
        (row,) = self.kf("run", TINY, "--dry-run", "--json", code=0).lines()
        self.assertEqual("correct", row["verdict"])
        self.assertGreater(row["evaluations_per_minute"], 0)
        self.assertGreater(row["detectable_gain"], 0)
        self.assertEqual([{"proposer": "builtin", "leaves": "nothing"}], row["leaves_this_machine"])
        self.assertFalse((self.dir / ".kf").exists())

    def test_bad_limits(self):
        self.fails(2, "run", TINY, "--time", "0", says="--time: at least a millisecond", hint="no limit")

    def test_a_database_starts_no_programs(self):
        spec = "command:touch " + str(self.dir / "started")
        self.kf("run", TINY, "--evals", "1", "--runs", "r", "--proposer", "builtin", "--proposer", spec, code=0)
        (self.dir / "started").unlink(missing_ok=True)
        (path,) = (self.dir / "r").glob("*.db")
        for args in (("last", "--runs", "r"), (path,)):
            self.fails(2, "run", "--resume", *args, says="proposers that a database may not start",
                       hint=f" --proposer builtin --proposer '{spec}'")
        self.assertFalse((self.dir / "started").exists())
        self.kf("run", "--resume", path, "--proposer", "builtin", code=0)

    def test_an_empty_folder(self):
        self.assertEqual("no runs below .kf/runs\n", self.kf("list", code=0).out)
        self.assertEqual("", self.kf("list", "--json", code=0).out)
        self.fails(2, "best", says='run "last"')


if __name__ == "__main__":
    need_device()
    main()
