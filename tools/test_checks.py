#!/usr/bin/env python3
"""test_checks.py - check_flow.py, check_size.py and check_words.py refuse what they should, on small trees made here."""
import os
import subprocess
import sys
import tempfile
import unittest

import check_size
import csource

TOOLS = os.path.dirname(os.path.abspath(__file__))
TABLE = "base:\ntask: base\nstore: base\n<sqlite3.h>: store\n"


def run(check, files):
    """Runs a check on a tree of {path: text}; returns (exit status, output)."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {"tools/flow.txt": TABLE, **files}.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(TOOLS, check), root], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout


class Flow(unittest.TestCase):
    def refused(self, files, *words):
        status, output = run("check_flow.py", files)
        self.assertEqual(status, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_allowed(self):
        status, output = run("check_flow.py", {
            "src/base/buf.h": "", "src/base/buf.c": '#include "base/buf.h"\n#include "base/buf_int.h"\n',
            "src/base/buf_int.h": "", "src/task/task.c": '#include "base/buf.h"\n/*\n#include "store/db.h"\n*/\n',
            "src/store/db.c": "#include <sqlite3.h>\n",
            "tests/unit/test_buf_internal.c": '#include "base/buf_int.h"\n'})
        self.assertEqual(status, 0, output)

    def test_upward(self):
        self.refused({"src/base/buf.c": '\n#  include "task/task.h"\n', "src/task/task.h": ""},
                     "src/base/buf.c:2:", "base/ may not include task/ (allowed: nothing)")

    def test_sideways(self):
        self.refused({"src/task/task.c": '#include "store/db.h"\n'}, "task/ may not include store/")

    def test_private_header(self):
        self.refused({"src/task/task.c": '#include "base/buf_int.h"\n'}, "private to base/")
        self.refused({"tests/unit/test_buf.c": '#include "base/buf_int.h"\n'}, "private to base/")

    def test_no_folder(self):
        self.refused({"src/base/buf.c": '#include "buf.h"\n', "src/base/buf.h": ""}, "write the folder too")

    def test_circle(self):
        self.refused({"src/base/a.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/a.h"\n'},
                     "include circle: src/base/a.h -> src/base/b.h -> src/base/a.h")

    def test_unknown_folder(self):
        self.refused({"src/new/x.c": ""}, "no line \"new: ...\"")

    def test_system_header(self):
        self.refused({"src/task/task.c": "#include <sqlite3.h>\n"}, "only store/ may include it")

    def test_circle_in_the_table(self):
        self.refused({"tools/flow.txt": "base: task\ntask: base\n"}, "circle: base -> task -> base")


class Size(unittest.TestCase):
    def test_functions_found(self):
        text = ('#include <a.h>\n#define F(x) do { x } while (0)\nstruct s { int a; };\n'
                'static const char *t[] = {"}", "{"};\n'
                'int f(int a, // {\n      int b) {\n  char c = \'{\';\n  if (a) { b(); }\n  return c;\n}\n'
                '__attribute__((format(printf, 1, 2))) void g(const char *f, ...) { }\n'
                '#ifdef X\nint h(void) {\n#else\nint h(int a) {\n#endif\n}\n')
        self.assertEqual(list(check_size.functions(text)), [("f", 5, 6), ("g", 11, 1), ("h", 13, 5)])

    def test_ceilings(self):
        body = "int f(void) {\n" + "  g();\n" * 98 + "}\n"
        status, output = run("check_size.py", {"src/base/a.c": body})
        self.assertEqual(status, 0, output)
        status, output = run("check_size.py", {"src/base/a.c": "\n" + body.replace("}", "  g();\n}")})
        self.assertEqual(status, 1, output)
        self.assertIn("src/base/a.c:2 f: function of 101 lines", output)
        status, output = run("check_size.py", {"src/base/a.h": "\n" * 801})
        self.assertEqual(status, 1, output)
        self.assertIn("src/base/a.h: file of 801 lines", output)


class Words(unittest.TestCase):
    def refused(self, path, text, place):
        status, output = run("check_words.py", {path: text})
        self.assertEqual(status, 1, text)
        self.assertIn(place, output)

    def allowed(self, path, text):
        status, output = run("check_words.py", {path: text})
        self.assertEqual(status, 0, output)

    def test_documents_that_are_not_here(self):
        for reference in ("SEARCH 2", "EVALUATION Timing 4", "EVALUATION, Correctness (a)", "DESIGN.md", "CONTRACTS 1"):
            self.refused("src/a.c", f"/* x\n * ({reference}) */\n", "src/a.c:2:")
        self.refused("src/a.c", "/* of EVALUATION\n * Memory */\n", "src/a.c:1:")
        self.refused("src/a.c", "int a; /* tried [t] */\n", "src/a.c:1:")
        self.allowed("src/a.c", 'int t[T]; int DESIGN = 1; for (t = 0; o[t] != 0; t++) s[t] += 1; /* A SEARCH. */\n')
        self.allowed("docs/a.md", "docs/internals/search.md, Parents; shape: [m]\n")

    def test_paths_of_one_machine(self):
        for path in ("/srv/x", "/root/x", "/tmp/x", "/home/x"):
            self.refused("docs/a.md", f"\nin `{path}`\n", "docs/a.md:2:")
        self.refused("src/a.c", 'f("/srv/x");\n', "src/a.c:1:")
        self.allowed("src/a.c", 'f("/tmp/x");\n')
        self.allowed("docs/a.md", "src/srv/x and network/tmp/x\n")

    def test_words(self):
        self.refused("src/a.c", "/* issue #12 */\n", "src/a.c:1:")
        self.refused("src/a.c", "/* TODO: x */\n", "src/a.c:1:")
        self.allowed("src/a.c", 'f("kf-XXXXXX"); /* an issue of noise */\n')
        self.allowed("src/a.c", 'f("/srv/x"); /* words: allowed */\n')


class Includes(unittest.TestCase):
    def test_comments_do_not_count(self):
        text = '// #include "a.h"\n/* */ #include "b.h"\n#include <c.h> /* why */\n"\\" /*"\n#include "d.h"\n'
        self.assertEqual(list(csource.includes(text)), [(2, True, "b.h"), (3, False, "c.h"), (5, True, "d.h")])


if __name__ == "__main__":
    unittest.main()
