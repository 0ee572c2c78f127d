#!/usr/bin/env python3
"""check: a task that can be answered without computing is refused or doubted, with the line that mends it."""
from clitest import CliTest, main, need_device

YAML = """name: {name}
language: opencl
symbols:
  rows: {{default: 256, min: 1, max: 512}}
  cols: {{default: 1024, min: 1, max: 2048}}
args:
  - {{name: x, role: in, type: f32, shape: [rows, cols], fill: {fill}}}
  - {{name: y, role: out, type: f32, shape: [rows, cols]}}
  - {{name: rows, role: size, type: i32}}
  - {{name: cols, role: size, type: i32}}
kernel: kernel.cl
reference: {{file: reference.c, entry: ref}}
check:
  cases:
    - {{rows: 3, cols: 5}}
    - {{rows: 17, cols: 33}}
measure:
  cases:
    - {{rows: 256, cols: 1024}}
{more}"""
KERNEL = """//kf: launch k global=(cols, rows) local=(1, 1) args=(x, y, rows, cols)
__kernel void k(__global const float *x, __global float *y, int rows, int cols) {
  const int c = get_global_id(0), r = get_global_id(1);
  y[r * cols + c] = %s;
}
"""
REFERENCE = """#include <math.h>
%s
void ref(const kf_real *x, kf_real *y, int rows, int cols) {
  for (int r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) {
      y[r * cols + c] = %s;
    }
}
"""
HONEST = "x[r * cols + c] * x[r * cols + c] + 1"


