"""Checks what the documents say of the tree, and what the code says of the documents.

python tools/check_docs.py [ROOT] prints one line a fault and exits with 1 if there is any:
- relative links of *.md and docs/*.md lead to a file, and to a heading where they name one;
- paths in backquotes exist (or are files that the page itself gives in a block with file=PATH);
- equations of docs/algorithm.md are numbered 1, 2, 3, …; the code cites no other, and cites each.
"""

import pathlib
import re
import sys

PAGE = "docs/algorithm.md"
SOURCES = ("sing", "tests", "examples", "bench")
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FILE_BLOCK = re.compile(r"^```\w+ .*\bfile=(\S+)", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PATH = re.compile(r"(?:sing|tests|tools|docs|bench|cmake|examples)/[\w./-]*|[A-Z]+\.md")
NUMBER = re.compile(r"\((\d+)\)$", re.MULTILINE)
CITATION = re.compile(r"(?:\beq\.|\b[Ee]quations?)\s+(\d+(?:(?:, | to | and )\d+)*)")
# CTest names look like paths; these are the tests that are no file.
TEST_NAMES = re.compile(r"docs/(?:check|options|new_rule|results|theory)")


def pages(root):
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]


def anchors(text):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_faults(page, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            yield f"no such file: {target}"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"no such heading: {target}"


def path_faults(root, text):
    given = set(FILE_BLOCK.findall(text))
    for code in CODE.findall(FENCE.sub("", text)):
        is_path = PATH.fullmatch(code) and not TEST_NAMES.fullmatch(code)
        if is_path and code not in given and not (root / code).exists():
            yield f"no such path: {code}"


def numbers_cited(text):
    """Numbers of the equations that a source file cites; a range stands for all in it."""
    plain = re.sub(r"\s*\n\s*(?://|\*|#)?\s*", " ", text)
    for citation in CITATION.findall(plain):
        for part in re.split(r", | and ", citation):
            first, _, last = part.partition(" to ")
            yield from range(int(first), int(last or first) + 1)


def equation_faults(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    numbers = [int(number) for fence in FENCE.findall(text) for number in NUMBER.findall(fence)]
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        yield f"{PAGE}: wanted equations numbered 1, 2, 3, …, got {numbers}"
    cited = set()
    for top in SOURCES:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES:
                found = set(numbers_cited(path.read_text(encoding="utf-8")))
                for number in sorted(found - set(numbers)):
                    yield f"{path.relative_to(root)}: cites equation {number}, which {PAGE} does not have"
                cited |= found
    for page in pages(root):
        for number in sorted(set(numbers_cited(page.read_text(encoding="utf-8"))) - set(numbers)):
            yield f"{page.relative_to(root)}: names equation {number}, which {PAGE} does not have"
    for number in sorted(set(numbers) - cited):
        yield f"{PAGE}: equation {number} is cited by no source file"


def check(root):
    faults = list(equation_faults(root))
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for fault in (*link_faults(page, text), *path_faults(root, text)):
            faults.append(f"{page.relative_to(root)}: {fault}")
    return faults


def main():
    faults = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
