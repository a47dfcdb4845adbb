"""Images: whether their names can be pulled, as far as pods of ours show it. The console pulls nothing itself."""

import re
from collections.abc import Iterable, Sequence

from clusters.finding import Finding, State
from console.words import count
from slurm.kube.kinds import Thing

# registry/path:tag, as distribution/reference has it, without a digest.
_NAME = re.compile(
    r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}"
)
_NOT_PULLED = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
)


def images_finding(names: Sequence[str], ours: Iterable[Thing]) -> Finding:
    """`names` are what clusters here would be made of; `ours` the console's own pods in the region."""
    title, key = "Images", "images"
    wrong = [name for name in names if not _NAME.fullmatch(name)]
    if wrong:
        hint = "Correct the folder in the settings, or the image's source on the admin site."
        return Finding(key, title, State.BAD, f"{wrong[0]} is no name of an image.", hint)
    if not names:
        hint = "Add one on the admin site; its source is the tag of the operator's images: 26.05-ubuntu24.04."
        return Finding(
            key, title, State.WARN, "No image is offered that the operator can run (25.11 or newer).", hint
        )
    pulled, failed = _seen(ours)
    for image, why in failed.items():
        hint = (
            "Check the name, the registry's reach from the machines, and its credentials (imagePullSecrets)."
        )
        return Finding(key, title, State.BAD, f"{image} could not be pulled: {why}", hint)
    missing = [name for name in names if name not in pulled]
    details = tuple(f"{name}: {'runs here' if name in pulled else 'not run here yet'}" for name in names)
    if missing:
        sentence = (
            f"{count(len(missing), 'image')} did not run here yet, and only the machines can pull them."
        )
        hint = "The first cluster shows it. Its page says so when an image cannot be pulled."
        return Finding(key, title, State.UNKNOWN, sentence, hint, details)
    return Finding(key, title, State.OK, "All of them run here.", "", details)


def _seen(pods: Iterable[Thing]) -> tuple[set[str], dict[str, str]]:
    """Images that some pod of ours runs, and those that one waits for in vain with the reason."""
    pulled: set[str] = set()
    failed: dict[str, str] = {}
    for pod in pods:
        status = pod.get("status", {})
        for one in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
            waiting = one.get("state", {}).get("waiting", {})
            if one.get("imageID"):
                pulled.add(str(one.get("image")))
            if waiting.get("reason") in _NOT_PULLED:
                failed[str(one.get("image"))] = str(waiting.get("message") or waiting["reason"])[:200]
    return pulled, failed
