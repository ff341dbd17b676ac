"""The row that says which versions are there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structrag.index.milvus_collections import StoreState, packed, unpacked


def visible(state: StoreState, version: int) -> bool:
    """What the condition says of a version, taken as Python."""
    return bool(eval(state.visible(), {"version": version}))


@given(
    st.integers(0, 30),
    st.lists(st.tuples(st.sampled_from([1.0, 2.0]), st.integers(1, 30))),
)
def test_what_is_hidden_is_not_seen(last: int, hidden: list[tuple[float, int]]) -> None:
    state = StoreState(
        last=last, widths={"raw": 3}, counts={"raw": [(1, 2, 3)]}, writing=(4, 5)
    )
    for since, version in hidden:
        state.hide(since, version, version)
    again = StoreState.from_text(state.to_text())
    assert again == state
    numbers = {version for _, version in hidden}
    for version in range(40):
        assert visible(again, version) == (version <= last and version not in numbers)


@given(st.binary())
def test_bytes_come_back_as_they_were(content: bytes) -> None:
    text = packed(content)
    assert text.isascii() and unpacked(text) == content
