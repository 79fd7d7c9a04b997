"""Writes the generated modules of python/sing from the library's own list of rules and option fields.

python tools/make_python_fields.py OPTION_FIELDS [--check], where OPTION_FIELDS is the program of tools/option_fields.cpp
(./dev generate runs this). With --check it writes nothing and exits with 1 if a module would
change.

The modules are _fields.py (the table of options), option_sets.py (Standardize and Lookahead) and rules.py (one class per rule,
and SING and PlugSING around them).
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
SING (Courtois et al. 2023) around a rule: centralized and normalized gradients, LookAhead, softplus for AdamW and AdaBelief.

It is a drop-in replacement for torch.optim.AdamW: it takes the same arguments in the same order, with the published defaults. Its
learning rate is often ten times AdamW's or more. The paper's authors freeze LayerNorm and LayerScale parameters
(`sing.param_groups(model, weight_decay, freeze_norms=True)`); with `normalize="size_calibrated"` the elements of all tensors take
equal steps instead. Weight decay does not apply to tensors of rank 0 and 1. Gradients are not changed. Their scale does not
matter, so clipping their norm has no effect.

`host` names another rule, whose options and defaults replace those of AdamW; the program calls the result `sing-<host>`. The
option names of the authors' code are accepted too: softplus, beta_softplus, grad_central, grad_norm, lookahead_active,
la_mergetime and la_alpha. With the host AdamW, `eps` is also added to the norm, as in the authors' code.
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
>>> lion = sing.SING(model.parameters(), lr=1e-4, betas=(0.9, 0.99), host="lion")
"""
PLUG_SING_DOC = """\
Plug-and-play SING: an unchanged rule on gradients of unit norm, at the rule's own learning rate.

It uses no other part of SING: no centralization, LookAhead or softplus. It is a drop-in replacement for torch.optim.AdamW, with
the same arguments in the same order and the same defaults. `host` names another rule, whose options and defaults replace those of
AdamW; the program calls the result `plugsing-<host>`. Gradients are not changed. Their scale does not matter, so clipping their
norm has no effect.
"""
PLUG_SING_EXAMPLE = """\
>>> import torch, sing
>>> model = torch.nn.Linear(4, 3)
>>> optimizer = sing.PlugSING(model.parameters(), lr=1e-3, weight_decay=1e-2)
>>> model(torch.ones(2, 4)).square().sum().backward()
>>> optimizer.step()
>>> sorted(optimizer.state[model.weight])
['exp_avg', 'exp_avg_sq', 'step']
>>> sgd = sing.PlugSING(model.parameters(), lr=1e-2, host="sgd", momentum=0.9)
"""
RULE_DOC = """\
Plain {name}, without any part of SING: `{optimizer}` in the program.

Weight decay applies to tensors of every rank. `sing.SING(params, host="{optimizer}")` is SING around the rule, and
`sing.PlugSING(params, host="{optimizer}")` is the rule on gradients of unit norm.{peer}
"""
RULE_EXAMPLE = """\
>>> import torch, sing
>>> model = torch.nn.Linear(4, 3)
>>> optimizer = sing.{name}(model.parameters(), lr=1e-3)
>>> model(torch.ones(2, 4)).square().sum().backward()
>>> optimizer.step()
>>> optimizer.status()
{{'skipped_steps': 0, 'skipped_tensors': 0}}
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
SHARED_DOC = (
    "Options that all classes take, as described for sing.SING; here centralize and lookahead are False, normalize is 'off' and "
    "decay_vectors is True by default."
)
HOST_DOC = "The rule that SING wraps: one of {}."
HOST_OPTIONS_DOC = "Other options of the host, and those that all classes take, as described for sing.SING."
TORCH_DOC = {
    "foreach, fused, capturable": (
        "Arguments of torch's optimizers, without effect: a step is one call for all tensors, which a CUDA graph can capture."
    ),
    "differentiable": "False: a step is not recorded by autograd.",
}
FIXED_DOC = "{!r}, the only value that is accepted."
SLOW_DOC = "eval() replaces the parameters by LookAhead's slow weights, and train() restores them."
BETAS_DOC = "decays of the two moments"


def class_name(type_name):
    return SPELLINGS.get(type_name, type_name)


def optimizers_of(found):
    """The optimizers that have a class: every rule alone, and those that SING and PlugSING can wrap."""
    return {name: entry for name, entry in found["optimizers"].items() if not name.startswith("gc-")}


def classes_of(found):
    """Class name -> the optimizer's name in the program."""
    classes = {"SING": "sing-adamw", "PlugSING": "plugsing-adamw"}
    for rule, entry in found["rules"].items():
        if entry["optimizes"]:
            classes[class_name(entry["type"])] = rule
    for form in found["forms"]:
        classes[class_name("".join(part.capitalize() for part in form.split("_")))] = form
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
        text += "".join(f"        {key!r}: {entry[key]!r},\n" for key in ("takes_curvature", "is_orthogonal", "averages"))
        text += "    },\n"
    text += "}\n\nSCHEDULES: dict[str, list[Field]] = {\n"
    text += "".join(f"    {name!r}: {list_text(rows, ' ' * 4)},\n" for name, rows in found["schedules"].items())
    text += "}\n\n# The program's names of optimizers.\nOPTIMIZERS: dict[str, dict[str, Any]] = {\n"
    text += "".join(f"    {name!r}: {entry!r},\n" for name, entry in optimizers_of(found).items())
    text += "}\n\nCLASSES: dict[str, str] = {\n"
    text += "".join(f"    {name!r}: {optimizer!r},\n" for name, optimizer in classes_of(found).items())
    return text + "}\n"


