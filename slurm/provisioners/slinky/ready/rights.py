"""Permissions: what was asked one by one, and the answer for each."""

from collections.abc import Mapping, Sequence

from clusters.finding import Finding, State
from console.words import count, listed
from slurm.provisioners.slinky.permissions import ROLE_FILE, Ask, Right

_HINT = f"Download {ROLE_FILE} from this page and apply it, or have somebody apply it who may."


def rights_finding(answers: Mapping[Ask, bool | None], inside: Sequence[str]) -> Finding:
    """`answers`: True everywhere, None only in the namespaces `inside`, False not there either."""
    refused = [ask for ask, answer in answers.items() if answer is False]
    needed = [ask for ask in refused if not ask.right.optional]
    narrow = [ask for ask, answer in answers.items() if answer is None]
    details = _lines(answers)
    apply = (f"kubectl apply -f {ROLE_FILE}",)
    if needed:
        sentence = (
            f"{count(len(needed), 'permission')} missing: {listed([str(ask) for ask in needed], most=4)}."
        )
        return Finding("permissions", "Permissions", State.BAD, sentence, _HINT, details, apply)
    if narrow:
        sentence = (
            f"They are given in {listed(list(inside), most=3)} only: a new team's namespace needs them too."
        )
        hint = f"Bind the role there before the team creates its first cluster. {_HINT}"
        return Finding("permissions", "Permissions", State.WARN, sentence, hint, details, apply)
    if refused:
        without = listed([str(ask) for ask in refused], most=3)
        sentence = f"All that are needed are there. Without {without} the console does less."
        return Finding("permissions", "Permissions", State.OK, sentence, "", details)
    return Finding("permissions", "Permissions", State.OK, f"All {len(answers)} are there.", "", details)


def _lines(answers: Mapping[Ask, bool | None]) -> tuple[str, ...]:
    """One for each resource, those that lack something first."""
    rights = list(dict.fromkeys(ask.right for ask in answers))
    lacking = {
        right: [a.verb for a, yes in answers.items() if a.right is right and yes is False] for right in rights
    }
    return tuple(
        _line(right, lacking[right]) for right in sorted(rights, key=lambda right: not lacking[right])
    )


def _line(right: Right, lacking: Sequence[str]) -> str:
    has = " ".join(verb for verb in right.verbs if verb not in lacking)
    missing = f" lacks {' '.join(lacking)};" if lacking else ""
    return f"{right.full_name}:{missing} {has or 'nothing'} ({right.why})".replace("; nothing", "")
