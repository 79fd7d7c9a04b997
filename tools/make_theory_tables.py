"""Writes the statements and numbers of docs/theory.md from the output of `sing theory`.

python tools/make_theory_tables.py SING [--check] rewrites the text between each claim's markers; with --check it writes
nothing and exits with 1 if the page would change. SING is the program. Every claim has its markers in the page, and every
pair of markers has its claim.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import generated_text

PAGE = generated_text.ROOT / "docs" / "theory.md"
BEGIN = re.compile(r"<!-- theory (\S+): generated, begin -->")


def verdicts(program):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "theory.json"
        subprocess.run([program, "theory", "--json", path], check=True, stdout=subprocess.DEVNULL)
        return {claim["name"]: claim for claim in json.loads(path.read_text(encoding="utf-8"))["claims"]}


def plain(text):
    """Escapes the characters that Markdown would interpret: the asterisk of x* starts no emphasis."""
    return re.sub(r"([|*_])", r"\\\1", text)


def claim_lines(claim):
    yield f"**{plain(claim['statement'])}**"
    yield ""
    yield f"*Experiment:* {plain(claim['experiment'])}"
    yield ""
    yield f"| {'holds' if claim['holds'] else 'FAILS'} | measured | wanted |"
    yield "|---|---:|:---|"
    for number in claim["numbers"]:
        yield f"| {plain(number['name'])} | {number['shown']} | {number['wanted']} |"


def page_with_claims(page, claims):
    places = BEGIN.findall(page)
    if sorted(places) != sorted(claims):
        differing = ", ".join(sorted(set(places) ^ set(claims))) or "a claim that the page has twice"
        raise ValueError(f"[{PAGE.name}] wanted the markers of every claim once, got a difference in: {differing}")
    for name, claim in claims.items():
        page = generated_text.replaced(page, f"theory {name}", claim_lines(claim))
    return page


def main():
    parser = generated_text.parser(__doc__.splitlines()[0])
    parser.add_argument("program", help="the program sing")
    arguments = parser.parse_args()
    text = page_with_claims(PAGE.read_text(encoding="utf-8"), verdicts(arguments.program))
    return generated_text.finish(PAGE, text, arguments.check, "tools/make_theory_tables.py SING")


if __name__ == "__main__":
    sys.exit(main())
