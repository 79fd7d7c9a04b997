"""Lists the experiments whose tables and figures are in the documents: who is compared, on what, and how it is tuned.

The records of experiment NAME are in docs/results/NAME.jsonl.
"""

import dataclasses

from results.experiment import LOSS, Contestant, Experiment, Score


def adamw_forms(rate, sing_rate, decay=5e-2, sing_options=(), calibrated_rate=None, clipped=True):
    """Returns AdamW alone and with clipping, plug-and-play SING, SING as published and, with a rate, size-calibrated SING."""
    forms = [Contestant("adamw", "AdamW", "adamw", rate, decay)]
    if clipped:
        forms.append(Contestant("adamw_clip", "AdamW, clipped to norm 1", "adamw", rate, decay, ("--clip-norm", "1")))
    forms.append(Contestant("plugsing", "PlugSING", "plugsing-adamw", rate, decay, host="adamw"))
    forms.append(Contestant("sing", "SING as published", "sing-adamw", sing_rate, decay, sing_options))
    if calibrated_rate:
        options = ("--normalize", "size_calibrated")
        forms.append(Contestant("calibrated", "SING, size-calibrated", "sing-adamw", calibrated_rate, decay, options))
    return tuple(forms)


def host_pair(optimizer, title, rate, decay, options=()):
    """Returns a host alone and under plug-and-play SING."""
    return (
        Contestant(optimizer, title, optimizer, rate, decay, options),
        Contestant(f"plugsing_{optimizer}", f"PlugSING around {title}", f"plugsing-{optimizer}", rate, decay, options, host=optimizer),
    )


def with_flags(flags, **changed):
    """Returns the flags with other values of those that are named, and the rest of the named ones behind them."""
    flags = list(flags)
    for name, value in changed.items():
        flag = "--" + name.replace("_", "-")
        if flag in flags:
            flags[flags.index(flag) + 1] = str(value)
        else:
            flags += [flag, str(value)]
    return tuple(flags)


QUIET = ("--log-steps", "50", "--norm-steps", "0", "--checkpoint-seconds", "1000")
COMMON = ("--precision", "bf16", "--decay-vectors=false", *QUIET)
FROZEN = ("--freeze-norms",)

# Rectangles. The two tables that were trained before this list have rates that no validation set chose (docs/rde.md).
RDE_FLAGS = (*COMMON, "--evaluate-steps", "970")
RDE_SMALL_FLAGS = (
    *("--precision", "bf16", "--rectangles", "2", "--image-size", "32", "--min-side", "8", "--max-side", "24", "--min-visible", "16"),
    *("--train-count", "6400", "--test-count", "5000", "--model", "vit-micro", "--patch-size", "8", "--depth", "3", "--width", "64"),
    *("--heads", "4", "--batch", "64", "--steps", "2000", "--evaluate-steps", "2000", "--decay-vectors=false", *QUIET),
)
RDE_HOSTS = (*host_pair("sgd", "SGD", 0.5, 5e-5), *host_pair("lion", "Lion", 1e-4, 0.5))
RDE_SCORES = (Score("accuracy, %"), Score("test loss × 1000", LOSS, 1000, lower_is_better=True))
RDE = Experiment(
    "rde",
    "Rectangles, ViT-S/16, 100 epochs of new images",
    "rde",
    RDE_FLAGS,
    (
        Contestant("adamw", "AdamW", "adamw", 1e-3, 5e-2, paper=("78.13", "1.70")),
        Contestant("adamw_clip", "AdamW, clipped to norm 1", "adamw", 1e-3, 5e-2, ("--clip-norm", "1")),
        Contestant("plugsing", "PlugSING", "plugsing-adamw", 1e-3, 5e-2, host="adamw"),
        Contestant("sing", "SING", "sing-adamw", 3e-2, 5e-2, paper=("96.56", "0.34")),
        Contestant("sing_frozen", "SING, norms frozen", "sing-adamw", 1e-2, 5e-2, FROZEN, paper=("96.56", "0.34")),
        Contestant("calibrated", "SING, size-calibrated", "sing-adamw", 5e-2, 5e-2, ("--normalize", "size_calibrated")),
        Contestant("sing_sgd_rms", "SING around SGD, unit RMS", "sing-sgd", 2e-4, 5e-2, ("--normalize", "size_calibrated", "--reference-size", "1")),
        *RDE_HOSTS,
    ),
    RDE_SCORES,
    baseline="adamw",
    rate_runs=7,
    decay_runs=4,
    note="the rates were not chosen on validation data; see below the table",
)
RDE_FIXED = dataclasses.replace(
    RDE,
    name="rde_fixed",
    title="Rectangles, ViT-S/16, 100 epochs of a fixed set of 50 000 images",
    flags=(*RDE_FLAGS, "--fixed"),
    contestants=(*adamw_forms(1e-3, 3e-2), *RDE_HOSTS),
    note="",
)
RDE_SMALL = Experiment(
    "rde_small",
    "Small rectangles (two on 32 × 32 pixels), ViT of 0.16 million weights, 2000 steps",
    "rde",
    RDE_SMALL_FLAGS,
    (*adamw_forms(5e-3, 2e-2, calibrated_rate=5e-2), *host_pair("sgd", "SGD", 0.5, 5e-5), *host_pair("lion", "Lion", 5e-4, 0.5)),
    RDE_SCORES,
    baseline="adamw",
    rate_runs=7,
    seeds=(1, 2, 3, 4, 5),
    differs="a small version of the task, made for two cores of a CPU",
)
RATE_PLACES = (-4, -3, -2, -1, 0, 1, 2, 3, 4)
RDE_SMALL_RATES = dataclasses.replace(
    RDE_SMALL,
    name="rde_small_rates",
    short="Small rectangles",
    contestants=adamw_forms(5e-3, 2e-2, calibrated_rate=5e-2),
    grid=RATE_PLACES,
    seeds=(0, 1),
)
RDE_RATES = Experiment(
    "rde_rates",
    "Rectangles, ViT-S/16, 50 epochs of new images",
    "rde",
    (*RDE_FLAGS, "--epochs", "50"),
    adamw_forms(1e-3, 2e-2, calibrated_rate=5e-2),
    RDE_SCORES,
    baseline="adamw",
    grid=RATE_PLACES,
    seeds=(0,),
)

