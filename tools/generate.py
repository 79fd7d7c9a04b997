"""Writes everything that is generated: the option tables, the table of optimizers, Python's classes and version.

python tools/generate.py PROGRAMS, where PROGRAMS is the folder with the programs option_fields and options_table (./dev
generate).
"""

import argparse
import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parent
DOCS = TOOLS.parent / "docs"


def commands(programs):
    fields = programs / "option_fields"
    return (
        [programs / "options_table", DOCS / "options.md"],
        [sys.executable, TOOLS / "make_python_fields.py", fields],
        [sys.executable, TOOLS / "make_optimizer_table.py", fields],
        [sys.executable, TOOLS / "make_python_version.py"],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=pathlib.Path)
    for command in commands(parser.parse_args().programs.resolve()):
        status = subprocess.run(command).returncode
        if status != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
