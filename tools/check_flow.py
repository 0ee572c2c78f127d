#!/usr/bin/env python3
"""check_flow.py [ROOT] - includes follow the one-way flow of tools/flow.txt.

Refused: a header of a folder the table does not allow; a private header (*_int.h) of another folder; a quoted
include that does not start with its folder; a cycle of includes between files; a folder without a line in the table.
Tests, fuzz targets and benchmarks may include any public header; private ones only in test_<module>_internal.c.
"""
import os
import sys

import csource


def read_table(path):
    """Returns ({folder: allowed folders}, {system header: allowed folders})."""
    folders, headers = {}, {}
    for number, line in enumerate(csource.read(path).split("\n"), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, colon, rest = line.partition(":")
        if not colon or name in folders or name in headers:
            sys.exit(f"{path}:{number}: not a line \"folder: folders\", or the second one for {name}")
        if name.startswith("<"):
            headers[name[1:-1]] = set(rest.split())
        else:
            folders[name] = set(rest.split())
    for name, allowed in folders.items():
        for other in allowed - folders.keys():
            sys.exit(f"{path}: {name} is allowed the unknown folder {other}")
    return folders, headers


def check_table(folders):
    """The table itself has to be one-way; returns complaints."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [f"tools/flow.txt: circle: {' -> '.join(path[path.index(name):] + [name])}"]
        if name in done:
            return []
        path.append(name)
        found = [c for other in sorted(folders[name]) for c in visit(other)]
        path.pop()
        done.add(name)
        return found

    return [c for name in folders for c in visit(name)]


def check_quoted(path, folder, name, folders, known):
    """The complaint about one quoted include, or None. `folder` is that of src/, None outside it."""
    if folder is None and os.path.normpath(os.path.join(os.path.dirname(path), name)) in known:
        return None  # a test's own helper beside it
    target, slash, base = name.partition("/")
    if not slash or target not in folders:
        return f'"{name}": write the folder too, as in "base/buf.h"'
    if base.endswith("_int.h") and target != folder:
        if folder is not None or not path.endswith("_internal.c"):
            return f'"{name}": private to {target}/'
    if folder is not None and target != folder and target not in folders[folder]:
        allowed = ", ".join(sorted(folders[folder])) or "nothing"
        return f'"{name}": {folder}/ may not include {target}/ (allowed: {allowed})'
    return None


def find_cycles(edges):
    """Complaints about circles in {file: {file: line}}."""
    done, found = set(), []

    def visit(name, path):
        if name in path:
            circle = path[path.index(name):] + [name]
            found.append(f"{circle[0]}:{edges[circle[0]][circle[1]]}: include circle: {' -> '.join(circle)}")
        elif name not in done:
            for other in sorted(edges.get(name, {})):
                visit(other, path + [name])
            done.add(name)

    for name in sorted(edges):
        visit(name, [])
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders, headers = read_table(os.path.join(root, "tools", "flow.txt"))
    complaints = check_table(folders)
    files = csource.c_files(root)
    known = set(files)
    edges = {}
    for path in files:
        parts = path.split("/")
        folder = parts[1] if parts[0] == "src" and len(parts) > 2 else None
        if folder is not None and folder not in folders:
            complaints.append(f"{path}:1: no line \"{folder}: ...\" in tools/flow.txt")
            continue
        edges[path] = {}
        for line, quoted, name in csource.includes(csource.read(os.path.join(root, path))):
            if quoted:
                complaint = check_quoted(path, folder, name, folders, known)
                if complaint:
                    complaints.append(f"{path}:{line}: {complaint}")
                if "src/" + name in known:
                    edges[path].setdefault("src/" + name, line)
            elif folder is not None and name in headers and folder not in headers[name]:
                complaints.append(f"{path}:{line}: <{name}>: only {', '.join(sorted(headers[name]))}/ may include it")
    complaints += find_cycles(edges)
    for complaint in complaints:
        print(complaint)
    print(f"{len(files)} files, {len(complaints)} breaks of the flow")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