# The paper's ablation: a part added to AdamW, or removed from SING, each at its own rate.
PARTS = (
    Contestant("adamw", "AdamW", "adamw", 1e-3, 5e-2, paper=("78.13", "")),
    Contestant("adamw_normalization", "AdamW + normalization (PlugSING)", "plugsing-adamw", 1e-3, 5e-2, paper=("93.00", "")),
    Contestant("adamw_gc", "AdamW + GC", "gc-adamw", 1e-3, 5e-2, paper=("77.46", "")),
    Contestant("adamw_lookahead", "AdamW + LookAhead", "adamw", 1e-3, 5e-2, ("--lookahead=true",), paper=("54.79", "")),
    Contestant("adamw_softplus", "AdamW + softplus", "adamw", 1e-2, 5e-2, ("--softplus-beta", "50"), paper=("no convergence", "")),
    Contestant("sing", "SING", "sing-adamw", 3e-2, 5e-2, paper=("96.56", "")),
    Contestant("sing_without_normalization", "SING − normalization", "sing-adamw", 1e-2, 5e-2, ("--normalize", "off"), paper=("no convergence", "")),
    Contestant("sing_without_gc", "SING − GC", "sing-adamw", 3e-2, 5e-2, ("--centralize=false",), paper=("93.86", "")),
    Contestant("sing_without_lookahead", "SING − LookAhead", "sing-adamw", 3e-2, 5e-2, ("--lookahead=false",), paper=("95.63", "")),
    Contestant("sing_without_softplus", "SING − softplus", "sing-adamw", 1e-3, 5e-2, ("--softplus-beta", "none"), paper=("89.38", "")),
)
RDE_ABLATION = dataclasses.replace(
    RDE, name="rde_ablation", title="Parts of SING on rectangles, ViT-S/16, norm layers trained", contestants=PARTS, note=""
)
RDE_ABLATION_FROZEN = dataclasses.replace(
    RDE_ABLATION,
    name="rde_ablation_frozen",
    title="Parts of SING on rectangles, ViT-S/16, norm layers frozen",
    flags=(*RDE_FLAGS, *FROZEN),
)
RDE_ABLATION_B = dataclasses.replace(
    RDE_ABLATION,
    name="rde_ablation_vit_b",
    title="Parts of SING on rectangles, ViT-B/16, norm layers trained",
    flags=(*RDE_FLAGS, "--model", "vit-b16"),
    contestants=tuple(
        dataclasses.replace(each, paper={"adamw": ("no convergence", ""), "sing": ("97.15", "")}.get(each.name, ())) for each in PARTS
    ),
)
RDE_ABLATION_B_FROZEN = dataclasses.replace(
    RDE_ABLATION_B,
    name="rde_ablation_vit_b_frozen",
    title="Parts of SING on rectangles, ViT-B/16, norm layers frozen",
    flags=(*RDE_ABLATION_B.flags, *FROZEN),
)
# The largest rate at which each form still finishes: from its own rate up to 100 times as much.
RDE_ABLATION_RATES = dataclasses.replace(
    RDE_ABLATION,
    name="rde_ablation_rates",
    title="Parts of SING at high rates on rectangles, ViT-S/16, 10 epochs",
    flags=(*RDE_FLAGS, "--epochs", "10"),
    contestants=tuple(dataclasses.replace(each, paper=()) for each in PARTS),
    grid=(0, 2, 4, 6, 8),
    seeds=(0,),
)
RDE_SMALL_ABLATION = dataclasses.replace(
    RDE_SMALL,
    name="rde_small_ablation",
    title="Parts of SING on small rectangles, norm layers trained",
    contestants=tuple(
        dataclasses.replace(each, paper=(), rate={1e-3: 5e-3, 1e-2: 5e-2, 3e-2: 2e-2}[each.rate]) for each in PARTS
    ),
    seeds=(1, 2, 3),
)

