"""The operator: its custom resources, which release serves them, and whether it and its webhook run."""

from collections.abc import Iterable, Mapping, Sequence

from clusters.finding import Finding, State
from console.words import listed
from slurm.kube.kinds import (
    ACCOUNTING,
    CONTROLLER,
    LOGIN_SET,
    NODE_SET,
    REST_API,
    SLINKY_GROUP,
    SLINKY_VERSION,
    Thing,
)

CUSTOM = (ACCOUNTING, CONTROLLER, LOGIN_SET, NODE_SET, REST_API)
OPERATOR, WEBHOOK = "slurm-operator", "slurm-operator-webhook"
DEPLOYMENTS = f"app.kubernetes.io/name in ({OPERATOR},{WEBHOOK})"
CHART = "oci://ghcr.io/slinkyproject/charts"
INSTALL = (
    f"helm install slurm-operator-crds {CHART}/slurm-operator-crds --version 1.2.1",
    f"helm install slurm-operator {CHART}/slurm-operator --version 1.2.1 --namespace slinky --create-namespace",
)
UPGRADE = tuple(
    line.replace("helm install", "helm upgrade").removesuffix(" --create-namespace") for line in INSTALL
)


def release_of(definitions: Mapping[str, Thing]) -> str:
    """`1.2`, by the fields of Controller that each release brought (CRDs of v1.0.5, v1.1.2, v1.2.1 and main);
    empty when v1beta1 is not served. `definitions` are CustomResourceDefinitions by plural."""
    fields = _spec_fields(definitions.get(CONTROLLER.plural))
    if not fields:
        return ""
    if "ha" in fields:
        return "1.3"
    if "inplaceReconfigure" in fields:
        return "1.2"
    return "1.1" if "jwtKeyRef" in fields else "1.0"


def resources_finding(definitions: Mapping[str, Thing]) -> Finding:
    """`definitions` holds those of the operator's kinds that the API server has."""
    title, key = "Operator's custom resources", "crds"
    missing = [kind.plural for kind in CUSTOM if not _spec_fields(definitions.get(kind.plural))]
    if missing:
        all_gone = len(missing) == len(CUSTOM)
        lead = (
            "None of them is" if all_gone else f"{listed(missing)} {'is' if len(missing) == 1 else 'are'} not"
        )
        sentence = f"{lead} served as {SLINKY_GROUP}/{SLINKY_VERSION}."
        return Finding(
            key, title, State.BAD, sentence, "Install the operator with its CRDs.", commands=INSTALL
        )
    release = release_of(definitions)
    if release == "1.0":
        hint = "Upgrade it to 1.2, CRDs first: Helm does not upgrade CRDs by itself."
        return Finding(key, title, State.BAD, "They are those of operator 1.0.", hint, commands=UPGRADE)
    if release == "1.1":
        return Finding(
            key,
            title,
            State.WARN,
            "They are those of operator 1.1.",
            "It restarts the controller for every change of slurm.conf. Upgrade to 1.2, CRDs first.",
            commands=UPGRADE,
        )
    newer = "" if release == "1.2" else " Newer than the console was tried with."
    return Finding(key, title, State.OK, f"They are those of operator {release}.{newer}")


def operator_finding(deployments: Sequence[Thing]) -> Finding:
    """`deployments` are those labelled as the operator's or its webhook's."""
    title, key = "Operator", "operator"
    found = [one for one in deployments if _app(one) == OPERATOR]
    if not found:
        return Finding(
            key,
            title,
            State.WARN,
            "No Deployment is labelled as the operator.",
            "If it is not installed, nothing is ever made of a cluster. If it runs under another label, ignore this.",
            commands=("kubectl get deployments -A -l app.kubernetes.io/name=slurm-operator", INSTALL[1]),
        )
    ready = [one for one in found if _ready(one)]
    where = ", ".join(_where(one) for one in found)
    if ready:
        several = " More than one runs: they undo each other's work." if len(found) > 1 else ""
        return Finding(key, title, State.WARN if several else State.OK, f"It runs as {where}.{several}")
    name, namespace = found[0]["metadata"]["name"], found[0]["metadata"]["namespace"]
    return Finding(
        key,
        title,
        State.BAD,
        f"{where} has no pod that is ready.",
        "Clusters stay as they are until it is: look at its pods.",
        commands=(
            f"kubectl -n {namespace} describe deployment {name}",
            f"kubectl -n {namespace} logs deployment/{name} --tail=50",
        ),
    )


def webhook_finding(configurations: Iterable[Thing], deployments: Sequence[Thing]) -> Finding:
    """Whether what the console writes is checked, and whether the checker answers: without it every write fails."""
    title, key = "Operator's webhook", "webhook"
    ours = [one for one in configurations if _is_about_slinky(one)]
    if not ours:
        return Finding(
            key,
            title,
            State.WARN,
            "It is not set up, so the API server takes objects that the operator then chokes on.",
            "The console checks what it writes by the same rules; what is written by hand is not checked.",
        )
    pods = [one for one in deployments if _app(one) == WEBHOOK]
    if pods and not any(_ready(one) for one in pods):
        return Finding(
            key,
            title,
            State.BAD,
            f"{_where(pods[0])} has no pod that is ready, and without it nothing can be created or changed.",
            "Look at its pods and at its certificate.",
            commands=(f"kubectl -n {pods[0]['metadata']['namespace']} get pods,certificates",),
        )
    return Finding(
        key, title, State.OK, f"{listed([one['metadata']['name'] for one in ours])} checks what is written."
    )


def _spec_fields(definition: Thing | None) -> Mapping[str, object]:
    versions = (definition or {}).get("spec", {}).get("versions", ())
    served = [one for one in versions if one.get("name") == SLINKY_VERSION and one.get("served")]
    schema = served[0].get("schema", {}).get("openAPIV3Schema", {}) if served else {}
    fields: Mapping[str, object] = schema.get("properties", {}).get("spec", {}).get("properties", {})
    return fields


def _is_about_slinky(configuration: Thing) -> bool:
    rules = [rule for hook in configuration.get("webhooks", ()) for rule in hook.get("rules", ())]
    return any(SLINKY_GROUP in rule.get("apiGroups", ()) for rule in rules)


def _app(deployment: Thing) -> str:
    return str(deployment["metadata"].get("labels", {}).get("app.kubernetes.io/name", ""))


def _ready(deployment: Thing) -> int:
    return int(deployment.get("status", {}).get("readyReplicas") or 0)


def _where(deployment: Thing) -> str:
    about = deployment["metadata"]
    version = about.get("labels", {}).get("app.kubernetes.io/version", "")
    wanted = deployment.get("spec", {}).get("replicas", 1)
    words = f" {version}" if version else ""
    return f"{about['namespace']}/{about['name']}{words}, {_ready(deployment)} of {wanted} ready"
