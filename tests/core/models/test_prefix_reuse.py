"""Prefix reuse: the logits of passes over whole prompts, from fewer tokens, on tiny random models
of several architectures."""

from __future__ import annotations

import copy
import logging
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra 'models' is not installed"
)

from small_models import words_tokenizer  # noqa: E402

from structrag.chunks.idms.splitter import IDMSSplitter  # noqa: E402
from structrag.models.margins import KEEP_OPTION, PROMPT, SPLIT_OPTION  # noqa: E402
from structrag.models.prefix_reuse import (  # noqa: E402
    PrefixReader,
    whole_logits,
)
from structrag.models.transformers_model import (  # noqa: E402
    TransformersMargin,
)
from structrag.reading.files import read_text  # noqa: E402

VOCABULARY = 40
SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.4,  # large, so that what stands far in front matters
}
PAIRED = {**SMALL, "num_key_value_heads": 1}
MAKERS: dict[str, Callable[[], Any]] = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**PAIRED)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCABULARY,
            n_positions=512,
            n_embd=16,
            n_layer=2,
            n_head=2,
            initializer_range=0.4,
        )
    ),
    "gpt_neox": lambda: transformers.GPTNeoXForCausalLM(
        transformers.GPTNeoXConfig(**SMALL)
    ),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**PAIRED)),
    # Positions from the mask, no position_ids.
    "bloom": lambda: transformers.BloomForCausalLM(
        transformers.BloomConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            n_layer=2,
            n_head=2,
            initializer_range=0.4,
        )
    ),
    "sliding": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**PAIRED, sliding_window=30)
    ),
    "mamba": lambda: transformers.MambaForCausalLM(
        transformers.MambaConfig(
            vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2
        )
    ),
}
USABLE = ["llama", "gpt2", "gpt_neox", "qwen2", "bloom", "sliding"]
HEAD = [3 + i * 7 % 30 for i in range(24)]  # a template


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny models are slower with more
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def models() -> Callable[[str], Any]:
    made: dict[str, Any] = {}

    def get(name: str) -> Any:
        if name not in made:
            torch.manual_seed(7)
            made[name] = MAKERS[name]().eval()
        return made[name]

    return get


@contextmanager
def counted(model: Any) -> Iterator[list[tuple[int, int]]]:
    """The shapes (rows, tokens) of the passes."""
    shapes: list[tuple[int, int]] = []
    hook = model.register_forward_pre_hook(
        lambda _, __, named: shapes.append(tuple(named["input_ids"].shape)),
        with_kwargs=True,
    )
    try:
        yield shapes
    finally:
        hook.remove()


def tokens(shapes: Sequence[tuple[int, int]]) -> int:
    return sum(rows * width for rows, width in shapes)


def ready(model: Any, least: int = 16) -> PrefixReader:
    reader = PrefixReader(model, least=least)
    with torch.inference_mode():
        reader.last_logits([list(range(30, 5, -1))])
    reader.forget()
    return reader


def check(reader: PrefixReader, rows: list[list[int]]) -> None:
    with torch.inference_mode():
        found, expected = reader.last_logits(rows), whole_logits(reader.model, rows)
    assert found.shape == (len(rows), VOCABULARY)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


ids = st.integers(0, VOCABULARY - 1)


@st.composite
def calls(draw: st.DrawFn) -> list[list[list[int]]]:
    """Batches of rows that start with a part of one sequence, which may be nothing or the whole
    row; some rows are equal."""
    stem = draw(st.lists(ids, min_size=1, max_size=60))
    row = st.builds(
        lambda length, rest: stem[:length] + rest or stem[:1],
        st.integers(0, 60) | st.just(60),
        st.lists(ids, max_size=25),
    )
    return draw(st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=5))


