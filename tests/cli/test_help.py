#!/usr/bin/env python3
"""Help texts, version, generated pages, and what a mistyped word gets."""
from clitest import RECORD, SOURCE, CliTest, main

COMMANDS = ("doctor init check eval race run list show best export replay gc help").split()


class Help(CliTest):
    def test_overview(self):
        result = self.kf("--help", code=0)
        self.golden("help.txt", result.out)
        for name in COMMANDS:
            self.assertIn(f"\n  {name}", result.out)
        self.assertEqual(result.out, self.kf("help", code=0).out)
        self.assertEqual(result.out, self.kf("-h", code=0).out)

    def test_each_command(self):
        for name in COMMANDS:
            result = self.kf("help", name, code=0)
            self.golden(f"help_{name}.txt", result.out)
            self.assertEqual(result.out, self.kf(name, "--help", code=0).out)
            self.assertEqual(result.out, self.kf(name, "--nonsense", "-h", code=0).out)
            self.assertIn("--json", result.out)
            self.assertIn("exit codes:", result.out)

    def test_without_a_command_it_is_a_usage_error(self):
        result = self.kf(code=2)
        self.assertEqual("", result.out)
        self.assertIn("usage: kf COMMAND", result.err)

    def test_version(self):
        self.assertRegex(self.kf("--version", code=0).out, r"^kf \d+\.\d+\.\d+\n$")

    def test_json_of_help(self):
        names = [row["name"] for row in self.kf("help", "--json", code=0).lines()]
        self.assertEqual(COMMANDS, names)

    def test_settings(self):
        text = self.kf("help", "settings", code=0).out
        rows = self.kf("help", "settings", "--json", code=0).lines()
        self.assertGreater(len(rows), 5)
        for row in rows:
            self.assertIn(f"\n{row['name']} = ", "\n" + text)
            self.assertIn(row["meaning"], text)

    def test_docs_are_what_the_program_prints(self):
        for page, args in (("cli.md", ["help", "--markdown"]), ("settings.md", ["help", "settings", "--markdown"])):
            printed = self.kf(*args, code=0).out
            path = SOURCE / "docs" / page
            if RECORD:
                path.write_text(printed)
            self.assertEqual(path.read_text(), printed, f"docs/{page}: KF_RECORD=1 writes it anew")


class Mistyped(CliTest):
    def test_command(self):
        self.fails(2, "evel", says='unknown command "evel"', hint='did you mean "eval"?')
        self.fails(2, "xyzzy", says='unknown command "xyzzy"', hint="kf --help")
        self.fails(2, "help", "rcae", says='unknown command "rcae"', hint='did you mean "race"?')

    def test_option(self):
        self.fails(2, "run", "x", "--eval", "3", says='run: unknown option "--eval"', hint="did you mean --evals?")
        self.fails(2, "list", "--zzzz", says='list: unknown option "--zzzz"', hint="kf list --help")
        self.fails(2, "export", "-x", says='export: unknown option "-x"')

    def test_values(self):
        self.fails(2, "run", "x", "--evals", says="run: --evals needs a value: N")
        self.fails(2, "run", "x", "--evals", "many", says="run: --evals")
        self.fails(2, "run", "x", "--evals", "0", says="--evals")
        self.fails(2, "run", "x", "--time", "soon", says="run: --time")
        self.fails(2, "run", "x", "--dry-run=yes", says="run: --dry-run takes no value")
        self.fails(2, "export", "--form", "patch", says='"patch" is no choice: kernel expected')

    def test_arguments(self):
        self.fails(2, "eval", says="eval: TASK... is missing", hint="kf eval --help")
        self.fails(2, "check", "a", "b", says='check: "b" is one argument too many')
        self.fails(2, "race", "a", "b", says="race: 2 arguments: TASK A B expected")
        self.fails(2, "run", says="run: TASK is missing", hint="--resume")
        self.fails(2, "run", "a", "--resume", "b", says="TASK does not go with --resume")

    def test_settings(self):
        self.fails(2, "eval", "x", "--set", "build.job=1", says='unknown setting "build.job"', hint="build.jobs")
        self.fails(2, "eval", "x", "--set", "build.jobs", says="NAME=VALUE expected", hint="kf help settings")
        self.fails(2, "eval", "x", "--set", "build.jobs=-1", says="build.jobs")

    def test_failures_are_objects_with_json(self):
        (row,) = self.fails(2, "show", "--json", says='run "last"').lines()
        self.assertEqual(2, row["error"]["exit"])
        self.assertIn('run "last"', row["error"]["message"])


if __name__ == "__main__":
    main()
