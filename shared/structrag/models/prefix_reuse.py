"""Prompts read behind a prefix that they share with earlier ones. The keys and values of one prefix
of token ids are kept (foundation, section 7)."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structrag.errors import require
from structrag.models.loading import batch_of

Row = Sequence[int]  # the token ids of a prompt

PROBED = 24  # most tokens of the prompt that a model's cache is tried out on
LEAST_PROBED = 8
# of the spread of the logits; what rounding to 16 bits costs is below, a cache that is not used is
# above
TOLERANCE = 0.05
# what models raise whose cache cannot be cropped or repeated
CACHE_ERRORS = (
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)


def common_length(rows: Sequence[Row]) -> int:
    """How many token ids all rows start with.

    O(total length). Raises ValueError without any row.
    """
    low, high = min(rows, key=list), max(rows, key=list)
    for i, (one, other) in enumerate(zip(low, high, strict=False)):
        if one != other:
            return i
    return len(low)


def whole_logits(model: Any, rows: Sequence[Row], pad: int = 0) -> Any:
    """Logits after each row, a tensor (rows, vocabulary); without a cache."""
    return _in_passes(model, rows, lambda some: _pass(model, some, pad)[0])


def _in_passes(
    model: Any, rows: Sequence[Row], read: Callable[[Sequence[Row]], Any]
) -> Any:
    """The logits of all rows, in one or more calls of `read`.

    How many is up to the model's numbers. Padding moves the logits of 16-bit numbers, on a
    processor by more than one answer differs from the next, and saves no time there. So a pass has
    rows of one length there.
    """
    torch: Any = require("torch", extra="models")
    is_short = getattr(model, "dtype", None) in (torch.float16, torch.bfloat16)
    if not is_short or torch.device(getattr(model, "device", "cpu")).type != "cpu":
        return read(rows)
    places: dict[int, list[int]] = {}  # length -> rows
    for i, row in enumerate(rows):
        places.setdefault(len(row), []).append(i)
    logits = torch.cat(
        [read([rows[i] for i in of_length]) for of_length in places.values()]
    )
    order = [i for of_length in places.values() for i in of_length]
    return logits[sorted(range(len(order)), key=order.__getitem__)]


def _pass(
    model: Any,
    rows: Sequence[Row],
    pad: int,
    n_read: int = 0,
    cache: Any = None,
    begin: int | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Logits after the rows and the filled cache, of `n_read` tokens before.

    With `begin` those after every token from that place on, (rows, tokens, vocabulary).
    Padding stands at the right, where no token sees it and positions run on from the prefix.
    """
    torch: Any = require("torch", extra="models")
    width = max(map(len, rows))
    device = getattr(model, "device", "cpu")
    inputs = {**batch_of(rows, pad, device, read=n_read), **options}
    accepted = inspect.signature(model.forward).parameters
    if cache is None and "use_cache" not in options and "use_cache" in accepted:
        inputs["use_cache"] = False
    if cache is not None:
        inputs["past_key_values"] = cache
    if "position_ids" in accepted:
        positions = torch.arange(n_read, n_read + width, device=device)
        inputs["position_ids"] = positions.expand(len(rows), -1)
    last = [len(row) - 1 for row in rows]
    places = sorted(set(last)) if begin is None else list(range(begin, width))
    if "logits_to_keep" in accepted:
        inputs["logits_to_keep"] = torch.tensor(places, device=device)
    output = model(**inputs)
    logits = output.logits if "logits_to_keep" in accepted else output.logits[:, places]
    if begin is None:
        logits = logits[list(range(len(rows))), [places.index(place) for place in last]]
    return logits, getattr(output, "past_key_values", None)