@pytest.mark.parametrize("least", [1, 16])
@pytest.mark.parametrize("name", USABLE)
def test_the_logits_are_those_of_whole_prompts(
    models: Any, name: str, least: int
) -> None:
    model = models(name)

    @settings(max_examples=20, deadline=None)
    @given(calls())
    @example([[[*HEAD, 1]], [[*HEAD, 1]], [HEAD]])  # equal, and a prefix of the last
    @example(
        [[[*HEAD, 1], [*HEAD, 1]], [HEAD, [*HEAD, 2, 3]], [[5], [6, 7]]]
    )  # the shortest is the common prefix
    # Past the window of "sliding", and back.
    @example([[HEAD * 3], [[*HEAD, 4], HEAD * 2]])
    def run(batches: list[list[list[int]]]) -> None:
        reader = PrefixReader(model, least=least)
        reader.usable = True
        for rows in batches:
            check(reader, rows)

    assert ready(model).usable is True
    run()


class Fails:
    """A cache that cannot be cropped."""

    def crop(self, n: int) -> None:
        raise NotImplementedError


def forgetful(model: Any, forward: Any) -> Any:
    """The model with a forward that breaks its cache in some way."""
    broken = copy.deepcopy(model)
    original = broken.forward

    def changed(
        input_ids: Any,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: Any = None,
    ) -> Any:
        named = {
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "use_cache": use_cache,
        }
        return forward(original, input_ids, past_key_values, named)

    broken.forward = changed
    return broken


def _ignores(original: Any, ids: Any, past: Any, named: dict[str, Any]) -> Any:
    named["attention_mask"] = named["attention_mask"][:, -ids.shape[1] :]
    output = original(ids, **named)
    output.past_key_values = past or output.past_key_values
    return output


def _returns_none(original: Any, ids: Any, past: Any, named: dict[str, Any]) -> Any:
    output = original(ids, **{**named, "use_cache": False})
    output.past_key_values = None
    return output


def _uncroppable(original: Any, ids: Any, past: Any, named: dict[str, Any]) -> Any:
    output = original(ids, **named)
    output.past_key_values = Fails()
    return output


@pytest.mark.parametrize("forward", [_ignores, _returns_none, _uncroppable])
def test_a_cache_that_does_not_work_is_found_out_once(
    models: Any, forward: Any
) -> None:
    model = forgetful(models("llama"), forward)
    reader = PrefixReader(model)
    check(reader, [[*HEAD, 1], [*HEAD, 2, 3]])
    assert reader.usable is False
    with counted(model) as shapes, torch.inference_mode():
        reader.last_logits([[*HEAD, 1], [*HEAD, 2, 3]])
    assert shapes == [(2, len(HEAD) + 2)]


def test_a_model_without_keys_and_values_reads_whole_prompts_without_a_word(
    models: Any,
) -> None:
    model, said = models("mamba"), []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    reader = PrefixReader(model)
    with torch.inference_mode():
        whole_logits(model, [HEAD])  # what the model says by itself, it says once
    logging.getLogger("transformers").addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check(reader, [[*HEAD, 1], [*HEAD, 2, 3]])
            check(reader, [[*HEAD, 1, 4]])
    finally:
        logging.getLogger("transformers").removeHandler(handler)
    assert reader.usable is False and reader.ids == []
    assert not said


