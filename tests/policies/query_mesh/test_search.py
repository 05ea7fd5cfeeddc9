"""The search against the optimum, and the optimum against all partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

from eddy.policies.query_mesh.learn.steps import Steps, Work, finish
from eddy.policies.query_mesh.optimizer import STARTS, Start
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.search.lattice import Lattice, Partition, as_set, improve_locally, neighbour, partition_of
from eddy.policies.query_mesh.search.search import Effort, Strategy, optimal, search
from eddy.policies.query_mesh.search.training import Training
from eddy.policies.shared.best_route import Exact
from tests.policies.query_mesh.worlds import legality

OVERHEADS = Overheads(level=0.01, leg=0.03, rows=1.0)
"""As much as a few hundredths of an operator: it decides between partitions, and does not decide alone."""


def instance(seed: int, most: int = 8, operators: int = 5) -> tuple[Training, Lattice]:
    """Training tuples with selectivities and densities of their own."""
    chance = np.random.default_rng(seed)
    count = int(chance.integers(2, most + 1))
    rates = chance.beta(0.8, 0.8, (count, operators))
    density = chance.integers(10, 200, count).astype(np.float64)
    reaches = np.ones((count, 1 << operators))
    for done in range(1 << operators):
        for operator in range(operators):
            if done >> operator & 1:
                reaches[:, done] *= rates[:, operator]
    exact = Exact(reaches * density[:, None], chance.uniform(0.5, 2.0, operators), legality(operators))
    training = Training(
        cell=np.arange(count),
        density=density,
        buckets=chance.integers(0, 24, (count, 2)).astype(np.uint8),
        informative=(0, 1),
    )
    return training, Lattice(exact, density, OVERHEADS)


def partitions(count: int) -> Iterator[Partition]:
    """All of them: each training tuple joins a set of those before, or begins one."""
    found: list[list[int]] = [[]]
    for number in range(count):
        found = [
            [
                part | (1 << number) if place == chosen else part
                for place, part in enumerate((*parts, 0))
                if part or place == chosen
            ]
            for parts in found
            for chosen in range(len(parts) + 1)
        ]
    yield from (tuple(sorted(parts)) for parts in found)


def begin(start: Start, training: Training, lattice: Lattice, seed: int) -> Callable[[], Steps[Partition]]:
    """Starts for a search: the one that is asked for, and random ones."""
    chance, starts = np.random.default_rng(seed), [start]

    def give() -> Steps[Partition]:
        yield 0
        return STARTS[starts.pop() if starts else "random"](training, lattice, chance)

    return give


@pytest.mark.parametrize(("count", "bell"), [(1, 1), (2, 2), (4, 15), (6, 203)])
def test_there_are_as_many_partitions_as_the_bell_number_says(count: int, bell: int) -> None:
    assert len(set(partitions(count))) == bell


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_the_cheapest_of_all_partitions(seed: int) -> None:
    _, lattice = instance(seed, most=6)
    best = min(map(lattice.cost, partitions(len(lattice))))
    assert lattice.cost(finish(optimal(lattice, Work()))) == pytest.approx(best)


@cache
def least(seed: int) -> float:
    """What the best partition of an instance costs; ten searches are held against each."""
    _, lattice = instance(seed)
    return lattice.cost(finish(optimal(lattice, Work())))


@pytest.mark.parametrize("start", list(STARTS))
@pytest.mark.parametrize("strategy", ["improvement", "annealing"])
def test_searches_come_near_the_optimum(strategy: Strategy, start: Start) -> None:
    ratios = []
    for seed in range(30):
        training, lattice = instance(seed)
        first = begin(start, training, lattice, seed)
        found = finish(search(lattice, strategy, Effort(), first, np.random.default_rng(seed), Work()))
        ratios.append(found.cost / least(seed))
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) <= 1.02


@pytest.mark.parametrize("start", list(STARTS))
def test_a_start_is_a_partition(start: Start) -> None:
    training, lattice = instance(3)
    found = STARTS[start](training, lattice, np.random.default_rng(0))
    assert is_partition(found, len(lattice))


def is_partition(found: Partition, count: int) -> bool:
    return sum(found) == (1 << count) - 1 and all(found) and sum(p.bit_count() for p in found) == count


def test_extreme_starts_have_one_route_and_as_many_as_can_be() -> None:
    training, lattice = instance(3)
    chance = np.random.default_rng(0)
    assert len(STARTS["one"](training, lattice, chance)) == 1
    assert len(STARTS["each"](training, lattice, chance)) == len(lattice)


def test_a_move_leads_to_a_partition_and_every_partition_is_reached() -> None:
    training, lattice = instance(5, most=4)
    chance = np.random.default_rng(0)
    now, seen = STARTS["one"](training, lattice, chance), set()
    for _ in range(3_000):
        now = neighbour(lattice, now, chance)
        assert is_partition(now, len(lattice))
        seen.add(now)
    assert seen == set(partitions(len(lattice)))


@pytest.mark.parametrize("seed", range(10))
def test_settling_never_costs_more(seed: int) -> None:
    training, lattice = instance(seed)
    start = STARTS["random"](training, lattice, np.random.default_rng(seed))
    settled = finish(improve_locally(lattice, start, Work()))
    assert is_partition(settled, len(lattice))
    assert lattice.cost(settled) <= lattice.cost(start)


def test_one_training_tuple_has_no_neighbours() -> None:
    _, whole = instance(1)
    lattice = Lattice(Exact(np.ones((1, 32)), np.ones(5), legality(5)), whole.density[:1], OVERHEADS)
    assert neighbour(lattice, (1,), np.random.default_rng(0)) == (1,)


@pytest.mark.parametrize("strategy", ["improvement", "annealing"])
def test_a_search_stops_when_its_steps_are_over(strategy: Strategy) -> None:
    training, lattice = instance(7)
    first = begin("one", training, lattice, 0)
    work = Work(most=20)
    found = finish(search(lattice, strategy, Effort(looks=1_000, plateau=1_000), first, np.random.default_rng(0), work))
    assert 0 < found.looks <= 16
    assert work.steps < 20
    assert found.cost <= found.start_cost


@pytest.mark.parametrize("strategy", ["improvement", "annealing"])
def test_a_search_stops_after_so_many_looks(strategy: Strategy) -> None:
    training, lattice = instance(7)
    first = begin("one", training, lattice, 0)
    effort = Effort(looks=5, plateau=1_000)
    found = finish(search(lattice, strategy, effort, first, np.random.default_rng(0), Work()))
    assert found.looks == 5


@pytest.mark.parametrize("strategy", ["improvement", "annealing", "optimal"])
def test_the_same_seed_finds_the_same(strategy: Strategy) -> None:
    training, lattice = instance(11)
    runs = [
        finish(
            search(lattice, strategy, Effort(), begin("route", training, lattice, 0), np.random.default_rng(4), Work())
        )
        for _ in range(2)
    ]
    assert runs[0] == runs[1]


def test_sets_and_labels() -> None:
    assert partition_of(np.array([3, 1, 3, 1])) == (as_set(np.array([True, False, True])), 10)
