from cs.bus.kafka.assigned import Assigned
from cs.bus.port import Record


def record(offset: int, partition: int = 0) -> Record:
    return Record("t", partition, offset, b"", b"")


def assigned(*partitions: int, most: int = 4) -> Assigned:
    new = Assigned(most)
    new.assign(partitions)
    return new


def given(of: Assigned, *offsets: int) -> list[Record]:
    for offset in offsets:
        of.receive(record(offset))
    return [each for each in (of.give() for _ in offsets) if each is not None]


def test_records_are_given_out_in_the_order_they_came() -> None:
    of = assigned(0, 1)
    came = [record(7, 1), record(3, 0), record(8, 1)]

    for each in came:
        of.receive(each)

    assert [of.give() for _ in range(4)] == [*came, None]
    assert of.in_hand == of.in_flight == 3


def test_a_partition_pauses_when_full_and_goes_on_at_three_quarters() -> None:
    of = assigned(0, 1, most=4)
    records = [record(n) for n in range(5)]

    paused = [of.receive(each) for each in records]
    resumed = [of.finish(each) for each in records]

    assert paused == [False, False, False, True, False]
    assert resumed == [False, True, False, False, False]
    assert of.paused == frozenset()


def test_a_full_partition_leaves_the_others_alone() -> None:
    of = assigned(0, 1, most=1)

    assert of.receive(record(0, 0))

    assert of.paused == {0}
    assert of.receive(record(0, 1))


def test_only_what_changed_is_to_commit() -> None:
    of = assigned(0, 1)
    first, second = given(of, 5, 6)

    of.finish(second)
    assert of.to_commit() == {0: 5}
    of.committed({0: 5})
    assert of.to_commit() == {}
    of.finish(first)
    assert of.to_commit() == {0: 7}


def test_work_on_a_partition_taken_away_ends_to_no_effect() -> None:
    of = assigned(0)
    (first,) = given(of, 5)

    of.withdraw()
    resumed = of.finish(first)
    of.committed({0: 6})
    of.assign([0])

    assert not resumed
    assert of.to_commit() == {}
    assert (of.in_flight, of.in_hand) == (0, 0)


def test_what_comes_after_a_partition_was_taken_away_is_dropped() -> None:
    of = assigned(0)
    of.withdraw()

    assert not of.receive(record(5))

    assert of.give() is None


def test_what_is_held_back_stays_unfinished() -> None:
    of = assigned(0)
    (first,) = given(of, 5)
    of.receive(record(6))

    of.hold()
    of.finish(first)

    assert of.give() is None
    assert of.to_commit() == {0: 6}


def test_nothing_is_given_out_after_the_end_whatever_is_assigned() -> None:
    of = assigned(0)
    of.close()
    of.assign([0])
    of.receive(record(5))

    assert of.give() is None
    assert of.in_flight == 1
