"""Writes the generated modules of python/sing from the library's own list of rules and option fields.

python tools/make_python_fields.py OPTION_FIELDS [--check], where OPTION_FIELDS is the program of tools/option_fields.cpp
(./dev generate runs this). With --check it writes nothing and exits with 1 if a module would
change.

The modules are _fields.py (the table of options), option_sets.py (Standardize and Lookahead) and rules.py (SING and one class
per rule).
"""

import importlib
import json
import subprocess
import sys
import textwrap
import types

import generated_text

PACKAGE = generated_text.ROOT / "python" / "sing"
MADE = "made by tools/make_python_fields.py: do not edit"
# Classes that torch's users, or the authors of a form, spell otherwise than the library spells the rule's type.
SPELLINGS = {"Sgd": "SGD", "AdaFactor": "Adafactor", "Nvlamb": "NVLamb"}
TYPES = {"bool": "bool", "int": "int", "float": "float", "optional_float": "float | None"}

SING_DOC = """\
SING (Courtois et al. 2023): AdamW with softplus on centralized and normalized gradients, with LookAhead.

It has the published defaults and takes the place of any torch.optim optimizer. Its learning rate is about ten times AdamW's.
The paper's authors freeze LayerNorm and LayerScale parameters (`sing.param_groups(model, weight_decay, freeze_norms=True)`);
`normalize="size_calibrated"` gives every tensor the same step per element instead. Weight decay leaves out tensors of rank 0
and 1. Gradients are not changed. Their scale does not matter, so clipping their norm has no effect.

The authors' option names are taken too: softplus, beta_softplus, grad_central, grad_norm, lookahead_active, la_mergetime and
la_alpha. `eps` then serves the norm as well, as in their code.
"""
SING_EXAMPLE = """\
>>> import torch, sing
>>> model = torch.nn.Linear(4, 3)
>>> optimizer = sing.SING(model.parameters(), lr=5e-2, weight_decay=5e-2)
>>> for _ in range(3):
...     optimizer.zero_grad()
...     model(torch.randn(2, 4)).square().sum().backward()
...     _ = optimizer.step()
>>> sorted(optimizer.state[model.weight])
['exp_avg', 'exp_avg_sq', 'slow', 'step']
"""
RULE_DOC = """\
{name} on centralized and normalized gradients, with LookAhead; its rule in the library is `{rule}`.

With centralize=False, normalize="off" and lookahead=False it is the plain optimizer.
"""
RULE_EXAMPLE = """\
>>> import torch, sing
>>> model = torch.nn.Linear(4, 3)
>>> optimizer = sing.{name}(model.parameters(), lr=1e-3)
"""
SET_DOCS = {
    "Standardize": "How a gradient is centralized and normalized.",
    "Lookahead": "LookAhead: every `period` steps p <- alpha p + (1 - alpha) slow, then slow <- p.",
}
SET_EXAMPLES = {
    "Standardize": """\
>>> Standardize(normalize="unit")
Traceback (most recent call last):
...
ValueError: [sing.Standardize] wanted normalize as one of 'off', 'unit_norm', 'size_calibrated', got 'unit'
""",
    "Lookahead": """\
>>> Lookahead(period=0)
Traceback (most recent call last):
...
ValueError: [sing.Lookahead] wanted period as a whole number of at least 1, got 0
""",
}
PARAMS_DOC = (
    "Parameters, (name, parameter) pairs as from model.named_parameters(), or groups: dicts with `params` and any of the "
    "options. Names appear in messages, in grad_norms() and in state files."
)
SHARED_DOC = "Options that all classes take, as described for sing.SING."
SLOW_DOC = "eval() puts LookAhead's slow weights in place of the parameters, and train() gives them back."
BETAS_DOC = "decays of the two moments"


def class_name(type_name):
    return SPELLINGS.get(type_name, type_name)


def classes_of(found):
    """Class name -> its rule, the options whose defaults differ from the rule's, and whether it is the published optimizer."""
    paper = found["paper"]
    classes = {"SING": {"rule": paper["rule"], "options": paper["options"], "is_published": True}}
    for rule, entry in found["rules"].items():
        if entry["optimizes"]:
            classes[class_name(entry["type"])] = {"rule": rule, "options": {}, "is_published": False}
    for name, form in found["forms"].items():
        type_name = "".join(part.capitalize() for part in name.split("_"))
        classes[class_name(type_name)] = {"rule": form["rule"], "options": form["options"], "is_published": False}
    return classes


