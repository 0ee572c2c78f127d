#!/usr/bin/env python3
"""eval, race and check on a small task: verdicts, exit codes, and one clear line for each kind of bad input."""
import subprocess

from clitest import KF, CliTest, main, need_device

# docs/formats/verdict.md: the names that a verdict has whatever it says.
NAMES = {"task", "candidate", "verdict", "stage", "confirmed", "oracle", "trust", "cases", "stages_ms", "cell", "source_sha256",
         "next", "device"}


class Eval(CliTest):
    def test_right_and_wrong_kernels(self):
        tiny = self.copy_tiny()
        wrong = self.dir / "wrong.cl"
        wrong.write_text((tiny / "kernel.cl").read_text().replace("* w[r]", "* w[r] + 1"))
        right = self.kf("eval", tiny, "--cases", code=0)
        self.assertRegex(right.out, r"(?m)^kernel\.cl: correct  \d")
        self.assertRegex(right.out, r"(?m)^rows=3,cols=5 +check +right")
        self.assertEqual("", right.err)
        rows = self.kf("eval", tiny, tiny / "kernel.cl", wrong, "--json", code=1).lines()
        self.assertEqual(["correct", "wrong_output"], [row["verdict"] for row in rows])
        for row in rows:
            self.assertEqual(set(), NAMES - set(row))
            self.assertEqual("tiny", row["task"])
        self.assertEqual(str(wrong), rows[1]["candidate"])
        self.assertIn("kind", rows[1]["diagnosis"])
        text = self.kf("eval", tiny, wrong, code=1).out
        self.assertRegex(text, r"wrong\.cl: wrong_output  \w+: y")
        self.assertIn("\n  next ", text)

    def test_a_faster_kernel_gets_its_interval(self):
        tiny = self.copy_tiny()
        (row,) = self.kf("eval", tiny, tiny / "seeds/rows.cl", "--binding", "PARTS=2", "--json", code=0).lines()
        self.assertEqual("PARTS=2,UNROLL=1,ROWS=1", row["binding"])
        speedup = row["speedup"]
        self.assertLessEqual(speedup["low"], speedup["median"])
        self.assertLessEqual(speedup["median"], speedup["high"])
        self.assertGreater(speedup["median"], 1)
        (row,) = self.kf("eval", tiny, tiny / "seeds/rows.cl", "--no-race", "--json", code=0).lines()
        self.assertNotIn("speedup", row)

    def test_a_stage_says_how_far(self):
        (row,) = self.kf("eval", self.copy_tiny(), "--stage", "0", "--json").lines()
        self.assertEqual(0, row["stage"])


class Race(CliTest):
    def test_faster_slower_wrong(self):
        tiny = self.copy_tiny()
        slow, fast = tiny / "kernel.cl", tiny / "seeds/rows.cl"
        won = self.kf("race", tiny, slow, fast, code=0)
        self.assertRegex(won.out, r"rows\.cl is faster than .*kernel\.cl: [\d.]+x \([\d.]+x to [\d.]+x, [\d.]+ %\)")
        (lost,) = self.kf("race", fast, slow, "--task", tiny, "--json", code=1).lines()
        self.assertFalse(lost["faster"])
        self.assertEqual("correct", lost["verdict"])
        wrong = self.dir / "wrong.cl"
        wrong.write_text(fast.read_text().replace("* weight", "* 2"))
        self.assertIn("wrong.cl: wrong_output", self.kf("race", tiny, slow, wrong, code=1).out)
        broken = self.dir / "broken.cl"
        broken.write_text(fast.read_text().replace("weight;", "weigth;"))
        self.assertIn("broken.cl: build_failed", self.kf("race", tiny, broken, fast, code=1).out)


