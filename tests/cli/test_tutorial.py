#!/usr/bin/env python3
"""Runs the commands of docs/tutorial.md as they stand: every ```sh block, in order, in one folder."""
import os
import pathlib
import re
import subprocess

from clitest import KF, SOURCE, CliTest, main, need_device


class Tutorial(CliTest):
    def test_its_commands_work(self):
        text = (SOURCE / "docs" / "tutorial.md").read_text()
        blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 10)
        env = {**os.environ, "PATH": f"{pathlib.Path(KF).parent}:{os.environ['PATH']}"}
        for block in blocks:
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=self.dir, env=env, timeout=600,
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(0, done.returncode, f"{block}\n{done.stdout}\n{done.stderr}")
            if "wrong.cl" in block:
                self.assertIn("exit code 1", done.stdout)
            if "--proposer" in block:
                self.assertRegex(done.stdout, r"evaluations  2 of 2")
        (row,) = self.kf("show", "last", "3", "--json", code=0).lines()  # the kernel and its seed are 1 and 2
        self.assertEqual("refine", row["emitter"])
        self.assertIn(row["verdict"], ("correct", "slow"))


if __name__ == "__main__":
    need_device()
    main()