def field_text(row):
    """A Field, without the arguments that have their defaults."""
    text = f"Field({row['name']!r}, {row['kind']!r}, {row['default']!r}, {row['help']!r}"
    text += "".join(f", {key}={row[key]!r}" for key in ("low", "high") if row[key] is not None)
    text += ", open_high=True" if row["open_high"] else ""
    if row.get("choices"):
        text += f", choices={tuple(row['choices'].split(', '))!r}"
    return text + ")"


def list_text(rows, indent=""):
    lines = "".join(f"{indent}    {field_text(row)},\n" for row in rows)
    return "[\n" + lines + indent + "]" if rows else "[]"


def fields_text(found):
    text = f'"""Options of every rule and class, {MADE}."""\n\nfrom typing import Any\n\nfrom sing.field import Field\n'
    for name in ("standardize", "lookahead", "others"):
        text += f"\n{name.upper()}: list[Field] = {list_text(found[name])}\n"
    text += "\nRULES: dict[str, dict[str, Any]] = {\n"
    for rule, entry in found["rules"].items():
        text += f"    {rule!r}: {{\n        'fields': {list_text(entry['fields'], ' ' * 8)},\n"
        text += "".join(f"        {key!r}: {entry[key]!r},\n" for key in ("takes_curvature", "averages"))
        text += "    },\n"
    text += "}\n\nSCHEDULES: dict[str, list[Field]] = {\n"
    text += "".join(f"    {name!r}: {list_text(rows, ' ' * 4)},\n" for name, rows in found["schedules"].items())
    text += "}\n\nCLASSES: dict[str, dict[str, Any]] = {\n"
    text += "".join(f"    {name!r}: {entry!r},\n" for name, entry in classes_of(found).items())
    return text + "}\n"


def annotation(key, field):
    if key == "lr":
        return "float | Tensor"
    if key == "betas":
        return "tuple[float, float]"
    if field.kind == "choice":
        return "Literal[" + ", ".join(f'"{each}"' for each in field.choices) + "]"
    return TYPES[field.kind]


def wrapped(text, indent, later=""):
    return textwrap.fill(text, 130, initial_indent=indent, subsequent_indent=indent + later, break_long_words=False, break_on_hyphens=False)


def wrapped_call(begin, arguments, end):
    """Returns the text of a call or signature with line breaks only between the arguments."""
    unbroken = begin + ", ".join(each.replace(" ", "\0") for each in arguments) + end.replace(" ", "\0")
    return wrapped(unbroken.replace("def ", "def\0"), " " * 8, " " * 4).replace("\0", " ") + "\n"


def docstring(summary, entries, example=""):
    """Returns the docstring of a class: the summary, the arguments as (name, text) pairs, the example."""
    text = textwrap.indent(summary, "    ").lstrip() + "\n    Args:\n"
    text += "".join(wrapped(f"{name}: {about}", " " * 8, " " * 4) + "\n" for name, about in entries)
    text += "\n    Example:\n" + textwrap.indent(example, " " * 8) if example else ""
    return f'    """{text}    """\n'


def sentence(text):
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def option_entries(schema, fields):
    """Yields (name, text) of options."""
    defaults = schema.defaults()
    for key, field in fields:
        about = sentence(BETAS_DOC if key == "betas" else field.help)
        about += f" One of {', '.join(map(repr, field.choices))}." if field.choices else ""
        yield key, f"{about} Default: {defaults[key]!r}."


