"""The row that says which versions are there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structrag.index.milvus_state import State, packed, unpacked


def visible(state: State, version: int) -> bool:
    """What the condition says of a version, taken as Python."""
    return bool(eval(state.visible(), {"version": version}))


@given(
    st.integers(0, 30),
    st.lists(st.tuples(st.sampled_from([1.0, 2.0]), st.integers(1, 30))),
)
def test_what_is_hidden_is_not_seen(last: int, hidden: list[tuple[float, int]]) -> None:
    state = State(
        last=last, widths={"raw": 3}, counts={"raw": [(1, 2, 3)]}, writing=(4, 5)
    )
    for since, version in hidden:
        state.hide(since, version, version)
    again = State.from_text(state.to_text())
    assert again == state
    numbers = {version for _, version in hidden}
    for version in range(40):
        assert visible(again, version) == (version <= last and version not in numbers)


def test_versions_that_follow_each_other_are_one_range() -> None:
    state = State(last=9)
    for version in (2, 3, 4, 7):
        state.hide(1.0, version, version)
    state.hide(2.0, 8, 8)
    assert state.hidden == [(1.0, 2, 4), (1.0, 7, 7), (2.0, 8, 8)]
    assert state.visible() == (
        "version <= 9 and (version < 2 or version > 4) and version not in [7, 8]"
    )


def test_a_state_of_many_changes_fits_into_a_row() -> None:
    state = State()
    for version in range(0, 12_000, 2):
        state.hide(1_700_000_000.123 + version, version, version)
    assert len(state.to_text()) < 65_535


@given(st.binary())
def test_bytes_come_back_as_they_were(content: bytes) -> None:
    text = packed(content)
    assert text.isascii() and unpacked(text) == content


def test_a_new_store_has_no_versions_and_gives_the_first() -> None:
    state = State()
    assert (state.changes, state.last, state.next, state.next_key) == (0, 0, 1, 0)
    assert (state.writing, state.removed, state.n_chunks) == ((0, 0), 0, 0)
    assert state.visible() == "version <= 0" and not visible(state, 1)


def test_a_gap_or_another_moment_begins_a_new_range() -> None:
    state = State(last=99)
    for since, first, last in ((1.0, 3, 5), (1.0, 7, 8), (1.0, 9, 9), (2.0, 10, 11)):
        state.hide(since, first, last)
    assert state.hidden == [(1.0, 3, 5), (1.0, 7, 9), (2.0, 10, 11)]
    state.hide(2.0, 2, 2)  # before the last range
    assert state.hidden[-1] == (2.0, 2, 2)
    hidden = [version for version in range(100) if not visible(state, version)]
    assert hidden == [2, 3, 4, 5, 7, 8, 9, 10, 11]
