"""Writes the statements and numbers of docs/theory.md from what `sing theory` finds.

python tools/make_theory_tables.py SING [--check] rewrites what stands between each claim's markers, or exits with 1 if that
would change the page. SING is the program. Every claim has its place in the page, and every place its claim.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "theory.md"
BLOCK = re.compile(r"<!-- theory (\S+): generated, begin -->\n.*?<!-- theory \1: generated, end -->", re.DOTALL)


def verdicts(program):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "theory.json"
        subprocess.run([program, "theory", "--json", path], check=True, stdout=subprocess.DEVNULL)
        return {claim["name"]: claim for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]}


def plain(text):
    """The text without a meaning for Markdown: x* begins no emphasis."""
    return re.sub(r"([|*_])", r"\\\1", text)


def block(claim):
    yield f"<!-- theory {claim['name']}: generated, begin -->"
    yield f"**{plain(claim['statement'])}**"
    yield ""
    yield f"*Tried:* {plain(claim['experiment'])}"
    yield ""
    yield f"| {'holds' if claim['holds'] else 'FAILS'} | measured | wanted |"
    yield "|---|---:|:---|"
    for number in claim["numbers"]:
        yield f"| {plain(number['name'])} | {number['shown']} | {number['wanted']} |"
    yield f"<!-- theory {claim['name']}: generated, end -->"


def page_with_blocks(page, claims):
    places = [match[1] for match in BLOCK.finditer(page)]
    if sorted(places) != sorted(claims):
        differing = ", ".join(sorted(set(places) ^ set(claims))) or "one twice"
        raise ValueError(f"[{PAGE.name}] wanted the markers of every claim once, these differ: {differing}")
    return BLOCK.sub(lambda match: "\n".join(block(claims[match[1]])), page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="the program sing")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    wanted = page_with_blocks(page, verdicts(arguments.program))
    if not arguments.check:
        PAGE.write_text(wanted, encoding="utf-8")
    elif page != wanted:
        print(f"{PAGE.name} is not what sing theory finds: run tools/make_theory_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
