"""csource.py - a small reader of C sources for the checks: blanked text and quoted includes.

Not a compiler: it knows comments, literals and preprocessor lines, which is all that the checks need.
Run as a program it lists the C files of the project, one a line.
"""
import os
import re
import subprocess

# A comment, a string or a character literal. The order of the alternatives is the order of precedence.
_TOKEN = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
C_FOLDERS = ("src", "tests", "fuzz", "bench", "include")


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def blank_comments(text):
    """`text` with comments turned to spaces; line numbers stay."""
    return _TOKEN.sub(lambda m: _blank(m) if m.group()[0] == "/" else m.group(), text)


def blank_all(text):
    """`text` with comments, literals and preprocessor lines turned to spaces; line numbers stay.

    Of an #if with branches only the first is kept: braces then balance, as they do for the compiler.
    """
    text = _TOKEN.sub(_blank, text)
    lines = text.split("\n")
    out = []
    dropping = []  # one flag for each open #if: is the present branch dropped?
    continued = False
    for line in lines:
        directive = re.match(r"\s*#\s*(\w*)", line)
        if continued or directive:
            if not continued:
                word = directive.group(1)
                if word in ("if", "ifdef", "ifndef"):
                    dropping.append(False)
                elif word in ("else", "elif") and dropping:
                    dropping[-1] = True
                elif word == "endif" and dropping:
                    dropping.pop()
            continued = line.rstrip().endswith("\\")
            out.append("")
        else:
            out.append("" if any(dropping) else line)
    return "\n".join(out)


def includes(text):
    """Yields (line number, is quoted, name) for each #include."""
    text = blank_comments(text)
    for match in _INCLUDE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group(1) == '"', match.group(2)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def c_files(root):
    """Paths, relative to root and sorted, of the C sources and headers that git has or could add."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *C_FOLDERS],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if listed.returncode == 0:
        paths = listed.stdout.decode().split("\0")
    else:  # an exported tree without git
        paths = [os.path.relpath(os.path.join(folder, name), root)
                 for top in C_FOLDERS for folder, _, names in os.walk(os.path.join(root, top)) for name in names]
    return sorted({p for p in paths if p.endswith((".c", ".h")) and os.path.isfile(os.path.join(root, p))})


if __name__ == "__main__":
    print("\n".join(c_files(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
