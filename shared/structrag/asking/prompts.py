"""Templates of prompts, checked when they are given."""

from __future__ import annotations

from collections.abc import Collection
from string import Formatter

from structrag.errors import InvalidParameter


def check_template(
    name: str, template: object, required: Collection[str], optional: Collection[str] = ()
) -> None:
    """Raise InvalidParameter unless a prompt is a template with these places.

    Example:
        >>> check_template("prompt", "Summarise {text}", ["text"], optional=["title"])

    Every required place must be there and no other than the optional ones. A place is plain, such
    as `{text}`: no attributes, indices, conversions or formats. Other braces are doubled. `name` is
    the parameter that the message speaks of.
    """
    if not isinstance(template, str):
        raise InvalidParameter(f"{name} must be a string; got {type(template).__name__}.")
    allowed = [*required, *optional]
    rule = (
        f"{name} must be a template with the plain places {_listed(allowed)}, other braces doubled"
    )
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidParameter(f"{rule}; {error}.") from error
    places = set()
    for _, place, form, conversion in parts:
        if place is None:  # the text behind the last place
            continue
        if place not in allowed or form or conversion:
            raise InvalidParameter(f"{rule}; it has the place {{{place}}}.")
        places.add(place)
    if not places.issuperset(required):
        raise InvalidParameter(f"{name} must contain {_listed(required)}; got {template!r}.")


def _listed(places: Collection[str]) -> str:
    *others, last = [f"{{{place}}}" for place in places]
    return f"{', '.join(others)} and {last}" if others else last
