#!/usr/bin/env python3
"""check_size.py [ROOT] - ceilings: a function has at most 100 lines, a file at most 800.

Prints what is above, then the five largest of each. Usual sizes are far below: 40 and 400.
"""
import os
import re
import sys

import csource

FUNCTION_LINES = 100
FILE_LINES = 800
_ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")


def functions(text):
    """Yields (name, first line, number of lines) for each function defined in `text`."""
    text = csource.blank_all(text)
    depth, start, name, line = 0, 0, None, 1
    head_line = None  # line on which the present outermost declaration begins
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif depth == 0 and head_line is None and not char.isspace() and char not in ";}":
            start, head_line = position, line
        if char == "{":
            if depth == 0:
                head = _ATTRIBUTE.sub(" ", text[start:position]).strip()
                match = re.search(r"(\w+)\s*\(", head)
                name = match.group(1) if match and head.endswith(")") else None
            depth += 1
        elif char == "}":
            depth = max(depth - 1, 0)
            if depth == 0:
                if name is not None:
                    yield name, head_line, line - head_line + 1
                    name, head_line = None, None
        elif char == ";" and depth == 0:
            head_line = None


def report(kind, ceiling, sizes):
    """Prints the offenders and the five largest of [(lines, place)]; returns the number of offenders."""
    sizes.sort(reverse=True)
    above = [s for s in sizes if s[0] > ceiling]
    for lines, place in above:
        print(f"{place}: {kind} of {lines} lines, the ceiling is {ceiling}")
    print(f"largest of {len(sizes)} {kind}s:")
    for lines, place in sizes[:5]:
        print(f"  {lines:5} {place}")
    return len(above)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files, found = [], []
    for path in csource.c_files(root):
        text = csource.read(os.path.join(root, path))
        files.append((text.count("\n"), path))
        found += [(lines, f"{path}:{line} {name}") for name, line, lines in functions(text)]
    above = report("function", FUNCTION_LINES, found) + report("file", FILE_LINES, files)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