RDE_LAYER_SCALE = dataclasses.replace(
    RDE,
    name="rde_layer_scale",
    title="Rectangles, ViT-S/16 with LayerScale from 0.1, 100 epochs of new images",
    flags=(*RDE_FLAGS, "--layer-scale", "0.1"),
    contestants=(*adamw_forms(1e-3, 3e-2, clipped=False), Contestant("sing_frozen", "SING, norms and LayerScale frozen", "sing-adamw", 1e-2, 5e-2, FROZEN)),
    note="",
    differs="the paper says that SING does not work well with LayerNorm or LayerScale and gives no figure",
)

RDE_OPTIMIZERS = dataclasses.replace(
    RDE,
    name="rde_optimizers",
    title="Hosts and other optimizers on rectangles, ViT-S/16",
    contestants=(
        Contestant("adamw", "AdamW", "adamw", 1e-3, 5e-2, paper=("78.13", "1.70")),
        Contestant("sing", "SING around AdamW", "sing-adamw", 3e-2, 5e-2, paper=("96.56", "0.34")),
        Contestant("plugsing", "PlugSING", "plugsing-adamw", 1e-3, 5e-2, host="adamw"),
        Contestant("sgd", "SGD", "sgd", 0.5, 5e-5, paper=("0.02", "")),
        Contestant("sing_sgd", "SING around SGD", "sing-sgd", 0.5, 5e-3, paper=("94.25", "")),
        Contestant("adabelief", "AdaBelief", "adabelief", 1e-3, 5e-4, paper=("60.26", "3.73")),
        Contestant("sing_adabelief", "SING around AdaBelief", "sing-adabelief", 5e-2, 5e-2, paper=("96.70", "")),
        Contestant("adafactor", "AdaFactor", "adafactor", 1e-2, 5e-4, paper=("74.98", "1.87")),
        Contestant("sing_adafactor", "SING around AdaFactor", "sing-adafactor", 1e-2, 5e-4, paper=("76.26", "")),
        Contestant("lamb", "LAMB", "lamb", 1e-2, 5e-4, paper=("93.50", "0.50")),
        Contestant("nadam", "NAdam", "nadam", 1e-3, 5e-5, paper=("0.02", "28.3")),
        Contestant("yogi", "Yogi", "yogi", 1e-2, 5e-5, paper=("0.24", "24.3")),
        Contestant("radam", "RAdam", "radam", 1e-3, 5e-5, paper=("0.75", "20.1")),
        Contestant("adabound", "AdaBound", "adabound", 1e-3, 5e-5, paper=("0.03", "38.2")),
        Contestant("muon", "Muon", "muon", 1e-3, 0.1, ("--rate-adjustment", "match_rms_adamw")),
        Contestant("schedule_free_adamw", "Schedule-Free AdamW", "schedule_free_adamw", 2.5e-3, 5e-2),
        Contestant("lion", "Lion", "lion", 1e-4, 0.5),
    ),
    note="",
)

