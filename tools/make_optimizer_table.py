"""Writes the table of docs/optimizers.md from the library's list of rules and from docs/algorithm.md.

python tools/make_optimizer_table.py OPTION_FIELDS [--check], where OPTION_FIELDS is the program of tools/option_fields.cpp
(./dev generate runs this). With --check it writes nothing and exits with 1 if the page would change.

A rule's header cites its equations. The section of docs/algorithm.md with the first of them has the formula and a line
"Source: …". The table shows the section's whole formula if it is short, else only the line with "p ←".
"""

import json
import re
import subprocess
import sys

import generated_text
from generated_text import ROOT

PAGE = ROOT / "docs" / "optimizers.md"
EQUATIONS = ROOT / "docs" / "algorithm.md"
HEAD = (
    "| name | formula | state bytes | passes | defaults | decay | source |",
    "|---|---|---|---:|---|---|---|",
)
MOST_LINES = 3  # a longer formula is shown by its update alone
FENCE = re.compile(r"^```$(.*?)^```$", re.MULTILINE | re.DOTALL)


class Section:
    """One section of docs/algorithm.md."""

    def __init__(self, text):
        self.title, _, body = text.partition("\n")
        self.title = self.title.strip()
        self.anchor = re.sub(r"[^\w -]", "", self.title.lower()).replace(" ", "-")
        fences = "\n".join(FENCE.findall(body))
        self.numbers = {int(number) for number in re.findall(r"\((\d+)\)$", fences, re.MULTILINE)}
        lines = [re.sub(r"\s+", " ", re.sub(r"\(\d+\)$", "", line)).strip() for line in fences.splitlines() if line.strip()]
        updates = [line[line.index("p ← ") :] for line in lines if "p ← " in line]
        self.formula = "; ".join(lines) if updates and len(lines) <= MOST_LINES else next(iter(updates), None)
        source = re.search(r"^Source: (.*?)\.?\n(?:\n|\Z)", body + "\n", re.MULTILINE | re.DOTALL)
        self.source = source and re.sub(r"\s+", " ", source[1])


def sections():
    _, *parts = re.split(r"^## ", EQUATIONS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [Section(part) for part in parts]


def section_of(rule, found):
    """Returns the section with the first equation that the rule's header cites."""
    headers = [
        path
        for path in sorted((ROOT / "sing" / "rule").rglob("*.hpp"))
        if re.search(rf'kName = "{rule}"', path.read_text(encoding="utf-8"))
    ]
    opening = headers[0].read_text(encoding="utf-8").partition("#pragma once")[0] if headers else ""
    cited = re.search(r"eq\.\s+(?://\s*)?(\d+)", opening)
    section = next((each for each in found if cited and int(cited[1]) in each.numbers), None)
    if section is None or not section.formula or not section.source:
        raise ValueError(
            f"[{PAGE.name}] rule '{rule}': wanted a header that cites an equation of {EQUATIONS.name} in its first lines, and "
            "there a section with a line 'p ← …' and a line 'Source: …', got at most some of these"
        )
    return section


def state_text(costs):
    own, most = 4 * costs["element_slots"], 4 * costs["most_element_slots"]
    text = str(own)
    if costs["other_slots"]:
        return text + " + " + ", ".join(name.replace("_", " ") for name in costs["other_slots"])
    return text if own == most else f"{text}, at most {most}"


def decay_text(fields, form=None):
    """Returns the default weight decay and its kinds, the default kind first."""
    of_name = {each["name"]: each["default"] for each in fields} | (form["options"] if form else {})
    kinds = {None: "as in the formula", True: "decoupled or L2", False: "L2 or decoupled"}
    return f"{of_name['weight_decay']:g}, {kinds[of_name.get('decoupled_decay')]}"


def default_text(value):
    return {True: "on", False: "off", None: "none"}[value] if isinstance(value, (bool, type(None))) else f"{value:g}"


def form_defaults_text(form, fields):
    """Returns the defaults that a rule's second name changes; weight decay has its own column."""
    changed = [
        {**each, "default": form["options"][each["name"]]}
        for each in fields
        if each["name"] in form["options"] and each["name"] != "weight_decay"
    ]
    return f"as {form['rule']}, but " + ", ".join(f"{each['name']} {default_text(each['default'])}" for each in changed)


def fields_alone(fields, options):
    """The rule's fields with the defaults of the rule alone, which may differ from those of a host in SING."""
    return [{**each, "default": options.get(each["name"], each["default"])} for each in fields]


def defaults_text(fields):
    shown = [each for each in fields if each["name"] not in ("weight_decay", "decoupled_decay")]
    return ", ".join(
        f"{each['name']} {each['default'] if isinstance(each['default'], str) else default_text(each['default'])}" for each in shown
    )


def table(listed):
    found = sections()
    yield from HEAD
    for rule, entry in listed["rules"].items():
        if not entry["optimizes"]:
            continue
        section, costs = section_of(rule, found), listed["costs"][rule]
        of_forms = [*entry["fields"], *listed["others"]]  # a form may change options of all rules too
        fields = fields_alone(entry["fields"], listed["optimizers"][rule]["options"])
        names = {rule: (defaults_text(fields), decay_text(fields))}
        for name, form in listed["forms"].items():
            if form["rule"] == rule:
                names[name] = (form_defaults_text(form, of_forms), decay_text(entry["fields"], form))
        for name, (defaults, decay) in names.items():
            cells = (
                f"[{name}](algorithm.md#{section.anchor})",
                section.formula.replace("|", "\\|"),
                state_text(costs),
                str(costs["passes"]),
                defaults,
                decay,
                section.source,
            )
            yield "| " + " | ".join(cells) + " |"


def main():
    parser = generated_text.parser(__doc__.splitlines()[0])
    parser.add_argument("program", help="the program option_fields")
    arguments = parser.parse_args()
    listed = json.loads(subprocess.run([arguments.program], check=True, capture_output=True, text=True).stdout)
    lines = ["", *table(listed), ""]
    text = generated_text.replaced(PAGE.read_text(encoding="utf-8"), "optimizers", lines)
    return generated_text.finish(PAGE, text, arguments.check, "./dev generate")


if __name__ == "__main__":
    sys.exit(main())