class Check(CliTest):
    def test_a_sound_task(self):
        result = self.kf("check", self.copy_tiny(), code=0)
        self.assertRegex(result.out, r"(?m)^kernel kernel\.cl: correct")
        self.assertRegex(result.out, r"(?m)^seed seeds/rows\.cl: correct")
        self.assertRegex(result.out, r"(?m)^noise: .* against itself is ")
        self.assertRegex(result.out, r"smallest gain that a full race of 48 blocks shows: [\d.]+ %")
        self.assertIn("\nok        trivial answers: zeros, a constant", result.out)
        self.assertRegex(result.out, r"task tiny: sound(, 1 doubt)?\n$")  # 64 rows may be mostly the launch

    def test_a_kernel_that_disagrees_with_the_reference(self):
        tiny = self.copy_tiny()
        self.edit(tiny / "reference.c", "* w[r]", "* w[r] * 2")
        rows = self.kf("check", tiny, "--no-noise", "--json", code=3).lines()
        self.assertEqual(["wrong_output", "wrong_output"], [row["verdict"] for row in rows[:2]])
        self.assertIs(False, rows[-1]["sound"])
        self.assertIs(True, rows[-1]["refused"])

    def test_what_refuses_a_task(self):
        tiny = self.copy_tiny()
        self.edit(tiny / "seeds/rows.cl", "//kf: let ITEMS", "//kf: lett ITEMS")
        self.fails(3, "check", tiny, says='seeds/rows.cl:7:7: unknown directive "lett"', hint='did you mean "let"')
        self.edit(tiny / "seeds/rows.cl", "//kf: lett ITEMS", "//kf: let ITEMS")
        self.edit(tiny / "reference.c", "y[r * cols + c]", "z[r * cols + c]")
        self.fails(3, "check", tiny, says="kf: error: reference.c:6:7: ")


class BadInput(CliTest):
    def test_a_compiler_that_is_not_there(self):
        tiny = self.copy_tiny()
        self.fails(4, "check", tiny, env={"KF_CC": "/nonexistent"}, says="no C compiler: /nonexistent is not there",
                   hint="KF_CC")

    def test_task_file(self):
        tiny = self.copy_tiny()
        self.edit(tiny / "task.yaml", "compare:", "compair:")
        self.fails(3, "eval", tiny, says='task.yaml:16:1: unknown key "compair"', hint='did you mean "compare"?')
        self.fails(2, "eval", self.dir / "nothing", says="nothing", hint="task.yaml")

    def test_a_kernel_that_is_not_there(self):
        self.fails(2, "eval", self.copy_tiny(), "none.cl", says="none.cl")
        self.fails(2, "eval", self.dir / "tiny", self.dir, says="holds no task.yaml")

    def refused(self, tiny, old, new, *says, args=()):
        kernel = self.dir / "kernel.cl"
        kernel.write_text((tiny / "kernel.cl").read_text())
        self.edit(kernel, old, new)
        (row,) = self.kf("eval", tiny, kernel, "--json", *args, code=1).lines()
        self.assertEqual("refused", row["verdict"])
        text = " ".join((row["diagnosis"][key] for key in ("where", "text", "evidence")))
        for word in says:
            self.assertIn(word, text)
        self.assertTrue(row["next"]["why"])

    def test_directives_and_expressions(self):
        tiny = self.copy_tiny()
        self.refused(tiny, "//kf: launch", "//kf: lanch", ":4:7", 'unknown directive "lanch"', 'did you mean "launch"?')
        self.refused(tiny, "(cols, rows)", "(cols, (rows)", ":4:")
        self.refused(tiny, "(cols, rows)", "(cols * 9223372036854775807 + 1, rows)", ":4:", "64 bits")
        self.refused(tiny, "args=(x, w, y, rows, cols)", "args=(x, v, y, rows, cols)", ":4:", '"v"')

    def test_a_binding_that_is_illegal_on_a_shape(self):
        tiny = self.copy_tiny()
        where = "//kf: param V = 1 in {1, 4}\n//kf: where cols % V == 0\n//kf: launch"
        self.refused(tiny, "//kf: launch", where, "cols % V == 0", "rows=1,cols=1", args=["--binding", "V=4"])
        self.refused(tiny, "//kf: launch", where, '"3" is not in its space', args=["--binding", "V=3"])

    def test_no_device(self):
        tiny = self.copy_tiny()
        self.fails(4, "eval", tiny, "--device", "opencl:9", says='device "opencl:9": not on this machine', hint="opencl:0")
        nothing = {"OCL_ICD_VENDORS": str(self.dir)}
        self.fails(4, "eval", tiny, says="no device", hint="kf doctor", env=nothing)

    def test_no_evaluator(self):
        self.fails(4, "eval", self.copy_tiny(), says="/nothing", env={"KF_EVAL": "/nothing"})

    def test_stdout_that_is_full(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([KF, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(4, done.returncode)
        self.assertIn("stdout: No space left on device", done.stderr)


if __name__ == "__main__":
    need_device()
    main()
