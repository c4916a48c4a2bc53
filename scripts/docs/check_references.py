#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds what the documents name: each `file:function`, each `file:test`, each `pw_name` and `pushwake_name`, each path of
the tour, each relative link, each page that a comment names. The index leads to each page. Lines have at most
120 columns outside of tables and code, a note of docs/architecture has at most 400 words.

    `RegistrationPolicy.swift:refusal`          a function, initialiser, property, case or type of that file
    `requests/pushwake_verb.c:ring`           with as much of the path as tells the file from others of its name
    `PURRTests.swift:is read as it was written` a test of Swift Testing, by its sentence
    `test_job.py:test_nobody_wakes`             a test of pytest

A table with the columns "where" and "shown by" has a function and a test in every row, or says why not: "Not done,
because", "Nothing to do, because" and "No test".

Usage: check_references.py [ROOT]
"""

import fnmatch
import os
import pathlib
import re
import sys

SKIPPED = {".build", ".cache", ".git", "__pycache__", ".pytest_cache"}
SOURCES = (".swift", ".c", ".h", ".py")
REFERENCE = re.compile(r"`([\w./+-]+\.(?:swift|c|h|py)):([^`\s][^`]*)`")
OWN = re.compile(r"`((?:pw_|pushwake_|PUSHWAKE_)\w+[a-zA-Z0-9])(?:\(\))?`")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
EXCUSE = re.compile(r"\b(not done|nothing to do), because\b", re.I)
PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")
NAMING = SOURCES + (".sh", ".md", "Makefile", ".cfg", ".conf")
LONGEST_NOTE = 400
WIDTH = 120
MODIFIERS = r"(?:(?:public|private|fileprivate|internal|package|static|lazy|weak|unowned)(?:\(set\))?\s+)*"


# MARK: Sources


def without_comments(text, suffix):
    if suffix in (".c", ".h"):
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    mark = "#" if suffix == ".py" else "//"
    return "\n".join("" if line.lstrip().startswith(mark) else line for line in text.split("\n"))


def swift_defines(text, name):
    quoted = rf"`?{re.escape(name)}`?"
    if name == "init":
        return bool(re.search(r"\binit[?<(]", text))
    patterns = [
        rf"\bfunc\s+{quoted}\s*[<(]",
        rf"^ {{0,4}}{MODIFIERS}(?:var|let)\s+{quoted}\b",
        rf"^\s*(?:indirect\s+)?case\s+(?:\w+(?:\([^)]*\))?(?:\s*=\s*[^,\n]+)?,\s*)*{quoted}(?:\s*[=(,]|\s*$)",
        rf"\b(?:struct|class|enum|protocol|typealias)\s+{quoted}(?:\W|$)",
    ]
    return any(re.search(pattern, text, re.M) for pattern in patterns)


def c_defines(text, name):
    return bool(re.search(rf"^[A-Za-z_][\w\s*]*[\s*]{re.escape(name)}\s*\([^;{{}}]*\)\s*{{", text, re.M))


def header_declares(text, name):
    return bool(re.search(rf"\b{re.escape(name)}\s*\(", text))


def python_defines(text, name):
    return bool(re.search(rf"^\s*(?:def|class)\s+{re.escape(name)}\b", text, re.M))


DEFINES = {".swift": swift_defines, ".c": c_defines, ".h": header_declares, ".py": python_defines}


def swift_tests(text):
    """The sentences of a file's tests, whether they are names of functions or stand in @Test("…")."""
    found, is_test = set(), False
    for line in text.split("\n"):
        if re.match(r"\s*@Test\b", line):
            is_test = True
            found.update(re.findall(r'@Test\(\s*"((?:[^"\\]|\\.)*)"', line))
        function = re.search(r"\bfunc\s+(?:`([^`]+)`|(\w+))\s*[<(]", line)
        if function:
            if is_test:
                found.add(function[1] or function[2])
            is_test = False
    return found


