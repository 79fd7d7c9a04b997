"""Compares the program's WordPiece with transformers' BertTokenizer: tokens and their places in the text.

python wordpiece_test.py WORDPIECE_EXCHANGE [vocab.txt]    exits with 77 if transformers is not installed
"""

import pathlib
import random
import sys
import tempfile
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))

import compare_wordpiece

try:
    from transformers import BertTokenizer
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
# Libraries have tables of different versions of Unicode. These characters have had their category since version 3.2.
STABLE = [
    chr(code)
    for code in range(0x110000)
    if unicodedata.category(chr(code)) == unicodedata.ucd_3_2_0.category(chr(code)) and unicodedata.category(chr(code)) not in ("Cn", "Cs")
]
# Characters that stay and that canonical order moves, such as stems of notes: transformers gives them the place where they went, and
# the program the place where they come from. The random texts leave them out.
MOVED = {
    each
    for each in STABLE
    if any(unicodedata.combining(part) and unicodedata.category(part) != "Mn" for part in unicodedata.normalize("NFD", each))
}
WORDS = "the quick brown fox un affable unaffable playing played naïve cafés Ångström ΑΘΗΝΑ Москва 東京 서울 مدينة हिन्दी עברית ไทย 1990s".split()
SQUAD_LIKE = [
    "The Normans (Norman: Nourmands; French: Normands; Latin: Normanni) were the people who in the 10th and 11th centuries gave their name.",
    "In 1066, Duke William II of Normandy conquered England killing King Harold II at the Battle of Hastings — “1066 and all that”…",
    "Who sings “Bésame Mucho”, and for how much? $1.2\u00a0million (about £\u2009750,000), i.e. 37% of €2.1m!",
    "Ctrl\u0000chars\ufffd and\ttabs\r\nand\u200bzero\u00adwidths \u2028 lines, e\u0301 versus é, İstanbul, ΣΊΣΥΦΟΣ, ﬁne, Ⅷ, ½, H₂O, 中文文本和English混排。",
    "a" * 100 + " " + "a" * 101 + " " + "é" * 100,
    "",
    " \t\n",
]


def make_vocabulary(generator, lower):
    """Special tokens, then pieces of one to four characters of the words above and of random characters, in random order."""
    pieces = set()
    for word in WORDS:
        plain = unicodedata.normalize("NFD", word)
        plain = "".join(each for each in plain if unicodedata.category(each) != "Mn").lower() if lower else word
        for begin in range(len(plain)):
            for length in range(1, 5):
                pieces.add(("##" if begin else "") + plain[begin : begin + length])
    letters = [each for each in STABLE if unicodedata.category(each)[0] in "LNPS"]
    for each in generator.sample(letters, 20000) + [chr(code) for code in range(33, 127)]:
        for part in unicodedata.normalize("NFD", each).lower() if lower else each:
            pieces |= {part, "##" + part}
    pieces = sorted(pieces - set(SPECIALS))
    generator.shuffle(pieces)
    return SPECIALS + pieces


def random_texts(generator):
    kept = [each for each in STABLE if each not in MOVED]
    scripts = [kept[place : place + 200] for place in generator.sample(range(len(kept) - 200), 60)]
    marks = [each for each in kept if unicodedata.combining(each)]
    common = [*" ,.-'\"()\t\n$%", *"abcdefghijklmnopqrstuvwxyzABCXYZ0123456789", *marks[:40]]
    for _ in range(3000):
        pool = common + generator.choice(scripts) + generator.choice(scripts) + generator.sample(kept, 20)
        words = [generator.choice(WORDS) for _ in range(3)]
        yield "".join(generator.choices(pool + words, k=generator.randrange(60)))


def main(exchange, real=None):
    generator = random.Random(20261119)
    # Every character between two letters, and between two letters with a mark.
    texts = [f"x{each}y z{each}\u0301" for each in STABLE] + SQUAD_LIKE + list(random_texts(generator))
    with tempfile.TemporaryDirectory() as folder:
        for lower in (True, False):
            path = pathlib.Path(folder) / "vocab.txt"
            path.write_text("\n".join(make_vocabulary(generator, lower)) + "\n", encoding="utf-8", newline="\n")
            compare(exchange, path, texts, lower)
    if real:
        compare(exchange, real, texts, True)


def compare(exchange, vocabulary, texts, lower):
    given = compare_wordpiece.program_tokens(exchange, vocabulary, texts, lower)
    wanted = compare_wordpiece.reference_tokens(BertTokenizer(vocab=str(vocabulary), do_lower_case=lower), texts)
    wrong = [each for each in zip(texts, given, wanted, strict=True) if each[1] != each[2]]
    for text, one, other in wrong[:12]:
        print(f"{text!r} ({' '.join(f'{ord(each):04X}' for each in text[:6])}): wanted {other[:8]}, got {one[:8]}")
    unknown = sum(number == 1 for tokens in wanted for number, *_ in tokens)
    count = sum(map(len, wanted))
    assert not wrong, f"{len(wrong)} of {len(texts)} texts differ"
    assert count > len(texts) and unknown < count / 2, "the vocabulary fits too few words for a test"
    print(f"{'lower' if lower else 'cased'}: {len(texts)} texts, {count} tokens, {unknown} of them unknown")


if __name__ == "__main__":
    main(*sys.argv[1:])
