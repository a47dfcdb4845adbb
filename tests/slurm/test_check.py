"""slurm.conf before anything is touched: every mistake at its line, and nothing said of what is right."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Problem
from slurm.checks.conf import MAX_PROBLEMS, check_conf
from slurm.parameters import VERSIONS, Kind, Owner, for_version
from tests.yardstick import in_yardsticks

DATA = Path(__file__).parents[1] / "data" / "slurm"
RECORDED = ("22.05", "24.11", "26.05")


def _one(text: str, version: str = "24.11", *, whole: bool = False) -> Problem:
    """The single problem of a text, checked for what every problem must have."""
    (problem,) = check_conf(text, version=version, whole=whole)
    assert problem.path == "slurm_conf"
    assert problem.line is None or problem.message.startswith(f"Line {problem.line}: ")
    assert problem.message.endswith(".") and problem.hint
    return problem


@pytest.mark.parametrize(
    "text, words, hint",
    [
        ("FooBar=1", "FooBar is not a key", "does not start"),
        ("SlurmctldTimout=30", "SlurmctldTimout is not a key", "SlurmctldTimeout"),
        ("MaxTime=60", "MaxTime belongs on a PartitionName line", "Partitions tab"),
        ("CPUs=8", "CPUs belongs on a NodeName line", "node groups"),
        ("SlurmctldTimeout=abc", "SlurmctldTimeout “abc” is not a whole number", "0 to 65533, in s"),
        ("SlurmctldTimeout=010", "SlurmctldTimeout “010” is not a whole number", "0 to 65533"),
        ("KillWait=-1", "KillWait “-1” is not a whole number", "0 to 65533"),
        ("KillWait=70000", "KillWait 70000 is out of range", "0 to 65533"),
        ("KillWait=INFINITE", "KillWait “INFINITE” is not", "0 to 65533"),
        ("JobRequeue=2", "JobRequeue 2 is out of range", "0 to 1"),
        ("DefMemPerCPU=4G", "DefMemPerCPU “4G” is not a whole number", "in MiB"),
        ("DisableRootJobs=maybe", "DisableRootJobs “maybe” is neither yes nor no", "YES or NO"),
        ("PriorityMaxAge=banana", "PriorityMaxAge “banana” is not a time", "1-00:00:00"),
        ("PriorityType=priority/nope", "PriorityType “priority/nope” is not a value", "priority/"),
        ("PriorityType=Priority/Multifactor", "is not a value", "priority/multifactor"),
        ("ReturnToService=3", "ReturnToService 3 is out of range", "0 to 2"),
        ("AccountingStorageEnforce=bogus", "AccountingStorageEnforce “bogus”", "associations"),
        ("SchedulerParameters=nonsense_option=5", "SchedulerParameters “nonsense_option”", "Known"),
        ("SchedulerParameters=bf_intervall=5", "“bf_intervall” is not an option", "bf_interval="),
        ("SchedulerParameters=bf_interval=abc", "bf_interval: “abc” is not a whole number", "-1 to 10800"),
        ("SchedulerParameters=defer,bf_interval=99999", "bf_interval=99999 is out of range", "10800"),
        ("SchedulerParameters=bf_interval", "bf_interval needs a value", "bf_interval=1"),
        ("SchedulerParameters=defer=1", "defer takes no value", "Write defer."),
        ("SchedulerParameters=bf_hetjob_prio=most", "“most” is no value of bf_hetjob_prio", "min, avg or max"),
        ("DebugFlags=Backfil", "DebugFlags “Backfil”", "Backfill"),
        ("RequeueExit=1,x", "RequeueExit “1,x” is not a list of exit codes", "1,3-5"),
        ("SrunPortRange=60001", "SrunPortRange “60001” is not a range of ports", "60001-63000"),
        ("KillWait=", "KillWait has no value", "Key=Value"),
        ("Kill-Wait=5", "Kill-Wait has characters", "Key=Value"),
        ("garbage words here", "“garbage words here” has no “=”", "comment"),
        ("KillWait=30 MinJobAge=60", "KillWait has “MinJobAge=60” after its value", "one setting on a line"),
        ("KillWait+=30", "KillWait is set with “+=”", "KillWait=30"),
        ("Include /etc/slurm/more.conf", "Include is not allowed here", "one document"),
        ("  include /etc/slurm/more.conf", "Include is not allowed here", "one document"),
        ("FastSchedule=2", "FastSchedule was last read by Slurm 19.05", "Take"),
        ("HealthCheckTimeout=9", "HealthCheckTimeout exists only from Slurm 26.05 on", "Take"),
        ("PreemptMode=REQUEUE,CANCEL\nPreemptType=preempt/qos", "PreemptMode REQUEUE,CANCEL names more", "one of"),
        ("PreemptMode=SUSPEND\nPreemptType=preempt/qos", "PreemptMode SUSPEND works only with GANG", "SUSPEND,GANG"),
        ("PreemptMode=REQUEUE", "PreemptMode REQUEUE needs a PreemptType", "preempt/qos"),
        ("PreemptType=preempt/qos", "PreemptType needs a PreemptMode", "REQUEUE"),
        ("PriorityDecayHalfLife=0", "PriorityDecayHalfLife 0 never forgets", "PriorityUsageResetPeriod"),
        ("PrologFlags=NoHold,X11", "NoHold and X11 exclude each other", "Keep one"),
        ("LaunchParameters=enable_nss_slurm,disable_send_gids", "exclude each other", "Keep one"),
        ("CommunicationParameters=DisableIPv4", "leaves no way to connect", "EnableIPv6"),
        ("FirstJobId=100\nMaxJobId=50", "FirstJobId 100 is more than MaxJobId 50", "Lower"),
        ("MCSPlugin=mcs/group", "MCSPlugin mcs/group needs MCSParameters", "groups"),
        ("MCSParameters=select", "MCSParameters needs MCSPlugin", "leave this out"),
        ("PriorityCalcPeriod=INFINITE", "PriorityCalcPeriod “INFINITE” is not allowed", "at least 1"),
        ("BcastExclude=lib", "BcastExclude “lib” is not a list of directories", "sbcast"),
        ("MinJobAge=1", "MinJobAge 1 is too short", "2 or more"),
        ("CliFilterPlugins=lua", "CliFilterPlugins lua needs a script", "no job can be submitted"),
        ("CliFilterPlugins=cli_filter/lua", "CliFilterPlugins lua needs a script", "no job can be submitted"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_what_to_do(text: str, words: str, hint: str) -> None:
    problem = _one(text)
    assert problem.blocking
    assert words in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "PriorityType=priority/basic\nPriorityWeightAge=1000",
            "PriorityWeightAge does nothing without PriorityType",
        ),
        ("InteractiveStepOptions=--pty", "does nothing without LaunchParameters=use_interactive_step"),
        ("SchedulerTimeSlice=60", "SchedulerTimeSlice does nothing without PreemptMode=GANG"),
        ("DefMemPerCPU=100\nDefMemPerNode=1000", "DefMemPerCPU is ignored beside DefMemPerNode"),
        ("MaxArraySize=100001", "so such an array never fits"),
        ("ReturnToService=0", "may leave a worker down after its restart"),
        ("UnkillableStepTimeout=20", "less than five times MessageTimeout"),
        ("SlurmctldParameters=enable_configless", "partly the platform's"),
        ("AccountingStorageTRES=gres/gpu", "partly the platform's"),
        ("AcctGatherInfinibandType=acct_gather_infiniband/none", "is an old name"),
        ("JobSubmitPlugins=ours", "“ours” is not a value"),
    ],
)
def test_advice_does_not_block(text: str, words: str) -> None:
    problem = _one(text)
    assert not problem.blocking
    assert words in problem.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# just a comment\n\n",
        "KillWait=30\nSlurmdTimeout=0x12c\nMinJobAge=INFINITE\n",
        "schedulerparameters=BF_INTERVAL=30,Defer,max_rpc_cnt=150",
        "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nSchedulerTimeSlice=60",
        "PriorityWeightAge=1000\nPriorityWeightTRES=CPU=1000,Mem=2000,GRES/gpu=3000\nPriorityMaxAge=1-0",
        'TaskProlog="/shared/my prolog"\nMailDomain=example.org',
        "MaxArraySize=5000 # room\nMaxJobCount=20000",
        "DefMemPerCPU=4k\nLicenses=matlab:5,ansys@flex:2\nPropagateResourceLimitsExcept=MEMLOCK,CORE",
        "TaskPluginParam=Autobind=threads,Verbose\nDebugFlags=Backfill,gres\nLogTimeFormat=iso8601,format_stderr",
        "JobAcctGatherFrequency=task=30,energy=60\nSuspendTime=NONE\nTopologyParam=TopoMaxSizeUnroll=-1",
        "SwitchType=switch/none\nMCSPlugin=mcs/none\nJobCompType=jobcomp/none",
    ],
)
def test_what_slurm_takes_is_taken(text: str) -> None:
    blocking = [problem for problem in check_conf(text, version="24.11") if problem.blocking]
    assert blocking == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_default_of_a_users_key_passes_its_own_check(version: str) -> None:
    text = "".join(
        f'{one.name}="{default}"\n'
        for one in for_version(version)
        if one.owner is Owner.USER and (default := one.default_in(version)) and one.kind is not Kind.TEXT
    )
    found = [problem for problem in check_conf(text, version=version) if problem.blocking]
    assert text.count("\n") > 60
    assert found == []


@pytest.mark.parametrize(
    "text, words",
    [
        ("NamespaceType=namespace/linux", "NamespaceType needs PrologFlags=Contain"),
        ("TaskPluginParam=OOMKillStep", "oomkillstep needs task/cgroup"),
        ("SlurmSchedLogLevel=1", "SlurmSchedLogLevel needs SlurmSchedLogFile"),
        ("SelectTypeParameters=CR_CPU,CR_ONE_TASK_PER_CORE", "does not go with CR_CPU"),
    ],
)
def test_whole_files_are_checked_against_what_the_platform_writes(text: str, words: str) -> None:
    found = check_conf(f"ClusterName=x\n{text}\n", version="26.05", whole=True)
    assert any(problem.blocking and words in problem.message and problem.line == 2 for problem in found)


@pytest.mark.parametrize("version", RECORDED)
def test_a_file_that_ran_passes_as_a_whole(version: str) -> None:
    text = (DATA / version / "slurm.conf").read_bytes().decode()
    assert [problem for problem in check_conf(text, version=version, whole=True) if problem.blocking] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_every_key_of_the_platform_is_locked_with_its_reason(version: str) -> None:
    for one in for_version(version):
        if one.owner in (Owner.OPERATOR, Owner.NODE_GROUP):
            problem = _one(f"\n{one.name.upper()}=x", version)
            assert problem.line == 2 and problem.blocking
            assert "is set by the platform" in problem.message
            assert problem.hint == one.reason


@pytest.mark.parametrize(
    "line, tab",
    [
        ("PartitionName=px Nodes=ALL", "Partitions tab"),
        ("nodename=slinky-0 CPUs=8", "scale a group"),
        ("NodeSet=x Feature=y", "scale a group"),
        ("DownNodes=slinky-0 State=DOWN", "scale a group"),
        ("PowerAction=x Program=/bin/x", "only the platform"),
    ],
)
def test_lines_of_nodes_and_partitions_have_their_own_place(line: str, tab: str) -> None:
    problem = _one(f"KillWait=30\n{line}")
    assert problem.line == 2
    assert tab in problem.hint


@pytest.mark.parametrize("stray", ["\r", "\x00", "\x0b", "\x0c", "\x1b", "\x85", "\u2028", "\u2029"])
def test_characters_that_may_hide_a_line_are_refused(stray: str) -> None:
    problems = check_conf(f"KillWait=30{stray}ClusterName=other\nMinJobAge=60\n", version="24.11")
    assert any(problem.line == 1 and "control character" in problem.message for problem in problems)


def test_windows_line_ends_are_no_control_characters() -> None:
    assert check_conf("KillWait=30\r\nMinJobAge=60\r\n", version="24.11") == ()


def test_a_key_set_twice_is_named_at_the_second_line() -> None:
    problem = _one("KillWait=30\n# x\nKILLWAIT=60\n")
    assert (problem.line, "already set on line 1" in problem.message) == (3, True)


def test_a_smuggled_second_setting_behind_a_continuation_is_seen() -> None:
    problem = _one("KillWait=30 \\\n ClusterName=other\n")
    assert "ClusterName=other" in problem.message


@pytest.mark.parametrize("end", ["\\", "\\\n", " \\ # x", "\\\n# c\nMinJobAge=5 \\"])
def test_a_last_line_may_not_reach_into_what_follows(end: str) -> None:
    problem = _one(f"KillWait=30{end}")
    assert "the line below becomes part of it" in problem.message
    assert check_conf("KillWait=30\\\n\n", version="24.11") == ()


def test_lines_are_counted_from_where_the_text_is_shown() -> None:
    (first, second) = check_conf("FooBar=1\nKillWait=5\nKillWait=6", version="24.11", first_line=40)
    assert (first.line, second.line) == (40, 42)
    assert "Line 40: FooBar" in first.message and "on line 41" in second.message


def test_versions_decide_what_is_known() -> None:
    assert (
        check_conf(
            "PreemptParameters=youngest_first\nPreemptType=preempt/qos\nPreemptMode=REQUEUE", version="23.02"
        )
        == ()
    )
    assert "only from Slurm 23.02" in _one("PreemptParameters=youngest_first", "22.05").message
    assert "last read by Slurm 23.02" in _one("ExtSensorsFreq=5", "24.11").message
    assert _one("SchedulerParameters=no_env_cache", "26.05").message.count("last known to Slurm 24.11") == 1
    assert (
        "exists only from Slurm 24.11" in _one("SchedulerParameters=bf_allow_magnetic_slot", "22.05").message
    )
    assert check_conf("SchedulerParameters=no_env_cache", version="24.11.5") == ()


def test_every_wrong_option_of_a_line_is_named() -> None:
    problems = check_conf("SchedulerParameters=aaaa,defer,bbbb=1", version="24.11")
    assert [name for problem in problems for name in ("aaaa", "bbbb") if name in problem.message] == [
        "aaaa",
        "bbbb",
    ]


def test_problems_come_in_the_order_of_lines() -> None:
    problems = check_conf("PreemptType=preempt/qos\nFooBar=1\nClusterName=x\nKillWait=x", version="24.11")
    assert [problem.line for problem in problems] == [1, 2, 3, 4]


@given(st.text(alphabet='KilWat=#\\" \n\r,3x', max_size=80))
def test_any_text_is_checked_without_falling_over(text: str) -> None:
    for whole in (False, True):
        for problem in check_conf(text, version="24.11", whole=whole):
            assert problem.line is None or 1 <= problem.line <= text.count("\n") + 1


def test_ten_thousand_lines_are_checked_while_someone_types() -> None:
    keys = [one for one in for_version("24.11") if one.owner is Owner.USER]
    right = [f"{one.name}={one.default_in('24.11') or '1'}" for one in keys]
    text = "\n".join([*right, *(f"# line {number}" for number in range(10_000 - len(right)))])
    assert _cost(text) < 10
    assert _cost("".join(f"KillWait={number}\n" for number in range(10_000))) < 10
    assert _cost("".join(f"NodeName=n{number} CPUs=8 Gres=gpu:8\n" for number in range(10_000))) < 10


def _cost(text: str) -> float:
    assert len(check_conf(text, version="24.11")) <= MAX_PROBLEMS
    return in_yardsticks(lambda: check_conf(text, version="24.11"))
