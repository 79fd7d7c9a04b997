"""Compares GPT-2's tokenizer with that of Hugging Face's package transformers.

python gpt2_test.py EXCHANGE [FOLDER] exits with 0 if the tokens of all texts are equal, and with 77 if a package is missing.
FOLDER holds GPT-2's encoder.json and vocab.bpe; without it, a small vocabulary is learned from this file and random words.
"""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

os.environ["HF_HUB_OFFLINE"] = "1"
try:
    import tokenizers
    import transformers
except ImportError as problem:
    print(f"skipped: {problem}")
    sys.exit(77)

EXCHANGE = sys.argv[1]
RANDOM = random.Random(5)
# Characters that Unicode 3.2 has too: of later ones, the tables of the two programs may differ.
ASSIGNED = [chr(code) for code in range(1, 0x30000) if unicodedata.ucd_3_2_0.category(chr(code)) not in ("Cn", "Cs", "Co")]
SPACES = [" ", "  ", "   ", "\n", "\n\n", "\t", " \t", "\r\n", "\u00a0", "\u2003", "\u3000", "\x85", "\x1c", "\u200b", "\u180e"]
PIECES = ["the", "The", "don't", "we'll", "I'm", "'s", "'S", "''", "1234", "3.14", "½", "²", "٣", "Ⅷ", "naïve", "e\u0301", "привет",
          "日本語", "🙂", "👩‍🚀", "(x)", "...", "—", "«", "a_b", "http://x.y/z?q=1", "'re", "'d've", "$", "=", "\u0301", "ﬁ"]


def texts():
    yield ""
    yield from (space for space in SPACES)
    yield pathlib.Path(__file__).read_text(encoding="utf-8")
    for _ in range(2000):
        yield "".join(RANDOM.choice(RANDOM.choice((SPACES, PIECES, PIECES))) for _ in range(RANDOM.randrange(1, 12)))
    for _ in range(2000):
        yield "".join(RANDOM.choice(ASSIGNED) for _ in range(RANDOM.randrange(1, 12)))
    for _ in range(500):
        letters = "ab" if RANDOM.random() < 0.5 else "etaoin shrdlu"
        yield "".join(RANDOM.choice(letters) for _ in range(RANDOM.randrange(1, 200)))


def learn(folder):
    """Writes vocab.json and merges.txt."""
    words = " ".join("".join(RANDOM.choice("etaoinshrdlu") for _ in range(RANDOM.randrange(2, 9))) for _ in range(3000))
    source = folder / "source.txt"
    source.write_text(pathlib.Path(__file__).read_text(encoding="utf-8") * 3 + words + "日本語 привет naïve ab abab" * 50, encoding="utf-8")
    learner = tokenizers.ByteLevelBPETokenizer()
    learner.train([str(source)], vocab_size=1500, min_frequency=2, show_progress=False)
    learner.save_model(str(folder))


def theirs(folder):
    official = (folder / "encoder.json").exists()
    return transformers.GPT2Tokenizer(
        vocab=str(folder / ("encoder.json" if official else "vocab.json")),
        merges=str(folder / ("vocab.bpe" if official else "merges.txt")),
    )


def main():
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else made)
        if len(sys.argv) == 2:
            learn(folder)
        given = list(texts())
        result = subprocess.run(
            [EXCHANGE, str(folder)], input="".join(text + "\0" for text in given).encode(), capture_output=True, check=False
        )
        if result.returncode != 0:
            sys.exit(f"{EXCHANGE} exits with {result.returncode}: {result.stderr.decode()}")
        ours = [[int(token) for token in line.split()] for line in result.stdout.decode().splitlines()]
        if len(ours) != len(given):
            sys.exit(f"wanted {len(given)} lines of tokens, got {len(ours)}")
        tokenizer = theirs(folder)
        wrong = 0
        for text, tokens in zip(given, ours, strict=True):
            wanted = tokenizer.encode(text)
            if tokens != wanted:
                wrong += 1
                if wrong <= 5:
                    print(f"{text!r}: wanted {wanted}, got {tokens}")
        if wrong:
            sys.exit(f"{wrong} of {len(given)} texts have other tokens")
        print(f"the tokens of {len(given)} texts are equal")


main()