class Tree:
    """The files of the project, by the ends of their paths."""

    def __init__(self, root):
        self.root = root
        self.files, self.directories, self.texts = [], [], {}
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(set(folders) - SKIPPED)
            here = pathlib.Path(folder).relative_to(root)
            self.directories += [(here / name).as_posix() for name in folders]
            self.files += [(here / name).as_posix() for name in sorted(names)]

    def named(self, ending):
        return [path for path in self.files if path == ending or path.endswith("/" + ending)]

    def text(self, path):
        if path not in self.texts:
            raw = (self.root / path).read_text(encoding="utf-8", errors="replace")
            self.texts[path] = without_comments(raw, pathlib.Path(path).suffix)
        return self.texts[path]

    def defines(self, path, name):
        suffix = pathlib.Path(path).suffix
        if path.startswith("Tests/"):
            if suffix == ".swift":
                return name in swift_tests(self.text(path))
            if suffix == ".py" and not name.startswith("test_"):
                return False
        return DEFINES[suffix](self.text(path), name)

    def elsewhere(self, name, path):
        """Where a name that is not in `path` stands, for the message; nothing when it is a common one."""
        found = [other for other in self.files if other.endswith(SOURCES) and other != path
                 and name in self.text(other) and self.defines(other, name)]
        return f"; it stands in {' and '.join(found)}" if 0 < len(found) < 4 else ""

    def is_test(self, ending):
        return any(path.startswith("Tests/") for path in self.named(ending))

    def problem(self, ending, name):
        """What is wrong with a reference; None when nothing is."""
        paths = self.named(ending)
        if not paths:
            return f"there is no file {ending}{self.elsewhere(name, ending)}"
        if len(paths) > 1:
            return f"{ending} may be {' or '.join(paths)}: write more of its path"
        if self.defines(paths[0], name):
            return None
        kind = "test" if self.is_test(ending) else "function"
        return f'{paths[0]} has no {kind} "{name}"{self.elsewhere(name, paths[0])}'

    def has_word(self, name):
        return any(name in self.text(path) for path in self.files if path.endswith(SOURCES))

    def has_path(self, ending):
        pattern = ending.rstrip("/").replace("…", "*")
        kind = self.directories if ending.endswith("/") else self.files + self.directories
        return any(fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, "*/" + pattern) for path in kind)


# MARK: Documents


def lines_of(path):
    """The lines of a document outside of printed code, with their numbers."""
    is_code = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def cells(line):
    """The cells of a table's row; a bar in backticks parts nothing."""
    parts = re.findall(r"(?:`[^`]*`|\\\||[^|])+", line.strip().strip("|"))
    return [part.strip() for part in parts]


def anchors(path):
    found = set()
    for _, line in lines_of(path):
        heading = re.match(r"#+\s+(.*)", line)
        if heading:
            kept = re.sub(r"[^\w\- ]", "", heading[1].replace("`", "").strip().lower())
            found.add(kept.replace(" ", "-"))
    return found