# Images.
CIFAR_FLAGS = (
    *("--data", "data/cifar100", "--batch", "128", "--label-smoothing", "0.1", "--warmup-fraction", "0.016667", "--rotation", "15"),
    *("--evaluate-steps", "3900", "--autotune", *COMMON),
)
CIFAR_SCORES = (Score("accuracy, %"), Score("test loss", LOSS, 1, lower_is_better=True))
CIFAR = Experiment(
    "cifar100",
    "CIFAR-100, ResNet18, 300 epochs",
    "cifar100",
    (*CIFAR_FLAGS, "--epochs", "300"),
    (
        Contestant("adamw", "AdamW, norms frozen", "adamw", 1e-3, 5e-1, FROZEN, paper=("77.95 ± 0.15", "")),
        Contestant("sgd", "SGD, norms frozen", "sgd", 1e-1, 5e-4, FROZEN, paper=("75.63", "")),
        Contestant("plugsing", "PlugSING, norms frozen", "plugsing-adamw", 1e-3, 5e-1, FROZEN, host="adamw"),
        Contestant("sing", "SING, norms frozen", "sing-adamw", 1e-1, 5e-2, FROZEN, paper=("78.24 ± 0.21", "")),
        Contestant("calibrated", "SING, size-calibrated", "sing-adamw", 5e-2, 5e-2, ("--normalize", "size_calibrated")),
    ),
    CIFAR_SCORES,
    baseline="adamw",
    rate_runs=7,
    decay_runs=4,
    note="the rates were not chosen on validation data; see below the table",
)
CIFAR_RATES = Experiment(
    "cifar100_rates",
    "CIFAR-100, ResNet18, 10 epochs",
    "cifar100",
    (*CIFAR_FLAGS, "--epochs", "10"),
    adamw_forms(2e-3, 5e-2, calibrated_rate=1e-1),
    CIFAR_SCORES,
    baseline="adamw",
    grid=(-4, -2, -1, 0, 1, 2, 4),
    seeds=(0,),
)
CIFAR_SHORT = dataclasses.replace(
    CIFAR_RATES,
    name="cifar100_short",
    title="CIFAR-100, ResNet18, 30 epochs",
    flags=(*CIFAR_FLAGS, "--epochs", "30"),
    contestants=(*adamw_forms(2e-3, 5e-2), *host_pair("sgd", "SGD", 1e-1, 5e-4), *host_pair("lion", "Lion", 2e-4, 0.5)),
    grid=(),
    seeds=(1, 2, 3),
    differs="30 epochs instead of 300; batch normalization is trained",
)
IMAGENETTE = Experiment(
    "imagenette",
    "Ten classes of ImageNet (3 000 images), ResNet18, 60 epochs",
    "imagefolder",
    ("--data", "data/imagenette", "--epochs", "60", "--batch", "128", "--evaluate-steps", "230", *COMMON),
    (*adamw_forms(1e-3, 3e-2), *host_pair("sgd", "SGD", 1e-1, 5e-4), *host_pair("lion", "Lion", 1e-4, 0.5)),
    CIFAR_SCORES,
    baseline="adamw",
    differs="a stand-in for ImageNet",
)

DENOISE = Experiment(
    "denoise",
    "Denoising of imagenette patches, DnCNN of 17 layers",
    "denoise",
    ("--data", "data/imagenette", "--batch", "128", "--steps", "5000", "--evaluate-steps", "2500", *COMMON),
    adamw_forms(1e-3, 1e-2, decay=1e-4, calibrated_rate=3e-2),
    (Score("PSNR, dB", "PSNR, dB", 1, 2), Score("test loss × 1000", LOSS, 1000, 3, lower_is_better=True)),
    baseline="adamw",
    differs="the paper says that SING equals AdamW on denoising, without a figure",
)

