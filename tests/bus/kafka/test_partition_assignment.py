from cs.bus.kafka.partition_assignment import PartitionAssignment
from cs.bus.port import Record


def record(offset: int, partition: int = 0) -> Record:
    return Record("t", partition, offset, b"", b"")


def assigned(*partitions: int, max_in_flight: int = 4) -> PartitionAssignment:
    new = PartitionAssignment(max_in_flight)
    new.assign(partitions)
    return new


def delivered(assignment: PartitionAssignment, *offsets: int) -> list[Record]:
    for offset in offsets:
        assignment.receive(record(offset))
    return [each for each in (assignment.next_record() for _ in offsets) if each is not None]


def test_a_partition_pauses_when_full_and_goes_on_at_three_quarters() -> None:
    assignment = assigned(0, 1, max_in_flight=4)
    records = [record(n) for n in range(5)]

    paused = [assignment.receive(each) for each in records]
    resumed = [assignment.mark_done(each) for each in records]

    assert paused == [False, False, False, True, False]
    assert resumed == [False, True, False, False, False]
    assert assignment.paused == frozenset()


def test_only_what_changed_is_to_commit() -> None:
    assignment = assigned(0, 1)
    first, second = delivered(assignment, 5, 6)

    assignment.mark_done(second)
    assert assignment.committable_offsets() == {0: 5}
    assignment.mark_committed({0: 5})
    assert assignment.committable_offsets() == {}
    assignment.mark_done(first)
    assert assignment.committable_offsets() == {0: 7}


def test_work_on_a_revoked_partition_ends_to_no_effect() -> None:
    assignment = assigned(0)
    (first,) = delivered(assignment, 5)

    assignment.revoke()
    resumed = assignment.mark_done(first)
    assignment.mark_committed({0: 6})
    assignment.assign([0])

    assert not resumed
    assert assignment.committable_offsets() == {}
    assert (assignment.in_flight, assignment.delivered) == (0, 0)


def test_what_comes_from_a_revoked_partition_is_dropped() -> None:
    assignment = assigned(0)
    assignment.revoke()

    assert not assignment.receive(record(5))

    assert assignment.next_record() is None


def test_what_is_not_delivered_stays_in_flight() -> None:
    assignment = assigned(0)
    (first,) = delivered(assignment, 5)
    assignment.receive(record(6))

    assignment.drop_undelivered()
    assignment.mark_done(first)

    assert assignment.next_record() is None
    assert assignment.committable_offsets() == {0: 6}


def test_nothing_is_delivered_after_delivery_stopped_whatever_is_assigned() -> None:
    assignment = assigned(0)
    assignment.stop_delivery()
    assignment.assign([0])
    assignment.receive(record(5))

    assert assignment.next_record() is None
    assert assignment.in_flight == 1
