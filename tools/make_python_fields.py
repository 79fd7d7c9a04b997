"""Writes python/sing/_fields.py and python/sing/rules.pyi from the library's own lists of option fields.

python tools/make_python_fields.py OPTION_FIELDS [--check], where OPTION_FIELDS is the program of tools/option_fields.cpp
(./dev run python tools/make_python_fields.py option_fields). With --check it writes nothing and exits with 1 if a file would
change.
"""

import argparse
import json
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "sing"
sys.path.insert(0, str(PACKAGE.parent))

FIELDS_HEAD = '''"""Option fields of every rule, made by tools/make_python_fields.py: do not edit."""

from typing import Any

'''
STUB_HEAD = '''"""Types of sing.SING and its siblings, made by tools/make_python_fields.py: do not edit."""

from sing.optimizer import SINGOptimizer
from torch import Tensor
from torch.optim.optimizer import ParamsT
from typing import Literal
'''


def literal(value, indent=0):
    """Returns the Python text of plain values, one field per line."""
    pad = " " * indent
    if isinstance(value, dict) and indent < 12 and not ("name" in value and "kind" in value):
        rows = "".join(f"{pad}    {key!r}: {literal(each, indent + 4)},\n" for key, each in value.items())
        return "{\n" + rows + pad + "}" if rows else "{}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + "".join(f"{pad}    {literal(each, indent + 4)},\n" for each in value) + pad + "]"
    return repr(value)


def fields_text(found):
    lines = [f"{name.upper()}: {kind} = {literal(found[name])}\n" for name, kind in KINDS.items()]
    return FIELDS_HEAD + "\n".join(lines)


KINDS = {"common": "list[dict[str, Any]]", "rules": "dict[str, dict[str, Any]]", "forms": "dict[str, dict[str, Any]]", "paper": "dict[str, Any]"}
TYPES = {"bool": "bool", "int": "int", "float": "float", "optional_float": "float | None"}


def annotation(name, field):
    if name == "lr":
        return "float | Tensor"
    if name == "betas":
        return "tuple[float, float]"
    if field.kind == "choice":
        return "Literal[" + ", ".join(f'"{each}"' for each in field.choices) + "]"
    return TYPES[field.kind]


def stub_text(found):
    # Imported here: the package reads the file that this program has just written.
    from sing import options

    text = STUB_HEAD
    for name, schema in options.all_schemas(found).items():
        lines = [f"        {key}: {annotation(key, field)} = ...,\n" for key, field in schema.keyword_fields()]
        if name == "SING":
            lines += [f"        {key}: {kind} = ...,\n" for key, kind in options.AUTHORS_TYPES.items()]
        text += f"\nclass {name}(SINGOptimizer):\n    def __init__(\n        self,\n        params: ParamsT,\n"
        # The authors' first two arguments may be given by position, as may the learning rate of torch's classes.
        text += lines[0] + "        *,\n" + "".join(lines[1:]) + "        slow_weights_for_evaluation: bool = ...,\n"
        text += "    ) -> None: ...\n"
    names = ", ".join(f'"{name}"' for name in options.all_schemas(found))
    return f"{text}\nCLASSES: dict[str, type[SINGOptimizer]]\n__all__ = [{names}]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    found = json.loads(subprocess.run([arguments.program], check=True, capture_output=True, text=True).stdout)
    for each in [*found["common"], *(field for rule in found["rules"].values() for field in rule["fields"])]:
        each["choices"] = each.get("choices", "").split(", ") if each.get("choices") else []
    stale = []
    for name, make in (("_fields.py", fields_text), ("rules.pyi", stub_text)):
        path, wanted = PACKAGE / name, make(found)
        if not path.exists() or path.read_text(encoding="utf-8") != wanted:
            stale.append(name)
            if not arguments.check:
                path.write_text(wanted, encoding="utf-8")
    if stale and arguments.check:
        print(f"{', '.join(stale)} not current: ./dev run python tools/make_python_fields.py option_fields", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