# Text.
BLEU = "sacrebleu (13a, exp)"
TOKENIZED_BLEU = "fairseq's tokenized BLEU-4"
LIKELIHOOD = "negative log-likelihood, nats per token"
TRANSLATION_SCORES = (
    Score("BLEU, sacrebleu 13a", BLEU, 1, measured="average"),
    Score("BLEU-4, tokenized", TOKENIZED_BLEU, 1, measured="average"),
    Score("test nats per token", LIKELIHOOD, 1, 3, lower_is_better=True),
)
TRANSLATION_FLAGS = (
    *("--batch", "4096", "--schedule", "warmup_cosine", "--warmup-fraction", "0.1", "--dropout", "0.3"),
    *("--attention-dropout", "0.1", "--activation-dropout", "0.1", "--label-smoothing", "0.1", "--evaluation-sentences", "0", *COMMON),
)
TRANSLATION_FORMS = (
    Contestant("adamw_clip", "AdamW, clipped to norm 1", "adamw", 1e-3, 1e-4, ("--beta2", "0.98", "--clip-norm", "1"), paper=("", "34.76", "")),
    Contestant("adamw", "AdamW", "adamw", 1e-3, 1e-4, ("--beta2", "0.98")),
    Contestant("plugsing", "PlugSING", "plugsing-adamw", 1e-3, 1e-4, ("--beta2", "0.98"), host="adamw"),
    Contestant("sing", "SING as published", "sing-adamw", 1e-2, 5e-2, paper=("", "", "")),
    Contestant("sing_frozen", "SING as published, norms frozen", "sing-adamw", 1e-2, 5e-2, FROZEN, paper=("", "35.41", "")),
)
MULTI30K = Experiment(
    "translation_multi30k",
    "Translation of Multi30k's captions, German to English",
    "translation",
    ("--data", "data/multi30k", "--epochs", "20", *TRANSLATION_FLAGS),
    (*TRANSLATION_FORMS, *host_pair("sgd", "SGD", 0.3, 1e-4), *host_pair("lion", "Lion", 1e-4, 1e-3)),
    TRANSLATION_SCORES,
    baseline="adamw",
    table_flags=("--keep-weights", "5"),
    evaluate=("average",),
    short="Multi30k, German to English",
    differs="captions of pictures (29 000 pairs) instead of IWSLT14's talks (160 239); 20 epochs of 4096 tokens per step instead of 200 of"
    " 16 384; one vocabulary of 8000 pieces; a cosine schedule with the same warm-up for every method",
)
TATOEBA = dataclasses.replace(
    MULTI30K,
    name="translation_tatoeba",
    title="Translation of Tatoeba's sentences, German to English",
    short="Tatoeba, German to English",
    contestants=TRANSLATION_FORMS,
    flags=("--data", "data/tatoeba", "--epochs", "20", *TRANSLATION_FLAGS),
    differs="Tatoeba's short sentences (169 813 pairs before the split) instead of IWSLT14's talks; 20 epochs of 4096 tokens per step instead"
    " of 200 of 16 384; one vocabulary of 8000 pieces; a cosine schedule with the same warm-up for every method",
)
IWSLT = dataclasses.replace(
    MULTI30K,
    name="translation_iwslt14",
    title="Translation of IWSLT14's talks, German to English",
    short="IWSLT14, German to English",
    contestants=TRANSLATION_FORMS,
    flags=("--data", "data/iwslt14", "--epochs", "200", *TRANSLATION_FLAGS[2:], "--batch", "16384", "--accumulate", "4"),
    differs="none; the training set is in no public package",
)
SQUAD_SCORES = (
    Score("exact match, %", "exact match, %", 1),
    Score("F1, %"),
    Score("test loss", LOSS, 1, 3, lower_is_better=True),
)
ENCODER_FORMS = (
    Contestant("adamw_clip", "AdamW, clipped to norm 1", "adamw", 3e-4, 0, ("--clip-norm", "1")),
    Contestant("adamw", "AdamW", "adamw", 3e-4, 0),
    Contestant("plugsing", "PlugSING", "plugsing-adamw", 3e-4, 0, host="adamw"),
    Contestant("sing", "SING as published", "sing-adamw", 3e-3, 3e-3),
    Contestant("sing_frozen", "SING as published, norms frozen", "sing-adamw", 3e-3, 3e-3, FROZEN),
)


def with_paper(contestants, figures, rates=None):
    """Returns the contestants with the paper's figures and other first rates, by name."""
    return tuple(
        dataclasses.replace(each, paper=figures.get(each.name, ()), rate=(rates or {}).get(each.name, each.rate)) for each in contestants
    )


