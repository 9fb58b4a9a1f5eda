"""Messages are done one after the other, in slices where somebody goes on with the rest."""

from __future__ import annotations

from dagflow.executor import mail
from dagflow.executor.mail import Mail
from dagflow.store.rows import Message, MessageKey


def message(path: str) -> Message:
    return Message(key=MessageKey("r1", "stop_child", path), body={})


def slow_mail(*, goes_on: bool) -> tuple[Mail, list[str]]:
    """Return a mail each message of which takes a quarter of a slice, and what it has done."""
    done: list[str] = []

    def perform(it: Message) -> bool:
        done.append(it.key.path)
        return True

    made = Mail(perform, lambda: goes_on, now=lambda: len(done) * mail.SLICE / 4)
    made.add(map(message, "abcdefgh"))
    return made, done


def test_what_takes_longer_than_a_slice_is_left_to_who_goes_on() -> None:
    made, done = slow_mail(goes_on=True)

    made.deliver()
    assert "".join(done) == "abcde"
    made.deliver()
    assert "".join(done) == "abcdefgh"


def test_everything_is_done_at_once_where_nobody_goes_on() -> None:
    made, done = slow_mail(goes_on=False)

    made.deliver()

    assert "".join(done) == "abcdefgh"


def test_what_comes_of_a_message_is_done_after_those_before_it_and_each_once() -> None:
    done: list[str] = []

    def perform(it: Message) -> bool:
        done.append(it.key.path)
        if it.key.path == "a":
            made.add([message("c"), message("b")])
            made.deliver()
        return True

    made = Mail(perform, lambda: False)
    made.add([message("a"), message("b")])
    made.deliver()

    assert done == ["a", "b", "c"]


def test_a_message_for_which_the_database_was_out_of_reach_is_done_at_the_next_try() -> None:
    answers, done = iter([False, True, True]), []

    def perform(it: Message) -> bool:
        done.append(it.key.path)
        return next(answers)

    made = Mail(perform, lambda: False)
    made.add([message("a"), message("b")])
    made.deliver()
    made.deliver()
    assert done == ["a", "b"]

    made.retry()
    assert done == ["a", "b", "a"]
