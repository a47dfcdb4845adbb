"""The API server itself: its version, our credential's life, and its clock."""

import re
from datetime import datetime, timedelta

from clusters.finding import Finding, State
from console.words import ago, duration

LEAST = (1, 29)
MOST_SKEW_S = 30
SOON = timedelta(days=14)


def version_finding(version: str, server: str) -> Finding:
    """`version` is `gitVersion`: v1.37.2, v1.31.4-gke.12."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        return Finding(
            "api", "API server", State.UNKNOWN, f"{server} answers with a strange version, {version!r}."
        )
    if (int(found[1]), int(found[2])) < LEAST:
        hint = f"The operator needs {LEAST[0]}.{LEAST[1]} or newer: upgrade the cluster."
        return Finding("api", "API server", State.BAD, f"Kubernetes {version} is too old.", hint)
    return Finding("api", "API server", State.OK, f"Kubernetes {version} answers at {server}.")


def credential_finding(end: datetime | None, now: datetime) -> Finding:
    """`end` is when the certificate or token runs out, None when it does not say."""
    title = "Credential"
    if end is None:
        return Finding("credential", title, State.OK, "It does not say that it ends.")
    left = (end - now).total_seconds()
    hint = "Make a new kubeconfig and put it in under “Replace credentials”; nothing restarts."
    if left <= 0:
        return Finding("credential", title, State.BAD, f"It ended {ago(-left)}.", hint)
    state = State.WARN if left < SOON.total_seconds() else State.OK
    return Finding("credential", title, state, f"It ends {ago(-left)}.", hint if state is State.WARN else "")


def clock_finding(skew_s: float) -> Finding:
    """Seconds that the API server's clock is ahead of ours; its answers carry whole seconds."""
    if abs(skew_s) <= MOST_SKEW_S:
        return Finding("clock", "Clock", State.OK, "It agrees with the console's.")
    where = "ahead of" if skew_s > 0 else "behind"
    return Finding(
        "clock",
        "Clock",
        State.WARN,
        f"The API server's is {duration(abs(skew_s))} {where} the console's.",
        "Certificates and tokens then fail and times on pages are wrong. Run a time service on both.",
        commands=("chronyc tracking",),
    )
