"""Compares BLEU with the package sacrebleu on generated and hand-made lines: tokens and scores.

python bleu_reference_test.py TEXT_EXCHANGE    exits with 77 if sacrebleu is not installed
"""

import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import sacrebleu
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Both sides take four logarithms, add them and take an exponential, in another order of operations: a few units in the last
# place of numbers up to 100.
RELATIVE = 1e-12

HAND_MADE = [
    ("Hello, world!", "Hello world."),
    ("It costs 1,000.50 dollars - or $5.", "It costs 1,000.5 dollars -- or 5 $."),
    ("&quot;A &amp;amp; B&quot; &lt;tag&gt;", '"A & B" <tag>'),
    ("1990-er Jahre, 3-4 Tage", "die 1990er-Jahre , 3 - 4 Tage"),
    ("a<skipped>b ...,,, .5 5. .,.", "ab ... , .5 5 . . , ."),
    ("non\u00a0breaking\u2003spaces\u3000and\u2028lines ", "non breaking spaces and lines"),
    ("  leading and trailing \t ", "leading  and trailing"),
    ("Grüße… „Zitat“ – Straße", "Grüße ... \"Zitat\" - Strasse"),
    ("", "an empty hypothesis"),
    ("an empty reference", ""),
    ("x", "x"),
    ("[a]{b}(c)`d`~e^f_g\\h|i@j#k%l*m+n=o;p:q?r/s'", "[a] { b } ( c ) ` d ` ~ e ^ f _ g \\ h | i @ j # k % l * m + n = o ; p : q ? r / s '"),
    ("Case Counts Here Always", "case counts here always"),
]

CHARACTERS = list("abcdefgABC0123456789.,-'!?&;:/()[]{}<>\"") + list("äöüß€…„“–") + [" "] * 20 + ["\u00a0", "\u2009", "&amp;", "&lt;", "<skipped>"]


def random_line(generator):
    return "".join(generator.choice(CHARACTERS) for _ in range(generator.randrange(60)))


def noisy_copy(generator, line):
    words = line.split(" ")
    for _ in range(generator.randrange(4)):
        place = generator.randrange(len(words))
        if generator.random() < 0.5:
            words[place] = generator.choice(words)
        else:
            words.insert(place, generator.choice(["the", "und", ",", "7"]))
    return " ".join(words)


def check(exchange, folder, name, pairs):
    hypotheses, references = ([pair[side] for pair in pairs] for side in (0, 1))
    paths = []
    for kind, lines in (("hypotheses", hypotheses), ("references", references)):
        paths.append(folder / f"{name}.{kind}")
        paths[-1].write_bytes("".join(line + "\n" for line in lines).encode())
    output = subprocess.run([exchange, "bleu", *paths], check=True, stdout=subprocess.PIPE).stdout.decode()
    first, *tokenized = output.split("\n")[:-1]
    official, plain = (float(number) for number in first.split())
    tokenizer = Tokenizer13a()
    for line, got in zip(hypotheses + references, tokenized, strict=True):
        assert got == tokenizer(line.rstrip()), (name, line, got, tokenizer(line.rstrip()))
    wanted = sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
    assert abs(official - wanted) <= RELATIVE * max(wanted, 1), (name, official, wanted)
    # fairseq's BLEU is that of tokens between white space without smoothing.
    unsmoothed = sacrebleu.corpus_bleu(hypotheses, [references], force=True, tokenize="none", smooth_method="none").score
    assert abs(plain - unsmoothed) <= RELATIVE * max(unsmoothed, 1), (name, plain, unsmoothed)
    return official, plain


def main(exchange):
    generator = random.Random(20261119)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        print("hand-made:", check(exchange, folder, "hand", HAND_MADE))
        for number, pair in enumerate(HAND_MADE):
            check(exchange, folder, f"hand{number}", [pair])
        above_zero = 0
        for corpus in range(20):
            references = [random_line(generator) for _ in range(generator.randrange(1, 200))]
            pairs = [(noisy_copy(generator, line), line) for line in references]
            official, plain = check(exchange, folder, f"generated{corpus}", pairs)
            above_zero += official > 0 and plain > 0
        assert above_zero >= 15, above_zero
        print(f"generated: 20 corpora, {above_zero} with both scores above 0")


if __name__ == "__main__":
    main(sys.argv[1])
