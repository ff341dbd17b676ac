"""ImageDescriber: a chat model describes images, and reads no file it should not."""

from __future__ import annotations

import pickle
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langchain_structrag import HiQARetriever, HiQATransformer, ImageDescriber


class Seeing(FakeListChatModel):
    """Says what it was shown."""

    responses: list[str] = []  # noqa: RUF012

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        text, image = messages[0].content
        told = f"{text['text']} {sorted((key, value) for key, value in image.items())}"
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=told))])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "img").mkdir(parents=True)
    (docs / "img" / "pins.jpg").write_bytes(b"pixels")
    (tmp_path / "secret.png").write_bytes(b"secret")
    return docs


def test_addresses_data_and_files_become_content_blocks(folder: Path) -> None:
    describe = ImageDescriber(Seeing(), "What?", folder)
    pixels = b64encode(b"pixels").decode()
    assert (
        describe("https://x.org/a.png")
        == "What? [('type', 'image'), ('url', 'https://x.org/a.png')]"
    )
    shown = f"What? [('base64', '{pixels}'), ('mime_type', 'image/{{}}'), ('type', 'image')]"
    assert describe(f"data:image/gif;base64,{pixels}") == shown.format("gif")
    assert (
        describe("img/pins.jpg")
        == describe(str(folder / "img" / "pins.jpg"))
        == shown.format("jpeg")
    )
    assert pickle.loads(pickle.dumps(describe))("img/pins.jpg") == describe(
        "img/pins.jpg"
    )


def test_the_transformer_indexes_what_it_says(folder: Path) -> None:
    text = "# Part\n\nSome words.\n\n![Pins](img/pins.jpg)\n\n![Gone](img/none.png)\n"
    transformer = HiQATransformer(
        describe_image=ImageDescriber(Seeing(), "What?", folder), add_context=True
    )
    images = [
        s
        for s in transformer.create_documents([text])
        if s.metadata["hiqa_kind"] == "image"
    ]
    assert [image.metadata["hiqa_degraded"] for image in images] == [False, True]
    assert (
        "image/jpeg" in images[0].page_content
        and "image/jpeg" in images[0].metadata["hiqa_description"]
    )


def test_an_index_keeps_no_key_of_the_model(folder: Path) -> None:
    class Keyed(Seeing):
        model: str = "sees-1"
        api_key: str = "sk-secret"

    splitter = HiQATransformer(describe_image=ImageDescriber(Keyed(), folder=folder))
    retriever = HiQARetriever.from_texts(
        ["# Part\n\n![Pins](img/pins.jpg)\n"], splitter=splitter
    )
    assert retriever.invoke("jpeg")[0].metadata["hiqa_kind"] == "image"
    name = retriever.index.settings_name()
    assert "sees-1" in name and "secret" not in name
