from __future__ import annotations

import threading

import pytest

from repro.retrieval.nn.background import in_background


def test_items_come_in_order_from_another_thread():
    def items():
        for number in range(20):
            yield number, threading.current_thread()

    with in_background(items(), ahead=3) as made:
        numbers, threads = zip(*made, strict=True)
    assert numbers == tuple(range(20)) and set(threads).isdisjoint(threading.enumerate())


def test_no_more_lies_ready_than_was_asked_for():
    made, asked = threading.Semaphore(0), []

    def items():
        for number in range(10):
            asked.append(number)
            made.release()
            yield number

    with in_background(items(), ahead=2) as ready:
        assert next(ready) == 0
        for _ in range(3):  # the item that was handed out, and two ahead of it
            assert made.acquire(timeout=10)
        assert not made.acquire(timeout=0.2) and asked == [0, 1, 2]
        assert list(ready) == list(range(1, 10))


def test_an_error_is_raised_where_its_item_would_have_come():
    def items():
        yield 1
        raise ValueError("no more")

    with in_background(items(), ahead=2) as made:
        assert next(made) == 1
        with pytest.raises(ValueError, match="no more"):
            next(made)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit])
def test_an_early_end_stops_the_thread_and_closes_the_generator(kind):
    closed, before = threading.Event(), threading.active_count()

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    with pytest.raises(kind), in_background(items(), ahead=2) as made:
        next(made)
        raise kind
    assert closed.is_set() and threading.active_count() == before


def test_what_comes_next_is_made_while_the_caller_is_busy():
    second = threading.Event()

    def items():
        yield 1
        second.set()
        yield 2

    with in_background(items(), ahead=1) as made:
        assert next(made) == 1
        assert second.wait(timeout=10)  # nobody asks for it here
