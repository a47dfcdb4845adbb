"""Settings that do not go together, and those that do nothing without another.

Pure; called by `checks.conf` once the single lines are read. Each rule is one function over the settings in force; the
rules are those of `_validate_and_set_defaults` in Slurm's read_config.c (22.05 to 26.05) that refuse a file or void a
value, and of man slurm.conf where two limits contradict each other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from console.numbers import typed_number
from slurm.checks.values import Complaint
from slurm.parameters import Owner, Parameter, find

CLI_FILTERS = ("none", "syslog", "user_defaults")
Rule = Callable[["Settings"], Iterator[tuple[str, Complaint]]]


@dataclass(frozen=True)
class Settings:
    """What is in force: `written` holds the values of the text by lower-case key; unwritten ones have their default.

    `whole` says that the text is everything, so that a key not written is not set by the platform either.
    """

    written: Mapping[str, str]
    version: str
    whole: bool

    def get(self, key: str) -> str:
        if key.lower() in self.written:
            return self.written[key.lower()]
        known = find(key)
        return known.default_in(self.version) if known else ""

    def has(self, key: str) -> bool:
        return key.lower() in self.written

    def edits(self, parameter: Parameter) -> bool:
        """Whether the text is where this key is decided."""
        return self.whole or parameter.owner is Owner.USER

    def words(self, key: str) -> frozenset[str]:
        """The comma-separated words in force, in lower case, values cut off."""
        return frozenset(item.split("=")[0].strip().lower() for item in self.get(key).split(",") if item)

    def number(self, key: str) -> int | None:
        return typed_number(self.get(key))


def combinations(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    """The key at fault and what is wrong, for every rule that is broken. Keys named are always written in the text."""
    for rule in RULES:
        yield from rule(settings)
    for key in settings.written:
        yield from _needs(settings, key)


def _needs(settings: Settings, key: str) -> Iterator[tuple[str, Complaint]]:
    known = find(key)
    if known is None or not known.known_in(settings.version) or not settings.edits(known):
        return
    if settings.written[key] in ("", known.default_in(settings.version)):
        return
    for need in known.needs:
        wanted, _, value = need.partition("=")
        other = find(wanted)
        if other is None or not settings.edits(other):
            continue
        holds = value.lower() in settings.words(wanted) if value else _is_set(settings.get(wanted))
        if not holds:
            yield (
                key,
                Complaint(f"does nothing without {need}", f"Set {need}, or leave this out.", blocking=False),
            )


def _is_set(value: str) -> bool:
    return bool(value) and not value.lower().endswith("none")


def _preempt_modes(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    if not settings.has("PreemptMode"):
        return
    modes = settings.words("PreemptMode")
    main = modes & {"off", "cancel", "requeue", "suspend", "on", "cluster"}
    if len(main) > 1:
        yield (
            "PreemptMode",
            Complaint(
                f"{settings.get('PreemptMode')} names more than one mode",
                "Write one of OFF, CANCEL, REQUEUE and SUSPEND, with GANG, WITHIN or PRIORITY beside it.",
            ),
        )
    elif main & {"suspend", "on"} and "gang" not in modes:
        yield "PreemptMode", Complaint("SUSPEND works only with GANG", "Write PreemptMode=SUSPEND,GANG.")


def _preempt_type(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    modes = settings.words("PreemptMode") - {"gang"}
    if not _is_set(settings.get("PreemptType")):
        if settings.has("PreemptMode") and modes - {"off", "cluster"}:
            yield (
                "PreemptMode",
                Complaint(
                    f"{settings.get('PreemptMode')} needs a PreemptType",
                    "Set PreemptType=preempt/partition_prio or preempt/qos, or PreemptMode=OFF.",
                ),
            )
    elif not modes - {"off", "cluster", "within", "priority"}:
        yield (
            "PreemptType",
            Complaint(
                "needs a PreemptMode other than OFF", "Set PreemptMode=REQUEUE, CANCEL or SUSPEND,GANG."
            ),
        )


def _decay(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    never_resets = settings.get("PriorityUsageResetPeriod").lower() in ("", "none")
    if settings.get("PriorityDecayHalfLife").strip("0:-") == "" and never_resets:
        yield (
            "PriorityDecayHalfLife",
            Complaint(
                "0 never forgets use, and PriorityUsageResetPeriod does not either",
                "Set PriorityUsageResetPeriod, or a half life such as 7-0.",
            ),
        )


def _excluding(key: str, one: str, other: str) -> Rule:
    def rule(settings: Settings) -> Iterator[tuple[str, Complaint]]:
        words = settings.words(key)
        if one.lower() in words and other.lower() in words:
            yield key, Complaint(f"{one} and {other} exclude each other", f"Keep one of {one} and {other}.")

    return rule


def _no_address(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    words = settings.words("CommunicationParameters")
    if "disableipv4" in words and "enableipv6" not in words:
        yield "CommunicationParameters", Complaint("DisableIPv4 leaves no way to connect", "Add EnableIPv6.")


def _alone(key: str, word: str) -> Rule:
    def rule(settings: Settings) -> Iterator[tuple[str, Complaint]]:
        words = settings.words(key)
        if word.lower() in words and len(words) > 1:
            yield (
                key,
                Complaint(f"{word} stands alone or not at all", f"Write {key}={word}, or leave {word} out."),
            )

    return rule


def _ignored_beside(key: str, other: str) -> Rule:
    def rule(settings: Settings) -> Iterator[tuple[str, Complaint]]:
        if settings.has(key) and settings.has(other):
            yield (
                key,
                Complaint(f"is ignored beside {other}", f"Keep one of {key} and {other}.", blocking=False),
            )

    return rule


def _cpu_with_task_per_core(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    words = settings.words("SelectTypeParameters")
    if "cr_one_task_per_core" in words and words & {"cr_cpu", "cr_cpu_memory"}:
        yield (
            "SelectTypeParameters",
            Complaint("CR_ONE_TASK_PER_CORE does not go with CR_CPU", "Use CR_Core or CR_Core_Memory."),
        )


def _array_room(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    size, jobs = settings.number("MaxArraySize"), settings.number("MaxJobCount")
    key = next((one for one in ("MaxArraySize", "MaxJobCount") if settings.has(one)), None)
    if key and size is not None and jobs is not None and size > jobs:
        yield (
            key,
            Complaint(
                f"MaxArraySize {size} is more than MaxJobCount {jobs}, so such an array never fits",
                "Raise MaxJobCount or lower MaxArraySize.",
                blocking=False,
            ),
        )


def _short_memory(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    if settings.number("MinJobAge") == 1:
        yield "MinJobAge", Complaint("1 is too short for Slurm to be sure of a job's end", "Write 2 or more.")


def _return_to_service(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    """A pod that the platform restarts on the same machine counts as one that was set down (slurm-operator 1.2)."""
    if settings.has("ReturnToService") and settings.number("ReturnToService") in (0, 1):
        yield (
            "ReturnToService",
            Complaint(
                f"{settings.get('ReturnToService')} may leave a worker down after its restart until it is resumed",
                "Write 2, or resume such nodes by hand.",
                blocking=False,
            ),
        )


def _unkillable(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    limit, message = settings.number("UnkillableStepTimeout"), settings.number("MessageTimeout")
    if settings.has("UnkillableStepTimeout") and limit is not None and message and limit < 5 * message:
        yield (
            "UnkillableStepTimeout",
            Complaint(
                f"{limit} is less than five times MessageTimeout ({message}); nodes may be drained without need",
                f"Write {5 * message} or more.",
                blocking=False,
            ),
        )


def _health_check(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    interval, limit = settings.number("HealthCheckInterval"), settings.number("HealthCheckTimeout")
    if settings.has("HealthCheckTimeout") and interval and limit and limit >= interval:
        yield (
            "HealthCheckTimeout",
            Complaint(
                f"{limit} is not less than HealthCheckInterval ({interval})", "Lower it.", blocking=False
            ),
        )


def _schedule_log(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    if settings.whole and settings.number("SlurmSchedLogLevel") and not settings.get("SlurmSchedLogFile"):
        yield "SlurmSchedLogLevel", Complaint("needs SlurmSchedLogFile", "Set SlurmSchedLogFile, or 0 here.")


def _first_job(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    first, last = settings.number("FirstJobId"), settings.number("MaxJobId")
    key = next((one for one in ("FirstJobId", "MaxJobId") if settings.has(one)), None)
    if key and first is not None and last is not None and first > last:
        yield key, Complaint(f"FirstJobId {first} is more than MaxJobId {last}", "Lower FirstJobId.")


def _separation(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    """mcs/group needs its parameters, and parameters need a plugin: Slurm refuses either without the other."""
    plugin = settings.get("MCSPlugin")
    if plugin == "mcs/group" and not settings.get("MCSParameters"):
        yield (
            "MCSPlugin",
            Complaint("mcs/group needs MCSParameters", "Set MCSParameters to the groups, as a|b."),
        )
    if settings.has("MCSParameters") and settings.get("MCSParameters") and not _is_set(plugin):
        yield "MCSParameters", Complaint("needs MCSPlugin", "Set MCSPlugin, or leave this out.")


def _namespaces(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    for key in ("NamespaceType", "JobContainerType"):
        wanted = settings.whole and settings.has(key) and _is_set(settings.get(key))
        if wanted and not settings.words("PrologFlags") & {"contain", "x11"}:
            yield key, Complaint("needs PrologFlags=Contain", "Set PrologFlags=Contain.")


def _task_cgroup(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    needing = settings.words("TaskPluginParam") & {"oomkillstep", "slurmdspecoverride"}
    if settings.whole and needing and not settings.words("TaskPlugin") & {"task/cgroup", "cgroup"}:
        yield "TaskPluginParam", Complaint(f"{min(needing)} needs task/cgroup", "Set TaskPlugin=task/cgroup.")


def _client_filter(settings: Settings) -> Iterator[tuple[str, Complaint]]:
    """No daemon reads this one: a shadow takes it, and every sbatch and srun ends with an error (24.11)."""
    for word in sorted(settings.words("CliFilterPlugins")):
        name = word.removeprefix("cli_filter/")
        if name == "lua":
            why = "lua needs a script cli_filter.lua on every node, which the platform does not put there"
            yield "CliFilterPlugins", Complaint(why, "Without it no job can be submitted: leave this out.")
        elif name not in CLI_FILTERS:
            why = f"“{name}” is no filter that comes with Slurm"
            hint = f"Without it no job can be submitted. Known: {', '.join(CLI_FILTERS)}."
            yield "CliFilterPlugins", Complaint(why, hint)


RULES: tuple[Rule, ...] = (
    _client_filter,
    _preempt_modes,
    _preempt_type,
    _decay,
    _excluding("JobAcctGatherParams", "UsePss", "NoShared"),
    _excluding("LaunchParameters", "enable_nss_slurm", "disable_send_gids"),
    _excluding("PrologFlags", "NoHold", "Contain"),
    _excluding("PrologFlags", "NoHold", "X11"),
    _no_address,
    _alone("HealthCheckNodeState", "START_ONLY"),
    _alone("HealthCheckNodeState", "REBOOT_ONLY"),
    _ignored_beside("DefMemPerCPU", "DefMemPerNode"),
    _ignored_beside("MaxMemPerCPU", "MaxMemPerNode"),
    _ignored_beside("PropagateResourceLimits", "PropagateResourceLimitsExcept"),
    _cpu_with_task_per_core,
    _array_room,
    _short_memory,
    _return_to_service,
    _unkillable,
    _health_check,
    _schedule_log,
    _first_job,
    _separation,
    _namespaces,
    _task_cgroup,
)
