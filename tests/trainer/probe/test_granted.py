"""A probe's ten seconds are those of a free machine: a busy one is waited for, up to a minute."""

from __future__ import annotations

import pytest

from trainer.probe.budget import Budget, OutOfTime
from trainer.probe.granted import GrantedTime, Scheduled, scheduled


class Machine:
    """A machine whose wall clock and scheduler are set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.told = Scheduled(1.0, 1.0)

    def passes(self, seconds: float, *, ran: float, waited: float) -> None:
        """Let time pass in which the process ran and waited so long."""
        self.now += seconds
        self.told = Scheduled(self.told.ran + ran, self.told.waited + waited)

    def clock(self) -> GrantedTime:
        """Return a clock of it that begins now."""
        return GrantedTime(lambda: self.now, lambda: self.told)


def test_on_a_free_machine_it_is_the_clock_on_the_wall() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.passes(4.0, ran=1.0, waited=0.0)
    assert clock() == 4.0
    assert clock.on_the_wall(3.0) == 3.0


def test_with_a_quarter_of_a_core_it_goes_at_a_quarter() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.passes(8.0, ran=1.0, waited=3.0)
    assert clock() == 2.0
    assert clock.on_the_wall(3.0) == 12.0


def test_it_never_goes_slower_than_a_sixth() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.passes(60.0, ran=0.1, waited=59.0)
    assert clock() == pytest.approx(10.0)


def test_waiting_for_a_world_that_hangs_is_granted_time() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.passes(5.0, ran=0.0, waited=0.0)
    assert clock() == 5.0


def test_it_never_goes_back_when_the_machine_becomes_busy() -> None:
    machine = Machine()
    clock = machine.clock()
    readings = [clock()]
    for waited in (0.0, 0.0, 50.0, 90.0, 0.0):
        machine.passes(1.0, ran=0.5, waited=waited)
        readings.append(clock())
    assert readings == sorted(readings)
    assert readings[2] == 2.0


def test_a_check_has_as_much_time_as_the_machine_would_have_given() -> None:
    machine = Machine()
    clock = machine.clock()
    budget = Budget(10.0, clock, on_the_wall=clock.on_the_wall)
    machine.passes(20.0, ran=1.0, waited=3.0)
    budget.ask()
    assert budget.spent_s == pytest.approx(5.0)
    assert budget.longest_call_s == pytest.approx(12.0)
    machine.passes(20.0, ran=1.0, waited=3.0)
    with pytest.raises(OutOfTime):
        budget.ask()


def test_the_kernel_is_asked_about_this_very_process() -> None:
    before = scheduled()
    sum(number * number for number in range(200_000))
    after = scheduled()
    assert after.ran > before.ran or before == after == Scheduled(0.0, 0.0)
