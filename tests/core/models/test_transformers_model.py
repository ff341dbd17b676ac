"""A local causal model as a language model: on a tiny one with random weights against a direct
computation, and on a real one."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra 'models' is not installed")
transformers = pytest.importorskip(
    "transformers", reason="the extra 'models' is not installed"
)

from small_models import (  # noqa: E402
    WORDS,
    small_causal_model,
    small_tokenizer,
)

from structrag import Index, MultiViewRetriever, read_text  # noqa: E402
from structrag.chunks.idms.splitter import IDMSSplitter  # noqa: E402
from structrag.errors import InvalidParameter  # noqa: E402
from structrag.model_calls.cache import Cache  # noqa: E402
from structrag.model_calls.requests import Ask, Flow  # noqa: E402
from structrag.model_calls.runner import Runner  # noqa: E402
from structrag.models.transformers_model import (  # noqa: E402
    TransformersMargin,
    TransformersModel,
)

PROMPTS = ["cats eat", "dogs sleep . cats eat . dogs", "yes", "no no cats dogs eat ."]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return small_tokenizer()


@pytest.fixture(scope="module")
def model() -> Any:
    changed = small_causal_model()
    changed.generation_config.eos_token_id = None
    return changed


@pytest.fixture
def llm(model: Any, tokenizer: Any) -> TransformersModel:
    return TransformersModel(model, tokenizer, max_new_tokens=4)


def log_likelihood(model: Any, ids: list[int], n_read: int) -> float:
    """Of the ids behind the first `n_read`, by one pass over all."""
    with torch.no_grad():
        logs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    return sum(float(logs[i - 1, ids[i]]) for i in range(n_read, len(ids)))


def ids_of(text: str) -> list[int]:
    return [WORDS.index(word) for word in text.split()]


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_answers_are_the_most_likely_tokens_in_any_batch(
    model: Any, tokenizer: Any, batch_size: int
) -> None:
    llm = TransformersModel(model, tokenizer, max_new_tokens=4, batch_size=batch_size)
    expected = []
    for prompt in PROMPTS:
        ids = ids_of(prompt)
        for _ in range(4):
            with torch.no_grad():
                ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
        expected.append(tokenizer.decode(ids[-4:], skip_special_tokens=True))
    assert llm.complete_many(PROMPTS) == expected
    assert [llm.complete(prompt) for prompt in PROMPTS] == expected
    assert llm.complete_many([]) == []


@pytest.mark.parametrize("batch_size", [1, 2, 8])
@pytest.mark.parametrize("prompt", ["cats", "cats eat . dogs sleep . " * 4])
def test_scores_are_log_likelihoods(
    model: Any, tokenizer: Any, prompt: str, batch_size: int
) -> None:
    llm = TransformersModel(model, tokenizer, batch_size=batch_size)
    texts = ["eat", "dogs sleep .", "", "no no", "yes ."]
    read = ids_of(prompt)
    expected = [
        log_likelihood(model, [*read, *ids_of(text)], len(read)) for text in texts
    ]
    assert llm.score(prompt, texts) == pytest.approx(expected, abs=1e-4)
    # The prefix is kept.
    assert llm.score(prompt, texts) == pytest.approx(expected, abs=1e-4)
    assert llm.score(prompt, []) == [] and llm.score(prompt, [""]) == [0.0]
    assert llm.score("", ["eat"])[0] < 0


def test_whole_answers_end(model: Any, tokenizer: Any) -> None:
    ending = copy.deepcopy(model)
    ending.generation_config.eos_token_id = [WORDS.index("."), WORDS.index("<s>")]
    llm = TransformersModel(ending, tokenizer)
    read, text = ids_of("cats eat"), ids_of("dogs sleep")
    ends = [log_likelihood(ending, [*read, *text, end], 2) for end in ids_of(". <s>")]
    expected = math.log(sum(map(math.exp, ends)))
    assert llm.score("cats eat", ["dogs sleep"], whole=True) == pytest.approx(
        [expected], abs=1e-4
    )


def test_options_of_any_length_have_a_margin(
    model: Any, llm: TransformersModel
) -> None:
    margin = TransformersMargin(model, llm.tokenizer).choose("cats eat", ("yes", "no"))
    assert llm.choose("cats eat", ("yes", "no")) == pytest.approx(margin, abs=1e-6)
    long = ("cats eat .", "dogs sleep all day")
    first, second = llm.score("cats eat", long, whole=True)
    expected = math.tanh((first - second) / 2)
    assert llm.choose("cats eat", long) == pytest.approx(expected, abs=1e-6)
    assert llm.choose_many(["cats eat", "dogs"], long)[0] == pytest.approx(
        expected, abs=1e-6
    )
    assert llm.masses.n == 4
    with pytest.raises(InvalidParameter, match="options must be"):
        llm.choose("cats", ("yes", "yes"))


def test_its_form_without_normalising(model: Any, tokenizer: Any) -> None:
    llm = TransformersModel(model, tokenizer)
    plain = llm.unnormalised
    expected = TransformersMargin(model, tokenizer).unnormalised
    assert plain.choose("cats eat", ("1", "2")) == pytest.approx(
        expected.choose("cats eat", ("1", "2"))
    )
    for options in (("1", "2"), ("the cats", "the dogs eat")):
        assert llm.choose("cats eat", options) != plain.choose("cats eat", options)
    assert llm.masses.n == 5 and plain.name == f"{llm.name}|not normalised"
    assert llm.unnormalised is plain and plain.unnormalised is plain
    assert pickle.loads(pickle.dumps(llm)).unnormalised.name == plain.name


def test_a_prompt_above_the_window_loses_its_middle(model: Any, tokenizer: Any) -> None:
    llm = TransformersModel(model, tokenizer, max_new_tokens=8)
    long = "1 2 " + "cats eat . " * 60 + "dogs sleep"
    with pytest.warns(
        UserWarning, match="64 tokens: .* tokens were removed from its middle"
    ):
        llm.complete(long)
    assert llm.cuts.prompts == 1 and llm.cuts.tokens > 120
    with warnings.catch_warnings():  # the second one is only counted
        warnings.simplefilter("error")
        assert len(llm.choose_many([long, "cats"], ("yes", "no"))) == 2
        assert len(llm.score(long, ["cats eat", "dogs " * 100])) == 2
    assert str(llm.cuts).startswith("4 prompts cut, ")


def test_bad_text_is_no_error(llm: TransformersModel) -> None:
    for text in "", "\ud800", "\x00", "   ":
        assert isinstance(llm.complete(text), str)
        assert len(llm.score(text, [text, "cats"])) == 2


async def test_a_runner_asks_many_prompts_at_once(llm: TransformersModel) -> None:
    sizes: list[int] = []
    whole = llm.complete_many
    llm.complete_many = lambda prompts: sizes.append(len(prompts)) or whole(prompts)  # type: ignore
    runner = Runner(llm=llm, cache=Cache(":memory:"), batch_size=3)

    def call_settings() -> Flow[list[str]]:
        return (yield [Ask(prompt) for prompt in [*PROMPTS, PROMPTS[0]]])

    answers = runner.run(call_settings())
    assert answers == [*whole(PROMPTS), whole(PROMPTS)[0]]
    assert sizes == [3, 1] and runner.usage.calls == len(PROMPTS)
    assert await runner.arun(call_settings()) == answers and runner.usage.calls == len(
        PROMPTS
    )


def test_it_splits_and_indexes(model: Any, tokenizer: Any) -> None:
    llm = TransformersModel(model, tokenizer, window=64, max_new_tokens=4)
    text = "# Cats\n\nThe cats eat. The dogs sleep. The cats sleep.\n\n# Dogs\n\nThe dogs eat."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = IDMSSplitter(context="adjacent").split(read_text(text), llm=llm)
        index = Index(llm=llm)
        index.add([read_text(text)])
    assert "log-probabilities" in {chunk.extras["margin_source"] for chunk in chunks}
    assert MultiViewRetriever(index).search("dogs")


def test_names_tell_weights_and_limits_apart(model: Any, tokenizer: Any) -> None:
    llm = TransformersModel(model, tokenizer)
    others = [
        TransformersModel(small_causal_model(1), tokenizer),
        TransformersModel(model, tokenizer, max_new_tokens=5),
        TransformersModel(model, tokenizer, window=40),
    ]
    assert len({llm.name, *(other.name for other in others)}) == 4
    assert TransformersModel(model, tokenizer, name="mine").name == "mine"


def test_it_is_pickled(llm: TransformersModel) -> None:
    again = pickle.loads(pickle.dumps(llm))
    assert again.name == llm.name and again.complete_many(PROMPTS) == llm.complete_many(
        PROMPTS
    )


def test_what_it_refuses(model: Any, tokenizer: Any) -> None:
    with pytest.raises(InvalidParameter, match="tokenizer must be passed"):
        TransformersModel(model)
    with pytest.raises(InvalidParameter, match="nothing is downloaded"):
        TransformersModel("no/such-model")


@pytest.mark.slow
@pytest.mark.llm
def test_a_real_model_answers(smollm: tuple[Any, Any]) -> None:
    llm = TransformersModel(*smollm, max_new_tokens=12)
    prompts = ["What is the capital of France? Answer with one word.", "Say hello."]
    answers = llm.complete_many(prompts)
    assert "Paris" in answers[0] and all(answers)
    countries = ["Paris", "A small town in the north of Norway", "I do not know"]
    scores = llm.score(prompts[0], countries, whole=True)
    assert max(scores) == scores[0]
    assert llm.choose("Is water wet? Answer yes or no.", ("yes", "no")) is not None