def annotation(key, field):
    if key == "lr":
        return "float | Tensor"
    if key == "betas":
        return "tuple[float, float]"
    if key == "lookahead":
        return "bool | Lookahead"
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


def own_fields(schema, shared):
    return {key: field for key, field in schema.keyword_fields() if key not in shared}


def peer_annotations(schema):
    """Type by name of the arguments that only the rule's peers have."""
    fields = dict(schema.keyword_fields())
    found = {name: annotation(name, fields[schema.targets[name]]) for name in schema.peer.names if name in schema.targets}
    found.update(dict.fromkeys(schema.peer.conversions, "Any"))
    found.update({name: "None" if value is None else type(value).__name__.replace("int", "float") for name, value in schema.peer.fixed.items()})
    return {**found, **dict.fromkeys(schema.peer.ignored, "bool")}


def arguments_text(schema, own):
    """The arguments of __init__ after `params`: those that have a position, then the rule's other options."""
    peers, defaults = peer_annotations(schema), schema.defaults()
    parts = []
    for key in schema.positional:
        kind = annotation(key, own[key]) if key in own else peers[key]
        default = schema.signature().parameters[key].default
        parts.append(f"{key}: {kind} = {default!r}" if default is not None or "None" in kind else f"{key}: {kind} = ...")
    later = [f"{key}: {annotation(key, field)} = {defaults[key]!r}" for key, field in own.items() if key not in schema.positional]
    return parts, later


def peer_doc(schema):
    """Names what the rule's peers call its options."""
    others = [name for name in (*schema.peer.names, *schema.peer.conversions) if name not in dict(schema.keyword_fields())]
    return f"\n\nNames from other packages are accepted too: {', '.join(others)}." if others else ""


def positional_entries(schema, own):
    """Yields (name, text) of the arguments by position that are not options of the rule."""
    fields = dict(schema.keyword_fields())
    for key in schema.positional:
        if key in schema.fixed:
            yield key, FIXED_DOC.format(schema.fixed[key])
        elif key not in own and key in schema.targets:
            yield key, f"The same as {next(name for name, field in fields.items() if name == schema.targets[key])}."
        elif key in schema.peer.conversions:
            yield key, "As in the other package; None keeps the default."
        elif key in schema.ignored:
            yield key, "Has no effect."


def host_class_text(name, schema, shared, hosts):
    own = own_fields(schema, shared)
    is_sing = schema.takes_authors_names
    entries = [("params", PARAMS_DOC)]
    entries += [*option_entries(schema, own.items()), *positional_entries(schema, own)]
    entries.append(("host", HOST_DOC.format(", ".join(map(repr, hosts)))))
    if is_sing:
        entries += option_entries(schema, ((key, field) for key, field in schema.keyword_fields() if key in shared))
        entries += [*TORCH_DOC.items(), ("slow_weights_for_evaluation", f"{SLOW_DOC} Default: False.")]
    entries.append(("options", "Other options of the host." if is_sing else HOST_OPTIONS_DOC))
    doc, example = (SING_DOC, SING_EXAMPLE) if is_sing else (PLUG_SING_DOC, PLUG_SING_EXAMPLE)
    positional, later = arguments_text(schema, own)
    later.append(f'host: Host = "{schema.host}"')
    options = "SINGOptions" if is_sing else "HostOptions"
    return class_text(name, "HostedOptimizer", schema, docstring(doc, entries, example), positional, later, options)


