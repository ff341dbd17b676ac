"""The transformers margin model, on a tiny causal model with random weights, against a direct
computation."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from fixture_cases import examples

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra 'models' is not installed"
)

from small_models import small_causal_model, words_tokenizer  # noqa: E402

from structrag.errors import InvalidParameter  # noqa: E402
from structrag.models.margins import (  # noqa: E402
    KEEP_OPTION,
    PROMPT,
    SPLIT_OPTION,
)
from structrag.models.transformers_model import (  # noqa: E402
    TransformersMargin,
    tokens_of_prompt,
)

WORDS = [
    "<pad>",
    "<unk>",
    "<s>",
    "1",
    "2",
    "Yes",
    "yes",
    "no",
    "cats",
    "dogs",
    "eat",
    "sleep",
    "A",
    "B",
    "Passage",
    ".",
]
PROMPTS = ["cats eat", "dogs sleep . cats eat . dogs", "A", "Passage A Passage B"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return words_tokenizer(WORDS, "<s> $A", pad_token="<pad>", bos_token="<s>")


@pytest.fixture(scope="module")
def model() -> Any:
    return small_causal_model(words=WORDS, longest=256)


def direct(
    model: Any, tokenizer: Any, prompt: str, first: list[str], second: list[str]
) -> tuple[float, float, float]:
    """Margin, plain difference and mass from one unpadded forward pass."""
    ids = torch.tensor([tokenizer.encode(prompt)])
    with torch.no_grad():
        p = torch.softmax(model(ids).logits[0, -1].double(), -1).numpy()
    a, b = (sum(p[WORDS.index(word)] for word in words) for words in (first, second))
    return (a - b) / (a + b), a - b, a + b


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_padded_batches_equal_single_passes(
    model: Any, tokenizer: Any, batch_size: int
) -> None:
    weigher = TransformersMargin(model, tokenizer, batch_size=batch_size)
    for prompt, weighed in zip(
        PROMPTS, weigher.weigh(PROMPTS, ("2", "1")), strict=True
    ):
        margin, _, mass = direct(model, tokenizer, prompt, ["2"], ["1"])
        assert weighed is not None
        assert weighed.margin == pytest.approx(margin, abs=1e-5)
        assert weighed.mass == pytest.approx(mass, abs=1e-5)
        assert weigher.choose(prompt, ("2", "1")) == pytest.approx(margin, abs=1e-5)
        assert weigher.choose(prompt, ("1", "2")) == pytest.approx(-margin, abs=1e-5)


def test_variants_are_added_up_and_the_difference_can_stay_plain(
    model: Any, tokenizer: Any
) -> None:
    margin, plain, _ = direct(model, tokenizer, "cats", ["Yes", "yes"], ["no"])
    assert TransformersMargin(model, tokenizer).choose(
        "cats", ("yes", "no")
    ) == pytest.approx(margin, abs=1e-5)
    raw = TransformersMargin(model, tokenizer).unnormalised
    assert raw.choose("cats", ("yes", "no")) == pytest.approx(plain, abs=1e-5)
    assert raw.name != TransformersMargin(model, tokenizer).name


def test_the_chat_template_is_used(tokenizer: Any) -> None:
    chat = copy.deepcopy(tokenizer)
    chat.chat_template = (
        "A {% for m in messages %}{{ m['content'] }}{% endfor %}{% if "
        "add_generation_prompt %} B{% endif %}"
    )
    ids = tokens_of_prompt(chat, "cats eat")
    assert [WORDS[i] for i in ids] == [
        "A",
        "cats",
        "eat",
        "B",
    ]  # and no start token but the template's own


def test_a_prompt_that_is_too_long_has_no_margin(model: Any, tokenizer: Any) -> None:
    short = copy.deepcopy(model)
    short.config.max_position_embeddings = 4
    weigher = TransformersMargin(short, tokenizer)
    assert weigher.weigh(["cats " * 4, "cats " * 3], ("1", "2"))[0] is None
    assert weigher.choose("cats " * 3, ("1", "2")) is not None
    assert weigher.weigh([], ("1", "2")) == []


@examples
def test_options_must_be_two_tokens(
    model: Any, tokenizer: Any, options: tuple[str, str]
) -> None:
    with pytest.raises(InvalidParameter, match="options must be"):
        TransformersMargin(model, tokenizer).choose("cats", options)


def test_it_pickles_and_needs_a_tokenizer(model: Any, tokenizer: Any) -> None:
    weigher = TransformersMargin(model, tokenizer)
    again = pickle.loads(pickle.dumps(weigher))
    assert again.choose("cats", ("1", "2")) == weigher.choose("cats", ("1", "2"))
    with pytest.raises(InvalidParameter, match="tokenizer must be passed"):
        TransformersMargin(model)


def test_pairs_of_passages_are_asked_about_by_the_splitters_prompt(
    model: Any, tokenizer: Any
) -> None:
    weigher = TransformersMargin(model, tokenizer)
    prompt = PROMPT.format(
        left="cats eat", right="dogs", first=SPLIT_OPTION, second=KEEP_OPTION
    )
    assert weigher([("cats eat", "dogs")]) == pytest.approx(
        [weigher.choose(prompt, ("2", "1"))], abs=1e-5
    )
    assert weigher([]) == []


def test_the_question_about_pairs_may_be_another(model: Any, tokenizer: Any) -> None:
    weigher = TransformersMargin(model, tokenizer, prompt="A {left} B {right}")
    margin, _, _ = direct(model, tokenizer, "A cats B dogs", ["2"], ["1"])
    assert weigher([("cats", "dogs")]) == pytest.approx([margin], abs=1e-5)
    with pytest.raises(InvalidParameter, match="prompt must"):
        TransformersMargin(model, tokenizer, prompt="A {left}")


@pytest.mark.parametrize("reuse", [True, False])
def test_sixteen_bits_give_the_margin_of_more(
    model: Any, tokenizer: Any, reuse: bool
) -> None:
    short = copy.deepcopy(model).bfloat16()
    weigher = TransformersMargin(short, tokenizer, reuse_prefix=reuse)
    with torch.no_grad():
        ids = torch.tensor([tokenizer.encode("cats eat")])
        hidden = short.transformer(ids).last_hidden_state[0, -1].float()
        weight = short.lm_head.weight.float()
        first, second = (hidden @ weight[WORDS.index(word)] for word in ("1", "2"))
    assert weigher.choose("cats eat", ("1", "2")) == pytest.approx(
        float(torch.tanh((first - second) / 2)), abs=1e-5
    )