class Check(CliTest):
    def task(self, kernel=HONEST, reference=None, fill="normal", above="", more=""):
        folder = self.dir / "task"
        folder.mkdir(exist_ok=True)
        (folder / "task.yaml").write_text(YAML.format(name="t", fill=fill, more=more))
        (folder / "kernel.cl").write_text(KERNEL % kernel)
        (folder / "reference.c").write_text(REFERENCE % (above, reference or kernel))
        return folder

    def findings(self, folder, code):
        rows = self.kf("check", folder, "--no-noise", "--json", code=code).lines()
        self.end = rows[-1]
        return [row for row in rows if row["check"] == "admission"]

    def expect(self, rows, state, area, text, fix=""):
        for row in rows:
            if row["state"] == state and row["area"] == area and text in row["text"] and fix in row["fix"]:
                return
        self.fail(f"no {state} line of {area} says \"{text}\" with \"{fix}\":\n" + "\n".join(map(str, rows)))

    def test_a_good_task(self):
        rows = self.findings(self.task(), code=0)
        self.assertEqual([], [row for row in rows if row["state"] != "ok"])
        self.expect(rows, "ok", "reference", "agrees with 1 kernel on 2 cases")
        self.expect(rows, "ok", "floor", "GB/s")
        self.assertEqual((True, False, 0), (self.end["sound"], self.end["refused"], self.end["doubts"]))

    def test_an_output_that_does_not_depend_on_its_input(self):
        rows = self.findings(self.task("(float)(r + 2 * c)"), code=3)
        self.expect(rows, "refused", "trivial answers", "another seed's output passes as y")
        self.expect(rows, "doubtful", "inputs", "no output depends on x")
        self.assertIs(True, self.end["refused"])

    def test_a_constant_output(self):
        rows = self.findings(self.task("x[r * cols + c] * 0.0f + 0.5f"), code=3)
        self.expect(rows, "refused", "trivial answers", "everywhere, passes as y")

    def test_zeros(self):
        rows = self.findings(self.task("x[r * cols + c] - x[r * cols + c]", fill="uniform"), code=3)
        self.expect(rows, "refused", "trivial answers", "zeros passes as y",
                    "- {name: x, role: in, type: f32, shape: [rows, cols], fill: normal}")

    def test_a_copy(self):
        rows = self.findings(self.task("x[r * cols + c]"), code=3)
        self.expect(rows, "refused", "trivial answers", "a copy of x passes as y")

    def test_rows_that_are_all_the_same(self):
        rows = self.findings(self.task("x[c] * 3.0f"), code=0)
        self.expect(rows, "doubtful", "trivial answers", "the same all along axis 0")
        self.assertEqual(1, self.end["doubts"])

    def test_inputs_that_hide_errors(self):
        rows = self.findings(self.task(fill="uniform"), code=0)
        self.expect(rows, "doubtful", "inputs", "x is positive everywhere", "fill: normal")
        text = self.kf("check", self.dir / "task", "--no-noise", code=0).out
        self.assertIn("doubtful  inputs: x is positive everywhere", text)
        self.assertIn("\n          write  - {name: x, role: in,", text)
        self.assertTrue(text.endswith("task t: sound, 1 doubt\n"))

    def test_a_reference_that_keeps_state(self):
        rows = self.findings(self.task(reference=HONEST + " + 1e-9 * calls++", above="static int calls;"), code=3)
        self.expect(rows, "refused", "reference", "keeps state")

    def test_a_reference_that_writes_its_input(self):
        folder = self.task(reference="((kf_real *)x)[r * cols + c] = 1")
        self.fails(3, "check", folder, says="reference: rows=")

    def test_a_reference_that_no_kernel_agrees_with(self):
        folder = self.task(reference="2 * x[r * cols + c]")
        rows = self.findings(folder, code=1)
        self.expect(rows, "doubtful", "reference", "1 of 1 kernels disagree with the reference: one of the two is")
        # A second implementation says who is wrong.
        (folder / "seed.cl").write_text(KERNEL % "x[r * cols + c] * x[r * cols + c] + 1.0f")
        self.edit(folder / "task.yaml", "kernel: kernel.cl", "kernel: kernel.cl\nseeds: [seed.cl]")
        rows = self.findings(folder, code=3)
        self.expect(rows, "refused", "reference", "2 kernels agree with each other and none with the reference")
        self.expect(rows, "refused", "reference", "in the reference,")

    def test_a_reference_whose_float_form_is_far_off(self):
        hidden = "(((x[r * cols + c] + (kf_real)3e5) - (kf_real)3e5) * x[r * cols + c] + 1)"
        rows = self.findings(self.task("(x[r * cols + c] + 3e5f - 3e5f) * x[r * cols + c] + 1.0f", hidden), code=0)
        self.expect(rows, "doubtful", "precision", "cancellation")

    def test_a_product_is_better_called_linear(self):
        folder = self.task("x[r * cols + c] * w[c]", more="")
        self.edit(folder / "task.yaml", "  - {name: y, role: out, type: f32, shape: [rows, cols]}",
                  "  - {name: w, role: in, type: f32, shape: [cols], fill: normal}\n"
                  "  - {name: y, role: out, type: f32, shape: [rows]}")
        (folder / "kernel.cl").write_text(
            "//kf: launch k global=(rows) local=(1) args=(x, w, y, rows, cols)\n"
            "__kernel void k(__global const float *x, __global const float *w, __global float *y, int rows, int cols) {\n"
            "  const int r = get_global_id(0);\n  float s = 0;\n"
            "  for (int c = 0; c < cols; c++) s += x[r * cols + c] * w[c];\n  y[r] = s;\n}\n")
        (folder / "reference.c").write_text(
            "void ref(const kf_real *x, const kf_real *w, kf_real *y, int rows, int cols) {\n"
            "  for (int r = 0; r < rows; r++) {\n    y[r] = 0;\n"
            "    for (int c = 0; c < cols; c++) y[r] += x[r * cols + c] * w[c];\n  }\n}\n")
        rows = self.findings(folder, code=0)
        self.expect(rows, "doubtful", "error", "multiplies and adds only", "error: {kind: linear, depth: cols}")


if __name__ == "__main__":
    need_device()
    main()
