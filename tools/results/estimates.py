"""Computes what a table says of several runs: their mean and spread, and paired differences with their intervals."""

import statistics

# 0.975 quantiles of Student's t distribution with 1, 2, … degrees of freedom.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def spread(values, digits):
    """Returns the mean, with the sample standard deviation if there are several values."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def paired(ours, theirs):
    """Returns our value minus theirs for each seed that both have. Both are seed -> value."""
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]


def difference(values, digits=2):
    """Returns the mean of paired differences with the half width of its 95 % interval, bold where the interval excludes 0."""
    if not values:
        return ""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:+.{digits}f}"
    if len(values) > len(STUDENT_T) + 1:
        raise ValueError(f"[difference] wanted at most {len(STUDENT_T) + 1} values, got {len(values)}")
    half = STUDENT_T[len(values) - 2] * statistics.stdev(values) / len(values) ** 0.5
    text = f"{mean:+.{digits}f}"
    return f"**{text}** ± {half:.{digits}f}" if abs(mean) > half else f"{text} ± {half:.{digits}f}"
