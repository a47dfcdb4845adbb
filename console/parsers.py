"""JSON bodies of the API: what Python's reader or the database would choke on is refused with a sentence."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.utils import json


class JsonBodyParser(JSONParser):
    """RFC 8259, and beyond it: no nesting without end, no halves of characters (section 8.2 leaves both to us)."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            body = super().parse(stream, media_type, parser_context)
            # A half of a surrogate pair can be neither stored nor sent back.
            json.dumps(body, ensure_ascii=False).encode()
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None
        except UnicodeEncodeError:
            raise ParseError("The body holds a half of a character (a lone surrogate).") from None
        except LookupError:
            raise ParseError("The body is in an encoding that is not known here; send UTF-8.") from None
        return body
