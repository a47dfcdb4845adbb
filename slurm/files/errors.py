"""What may go wrong with a file of the login node, in words. Pure; worker and web share them by their codes."""

from console.errors import Conflict, ConsoleError, Forbidden, Missing, Unavailable


class NoSuchFile(Missing):
    code = "no-such-file"


class NotPermitted(Forbidden):
    """The login node's own answer, by the login user's rights there."""

    code = "not-permitted"


class AlreadyThere(Conflict):
    code = "already-there"


class OtherKind(Conflict):
    """A folder where a file was meant, or the other way round."""

    code = "other-kind"


class NotText(ConsoleError):
    code = "not-text"
    status = 415


class TooLarge(ConsoleError):
    code = "too-large"
    status = 413


class NoRoom(ConsoleError):
    code = "no-room"
    status = 507


class OtherOffset(Conflict):
    """The part that is there is not as long as the sender thinks. `hint` is its length, for the sender to go on at."""

    code = "other-offset"

    @property
    def headers(self) -> dict[str, str]:
        return {"Upload-Offset": self.hint}


class Damaged(ConsoleError):
    """What arrived is not what was sent; it was thrown away."""

    code = "damaged"
    status = 422


class Failed(ConsoleError):
    """The login node refused without saying why."""

    code = "failed"
    status = 409


class Busy(Unavailable):
    code = "busy"


class Interrupted(Unavailable):
    """The connection to the login node, or to the worker, ended in the midst."""

    code = "interrupted"


KNOWN: dict[str, type[ConsoleError]] = {
    kind.code: kind
    for kind in (
        NoSuchFile, NotPermitted, AlreadyThere, OtherKind, NotText, TooLarge, NoRoom, OtherOffset, Damaged, Failed,
        Busy, Interrupted,
    )
}  # fmt: skip


def as_said(code: str, sentence: str, hint: str) -> ConsoleError:
    """The error that the worker met. One of a connection, which has no class here, is Unavailable."""
    return KNOWN.get(code, Unavailable)(sentence, hint)
