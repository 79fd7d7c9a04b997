"""Checks which changes tools/mutate.py makes and how it evaluates them."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import mutate  # noqa: E402


def changed(line):
    return {mutant.after for mutant in mutate.mutants_of_line("a.cpp", 1, line)}


class Mutants(unittest.TestCase):
    def test_operators_constants_and_conditions_change(self):
        self.assertEqual(
            changed("  if (a < 0 && b) {"), {"  if (a <= 0 && b) {", "  if (a < 0 || b) {", "  if (a < 1 && b) {", "  if (!(a < 0 && b)) {"}
        )
        self.assertEqual(changed("  return std::min(a, b) + 1;"), {"  return std::max(a, b) + 1;", "  return std::min(a, b) - 1;", "  return std::min(a, b) + 0;"})

    def test_a_statement_is_removed(self):
        self.assertIn("  ;  // removed", changed("  counter_.advance(group);"))
        self.assertIn("  ;  // removed", changed("  steps_ = steps;"))
        self.assertEqual(changed("  const auto x = make(y);"), set())

    def test_comments_strings_and_declarations_do_not_change(self):
        for line in ("// a < b", '  name = call("a < b");  // 0 < 1', "#include <a>", "using a = b<0>;", "  static_assert(a < b);", ""):
            self.assertFalse(changed(line) - {"  ;  // removed"}, line)

    def test_numbers_inside_words_and_fractions_do_not_change(self):
        self.assertEqual(changed("  return x10 + f(0.5, 1e0, v1);"), {"  return x10 - f(0.5, 1e0, v1);"})

    def test_one_mutant_per_line_is_chosen(self):
        mutants = list(mutate.mutants_of_line("a.cpp", 1, "  a = b + c * d;")) + list(mutate.mutants_of_line("a.cpp", 2, "  e = f - g;"))
        chosen = mutate.choose(mutants, 10, seed=3)
        self.assertEqual(sorted(mutant.line for mutant in chosen), [1, 2])
        self.assertEqual(chosen, mutate.choose(mutants, 10, seed=3))


class Outcomes(unittest.TestCase):
    def outcome(self, program, tests):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "a.py").write_text(program, encoding="utf-8")
            line = program.splitlines()[0]
            mutant = mutate.Mutant("a.py", 1, line, line.replace("+", "-"))
            outcome = mutate.outcome_of(
                mutant, root, [sys.executable, "-m", "py_compile", "a.py"], [(name, [sys.executable, "-c", test]) for name, test in tests]
            )
            self.assertEqual((root / "a.py").read_text(encoding="utf-8"), program)  # restored
            return outcome

    def test_a_test_that_looks_kills(self):
        self.assertEqual(self.outcome("x = 2 + 3\n", [("blind", "import a"), ("sees", "import a; assert a.x == 5")]), "killed by sees")

    def test_a_test_that_does_not_look_lets_it_survive(self):
        self.assertEqual(self.outcome("x = 2 + 3\n", [("blind", "import a")]), "survived")

    def test_what_does_not_compile_is_not_counted(self):
        self.assertEqual(self.outcome("x = 2 +(3)\n", [("blind", "import a")]), "survived")
        self.assertEqual(self.outcome("+x = (\n", [("blind", "import a")]), "does not compile")

    def test_a_stale_line_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.py").write_text("y = 1\n", encoding="utf-8")
            with self.assertRaisesRegex(ValueError, "wanted 'x = 1', got 'y = 1"):
                mutate.outcome_of(mutate.Mutant("a.py", 1, "x = 1", "x = 2"), pathlib.Path(folder), ["true"], [])


if __name__ == "__main__":
    unittest.main()