def rule_class_text(name, schema, shared, usual):
    own = own_fields(schema, shared)
    changed = [(key, field) for key, field in schema.keyword_fields() if key in shared and field != usual[key]]
    entries = [("params", "As for sing.SING."), *option_entries(schema, own.items()), *positional_entries(schema, own)]
    entries += [*option_entries(schema, changed), ("options", SHARED_DOC)]
    summary = RULE_DOC.format(name=name, optimizer=schema.optimizer, peer=peer_doc(schema))
    text = docstring(summary, entries, RULE_EXAMPLE.format(name=name))
    positional, later = arguments_text(schema, own)
    options = f"{name}Options" if peer_options(schema) else "SharedOptions"
    return class_text(name, "Optimizer", schema, text, positional, later, options)


def peer_options(schema):
    """The peers' arguments that are taken by name only."""
    return {key: kind for key, kind in peer_annotations(schema).items() if key not in schema.positional}


def class_text(name, base, schema, text, positional, later, options):
    arguments = ["self", "params: ParamsT", *positional, *(["*", *later] if later else []), f"**options: Unpack[{options}]"]
    text = f'\n\nclass {name}({base}):\n{text}\n    _schema = Schema("{name}", "{schema.optimizer}")\n\n    if TYPE_CHECKING:\n\n'
    return text + wrapped_call("def __init__(", arguments, ") -> None: ...")


def options_type_text(name, base, about, typed):
    lines = "".join(f"        {key}: {kind}\n" for key, kind in typed)
    return f'\n    class {name}({base}, total=False):\n        """{about}"""\n\n{lines}'


def host_annotations(schemas, shared, excluded):
    """Type by name of the options of all hosts, but for those of SING's own signature."""
    found = {}
    for schema in schemas:
        own = own_fields(schema, shared)
        typed = {**{key: annotation(key, field) for key, field in own.items()}, **peer_annotations(schema)}
        for key, kind in typed.items():
            if key not in excluded:
                found[key] = kind if found.get(key, kind) == kind else "Any"
    return found


def rules_text(options, fields):
    schemas = {name: options.Schema(name, optimizer) for name, optimizer in fields.CLASSES.items()}
    shared = {field.name: field for field in options.SHARED_FIELDS}
    usual = schemas["AdamW"].fields  # which has the defaults of shared options that all rules have alone
    torchs = {"foreach": "bool | None", "fused": "bool | None", "capturable": "bool", "differentiable": "bool"}
    typed = {**{key: annotation(key, field) for key, field in shared.items()}, **torchs, "slow_weights_for_evaluation": "bool"}
    text = f'''"""One class per rule, and SING and PlugSING around them, {MADE}."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sing.optimizer import HostedOptimizer, Optimizer
from sing.options import Schema

if TYPE_CHECKING:
    from typing import Any, Literal, TypedDict

    from torch import Tensor
    from torch.optim.optimizer import ParamsT
    from typing_extensions import Unpack

    from sing.option_sets import Lookahead

    Host = Literal[
{wrapped(", ".join(f'"{host}"' for host in options.HOSTS), "        ")}
    ]
'''
    text += options_type_text("SharedOptions", "TypedDict", "Options that all classes take.", typed.items())
    sing = schemas["SING"]
    hosts = [schema for schema in schemas.values() if not schema.prefix]
    excluded = {*own_fields(sing, shared), *sing.positional}
    host_typed = host_annotations(hosts, shared, excluded)
    text += options_type_text("HostOptions", "SharedOptions", "The same, and the options of all hosts.", host_typed.items())
    authors = "The same, and the names that the paper's authors have for options."
    text += options_type_text("SINGOptions", "HostOptions", authors, options.AUTHORS_TYPES.items())
    for name, schema in schemas.items():
        if not schema.prefix and peer_options(schema):
            about = f"The same, and the names that other packages have for options of {name}."
            text += options_type_text(f"{name}Options", "SharedOptions", about, peer_options(schema).items())
    for name, schema in schemas.items():
        text += host_class_text(name, schema, shared, options.HOSTS) if schema.prefix else rule_class_text(name, schema, shared, usual)
    classes = wrapped(", ".join(f'"{name}": {name}' for name in schemas), "    ")
    names = wrapped(", ".join(f'"{name}"' for name in schemas), "    ")
    return f"{text}\n\nCLASSES: dict[str, type[Optimizer]] = {{\n{classes}\n}}\n__all__ = [\n{names}\n]\n"


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
