#!/usr/bin/env python3
"""init: a package from a bare kernel, which then checks and runs."""
from clitest import CliTest, main, need_device

KERNEL = """__kernel void scale(__global const float *x, __global float *y, float factor, int n) {
  int i = get_global_id(0);
  if (i < n)
    y[i] = x[i] * factor;
}
"""


class Init(CliTest):
    def setUp(self):
        super().setUp()
        self.kernel = self.dir / "scale.cl"
        self.kernel.write_text(KERNEL)

    def test_folder_named_after_the_kernel(self):
        result = self.kf("init", "scale.cl", "--shape", "x=n:4096", "--shape", "y=n", "--scalar", "factor=2.5", code=0)
        self.assertIn("wrote scale/task.yaml", result.out)
        self.assertIn("next: kf check scale\n", result.out)
        (row,) = self.kf("eval", "scale", "--json", code=0).lines()
        self.assertEqual(("correct", "kernel"), (row["verdict"], row["oracle"]))

    def test_from_and_json(self):
        (row,) = self.kf("init", "made", "--from", "scale.cl", "--shape", "x=n:64", "--json", code=0).lines()
        self.assertEqual("made", row["task"])
        self.assertTrue(any("factor" in note for note in row["guessed"]), row)
        self.assertTrue((self.dir / "made" / "kernel.cl").exists())

    def test_what_it_refuses(self):
        self.fails(2, "init", "none.cl", "--shape", "x=4", says="none.cl: no such kernel file", hint="--from")
        self.fails(2, "init", "scale.cl", says='array "x" has no shape', hint="--shape")
        self.fails(2, "init", "scale.cl", "--shape", "q=4", says="--shape q=4: the kernel has no array of this name")
        self.fails(2, "init", "scale.cl", "--shape", "x=4", "--entry", "other", says='no kernel "other"', hint="scale")
        self.kernel.write_text(KERNEL + KERNEL.replace("scale", "second"))
        self.fails(2, "init", "scale.cl", "--shape", "x=4", says="2 kernels: --entry says which", hint="scale, second")
        self.kernel.write_text("__kernel void broken(__global float *x) { x[0] = ; }\n")
        self.assertIn("scale.cl", self.kf("init", "scale.cl", "--shape", "x=4", code=3).err)
        self.assertFalse((self.dir / "scale").exists())


if __name__ == "__main__":
    need_device()
    main()
