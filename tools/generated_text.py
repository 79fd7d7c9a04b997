"""Replaces the generated parts of a file and compares them: shared by the programs tools/make_*.py."""

import argparse
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def markers(name):
    """Returns the lines that enclose the generated part `name` of a page."""
    return f"<!-- {name}: generated, begin -->", f"<!-- {name}: generated, end -->"


def replaced(page, name, lines):
    """Returns the page's text with the lines between the markers of `name` replaced by `lines`."""
    begin, end = markers(name)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(end) < page.index(begin):
        raise ValueError(f"[generated_text] wanted the lines '{begin}' and '{end}' once each and in this order, got another page")
    before, rest = page.split(begin)
    return "\n".join([before + begin, *lines, end + rest.split(end)[1]])


def parser(description):
    """Returns a parser that knows --check, for the arguments of `finish`."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file would change")
    return made


def finish(path, text, check, command):
    """Writes `text` to the file, or only compares it; returns the exit status. `command` is what to run if they differ."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print(f"[{os.path.relpath(path, ROOT)}] wanted what {command} writes, got another text; run it", file=sys.stderr)
        return 1
    path.write_text(text, encoding="utf-8")
    return 0
