"""Plants wrong and right includes and imports in a scratch tree and expects tools/check_layers.py to distinguish them."""

import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
check_layers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_layers)

WRONG = [
    ("sing/base/error.hpp", '#include "sing/rule/sgd.hpp"'),
    ("sing/base/error.hpp", '#include "sing/optim/optimizer.hpp"'),
    ("sing/rule/adamw.hpp", '#include "sing/optim/optimizer.hpp"'),
    ("sing/rule/adamw.hpp", '#include "sing/backend/backend.hpp"'),
    ("sing/backend/cpu/apply.cpp", '#include "sing/optim/optimizer.hpp"'),
    ("sing/backend/factory.cpp", "  #  include <sing/optim/optimizer.hpp>"),
    ("sing/optim/step.cpp", '#include "sing/backend/cpu/apply.hpp"'),
    ("sing/optim/step.cpp", '#include "sing/c_api/sing.h"'),
    ("sing/c_api/sing.cpp", '#include "sing/backend/cpu/apply.hpp"'),
    ("sing/sing.hpp", '#include "sing/backend/cpu/apply.hpp"'),
    ("sing/backend/cpu/apply.cpp", "#include <cuda_runtime.h>"),
    ("sing/rule/adamw.hpp", "#include <cuda_bf16.h>"),
    ("sing/optim/step.cpp", "#include <cub/cub.cuh>"),
    ("sing/optim/step.cpp", "#include <torch/torch.h>"),
    ("tests/optim/step_test.cpp", "#include <ATen/ATen.h>"),
    ("adapters/torch/bridge.cpp", '#include "lab/run/run_record.hpp"'),
    ("lab/command/stop_signal.cpp", '#include "lab/run/run_record.hpp"'),
    ("lab/random/philox.hpp", '#include "lab/picture/png.hpp"'),
    ("lab/ranks/ranks.cpp", "#include <nccl.h>"),
    ("lab/ranks/ranks.cpp", '#include "lab/run/run_record.hpp"'),
    ("adapters/mpi/collective.cpp", "#include <torch/torch.h>"),
    ("lab/run/run_writer.cpp", '#include "lab/loop/trainer.hpp"'),
    ("lab/loop/trainer.cpp", '#include "lab/main/program.hpp"'),
    ("lab/report/report_page.cpp", '#include "lab/compare/grid.hpp"'),
    ("lab/data/parallel_chunks.hpp", '#include "sing/backend/cpu/apply.hpp"'),
    ("lab/main/program.cpp", '#include "sing/backend/backend.hpp"'),
    ("lab/new_folder/file.cpp", '#include "lab/run/run_record.hpp"'),
    ("lab/run/run_writer.cpp", "#include <cuda_runtime.h>"),
    ("lab/run/run_writer.cpp", "namespace sing::lab::loop {"),
    ("lab/run/run_writer.cpp", "namespace sing::lab {"),
    ("sing/rule/adamw.hpp", '#include "sgd.hpp"'),
    ("sing/rule/adamw.hpp", '#include "sing/rule/absent.hpp"'),
    ("sing/rule/adamw.hpp", '#include "sing/rule/../optim/optimizer.hpp"'),
]
RIGHT = [
    ("sing/base/error.hpp", "#include <vector>"),
    ("sing/rule/adamw.hpp", '#include "sing/base/dtype.hpp"'),
    ("sing/rule/adamw.hpp", '#include "sing/rule/sgd.hpp"'),
    ("sing/backend/cpu/apply.cpp", '#include "sing/backend/cpu/apply.hpp"'),
    ("sing/backend/cuda/apply.cu", "#include <cuda_runtime.h>"),
    ("sing/optim/step.cpp", '#include "sing/backend/backend.hpp"'),
    ("sing/optim/step.cpp", "#include <nlohmann/json.hpp>"),
    ("sing/c_api/sing.cpp", '#include "sing/optim/optimizer.hpp"'),
    ("sing/optim/step.cpp", '// #include "sing/backend/cpu/apply.hpp"'),
    ("adapters/torch/bridge.cpp", "#include <torch/torch.h>"),
    ("lab/run/run_writer.cpp", '#include "lab/run/run_record.hpp"'),
    ("lab/loop/trainer.cpp", '#include "lab/run/run_record.hpp"'),
    ("lab/loop/trainer.cpp", '#include "sing/optim/optimizer.hpp"'),
    ("lab/main/program.cpp", '#include "lab/loop/trainer.hpp"'),
    ("lab/fused/norm.cu", "#include <cuda_runtime.h>"),
    ("lab/ranks/nccl_link.cpp", "#include <nccl.h>"),
    ("adapters/nccl/sum_shards.hpp", "#include <nccl.h>"),
    ("lab/run/run_writer.cpp", "namespace sing::lab::run {"),
    ("lab/run/run_writer.cpp", "namespace fs = std::filesystem;"),
    ("lab/run/run_writer.cpp", "namespace {"),
    ("tests/lab/run/run_test.cpp", "namespace sing::lab {"),
    ("bench/torch_step.cpp", "#include <ATen/ATen.h>"),
    ("tests/optim/step_test.cpp", '#include "sing/backend/cpu/apply.hpp"'),
]
EXISTING = [
    "sing/base/dtype.hpp",
    "sing/rule/sgd.hpp",
    "sing/optim/optimizer.hpp",
    "sing/backend/backend.hpp",
    "sing/backend/cpu/apply.hpp",
    "sing/c_api/sing.h",
    "lab/compare/grid.hpp",
    "lab/loop/trainer.hpp",
    "lab/main/program.hpp",
    "lab/picture/png.hpp",
    "lab/run/run_record.hpp",
]


