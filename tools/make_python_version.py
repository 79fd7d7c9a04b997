"""Writes the version of the Python package, python/sing/_version.py, from the version of the C header.

python tools/make_python_version.py [--check] (./dev generate runs this). With --check it writes nothing and exits with 1 if
the file would change.
"""

import re
import sys

import generated_text
from generated_text import ROOT

HEADER = ROOT / "sing" / "c_api" / "sing.h"
MODULE = ROOT / "python" / "sing" / "_version.py"


def version():
    """Returns the version of the header as text, such as 0.1.0."""
    return ".".join(re.findall(r"^#define SING_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", HEADER.read_text(encoding="utf-8"), re.MULTILINE))


def main():
    arguments = generated_text.parser(__doc__.splitlines()[0]).parse_args()
    text = f'"""The version. tools/make_python_version.py writes this file."""\n\n__version__ = "{version()}"\n'
    return generated_text.finish(MODULE, text, arguments.check, "./dev generate")


if __name__ == "__main__":
    sys.exit(main())
