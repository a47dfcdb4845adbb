"""Whole numbers as people and scripts send them. Pure."""

# Longer than any number that is kept here; Python itself refuses to read some thousand digits.
MOST_DIGITS = 18


def typed_number(text: str | None, *, most: int = 10**MOST_DIGITS - 1) -> int | None:
    """The number between 0 and `most` that `text` spells in plain digits; None for everything else. Never raises."""
    if not text or len(text) > MOST_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= most else None
