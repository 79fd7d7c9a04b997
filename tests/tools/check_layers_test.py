"""Plants wrong and right includes in a scratch tree and expects tools/check_layers.py to tell them apart."""

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
    ("adapters/torch/bridge.cpp", '#include "lab/cli/main.hpp"'),
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
    "lab/cli/main.hpp",
]


class CheckLayers(unittest.TestCase):
    def faults_of(self, source, line):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in [*EXISTING, source]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            (root / source).write_text(f"// A scratch file.\n{line}\n")
            files, messages = check_layers.check(root)
            self.assertEqual(files, len({*EXISTING, source}))
            return messages

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


if __name__ == "__main__":
    unittest.main()
