"""The quantile behind every 95% interval: Student's for few steps, the normal one for many.

Only this one level is used anywhere, so a table of 28 numbers stands in for a library.
"""

from __future__ import annotations

from statistics import NormalDist

NORMAL_975 = NormalDist().inv_cdf(0.975)
"""1.96: half the width of a 95% interval in standard errors when the noise is well known."""

_STUDENT_975 = (
    12.7062047362,
    4.3026527297,
    3.1824463053,
    2.7764451052,
    2.5705818356,
    2.4469118511,
    2.3646242516,
    2.3060041352,
    2.2621571628,
    2.2281388520,
    2.2009851601,
    2.1788128297,
    2.1603686565,
    2.1447866879,
    2.1314495456,
    2.1199052992,
    2.1098155778,
    2.1009220402,
    2.0930240544,
    2.0859634473,
    2.0796138447,
    2.0738730679,
    2.0686576104,
    2.0638985616,
    2.0595385528,
    2.0555294386,
    2.0518305165,
    2.0484071418,
)  # fmt: skip


def quantile_975(freedom: int) -> float:
    """Return how many standard errors a 95% interval reaches to either side.

    Args:
        freedom: Degrees of freedom of the standard error, at least 1. Twenty-nine and more, a
            mean over thirty steps, count as known noise.

    Raises:
        ValueError: if there is no degree of freedom left: the noise is then unknown.
    """
    if freedom < 1:
        raise ValueError(
            f"{freedom} degrees of freedom leave the noise unknown; measure over more steps"
        )
    return _STUDENT_975[freedom - 1] if freedom <= len(_STUDENT_975) else NORMAL_975
