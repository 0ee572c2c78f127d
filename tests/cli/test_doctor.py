#!/usr/bin/env python3
"""doctor: what it finds, and what it says where something is missing."""
import json

from clitest import CliTest, main, need_device


class Doctor(CliTest):
    def test_a_machine_that_works(self):
        (report,) = self.kf("doctor", "--json", code=0).lines()
        self.assertTrue(report["works"])
        self.assertIn("id", report["devices"][0])
        states = {row["check"]: row["state"] for row in report["checks"]}
        self.assertEqual({"evaluator", "opencl", "sandbox", "libclang", "C compiler", "runs", "scratch"}, set(states))
        self.assertEqual("ok", states["evaluator"])
        text = self.kf("doctor", code=0).out
        self.assertRegex(text, r"(?m)^device +name +driver +units")
        self.assertRegex(text, r"(?m)^check +state +found")
        for row in report["checks"]:
            self.assertRegex(text, rf"(?m)^{row['check']} +{row['state']} ")

    def test_no_device(self):
        nothing = {"OCL_ICD_VENDORS": str(self.dir), "KF_CC": "/nothing/cc"}
        (report,) = self.kf("doctor", "--json", code=4, env=nothing).lines()
        self.assertFalse(report["works"])
        (row,) = [row for row in report["checks"] if row["check"] == "opencl"]
        self.assertEqual("missing", row["state"])
        self.assertIn("pocl-opencl-icd", row["fix"])
        self.assertIn("no device works here", self.kf("doctor", code=4, env=nothing).out)

    def test_a_compiler_is_a_device(self):
        (report,) = self.kf("doctor", "--json", code=0, env={"OCL_ICD_VENDORS": str(self.dir)}).lines()
        (cpu,) = report["devices"]
        self.assertEqual(("cpu:0", "c", "cpu"), (cpu["id"], cpu["api"], cpu["physical"]))
        self.assertIn("-std=gnu17 -O3 -march=native -fopenmp", cpu["driver"])
        (row,) = [row for row in report["checks"] if row["check"] == "opencl"]
        self.assertEqual("missing", row["state"])

    def test_only_a_gpu(self):
        (report,) = self.kf("doctor", "--json", code=0).lines()
        gpu = {key: value for key, value in report["devices"][0].items() if key != "judged_on"}
        gpu["limits"]["is_cpu"] = 0
        hello = {"op": "hello", "protocol": [1, 0], "devices": [gpu], "sandbox": "seccomp landlock", "version": "x"}
        program = self.dir / "gpu-eval"
        program.write_text("#!/bin/sh\ncat <<'END'\n" + json.dumps(hello) + "\nEND\ncat >/dev/null\n")
        program.chmod(0o755)
        env = {"KF_EVAL": str(program)}
        (report,) = self.kf("doctor", "--json", code=4, env=env).lines()
        self.assertFalse(report["works"])
        self.assertFalse(report["devices"][0]["judged_on"])
        text = self.kf("doctor", code=4, env=env).out
        self.assertIn("seen, not judged on by this version", text)
        self.assertNotIn("can search", text)
        tiny = self.copy_tiny()
        self.fails(4, "check", tiny, env=env, says="this version judges on CPU devices only", hint="kf doctor")
        self.fails(4, "run", tiny, env=env, says="this version judges on CPU devices only", hint="kf doctor")

    def test_no_evaluator_is_a_finding(self):
        result = self.kf("doctor", code=4, env={"KF_EVAL": "/nothing"})
        self.assertRegex(result.out, r"(?m)^evaluator +missing +KF_EVAL: /nothing")
        self.assertEqual("", result.err)

    def test_no_compiler_and_no_libclang(self):
        env = {"PATH": str(self.dir), "KF_LIBCLANG": str(self.dir / "none.so")}
        (report,) = self.kf("doctor", "--json", env=env).lines()
        fixes = {row["check"]: row["fix"] for row in report["checks"]}
        self.assertIn("apt-get install gcc", fixes["C compiler"])
        self.assertIn("apt-get install libclang1", fixes["libclang"])


if __name__ == "__main__":
    need_device()
    main()
