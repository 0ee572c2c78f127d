#!/usr/bin/env python3
"""The documentation names only what exists: links, files of src/, commands and their options."""
import re
import subprocess
import unittest

from clitest import KF, SOURCE, main

PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted(SOURCE.glob("docs/**/*.md")), *sorted(SOURCE.glob("src/*/README.md"))]


class Docs(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in link:
                    self.assertTrue((page.parent / link).exists(), f"{page}: {link}")

    def test_the_files_a_candidate_goes_through_exist(self):
        page = (SOURCE / "docs/internals/candidate.md").read_text()
        names = {path.name for path in SOURCE.glob("src/*/*")}
        for name in re.findall(r"`(?:src/(\w+)/)?(\w+\.[ch])`", page):
            folder, file = name
            self.assertIn(file, names)
            if folder:
                self.assertTrue((SOURCE / "src" / folder / file).exists(), f"src/{folder}/{file}")

    def test_commands_and_options_exist(self):
        help_of = {}
        for page in (SOURCE / "README.md", SOURCE / "docs/tutorial.md", SOURCE / "scripts/demo.sh", SOURCE / "docs/tasks.md"):
            for command, rest in re.findall(r"(?:^|[`/ ])kf (\w+)([^`\n#|]*)", page.read_text(), re.MULTILINE):
                if command not in help_of:
                    done = subprocess.run([KF, command, "--help"], capture_output=True, text=True)
                    help_of[command] = done.stdout if done.returncode == 0 else None
                if help_of[command] is None:
                    continue  # "kf keeps", "kf takes": a sentence
                for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest):
                    self.assertRegex(help_of[command], rf"(?m)(?:^|\s|, ){re.escape(option)}\b", f"{page}: kf {command} {option}")
        self.assertIn("run", help_of)


if __name__ == "__main__":
    main()
