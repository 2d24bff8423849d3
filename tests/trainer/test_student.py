"""Quantiles of Student's t are those of the tables and of scipy."""

from __future__ import annotations

import math

import pytest
from scipy.special import stdtrit
from scipy.stats import nct

from trainer.student import POWER, detectable, quantile


@pytest.mark.parametrize(
    ("freedom", "printed"), [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (9, 2.262)]
)
def test_a_quantile_is_the_one_that_every_table_prints(freedom: int, printed: float) -> None:
    assert round(quantile(0.975, freedom=freedom), 3) == printed


@pytest.mark.parametrize("freedom", [*range(1, 40), 99, 100, 1000, 1001])
@pytest.mark.parametrize("share", [0.6, 0.9, 0.975, 0.9995])
def test_a_quantile_is_the_one_that_scipy_computes(freedom: int, share: float) -> None:
    assert math.isclose(
        quantile(share, freedom=freedom), float(stdtrit(freedom, share)), rel_tol=1e-9
    )


@pytest.mark.parametrize("freedom", [1, 2, 7])
def test_half_of_it_lies_below_zero(freedom: int) -> None:
    assert quantile(0.5, freedom=freedom) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("share", "freedom"), [(0.4, 3), (1.0, 3), (0.975, 0), (math.nan, 3)])
def test_what_has_no_quantile_is_refused(share: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="give a share"):
        quantile(share, freedom=freedom)


@pytest.mark.parametrize(("freedom", "known"), [(2, 5.65), (4, 3.76), (1000, 2.80)])
def test_what_could_be_seen_is_what_power_tables_print(freedom: int, known: float) -> None:
    assert detectable(freedom) == pytest.approx(known, abs=0.01)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 20, 99, 400])
def test_four_tests_in_five_find_what_could_be_seen(freedom: int) -> None:
    critical = quantile(0.975, freedom=freedom)
    assert float(nct.sf(critical, freedom, detectable(freedom))) == pytest.approx(POWER, abs=1e-6)


def test_nothing_can_be_seen_without_freedom() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        detectable(0)