SQUAD_PAPER = {"adamw_clip": ("80.53", "88.39", ""), "sing_frozen": ("81.00", "88.34", "")}
SQUAD_FLAGS = ("--data", "data/squad", "--epochs", "2", "--schedule", "warmup_linear", "--warmup-fraction", "0", *COMMON)
SQUAD_MINILM = Experiment(
    "squad_minilm",
    "SQuAD v1.1, MiniLM-L6, two epochs",
    "squad",
    ("--weights", "data/minilm", "--batch", "32", *SQUAD_FLAGS),
    (*with_paper(ENCODER_FORMS, SQUAD_PAPER), *host_pair("sgd", "SGD", 0.1, 0), *host_pair("lion", "Lion", 3e-5, 0)),
    SQUAD_SCORES,
    baseline="adamw",
    short="SQuAD, MiniLM-L6",
    differs="MiniLM-L6 (22.7 million weights) instead of BERT-base (110 million); batches of 32 instead of 12; SING for two epochs instead of"
    " three",
)
SQUAD_MPNET = dataclasses.replace(
    SQUAD_MINILM,
    name="squad_mpnet",
    title="SQuAD v1.1, MPNet-base, two epochs",
    short="SQuAD, MPNet-base",
    flags=("--weights", "data/mpnet", "--batch", "12", *SQUAD_FLAGS),
    contestants=with_paper(ENCODER_FORMS, SQUAD_PAPER, {"adamw": 3e-5, "adamw_clip": 3e-5, "plugsing": 3e-5, "sing": 8e-4, "sing_frozen": 8e-4}),
    seeds=(1,),
    differs="MPNet-base (109 million weights) instead of BERT-base (110 million); SING for two epochs instead of three",
)
CHOICE_FLAGS = ("--length", "80", "--batch", "32", "--schedule", "warmup_linear", "--warmup-fraction", "0.1", *COMMON)
CODAH = Experiment(
    "choice_codah",
    "Multiple choice on CODAH, MiniLM-L6, four epochs",
    "choice",
    ("--set", "codah", "--data", "data/codah/full_data.tsv", "--weights", "data/minilm", "--epochs", "4", *CHOICE_FLAGS),
    with_paper(ENCODER_FORMS, {"adamw_clip": ("80.45", ""), "sing_frozen": ("83.33", "")}),
    (Score("accuracy, %"), Score("test loss", LOSS, 1, 3, lower_is_better=True)),
    baseline="adamw",
    seeds=(1, 2, 3, 4, 5),
    short="CODAH, MiniLM-L6",
    differs="2776 questions of CODAH with a split of our own instead of SWAG, and MiniLM-L6 instead of RoBERTa",
)
HELLASWAG = dataclasses.replace(
    CODAH,
    name="choice_hellaswag",
    title="Multiple choice on HellaSwag's validation set, MiniLM-L6, three epochs",
    short="HellaSwag, MiniLM-L6",
    flags=(
        *("--set", "hellaswag", "--data", "data/hellaswag/hellaswag_val_full.txt", "--weights", "data/minilm", "--epochs", "3"),
        *CHOICE_FLAGS,
    ),
    seeds=(1, 2, 3),
    differs="10 042 questions of HellaSwag with a split of our own instead of SWAG, and MiniLM-L6 instead of RoBERTa",
)
LM_SCORES = (
    Score("bits per byte", "bits per byte", 1, 4, lower_is_better=True),
    Score("test nats per token", LOSS, 1, 4, lower_is_better=True),
)
LM_FORMS = (
    *adamw_forms(2e-3, 2e-2, decay=0.1),
    *host_pair("lion", "Lion", 3e-4, 0.3),
    *host_pair("muon", "Muon", 2e-3, 0.1, ("--rate-adjustment", "match_rms_adamw")),
    Contestant("schedule_free_adamw", "Schedule-Free AdamW", "schedule_free_adamw", 3e-3, 0.1, ("--schedule", "constant")),
)
SHAKESPEARE = Experiment(
    "lm_shakespeare",
    "Language model of 0.8 million weights on tiny Shakespeare, characters",
    "lm",
    (
        *("--data", "data/tinyshakespeare/input.txt", "--tokenizer", "characters", "--size", "tiny", "--context", "256", "--batch", "64"),
        *("--steps", "2000", "--evaluate-steps", "1000", "--sample-tokens", "0", *COMMON),
    ),
    LM_FORMS,
    LM_SCORES,
    baseline="adamw",
    short="Tiny Shakespeare",
    differs="the paper has no language model",
)
LINUX = dataclasses.replace(
    SHAKESPEARE,
    name="lm_linux",
    title="GPT-2 of 124 million weights on the sources of Linux 6.1",
    short="Sources of Linux 6.1",
    flags=(
        *("--data", "data/linux-6.1", "--tokenizer", "gpt2:data/gpt2", "--size", "124m", "--context", "1024", "--batch", "128"),
        *("--accumulate", "8", "--steps", "5000", "--evaluate-steps", "1000", "--test-windows", "500", "--sample-tokens", "0", *COMMON),
    ),
    contestants=tuple(dataclasses.replace(each, rate=each.rate * 0.3) for each in LM_FORMS),
    seeds=(1,),
)

