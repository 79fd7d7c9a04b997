"""Runs step_bench, the benchmark of the CPU step, and writes bench/results/<machine>.json and the tables of docs/benchmarks.md.

./dev bench [--models A,B] [--only A,B] [--rounds N] [--threads N] [--machine NAME] [--print-only] [--despite-load]

A result is written only if other programs used little of the machine during the run: they slow down threads that share
their cores, and by different amounts for different contestants.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import measurement
from measurement import make_benchmark_tables


def measure(options):
    program = shutil.which("step_bench")
    if program is None:
        sys.exit("[cpu_step_bench] wanted the program step_bench on PATH, got none; run ./dev bench")
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "result.json"
        command = [program, f"--output={output}", f"--rounds={options.rounds}"]
        command += [f"--models={options.models}"] if options.models else []
        command += [f"--threads={options.threads}"] if options.threads else []
        command += [f"--only={options.only}"] if options.only else []
        status, other_load = measurement.with_load(lambda: subprocess.run(command).returncode)
        if status != 0:
            sys.exit("[cpu_step_bench] wanted a result of step_bench, got the failure above; no result was written")
        return {"other_load": other_load, **json.loads(output.read_text(encoding="utf-8"))}


def main():
    parser = measurement.argument_parser(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--models", help="names in bench/model_shapes.json, separated by commas")
    parser.add_argument("--only", help="contestants besides torch's, separated by commas")
    parser.add_argument("--threads", type=int, help="threads of every contestant (all cores)")
    options = parser.parse_args()
    found = measurement.hardware()
    machine = options.machine or measurement.machine_name(found)
    head = measurement.circumstances(make_benchmark_tables.CPU_STEP, machine)
    measurement.write_result(options, machine, {**head, "hardware": found, **measure(options)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
