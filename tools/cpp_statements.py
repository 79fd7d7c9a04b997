"""Splits C++ sources into statements, well enough for code that clang-format wrote and for tools/mutate.py."""

import dataclasses
import re

# A brace after one of these begins a block; any other brace belongs to an expression.
BLOCK_WORDS = ("else", "do", "try", "const", "noexcept", "override", "final", "mutable")
DEFINITION = re.compile(r"^(template\b.*>\s*)?(inline )?(namespace|struct|class|enum|union|extern)\b")
LABEL = re.compile(r"\s*(?:(?:case\b(?:[^:;]|::)*|default|public|private|protected)\s*:(?!:)\s*)+")


@dataclasses.dataclass(frozen=True)
class Statement:
    """Characters start … end − 1 of a file: `text;`, or the head of a block without its brace."""

    start: int
    end: int
    head: bool  # whether a block follows
    holds_block: bool  # whether it contains a lambda's body


def code_only(text):
    """Returns the text with comments, directives and the contents of literals blanked out, at the same length."""

    def blank(match):
        found = match[0]
        if found[0] in "\"'":
            return found[0] + " " * (len(found) - 2) + found[-1]
        return re.sub(r"[^\n]", " ", found)

    # The quote of 1'000 is part of a number.
    return re.sub(
        r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|\"(?:[^\"\\\n]|\\.)*\"|(?<!\w)'(?:[^'\\\n]|\\.)+'", blank, text, flags=re.DOTALL | re.MULTILINE
    )


def begins_block(before):
    """Returns whether a brace after this text, which begins with the statement, begins a block."""
    before = before.rstrip()
    if not before or DEFINITION.match(before[after_labels(before, 0, len(before)) :].strip()):
        return True
    word = re.search(r"\w+$", before)
    if word is not None:
        return word[0] in BLOCK_WORDS or re.search(r"\)\s*(const\s*)?->\s*[\w:<>,&* ]+$", before) is not None
    return before.endswith((")", "]")) and not before.endswith("[]")


def statements(code):
    """Yields the statements of code from code_only(); those in a block come after its head."""
    found = []
    start, depth, holds_block = 0, 0, False
    blocks = []  # one per open block: (start, depth, holds_block) of the statement around it, or None
    braces = 0  # open braces of expressions
    pending = []  # for each open brace: whether it is a block
    for index, character in enumerate(code):
        if character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "{":
            block = begins_block(code[start:index])
            pending.append(block)
            if not block:
                braces += 1
                depth += 1
                continue
            if depth > 0 or re.search(r"=\s*\[", code[start:index]) or re.search(r"return\s*\[", code[start:index]):
                blocks.append((start, depth))  # the body of a lambda
            else:
                found.append(Statement(*trimmed(code, start, index), head=True, holds_block=holds_block))
                blocks.append(None)
            start, depth, holds_block = index + 1, 0, False
        elif character == "}":
            if not pending:
                raise ValueError(f"a brace without its partner at character {index}")
            if not pending.pop():
                braces -= 1
                depth -= 1
                continue
            around = blocks.pop()
            if around is None:
                start, depth, holds_block = index + 1, 0, False
            else:
                start, depth, holds_block = *around, True
        elif character == ";" and depth == 0:
            found.append(Statement(*trimmed(code, start, index + 1), head=False, holds_block=holds_block))
            start, holds_block = index + 1, False
    return found


def after_labels(code, start, end):
    """Returns where the statement's text begins after `case`, `default` and access labels."""
    label = LABEL.match(code, start, end)
    return start if label is None else label.end()


def trimmed(code, start, end):
    """Returns the range without spaces and labels around it."""
    start = after_labels(code, start, end)
    while start < end and code[start].isspace():
        start += 1
    while end > start and code[end - 1].isspace():
        end -= 1
    return start, end


def closing(code, opening, end):
    """Returns the index of the parenthesis that closes the one at `opening`, or None if it is not before `end`."""
    depth = 0
    for index in range(opening, end):
        depth += {"(": 1, ")": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return None
