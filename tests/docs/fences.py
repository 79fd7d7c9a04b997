"""Reads the fenced blocks of a Markdown page: the info string after ``` and the text between the fences."""

import dataclasses
import pathlib
import re


@dataclasses.dataclass
class Block:
    language: str
    words: list  # words of the info string after the language
    text: str
    line: int  # line of the opening fence, from 1

    @property
    def file(self):
        """Returns the path in `file=PATH`, or None."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)


def blocks(page: pathlib.Path):
    """Yields the page's blocks in order."""
    opening, lines = None, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if opening is None:
            if match := re.fullmatch(r"```(.*)", line):
                opening, lines = (number, match[1].split()), []
        elif line == "```":
            at, info = opening
            yield Block(info[0] if info else "", info[1:], "".join(f"{each}\n" for each in lines), at)
            opening = None
        else:
            lines.append(line)
    if opening is not None:
        raise ValueError(f"{page.name}:{opening[0]}: wanted the end of a fenced block, got the end of the page")
