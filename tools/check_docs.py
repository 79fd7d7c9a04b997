"""Checks the documents' references to the repository, and the code's references to the documents.

python tools/check_docs.py [ROOT] prints one line per fault and exits with 1 if there is any:
- relative links in *.md and docs/**/*.md lead to a file, and to a heading where they name one;
- paths in backquotes exist (or are files that the page itself defines in a block with file=PATH);
- a block with shows=PATH is a part of that file;
- on the pages that a newcomer reads, each block of code runs, shows a part of a file, or names by tested=PATH what tests it;
- mkdocs.yml names every page under docs/, for the site's navigation;
- tools/README.md names every file of tools/, and no others;
- the equations of docs/algorithm.md are numbered 1, 2, 3, …; the code cites no others, and cites each of them.
"""

import fnmatch
import pathlib
import re
import sys

PAGE = "docs/algorithm.md"
SOURCES = ("sing", "tests", "examples", "bench")
SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FILE_BLOCK = re.compile(r"^```\w+ .*\bfile=(\S+).*?^```$", re.MULTILINE | re.DOTALL)  # text of another file
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FOLDERS = ("adapters", "bench", "cmake", "docs", "examples", "lab", "python", "recipes", "sing", "tests", "tools")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*|[A-Z]+\.md")
NUMBER = re.compile(r"\((\d+)\)$", re.MULTILINE)
CITATION = re.compile(r"(?:\beq\.|\b[Ee]quations?)\s+(\d+(?:(?:, | to | and )\d+)*)")
BLOCK = re.compile(r"^```(\w+) ?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE_LANGUAGES = {"c", "cpp", "python", "sh"}
# The pages whose every block of code is tested.
TESTED_PAGES = re.compile(r"README\.md|docs/(?:library|examples|tutorials/\w+)\.md")
# Names of CTest tests that look like paths.
TEST_NAMES = re.compile(r"docs/(?:check|options|new_rule/test|new_rule/use|results|site|theory)")


def pages(root):
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def anchors(text):
    """Returns the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_faults(page, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            yield f"wanted a link to a file, got '{target}'"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"wanted a link to a heading of {file.name}, got '{target}'"


def path_faults(root, text):
    given = set(FILE_BLOCK.findall(text))
    for code in CODE.findall(FENCE.sub("", text)):
        is_path = PATH.fullmatch(code) and not TEST_NAMES.fullmatch(code)
        if is_path and code not in given and not (root / code).exists():
            yield f"wanted a path of the repository, got '{code}'"


def block_faults(root, page, text):
    for language, info, code in BLOCK.findall(text):
        words = dict(word.partition("=")[::2] for word in info.split())
        for name in {"shows", "tested"} & set(words):
            if not (root / words[name]).is_file():
                yield f"wanted {name}=PATH with a file of the repository, got '{words[name]}'"
            elif name == "shows" and code not in (root / words[name]).read_text(encoding="utf-8"):
                yield f"wanted a part of {words[name]}, got '{code.splitlines()[0]}' and what follows it"
        if language in CODE_LANGUAGES and TESTED_PAGES.fullmatch(str(page)) and not {"run", "shows", "tested"} & set(words):
            yield f"wanted run, shows=PATH or tested=PATH after {language}, got '{info}' before '{code.splitlines()[0]}'"


def navigation_faults(root):
    navigation = (root / "mkdocs.yml").read_text(encoding="utf-8")
    for page in sorted((root / "docs").rglob("*.md")):
        name = str(page.relative_to(root / "docs"))
        if not re.search(rf": {re.escape(name)}$", navigation, re.MULTILINE):
            yield f"[mkdocs.yml] wanted every page of docs/ in nav, got none for '{name}'"


def tool_faults(root):
    patterns = set(re.findall(r"`([\w.*/-]+)`", (root / "tools" / "README.md").read_text(encoding="utf-8"))) - {"./dev"}
    files = {path.name + "/" * path.is_dir() for path in (root / "tools").iterdir()} - {"README.md", "__pycache__/"}
    for name in sorted(files):
        if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
            yield f"[tools/README.md] wanted every file of tools/, got none of the name '{name}'"
    for pattern in sorted(patterns):
        if not fnmatch.filter(files, pattern):
            yield f"[tools/README.md] wanted files of tools/, got '{pattern}'"


def numbers_cited(text):
    """Yields the numbers of the equations that a source file cites; '1 to 3' cites 1, 2 and 3."""
    plain = re.sub(r"\s*\n\s*(?://|\*|#)?\s*", " ", text)
    for citation in CITATION.findall(plain):
        for part in re.split(r", | and ", citation):
            first, _, last = part.partition(" to ")
            yield from range(int(first), int(last or first) + 1)


def equation_faults(root):
    text = (root / PAGE).read_text(encoding="utf-8")
    numbers = [int(number) for fence in FENCE.findall(text) for number in NUMBER.findall(fence)]
    if numbers != list(range(1, len(numbers) + 1)) or not numbers:
        yield f"[{PAGE}] wanted equations numbered 1, 2, 3, …, got {numbers}"
    cited = set()
    for top in SOURCES:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES:
                found = set(numbers_cited(path.read_text(encoding="utf-8")))
                for number in sorted(found - set(numbers)):
                    yield f"[{path.relative_to(root)}] wanted an equation of {PAGE}, got {number}"
                cited |= found
    for page in pages(root):
        own = FILE_BLOCK.sub("", page.read_text(encoding="utf-8"))
        for number in sorted(set(numbers_cited(own)) - set(numbers)):
            yield f"[{page.relative_to(root)}] wanted an equation of {PAGE}, got {number}"
    for number in sorted(set(numbers) - cited):
        yield f"[{PAGE}] wanted every equation cited by a source file, got none for {number}"


def check(root):
    faults = [*equation_faults(root), *navigation_faults(root), *tool_faults(root)]
    for page in pages(root):
        text, name = page.read_text(encoding="utf-8"), page.relative_to(root)
        for fault in (*link_faults(page, text), *path_faults(root, text), *block_faults(root, name, text)):
            faults.append(f"[{name}] {fault}")
    return faults


def main():
    faults = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