def rule_class_text(name, schema, shared):
    defaults = schema.defaults()
    own = [(key, field) for key, field in schema.keyword_fields() if key not in shared]
    changed = [(key, field) for key, field in schema.keyword_fields() if key in shared and field.default != shared[key].default]
    if schema.is_published:
        slow = ("slow_weights_for_evaluation", f"{SLOW_DOC} Default: False.")
        entries = [("params", PARAMS_DOC), *option_entries(schema, schema.keyword_fields()), slow]
        text = docstring(SING_DOC, entries, SING_EXAMPLE)
    else:
        entries = [("params", "As for sing.SING."), *option_entries(schema, [*own, *changed]), ("options", SHARED_DOC)]
        text = docstring(RULE_DOC.format(name=name, rule=schema.rule), entries, RULE_EXAMPLE.format(name=name))
    arguments = [f"{key}: {annotation(key, field)} = {defaults[key]!r}" for key, field in own]
    # The learning rate may be given by position, as in torch and in the authors' class.
    arguments = ["self", "params: ParamsT", arguments[0], *(["*", *arguments[1:]] if arguments[1:] else [])]
    arguments.append(f"**options: Unpack[{'AuthorsOptions' if schema.is_published else 'SharedOptions'}]")
    text = f'\n\nclass {name}(SINGOptimizer):\n{text}\n    _schema = Schema("{name}")\n\n    if TYPE_CHECKING:\n\n'
    return text + wrapped_call("def __init__(", arguments, ") -> None: ...")


def options_type_text(name, base, about, typed):
    lines = "".join(f"        {key}: {kind}\n" for key, kind in typed)
    return f'\n    class {name}({base}, total=False):\n        """{about}"""\n\n{lines}'


def rules_text(options, fields):
    schemas = {name: options.Schema(name) for name in fields.CLASSES}
    shared = {field.name: field for field in options.SHARED_FIELDS}
    typed = [*((key, annotation(key, field)) for key, field in shared.items()), ("slow_weights_for_evaluation", "bool")]
    text = f'''"""SING and one class per rule, {MADE}."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sing.optimizer import SINGOptimizer
from sing.options import Schema

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    from torch import Tensor
    from torch.optim.optimizer import ParamsT
    from typing_extensions import Unpack
'''
    text += options_type_text("SharedOptions", "TypedDict", "Options that all classes take.", typed)
    authors = "The same, and the names that the paper's authors have for options."
    text += options_type_text("AuthorsOptions", "SharedOptions", authors, options.AUTHORS_TYPES.items())
    for name, schema in schemas.items():
        text += rule_class_text(name, schema, shared)
    classes = wrapped(", ".join(f'"{name}": {name}' for name in schemas), "    ")
    names = wrapped(", ".join(f'"{name}"' for name in schemas), "    ")
    return f"{text}\n\nCLASSES: dict[str, type[SINGOptimizer]] = {{\n{classes}\n}}\n__all__ = [\n{names}\n]\n"


def option_sets_text(fields):
    text = f'''"""Options that belong together, {MADE}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sing import _fields
from sing.field import Field
from sing.options import OptionSet
'''
    for name, prefix, rows in (("Standardize", "", fields.STANDARDIZE), ("Lookahead", "lookahead_", fields.LOOKAHEAD)):
        entries = [(row.name.removeprefix(prefix), f"{sentence(row.help)} Default: {row.default!r}.") for row in rows]
        text += f"\n\n@dataclass(frozen=True)\nclass {name}(OptionSet):\n"
        text += docstring(SET_DOCS[name] + "\n", entries, SET_EXAMPLES[name])
        text += f"\n    table: ClassVar[list[Field]] = _fields.{name.upper()}\n"
        text += f'    prefix: ClassVar[str] = "{prefix}"\n' if prefix else ""
        for row in rows:
            kind = "str" if row.kind == "choice" else TYPES[row.kind]
            text += f"    {row.name.removeprefix(prefix)}: {kind} = {row.default!r}\n"
    return text


def import_part(name):
    """A module of the package without its __init__, which needs the modules that this program writes."""
    if "sing" not in sys.modules:
        sys.modules["sing"] = types.ModuleType("sing")
        sys.modules["sing"].__path__ = [str(PACKAGE)]
    return importlib.import_module(f"sing.{name}")


def main():
    parser = generated_text.parser(__doc__.splitlines()[0])
    parser.add_argument("program", help="the program option_fields")
    arguments = parser.parse_args()
    found = json.loads(subprocess.run([arguments.program], check=True, capture_output=True, text=True).stdout)

    def finish(name, text):
        command = "./dev generate"
        return generated_text.finish(PACKAGE / name, text, arguments.check, command)

    # The other modules are made from the table, so they are not compared while the table is stale.
    if finish("_fields.py", fields_text(found)) != 0:
        return 1
    fields = import_part("_fields")
    stale = finish("option_sets.py", option_sets_text(fields))
    return finish("rules.py", rules_text(import_part("options"), fields)) or stale


if __name__ == "__main__":
    sys.exit(main())
