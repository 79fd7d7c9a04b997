"""Checks which changes tools/mutate.py makes, how it compiles them into one program, and how it evaluates them."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import cpp_statements  # noqa: E402
import mutate  # noqa: E402


def mutants_of(body):
    return mutate.mutants_of_file("a.cpp", f"// A file.\nvoid f() {{\n{body}\n}}\n")


def changed(body):
    return {(mutant.before, mutant.after) for mutant in mutants_of(body)}


class Statements(unittest.TestCase):
    def texts(self, code):
        return [code[each.start : each.end] for each in cpp_statements.statements(cpp_statements.code_only(code))]

    def test_a_statement_ends_at_its_semicolon_and_a_head_before_its_block(self):
        self.assertEqual(self.texts("int f() {\n  for (int i = 0; i < 3; ++i) {\n    g(i);\n  }\n  return 1;\n}\n"), ["int f()", "for (int i = 0; i < 3; ++i)", "g(i);", "return 1;"])

    def test_braces_of_an_expression_belong_to_its_statement(self):
        self.assertEqual(self.texts("void f() { a = {1, 2}; }"), ["void f()", "a = {1, 2};"])

    def test_comments_and_literals_hold_no_statements(self):
        self.assertEqual(self.texts('void f() { g("a; b");  // c;\n  h(\';\'); }'), ["void f()", 'g("a; b");', "h(';');"])

    def test_a_label_is_not_part_of_its_statement(self):
        self.assertEqual(self.texts("void f() { switch (a) { case B::c: g(); } }")[-1], "g();")


class Mutants(unittest.TestCase):
    def test_operators_constants_and_conditions_change(self):
        before = "a < 0 && b"
        self.assertEqual(
            changed("  if (a < 0 && b) {\n  }"), {(before, after) for after in ("a <= 0 && b", "a < 0 || b", "a < 1 && b", "!(a < 0 && b)")}
        )
        before = "return std::min(a, b) + 1;"
        self.assertEqual(
            changed("  return std::min(a, b) + 1;"),
            {(before, after) for after in ("return std::max(a, b) + 1;", "return std::min(a, b) - 1;", "return std::min(a, b) + 0;")},
        )

    def test_the_condition_of_a_loop_changes_but_is_not_negated(self):
        self.assertEqual(changed("  for (int i = 0; i < n; ++i) {\n  }"), {(" i < n", " i <= n")})

    def test_a_statement_is_removed(self):
        self.assertIn(("counter_.advance(group);", ""), changed("  counter_.advance(group);"))
        self.assertIn(("steps_ = steps;", ""), changed("  steps_ = steps;"))
        self.assertEqual(changed("  const auto x = make(y);"), set())

    def test_comments_strings_and_declarations_do_not_change(self):
        for line in ("// a < b", '  name = call("a < b");  // 0 < 1', "using a = b<0>;", "  static_assert(a < b);", ""):
            self.assertFalse({after for _, after in changed(line)} - {""}, line)

    def test_numbers_inside_words_and_fractions_do_not_change(self):
        self.assertEqual({after for _, after in changed("  return x10 + f(0.5, 1e0, v1);")}, {"return x10 - f(0.5, 1e0, v1);"})

    def test_one_mutant_per_statement_is_chosen(self):
        mutants = mutants_of("  a = b + c * d;\n  e = f - g;")
        chosen = mutate.choose(mutants, 10, seed=3)
        self.assertEqual(sorted(mutant.line for mutant in chosen), [3, 4])
        self.assertEqual(chosen, mutate.choose(mutants, 10, seed=3))


PROGRAM = """// Returns the larger of 0 and the sum of its arguments.
#include <cstdlib>
int sum(int a, int b) {
  int total = 0;
  total += a;
  total += b;
  if (total < 0) {
    total = 5;
  }
  return total + 1;
}
int main(int, char** words) {
  return sum(std::atoi(words[1]), std::atoi(words[2]));
}
"""


class CompiledMutants(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        (self.root / "mutants.hpp").write_text(mutate.HEADER, encoding="utf-8")

    def compiled(self, name, text):
        (self.root / f"{name}.cpp").write_text(text, encoding="utf-8")
        subprocess.run(["c++", "-o", name, f"{name}.cpp"], cwd=self.root, check=True)
        return self.root / name

    def statuses(self, program, number=-1):
        return [
            subprocess.run([program, *words], env={"SING_MUTANT": str(number)}, check=False).returncode
            for words in (["2", "3"], ["2", "-7"], ["0", "0"])
        ]

    def test_each_number_activates_its_mutant_and_no_number_none(self):
        chosen = mutate.choose(mutate.mutants_of_file("a.cpp", PROGRAM), 100, seed=1)
        self.assertGreaterEqual(len(chosen), 6)
        together = self.compiled("together", mutate.instrumented(PROGRAM, list(enumerate(chosen)), "mutants.hpp"))
        self.assertEqual(self.statuses(together), [6, 6, 1])
        for number, mutant in enumerate(chosen):
            alone = self.compiled(f"alone{number}", PROGRAM[: mutant.start] + mutant.after + PROGRAM[mutant.end :])
            self.assertEqual(self.statuses(together, number), self.statuses(alone), mutant.key())

    def test_lines_keep_their_numbers(self):
        chosen = mutate.choose(mutate.mutants_of_file("a.cpp", PROGRAM), 100, seed=1)
        text = mutate.instrumented(PROGRAM, list(enumerate(chosen)), "mutants.hpp")
        self.assertEqual(text.count("\n"), PROGRAM.count("\n"))

    def test_a_stale_mutant_is_refused(self):
        with self.assertRaisesRegex(ValueError, "wanted 'b', got 'x'"):
            mutate.instrumented("// c\nx\n", [(0, mutate.Mutant("a.cpp", 2, 5, 6, "b", "c"))], "mutants.hpp")

    def test_mutants_that_do_not_compile_are_left_out_and_the_sources_restored(self):
        text = "// A file.\nvoid f() {\n  a();\n  b();\n}\n"
        (self.root / "a.cpp").write_text(text, encoding="utf-8")
        (self.root / "build.py").write_text(
            "import sys\n"
            "lines = open('a.cpp').read().splitlines()\n"
            "wrong = [n for n, line in enumerate(lines, 1) if 'is(1)' in line]\n"
            "print(*(f'tree/a.cpp:{n}:3: error: no' for n in wrong))\n"
            "sys.exit(bool(wrong))\n",
            encoding="utf-8",
        )
        numbered = list(enumerate(sorted(mutate.mutants_of_file("a.cpp", text), key=lambda each: each.line)))
        left = mutate.build_mutants(self.root, numbered, "mutants.hpp", [sys.executable, "build.py"])
        self.assertEqual([number for number, _ in left], [0])
        self.assertEqual((self.root / "a.cpp").read_text(encoding="utf-8"), text)


class Outcomes(unittest.TestCase):
    def outcome(self, number, *tests):
        return mutate.outcome_of(number, [(name, [sys.executable, "-c", code], limit) for name, code, limit in tests], ".")

    def test_a_test_that_fails_kills(self):
        blind = ("blind", "", 60)
        sees = ("sees", "import os; assert os.environ['SING_MUTANT'] != '7'", 60)
        self.assertEqual(self.outcome(7, blind, sees), "killed by sees")
        self.assertEqual(self.outcome(8, blind, sees), "survived")

    def test_a_test_that_does_not_end_kills(self):
        self.assertEqual(self.outcome(1, ("waits", "import time; time.sleep(600)", 0.1)), "killed by waits, which did not end")

    def test_a_later_outcome_takes_the_place_of_an_earlier_one(self):
        def mutant(after):
            return mutate.Mutant("a.cpp", 1, 0, 1, "x", after)

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results.jsonl"
            results = mutate.Results(path)
            for area, after, outcome in [
                ("rule", "1", mutate.SURVIVED),
                ("rule", "2", mutate.NOT_COMPILED),
                ("cpu", "3", mutate.SURVIVED),
                ("cpu", "4", "killed by t, which did not end"),
                ("rule", "1", "killed by t"),
            ]:
                results.add(area, mutant(after), outcome)
            read = mutate.Results(path)
        self.assertEqual(read.outcomes, results.outcomes)
        self.assertEqual(
            mutate.table_of(list(zip(read.areas.values(), read.outcomes.values()))).splitlines()[2:],
            ["| rule | 2 | 1 | 1 | 0 | 0 |", "| cpu | 2 | 0 | 1 | 1 | 1 |", "| all | 4 | 1 | 2 | 1 | 1 |"],
        )


if __name__ == "__main__":
    unittest.main()
