"""Plants files of one namespace in a scratch tree and expects tools/check_unity.py to report the names that would meet."""

import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check_unity", ROOT / "tools" / "check_unity.py")
check_unity = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_unity)

WRONG = {
    "a constant": ("constexpr int kGap = 4;", "constexpr double kGap = 5;"),
    "an array": ("constexpr double kParts[] = {1, 2};", "constexpr Part kParts[] = {};"),
    "a type": ("struct Part {\n  int size;\n};", "enum class Part { kOne };"),
    "a function": ("int sum(int a, int b) {\n  return a + b;\n}", "double sum(int first,\n           int second = 2) {\n  return 0;\n}"),
}
RIGHT = {
    "aliases of one type": ("using Json = nlohmann::json;", "using Json = nlohmann::json;"),
    "other names": ("constexpr int kGap = 4;", "constexpr int kMargin = 4;"),
    "overloads": ("void run(const Flags& flags) {\n}", "void run(const Words& words) {\n}"),
    "functions of classes": ("struct A {\n  int size() const { return 1; }\n};", "struct B {\n  int size() const { return 2; }\n};"),
    "names in a function": ("int one() {\n  constexpr int kSize = 1;\n  return kSize;\n}", "int two() {\n  constexpr int kSize = 2;\n  return kSize;\n}"),
}


def faults(first, second, namespaces=("sing", "sing"), header=None, folder="sing"):
    unnamed = "namespace {{\n\n{}\n\n}}  // namespace"
    texts = {f"{folder}/io/a.cpp": unnamed.format(first), f"{folder}/optim/b.cpp": unnamed.format(second)}
    if header is not None:
        texts["sing/optim/b.cpp"], texts["sing/base/c.hpp"] = "", header
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        for (name, text), namespace in zip(texts.items(), (*namespaces, namespaces[0])):
            (root / name).parent.mkdir(parents=True)
            (root / name).write_text(f"namespace {namespace} {{\n{text}\n}}\n", encoding="utf-8")
        return list(check_unity.faults(root))


class CheckUnity(unittest.TestCase):
    def test_equal_names_are_reported_with_both_files(self):
        for name, texts in WRONG.items():
            with self.subTest(name):
                found = faults(*texts)
                self.assertEqual(len(found), 1)
                self.assertTrue(found[0].endswith("in sing/io/a.cpp and sing/optim/b.cpp"), found)

    def test_an_alias_with_two_meanings_is_reported(self):
        found = faults("using Json = nlohmann::json;", "using Json = nlohmann::ordered_json;")
        self.assertEqual(found, ["wanted one meaning of 'Json', got nlohmann::json in sing/io/a.cpp and nlohmann::ordered_json in sing/optim/b.cpp"])

    def test_what_may_stand_in_one_file_is_not_reported(self):
        for name, texts in RIGHT.items():
            with self.subTest(name):
                self.assertEqual(faults(*texts), [])

    def test_a_name_that_a_header_has_too_is_reported(self):
        headers = ("enum Column : int {\n  kIndex,  // of the image\n  kGap\n};", "inline constexpr int kGap = 1;", "struct kGap {};")
        for header in headers:
            with self.subTest(header):
                self.assertEqual(len(faults("constexpr int kGap = 4;", "", header=header)), 1)
        self.assertEqual(faults("constexpr int kGap = 4;", "", header="enum class Column {\n  kGap\n};"), [])

    def test_namespaces_have_names_of_their_own(self):
        self.assertEqual(faults(*WRONG["a constant"], namespaces=("sing::io", "sing::optim")), [])

    def test_the_macro_of_libtorch_is_reported(self):
        found = faults("struct AImpl {};\nTORCH_MODULE(A);", "")
        self.assertEqual(found, ["wanted an alias of ::torch::nn::ModuleHolder in sing/io/a.cpp, got TORCH_MODULE"])

    def test_a_name_of_libtorch_begins_at_the_global_namespace(self):
        found = faults("int a = torch::nn::init(1);", "", folder="lab")
        self.assertEqual(found, ["wanted ::torch::nn::init or sing::torch::nn::init in lab/io/a.cpp, got torch::nn::init"])
        named = "int a = ::torch::full(1);\nvoid run(const sing::torch::Optimizer& optimizer);\n// torch::nn\n#include <torch/torch.h>"
        self.assertEqual(faults(named, "", folder="lab"), [])


if __name__ == "__main__":
    unittest.main()