@dataclass(eq=False, slots=True)
class PrefixReader:
    """A causal language model that reads only behind a kept prefix.

    The keys and values of one prefix are kept. The prefix is what the prompts of a batch have in
    common, or the whole of a prompt that was read alone; the next prompts use as much of it as they
    share, token by token. Whether a model can do that is tried out once, on the first prompt of 8
    tokens: its cache must be one that can be cropped and repeated, and give the logits of a pass
    without it. Other models read every prompt whole. Not safe in several threads at a time: the
    caller has the lock, and calls in `torch.inference_mode`.

    Attributes:
        model: A causal language model of transformers.
        pad: Id of the padding token.
        least: A prefix of fewer tokens is not given a pass of its own, or copied for a batch.
        usable: Whether the model's cache can be used; None while it has not been tried out.
        ids: The tokens that were read.
    """

    model: Any
    pad: int = 0
    least: int = 16
    usable: bool | None = field(default=None, init=False)
    ids: list[int] = field(default_factory=list, init=False)
    _cache: Any = field(default=None, init=False, repr=False)
    _place: tuple[str, str] = field(default=("", ""), init=False, repr=False)

    def last_logits(self, rows: Sequence[Row]) -> Any:
        """Logits of the token after each row, a tensor (rows, vocabulary). No row may be empty."""
        if not self._is_ready(max(rows, key=len)):
            return whole_logits(self.model, rows, self.pad)
        if len(rows) == 1:
            shared = common_length([rows[0], self.ids])
            # Its last token is always read.
            n_read = self._cut(min(shared, len(rows[0]) - 1))
            return self._append(rows[0][n_read:])
        # Each row needs a token of its own to read behind the prefix.
        shared = min(common_length(rows), min(map(len, rows)) - 1)
        n_read = common_length([rows[0][:shared], self.ids])
        prefix = shared if shared - n_read >= self.least else n_read
        if prefix < self.least:  # not worth a copy for the batch
            return whole_logits(self.model, rows, self.pad)
        n_read = self._cut(n_read)
        if n_read < prefix:
            self._append(rows[0][n_read:prefix])
        return _in_passes(self.model, [row[prefix:] for row in rows], self._behind)

    def likelihoods(
        self, prefix: Row, rows: Sequence[Row], ends: Sequence[int] = ()
    ) -> Any:
        """Log-likelihoods of rows, each behind one prefix: float64, (rows,).

        With `ends` each row is followed by one of these tokens, whose probabilities are added up.
        The prefix may not be empty; an empty row without ends has 0.
        """
        torch: Any = require("torch", extra="models")
        if not self._is_ready(prefix) or len(prefix) < self.least:

            def read_whole(some: Sequence[Row]) -> Any:
                whole = [[*prefix, *row] for row in some]
                logits, _ = _pass(self.model, whole, self.pad, begin=len(prefix) - 1)
                return _added_logs(logits, some, ends)

            return _in_passes(self.model, rows, read_whole)
        shared = common_length([prefix, self.ids])
        n_read = self._cut(min(shared, len(prefix) - 1))
        after_prefix = self._append(prefix[n_read:])[:, None]

        def read(some: Sequence[Row]) -> Any:
            logits = after_prefix.expand(len(some), -1, -1)
            if any(some):
                after = self._behind([row or [self.pad] for row in some], begin=0)
                logits = torch.cat([logits.to(after.dtype), after], dim=1)
            return _added_logs(logits, some, ends)

        return _in_passes(self.model, rows, read)

    def _is_ready(self, row: Row) -> bool:
        """Whether a kept prefix can be used; tried out once."""
        if self.usable is None:
            self.usable = self._probe(row)
        place = (
            str(getattr(self.model, "device", "")),
            str(getattr(self.model, "dtype", "")),
        )
        if place != self._place:  # what was kept is of other numbers, or elsewhere
            self.forget()
            self._place = place
        return bool(self.usable)

    def __reduce__(self) -> tuple[type[PrefixReader], tuple[Any, int, int]]:
        return PrefixReader, (self.model, self.pad, self.least)

    def forget(self) -> None:
        """Drop the prefix."""
        self.ids, self._cache = [], None

    def _cut(self, length: int) -> int:
        """Keep the first tokens of the prefix; how many are left. 0 where the cache cannot go back
        (a full sliding window)."""
        surplus = len(self.ids) - length
        if not length:
            self.forget()
        elif surplus:
            try:
                self._cache.crop(-surplus)
            except (RuntimeError, ValueError):
                self.forget()
            self.ids = self.ids[:length]
        return len(self.ids)

    def _append(self, row: Row) -> Any:
        """Read a row behind the prefix and add it; logits of `last_logits`."""
        ids, cache = self.ids, self._cache
        self.forget()  # a pass that fails leaves the cache half filled
        logits, filled = _pass(
            self.model, [row], self.pad, len(ids), cache, use_cache=True
        )
        self.ids, self._cache = [*ids, *row], filled
        return logits

    def _behind(self, rows: Sequence[Row], begin: int | None = None) -> Any:
        """Read rows, each behind a copy of the prefix; the logits of `_pass`."""
        repeated = copy.deepcopy(self._cache)  # a pass writes into its cache
        repeated.batch_repeat_interleave(len(rows))
        n_read = len(self.ids)
        logits, _ = _pass(
            self.model, rows, self.pad, n_read, repeated, begin, use_cache=True
        )
        return logits

    def _probe(self, row: Row) -> bool | None:
        """Whether a cache gives the logits of a pass without one. It is read, cropped, read on, and
        repeated. None: the row is too short to tell."""
        head = list(row[:PROBED])
        accepted = inspect.signature(self.model.forward).parameters
        if not {"past_key_values", "use_cache"} <= set(accepted):
            return False
        if len(head) < LEAST_PROBED:
            return None
        torch: Any = require("torch", extra="models")
        rows, half = [head, head[:-2]], len(head) // 2
        # Each row alone: padding itself moves the logits of 16-bit numbers.
        whole = torch.cat([whole_logits(self.model, [row]) for row in rows])
        try:
            self._append(head)
            if self._cut(half) != half:
                return False
            repeated = _in_passes(
                self.model, [row[half:] for row in rows], self._behind
            )
            alone = self._append(head[half:])
        except CACHE_ERRORS:
            return False
        finally:
            self.forget()
        return _close(repeated, whole) and _close(alone, whole[:1])


def _added_logs(logits: Any, rows: Sequence[Row], ends: Sequence[int]) -> Any:
    """The log-likelihoods of rows.

    `logits` are those before each token of a row and after the last. The sum over the vocabulary is
    taken in float32, which is most of the work and within 0.00001 of float64 a token.
    """
    torch: Any = require("torch", extra="models")
    logits = logits.float()
    totals = torch.logsumexp(logits, dim=-1).double()
    sums = torch.zeros(len(rows), dtype=torch.float64, device=logits.device)
    for i, row in enumerate(rows):
        if row:
            places = range(len(row))
            sums[i] = (logits[i, places, list(row)].double() - totals[i, places]).sum()
        if ends:
            end = torch.logsumexp(logits[i, len(row), list(ends)].double(), dim=-1)
            sums[i] = sums[i] + end - totals[i, len(row)]
    return sums


def _close(logits: Any, expected: Any) -> bool:
    spread = (expected - expected.mean(-1, keepdim=True)).float().norm()
    if logits.shape != expected.shape:
        return False
    return bool((logits - expected).float().norm() <= TOLERANCE * spread)
