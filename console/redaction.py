"""What a log may not hold: the console's own tokens, wherever they came from (an address, a traceback).

Django logs the path of every refused request, and an invitation's path is its secret. Pure; settings.LOGGING names it.
"""

import logging
import re

# console.tokens (qdk_, older ones qd_) and console.invitations (qdi_): the first characters stay, to be recognised.
TOKEN = re.compile(r"\b(qd[ki]?_[A-Za-z0-9_-]{2})[A-Za-z0-9_-]{30,}")


def redacted(text: str) -> str:
    return TOKEN.sub(r"\1…", text)


class Redacted(logging.Formatter):
    """The whole line, its traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