class Check:
    def __init__(self, root):
        self.root = root
        self.tree = Tree(root)
        self.problems = []
        self.functions = self.tests = self.links = self.paths = self.pages = 0

    def fail(self, document, number, what, line=""):
        row = " | ".join(cells(line)[:3]) if line.startswith("|") else ""
        self.problems.append(f"{document}:{number}: {what}" + (f"\n    in the row: {row[:150]}" if row else ""))

    def references(self, document, number, line):
        for ending, name in REFERENCE.findall(line):
            problem = self.tree.problem(ending, name)
            if problem:
                self.fail(document, number, f"`{ending}:{name}`: {problem}", line)
            elif self.tree.is_test(ending):
                self.tests += 1
            else:
                self.functions += 1

    def own_names(self, document, number, line):
        for name in OWN.findall(line):
            if not self.tree.has_word(name):
                self.fail(document, number, f"nothing is called {name}", line)

    def row(self, document, number, line, columns):
        parts = cells(line)
        if len(parts) != len(columns):
            return self.fail(document, number, f"{len(parts)} cells where the table has {len(columns)} columns", line)
        where, shown = parts[columns.index("where")], parts[columns.index("shown by")]
        is_done = any(not self.tree.is_test(ending) for ending, _ in REFERENCE.findall(where))
        is_shown = any(self.tree.is_test(ending) for ending, _ in REFERENCE.findall(shown))
        if not is_done and not EXCUSE.search(where):
            self.fail(document, number, "no function says where it is done, and no \"not done, because\" why not", line)
        if not is_shown and not shown.startswith("No test") and (is_done or shown != "–"):
            self.fail(document, number, "no test shows it, and no \"No test\" says so", line)

    def check_names(self, document):
        columns = None
        for number, line in lines_of(self.root / document):
            self.references(document, number, line)
            self.own_names(document, number, line)
            if not line.startswith("|"):
                columns = None
            elif columns is None:
                columns = [cell.lower() for cell in cells(line)]
            elif {"where", "shown by"} <= set(columns) and not re.fullmatch(r"[|\s:-]+", line):
                self.row(document, number, line, columns)

    def check_links(self, document):
        for number, line in lines_of(self.root / document):
            for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                self.links += 1
                name, _, anchor = target.partition("#")
                path = (self.root / document).parent / name if name else self.root / document
                if not path.exists():
                    self.fail(document, number, f"the link leads to {target}, which does not exist")
                elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                    self.fail(document, number, f"the link leads to {target}, but no heading is called that")

    def check_paths(self, document):
        for number, line in lines_of(self.root / document):
            for name in re.findall(r"`([^`\s]+)`", line):
                is_addition = re.fullmatch(r"\+\w+", name)
                if not is_addition and not (re.fullmatch(r"[\w.+…/-]+", name) and ("/" in name or name.endswith(
                        (*SOURCES, ".md")))):
                    continue
                self.paths += 1
                if not self.tree.has_path(f"*{name}.swift" if is_addition else name):
                    self.fail(document, number, f"there is no {name}")

    def check_width(self, document):
        for number, line in lines_of(self.root / document):
            if len(line) > WIDTH and not line.startswith(("|", "    ")):
                self.fail(document, number, f"{len(line)} columns where a line has at most {WIDTH}")

    def check_note(self, document):
        words = [word for word in (self.root / document).read_text(encoding="utf-8").split() if re.search(r"\w", word)]
        if len(words) > LONGEST_NOTE:
            self.fail(document, 1, f"{len(words)} words where a note has at most {LONGEST_NOTE}")

    def check_index(self, pages):
        index = self.root / "docs/README.md"
        targets = LINK.findall(index.read_text(encoding="utf-8"))
        named = {(index.parent / target.partition("#")[0]).resolve() for target in targets}
        for page in pages:
            if page != "docs/README.md" and (self.root / page).resolve() not in named:
                self.fail(page, 1, "docs/README.md does not lead here")

    def check_pages_named(self):
        """Each page that a comment or a script names by its path exists."""
        for path in self.tree.files:
            if not path.endswith(NAMING):
                continue
            text = (self.root / path).read_text(encoding="utf-8", errors="replace")
            for number, line in enumerate(text.split("\n"), 1):
                for page in PAGE.findall(line):
                    self.pages += 1
                    if not (self.root / page).exists():
                        self.fail(path, number, f"there is no {page}")

    def run(self):
        pages = sorted(path.relative_to(self.root).as_posix() for path in (self.root / "docs").rglob("*.md"))
        for page in ["README.md", "CONTRIBUTING.md", *pages]:
            self.check_links(page)
            self.check_names(page)
            self.check_width(page)
            if page.startswith("docs/architecture/"):
                self.check_note(page)
        self.check_paths("docs/tour.md")
        self.check_pages_named()
        self.check_index(pages)
        return self.problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]).resolve()
    check = Check(root)
    problems = check.run()
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"check_references: {len(problems)} wrong")
    print(f"check_references: ok, {check.functions} functions, {check.tests} tests, {check.links} links, {check.paths} paths, "
          f"{check.pages} pages")


if __name__ == "__main__":
    main()