class CheckLayers(unittest.TestCase):
    def faults_of(self, source, line):
        files, messages = self.check({source: f"// A scratch file.\n{line}\n"})
        self.assertEqual(files, len({*EXISTING, source}))
        return messages

    def check(self, texts):
        """Checks a tree of these files and those of EXISTING."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**dict.fromkeys(EXISTING, ""), **texts}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_layers.check(root)

    def test_a_wrong_include_is_found_with_its_place(self):
        for source, line in WRONG:
            with self.subTest(source=source, line=line):
                messages = self.faults_of(source, line)
                self.assertEqual(len(messages), 1)
                self.assertTrue(messages[0].startswith(f"{source}:2: "), messages[0])

    def test_a_right_include_passes(self):
        for source, line in RIGHT:
            with self.subTest(source=source, line=line):
                self.assertEqual(self.faults_of(source, line), [])

    def test_folders_that_include_each_other_are_found(self):
        # Each of the two includes is permitted: the table of layers does not cover the folders of a backend.
        ring = {"sing/backend/cpu/a.hpp": '#include "sing/backend/reference/b.hpp"\n', "sing/backend/reference/b.hpp": '#include "sing/backend/cpu/a.hpp"\n'}
        self.assertEqual(
            self.check(ring)[1],
            ["folders include each other: sing/backend/cpu -> sing/backend/reference -> sing/backend/cpu"],
        )
        del ring["sing/backend/reference/b.hpp"]
        self.assertEqual(self.check({**ring, "sing/backend/reference/b.hpp": ""})[1], [])

    def test_a_folder_and_a_folder_inside_it_are_one(self):
        texts = {"sing/backend/cuda/a.hpp": '#include "sing/backend/cuda/plan/b.hpp"\n', "sing/backend/cuda/plan/b.hpp": '#include "sing/backend/cuda/a.hpp"\n'}
        self.assertEqual(self.check(texts)[1], [])

    def test_modules_that_import_each_other_are_found(self):
        lines = ("import sing.c", "from sing import c", "from sing.c import name", "from . import c", "from .c import name")
        for line in (*lines, "def later():\n    from sing.c import name"):
            with self.subTest(line=line):
                texts = {"python/sing/a.py": "from sing.b import name\n", "python/sing/b.py": f"{line}\n", "python/sing/c.py": "from sing import a\n"}
                self.assertEqual(self.check(texts)[1], ["modules import each other: sing.a -> sing.b -> sing.c -> sing.a"])

    def test_imports_for_type_checkers_do_not_count(self):
        later = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sing.a import name\n"
        self.assertEqual(self.check({"python/sing/a.py": "from sing.b import name\n", "python/sing/b.py": later})[1], [])

    def test_a_module_imports_neither_other_packages_nor_other_folders_of_the_project(self):
        for line, name in (("import transformers", "transformers"), ("from lab.report import page", "lab.report"), ("import tools.fuzz", "tools.fuzz")):
            with self.subTest(line=line):
                messages = self.check({"python/sing/a.py": f"import json\nimport torch.optim\n{line}\n"})[1]
                self.assertTrue(messages[0].startswith(f"python/sing/a.py:3: imports {name}: "), messages)

    def test_every_folder_of_the_lab_has_a_floor(self):
        folders = {path.name for path in (ROOT / "lab").iterdir() if path.is_dir()}
        self.assertEqual(folders, {folder for floor in check_layers.LAB_FLOORS for folder in floor})


if __name__ == "__main__":
    unittest.main()
