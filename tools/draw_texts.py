"""Draws comments and messages of the production code at random, for a reading with fresh eyes (docs/notes/code_size.md).

python tools/draw_texts.py --seed 1 [--count 40] prints each with its file and line. A comment is a block of consecutive comment
lines or a Python docstring; a message is the text of a SING_CHECK, of a thrown or raised error, or of an option's help.
"""

import argparse
import ast
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("sing", "adapters", "lab", "python/sing", "bench", "tools", "examples")
CXX = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
LITERALS = r'(?:\s*R?"(?:\\.|[^"\\\n])*")+'
SHORTEST_MESSAGE = 25  # characters; shorter literals are names and keys


def comment_blocks(text, mark):
    """Yields (line, text) of each block of lines that begin with `mark`, and of comments behind code."""
    begin, block = 0, []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        stripped = line.strip()
        if stripped.startswith(mark):
            begin = begin if block else number
            block.append(stripped.lstrip(mark).strip())
            continue
        if block:
            yield begin, " ".join(block)
            block = []
        behind = re.search(rf"\S\s+{mark} (?!namespace)(.+)$", line)
        if behind and '"' not in behind[1]:
            yield number, f"{stripped[: stripped.find(mark)].strip()}  {mark} {behind[1]}"


def cxx_messages(text):
    for match in re.finditer(LITERALS, text):
        message = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match[0]))
        if len(message) >= SHORTEST_MESSAGE and " " in message and "<" not in message:
            yield text.count("\n", 0, match.start()) + 1, message


def python_texts(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node)
        if isinstance(node, ast.Raise) and node.exc:
            yield node.lineno, ast.unparse(node.exc)


def texts(root):
    """Returns (place, text) of every comment and message below `root`, in the order of the files."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in CXX | {".py"}:
                continue
            text = path.read_text(encoding="utf-8")
            parts = list(comment_blocks(text, "//" if path.suffix in CXX else "#"))
            parts += cxx_messages(text) if path.suffix in CXX else python_texts(text)
            found += [(f"{path.relative_to(root).as_posix()}:{line}", part) for line, part in parts if len(part.split()) > 2]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=40)
    arguments = parser.parse_args()
    every = texts(ROOT)
    for number, (place, text) in enumerate(random.Random(arguments.seed).sample(every, arguments.count), start=1):
        print(f"{number}. {place}\n   {text}")
    print(f"{arguments.count} of {len(every)} texts, seed {arguments.seed}", file=sys.stderr)


if __name__ == "__main__":
    main()
