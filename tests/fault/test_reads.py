#!/usr/bin/env python3
"""What can be read while a candidate or a reference is compiled and run: the toolchain and its own folder, nothing else.
(That a file exists can be asked: src/sandbox/README.md, Known gaps.) KF_EVAL=path/to/kf-eval test_reads.py"""
import os
import pathlib
import tempfile
import unittest

import faultlib
import wireclient
from faultlib import HONEST, Stage, attack, kernel, sha

SECRET = "kf-secret-7391"
FILES = ["/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/1/environ", "/proc/self/cmdline", "/proc/version"]


class Reads(Stage):
    @classmethod
    def setUpClass(cls):
        cls.outside = pathlib.Path(tempfile.mkdtemp(prefix="kf-outside-"))
        (cls.outside / "secret").write_text(SECRET + "\n")
        cls.ENV = {"KF_SECRET": SECRET}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        (cls.outside / "secret").unlink()
        cls.outside.rmdir()

    def names(self):
        """Files that exist and may be read by this user, with what must not show up."""
        found = [(str(self.outside / "secret"), SECRET)]
        for name in FILES:
            try:
                text = pathlib.Path(name).read_bytes().replace(b"\0", b"\n").decode(errors="replace").split("\n")[0]
            except OSError:
                continue
            if len(text) > 3:
                found.append((name, text))
        return found

    def test_include(self):
        for name, text in self.names():
            if name.startswith("/proc/self"):
                continue  # of the compiler itself: below
            with self.subTest(name):
                verdict = self.result(b"#include \"" + name.encode() + b"\"\n" + kernel(HONEST))["verdict"]
                self.assertEqual("build_failed", verdict["verdict"])
                self.assertNotIn(text, str(verdict))

    @unittest.skipUnless(os.uname().machine == "x86_64", "the attack is x86-64 assembly")
    def test_incbin(self):
        """The driver may go on without the file; then nothing of it is in the code: its length is 0."""
        for name, text in self.names():
            if name.startswith("/proc/self"):
                continue
            with self.subTest(name):
                assembly = (f'.pushsection .rodata\\n771: .incbin \\"{name}\\"\\n772: .popsection\\n'
                            'leaq 772b(%%rip), %0\\n leaq 771b(%%rip), %%rcx\\n subq %%rcx, %0')
                source = kernel(f'long length = 1; __asm__ volatile("{assembly}" : "=r"(length) : : "rcx");'
                                f' if (length != 0) {{ volatile int *p = 0; *p = 1; }} {HONEST}')
                verdict = self.result(source)["verdict"]
                self.assertIn(verdict["verdict"], ("correct", "build_failed", "launch_failed"), verdict)
                self.assertNotIn(text, str(verdict))

    def test_environment_of_the_builder_and_the_runner(self):
        """No variable of ours gets in. /proc/self is the process itself, and the runner has nothing to hide in it."""
        verdict = self.result(b"#include \"/proc/self/environ\"\n" + kernel(HONEST))["verdict"]
        self.assertNotIn(SECRET, str(verdict))

    @unittest.skipUnless(os.uname().machine == "x86_64", "the attack is x86-64 assembly")
    def test_a_running_kernel_opens_nothing(self):
        """open() of each file and of a link to it; a descriptor would make the answer wrong."""
        for name, _ in self.names():
            if name.startswith("/proc/self"):
                continue
            with self.subTest(name):
                letters = ", ".join(str(b) for b in name.encode() + b"\0")
                source = attack(f"char name[] = {{{letters}}}; char link[] = {{'l', 0}};"
                                " if (sys(2, (long)name, 0, 0, 0) >= 0) { volatile int *p = 0; *p = 1; }"
                                " sys(88, (long)name, (long)link, 0, 0); if (sys(2, (long)link, 0, 0, 0) >= 0) { volatile int *p = 0; *p = 1; }")
                self.assertEqual("correct", self.result(source)["verdict"]["verdict"])

    # ---- references ----

    def judge_with_reference(self, text):
        e = self.e
        files = {"kernel.cl": (wireclient.TASK_DIR / "kernel.cl").read_bytes(), "reference.c": text.encode()}
        task = wireclient.json.dumps({"task": wireclient.TASK, "files": {name: sha(data) for name, data in files.items()}}).encode()
        for data in (*files.values(), task):
            e.put(data)
        type(self).number += 1
        e.judge(self.number, task=sha(task), stage=0)
        return e.result(self.number)

    REFERENCE = "void affine_ref(const kf_real *x, kf_real *y, int32_t n) { for (int32_t i = 0; i < n; i++) y[i] = 2 * x[i] + 1; }\n"

    def test_a_reference_is_no_better_off(self):
        for name, text in self.names():
            if name.startswith("/proc/self"):
                continue
            with self.subTest(name):
                result = self.judge_with_reference(f"#include \"{name}\"\n{self.REFERENCE}")
                self.assertIn("error", result)
                self.assertNotIn(text, str(result))
                result = self.judge_with_reference(f"__asm__(\".section .rodata\\n.incbin \\\"{name}\\\"\\n.text\");\n{self.REFERENCE}")
                self.assertIn("error", result)
                self.assertNotIn(text, str(result))
                result = self.judge_with_reference(
                    "#include <fcntl.h>\n#include <stdlib.h>\n" + self.REFERENCE.replace(
                        "{ for", f"{{ if (open(\"{name}\", O_RDONLY) >= 0 || getenv(\"KF_SECRET\")) abort(); for"))
                self.assertEqual("correct", result.get("verdict", {}).get("verdict"), result)


if __name__ == "__main__":
    faultlib.main()