# Where training breaks: rates without a warm-up, and ViT-B.
INSTABILITY_FORMS = adamw_forms(4e-3, 6e-2)
INSTABILITY = Experiment(
    "rde_instability",
    "Rectangles without a warm-up, ViT-S/16, 1500 steps",
    "rde",
    ("--warmup-fraction", "0", "--steps", "1500", "--evaluate-steps", "1500", "--log-steps", "1", *COMMON[:3], *QUIET[2:]),
    INSTABILITY_FORMS,
    RDE_SCORES,
    baseline="adamw",
    grid=(-2, 0, 2),
    seeds=(0,),
    losses=True,
    short="ViT-S/16",
)
INSTABILITY_B = dataclasses.replace(
    INSTABILITY,
    name="rde_instability_vit_b",
    title="Rectangles without a warm-up, ViT-B/16, 1500 steps",
    short="ViT-B/16",
    flags=("--model", "vit-b16", *INSTABILITY.flags),
)
INSTABILITY_FLOAT32 = dataclasses.replace(
    INSTABILITY,
    name="rde_instability_float32",
    title="Rectangles without a warm-up, ViT-S/16, float32, 1500 steps",
    short="ViT-S/16, float32",
    flags=with_flags(INSTABILITY.flags, precision="float32"),
)

# Does the best rate move with the width? Small rectangles with heads of 16 features, and the paper's size with heads of 32.
SMALL_WIDTHS, WIDTHS = (32, 64, 128, 256, 512), (96, 192, 384, 768)


WIDTH_FORMS = tuple(each for each in RDE_SMALL_RATES.contestants if each.name != "adamw_clip")
RDE_SMALL_WIDTHS = tuple(
    dataclasses.replace(
        RDE_SMALL_RATES,
        name=f"rde_small_width_{width}",
        title=f"Small rectangles, ViT of width {width}",
        short="",
        flags=with_flags(RDE_SMALL_FLAGS, width=width, heads=width // 16),
        contestants=WIDTH_FORMS,
        seeds=(0,),
    )
    for width in SMALL_WIDTHS
)
RDE_WIDTHS = tuple(
    dataclasses.replace(
        RDE_RATES,
        name=f"rde_width_{width}",
        title=f"Rectangles, ViT of width {width}, 50 epochs",
        flags=with_flags(RDE_RATES.flags, width=width, heads=width // 32),
        contestants=tuple(each for each in RDE_RATES.contestants if each.name != "adamw_clip"),
    )
    for width in WIDTHS
)

# In the order in which they are trained: most telling first.
EXPERIMENTS = {
    each.name: each
    for each in (
        # One changed line.
        *(RDE, RDE_FIXED, RDE_SMALL, CIFAR_SHORT, IMAGENETTE, MULTI30K, SQUAD_MINILM),
        # Accuracy against learning rate.
        *(RDE_RATES, CIFAR_RATES, RDE_SMALL_RATES),
        # Ablation.
        *(RDE_ABLATION, RDE_ABLATION_FROZEN, RDE_ABLATION_B, RDE_ABLATION_B_FROZEN, RDE_ABLATION_RATES, RDE_SMALL_ABLATION),
        # Hosts and other optimizers, and the paper's training on images.
        *(RDE_OPTIMIZERS, CIFAR),
        # Instability, and the limits that the paper names.
        *(INSTABILITY, INSTABILITY_B, INSTABILITY_FLOAT32, DENOISE, RDE_LAYER_SCALE),
        # Width.
        *(*RDE_SMALL_WIDTHS, *RDE_WIDTHS),
        # More text.
        *(TATOEBA, SQUAD_MPNET, CODAH, HELLASWAG, SHAKESPEARE, LINUX, IWSLT),
    )
}

# Trainings that the program does not support -> the reason.
NOT_POSSIBLE = {
    "Instability in float16": "the program trains in float32 and bf16",
    "Width with size-calibrated SING and rates multiplied by 768 / fan_in": "no option multiplies the rates of single tensors",
}