WORDS = [
    "<unk>",
    "1",
    "2",
    "the",
    "cats",
    "dogs",
    "eat",
    "sleep",
    "all",
    "day",
    ".",
    "Passage",
    "A",
    "B",
    ":",
    "Answer",
]
TEXT = (
    "The cats eat. The dogs sleep. The cats sleep all day. The dogs eat all day. The dogs "
    "sleep. The cats eat."
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return words_tokenizer(WORDS)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
@pytest.mark.parametrize("context", ["adjacent", "window:2", "chunk"])
def test_a_splitter_has_the_same_margins_for_fewer_tokens(
    models: Any, tokenizer: Any, name: str, context: str
) -> None:
    found: list[list[float]] = []
    read: list[int] = []
    for reuse in (True, False):
        weigher = TransformersMargin(
            models(name), tokenizer, batch_size=2, reuse_prefix=reuse
        )
        weigher.choose(TEXT, ("1", "2"))  # tried out
        with counted(weigher.model) as shapes:
            series = (
                IDMSSplitter(margin=weigher, context=context, min_tokens=0)
                .explain(read_text(TEXT))
                .series[0]
            )
        found.append(list(series.values[1:]))
        read.append(tokens(shapes))
    assert len(found[0]) == 5
    assert found[0] == pytest.approx(found[1], abs=1e-4)
    assert read[0] < 0.75 * read[1]


def test_threads_get_what_one_gets(models: Any, tokenizer: Any) -> None:
    plain = TransformersMargin(models("llama"), tokenizer, reuse_prefix=False)
    shared = TransformersMargin(models("llama"), tokenizer, batch_size=3)
    jobs = [
        ["the cats " * 12 + "eat " * (i % 4 + j) for j in range(i % 5 + 1)]
        for i in range(24)
    ]
    start = threading.Barrier(4)

    def ask(number: int) -> list[list[float | None]]:
        start.wait()
        return [shared.choose_many(prompts, ("1", "2")) for prompts in jobs[number::4]]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    for number in range(4):
        for prompts, margins in zip(jobs[number::4], answers[number], strict=True):
            assert margins == pytest.approx(
                plain.choose_many(prompts, ("1", "2")), abs=1e-4
            )


def test_the_prefix_is_not_pickled_or_shared_with_a_copy(
    models: Any, tokenizer: Any
) -> None:
    weigher = TransformersMargin(copy.deepcopy(models("llama")), tokenizer)
    prompt = "the cats eat " * 8
    margin, size = weigher.choose(prompt, ("1", "2")), len(pickle.dumps(weigher))
    assert len(weigher._reader.ids) == 24
    for other in (pickle.loads(pickle.dumps(weigher)), copy.deepcopy(weigher)):
        assert not other._reader.ids
        assert other.choose(prompt, ("1", "2")) == pytest.approx(margin, abs=1e-6)
    weigher.choose(prompt * 10, ("1", "2"))
    assert len(pickle.dumps(weigher)) == pytest.approx(size, abs=64)
    weigher.model = models("qwen2")  # another model has another prefix
    expected = TransformersMargin(models("qwen2"), tokenizer).choose(prompt, ("1", "2"))
    assert weigher.choose(prompt, ("1", "2")) == pytest.approx(expected, abs=1e-6)


def _real_prompts() -> list[str]:
    sentences = [
        f"The {part} of pump {n} moves {fluid} at {n * 7} degrees, as page {n * 3} says."
        for n, (part, fluid) in enumerate(product(["wheel"], ["oil", "water"]))
    ] + [
        "Herons nest in alders.",
        "In spring they come back, and build where they built before.",
    ]
    return [
        PROMPT.format(left=left, right=right, first=SPLIT_OPTION, second=KEEP_OPTION)
        for left, right in pairwise(sentences)
    ]


@pytest.mark.slow
@pytest.mark.long
def test_a_real_model_of_sixteen_bits_reuses_its_prefix(
    smollm: tuple[Any, Any],
) -> None:
    """Reading a prefix by itself adds at most 0.005 to what sixteen bits round away anyway."""
    model, tokenizer = smollm
    prompts = _real_prompts()
    reusing = TransformersMargin(model, tokenizer)
    reusing.choose(prompts[0], ("2", "1"))
    assert reusing._reader is not None and reusing._reader.usable is True
    read, margins = [], []
    for weigher in (reusing, TransformersMargin(model, tokenizer, reuse_prefix=False)):
        with counted(model) as shapes:
            margins.append(weigher.choose_many(prompts, ("2", "1")))
        read.append(tokens(shapes))
    assert read[0] < 0.6 * read[1]
    wide = copy.deepcopy(model).float()
    exact = TransformersMargin(wide, tokenizer, reuse_prefix=False).choose_many(
        prompts, ("2", "1")
    )
    reused, plain = (
        [abs(margin - true) for margin, true in zip(of, exact, strict=True)]
        for of in margins
    )
    assert max(reused) <= max(plain) + 0.005
    reusing = TransformersMargin(wide, tokenizer)
    reusing.choose(prompts[0], ("2", "1"))
    assert reusing.choose_many(prompts, ("2", "1")) == pytest.approx(exact, abs=1e-4)
