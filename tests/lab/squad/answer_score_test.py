"""Compares the program's scores of answers with SQuAD v1.1's metric, written here from its definition.

python answer_score_test.py ANSWER_SCORE_EXCHANGE

The metric: lower case, without ASCII punctuation, without the articles a, an and the, white space folded. The exact match is
equality; F1 is the harmonic mean of precision and recall over the multiset of words; the best over all right answers counts.
"""

import collections
import json
import pathlib
import random
import re
import string
import subprocess
import sys
import tempfile
import unicodedata

# Both sides do the same few operations in double.
TOLERANCE = 1e-15
# Characters that libraries of all versions of Unicode know alike, without those whose lower case depends on their neighbors or has
# two characters.
STABLE = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) == unicodedata.ucd_3_2_0.category(chr(code))
    and unicodedata.category(chr(code)) not in ("Cn", "Cs")
    and chr(code) not in "\u0130\u03a3"
]
HAND_MADE = [
    # answer, right answers, normalized, exact match, F1
    ("The Denver Broncos!", ["Denver Broncos"], "denver broncos", 1.0, 1.0),
    ("a an the", ["The"], "", 1.0, 0.0),
    ("in the year 1066", ["1066", "year 1066 AD"], "in year 1066", 0.0, 2 / 3),
    ("red red blue", ["red blue blue"], "red red blue", 0.0, 2 / 3),
    ("", ["nothing"], "", 0.0, 0.0),
    ("U.S.A.", ["USA"], "usa", 1.0, 1.0),
    ("the-end", ["theend"], "theend", 1.0, 1.0),
    ("\u00bfa\u00bf the\u2013end", ["\u00bf \u00bf \u2013end"], "\u00bf \u00bf \u2013end", 1.0, 1.0),
    ("tea\u00a0a\u2003\u001cb", ["tea b"], "tea b", 1.0, 1.0),
]


def normalized(text):
    kept = "".join(each for each in text.lower() if each not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def f1(answer, right):
    given, wanted = normalized(answer).split(), normalized(right).split()
    same = sum((collections.Counter(given) & collections.Counter(wanted)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(given), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


def reference(answer, rights):
    matches = max(float(normalized(answer) == normalized(right)) for right in rights)
    return [normalized(answer), matches, max(f1(answer, right) for right in rights)]


def random_cases(generator):
    words = "the a an The A AN. Norman Normans normans, (10th) century's 24\u201310 caf\u00e9 CAF\u00c9 \u00c5ngstr\u00f6m x_y it's".split()
    spaces = [" ", "  ", "\u00a0", "\u2009", "\t", "\n", "\u001d", "\u2028", "-", ""]

    def text():
        parts = [generator.choice(words) + generator.choice(spaces) for _ in range(generator.randrange(9))]
        if generator.random() < 0.5:
            parts.insert(generator.randrange(len(parts) + 1), "".join(generator.sample(STABLE, 3)))
        return "".join(parts)

    for _ in range(20000):
        rights = [text() for _ in range(generator.randrange(1, 4))]
        yield [generator.choice([text(), generator.choice(rights).upper().replace("\u00df", "")]), rights]


def main(exchange):
    cases = [[answer, rights] for answer, rights, *_ in HAND_MADE]
    # Every character beside the articles: whether it bounds words, separates them, or is dropped.
    cases += [[f"x{each}a{each} the{each}y Q{each}", ["x a y q"]] for each in STABLE]
    cases += [case for case in random_cases(random.Random(20261119)) if not {"\u0130", "\u03a3"} & set(case[0] + "".join(case[1]))]
    with tempfile.TemporaryDirectory() as folder:
        given, result = pathlib.Path(folder) / "cases.json", pathlib.Path(folder) / "result.json"
        given.write_text(json.dumps(cases), encoding="utf-8")
        subprocess.run([exchange, given, result], check=True)
        found = json.loads(result.read_text(encoding="utf-8"))
    for case, scores in zip(HAND_MADE, found, strict=False):
        check(case[:2], scores, case[2:])
    for case, scores in zip(cases, found, strict=True):
        check(case, scores, reference(*case))
    partial = sum(0 < scores[2] < 1 for scores in found)
    assert partial > 1000, "too few cases have a part of the words"
    print(f"{len(cases)} answers, {partial} of them right in part")


def check(case, scores, wanted):
    same = scores[0] == wanted[0] and all(abs(one - other) <= TOLERANCE for one, other in zip(scores[1:], wanted[1:], strict=True))
    assert same, f"{case!a}: wanted {wanted!a}, got {scores!a}"


if __name__ == "__main__":
    main(sys.argv[1])
