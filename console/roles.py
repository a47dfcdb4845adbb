"""Who may do what: the whole permission table, as data.

A role reaches every action whose least role is not above it. `OWN` lists the actions that a lesser role may do to what
is its own (a member's own jobs). Pages, the API, sockets and tasks all ask `may()`; nothing else decides.
"""

from collections.abc import Collection
from enum import StrEnum


class Role(StrEnum):
    """A person's standing in a team, weakest first."""

    VIEWER = "viewer"
    MEMBER = "member"
    OPERATOR = "operator"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


class Action(StrEnum):
    """Everything that a route, a socket or a task may be asked to do."""

    VIEW = "view"
    SUBMIT_JOB = "submit jobs"
    CONTROL_OWN_JOB = "control jobs of your own"
    CONTROL_JOB = "control jobs"
    TERMINAL = "open a terminal"
    OPERATE_NODE = "operate nodes"
    CREATE_CLUSTER = "create clusters"
    CHANGE_CLUSTER = "change the cluster"
    VIEW_ACCOUNTS = "see everybody's accounts and limits"
    CHANGE_ACCOUNTS = "change accounts and limits"
    RESTART_CLUSTER = "restart the cluster's services"
    CHANGE_VOLUMES = "change volumes"
    REVIEW_TERMINALS = "review recordings of terminals"
    REPLAY_OWN = "replay recordings of your own"
    VIEW_MEMBERS = "see members"
    VIEW_ACTIVITY = "see activity"
    CHANGE_MEMBERS = "change members"
    GRANT_ROLE = "give roles on the cluster"
    LEAVE_TEAM = "leave the team"
    CHANGE_OWNER = "hand over the team"
    CHANGE_POLICY = "change what the team requires"
    TERMINATE_CLUSTER = "terminate the cluster"
    DELETE_CLUSTER = "delete the cluster"
    DELETE_VOLUMES = "delete volumes"


LEAST_ROLE: dict[Action, Role] = {
    Action.VIEW: Role.VIEWER,
    Action.VIEW_MEMBERS: Role.VIEWER,
    Action.VIEW_ACTIVITY: Role.VIEWER,
    Action.LEAVE_TEAM: Role.VIEWER,
    Action.REPLAY_OWN: Role.VIEWER,
    Action.SUBMIT_JOB: Role.MEMBER,
    Action.CONTROL_OWN_JOB: Role.MEMBER,
    Action.TERMINAL: Role.MEMBER,
    Action.CONTROL_JOB: Role.OPERATOR,
    Action.OPERATE_NODE: Role.OPERATOR,
    Action.RESTART_CLUSTER: Role.OPERATOR,
    Action.VIEW_ACCOUNTS: Role.OPERATOR,
    Action.CREATE_CLUSTER: Role.ADMIN,
    Action.CHANGE_CLUSTER: Role.ADMIN,
    Action.CHANGE_ACCOUNTS: Role.ADMIN,
    Action.CHANGE_VOLUMES: Role.ADMIN,
    Action.REVIEW_TERMINALS: Role.ADMIN,
    Action.CHANGE_MEMBERS: Role.ADMIN,
    Action.GRANT_ROLE: Role.ADMIN,
    Action.CHANGE_POLICY: Role.ADMIN,
    Action.TERMINATE_CLUSTER: Role.OWNER,
    Action.DELETE_CLUSTER: Role.OWNER,
    Action.CHANGE_OWNER: Role.OWNER,
    Action.DELETE_VOLUMES: Role.OWNER,
}

OWN: dict[Action, Role] = {Action.CONTROL_JOB: Role.MEMBER}


def may(role: Role, action: Action, *, own: bool = False) -> bool:
    """Whether `role` reaches `action`; `own` says that the thing acted upon belongs to the person."""
    if own and action in OWN and role.rank >= OWN[action].rank:
        return True
    return role.rank >= LEAST_ROLE[action].rank


def least_role(action: Action) -> Role:
    """The weakest role that reaches `action`, for the sentence that a refusal shows."""
    return LEAST_ROLE[action]


class Scope(StrEnum):
    """What an API token is for: a ceiling over its person's role, never more than the role."""

    READ = "read"
    JOBS = "jobs"
    OPERATE = "operate"
    ADMIN = "admin"


# Every action has one; READ comes with each of the others. What is not here nobody's token reaches.
SCOPE_OF: dict[Action, Scope] = {
    Action.VIEW: Scope.READ,
    Action.VIEW_MEMBERS: Scope.READ,
    Action.VIEW_ACTIVITY: Scope.READ,
    Action.SUBMIT_JOB: Scope.JOBS,
    Action.CONTROL_OWN_JOB: Scope.JOBS,
    Action.CONTROL_JOB: Scope.JOBS,
    Action.TERMINAL: Scope.JOBS,
    Action.REPLAY_OWN: Scope.JOBS,
    Action.OPERATE_NODE: Scope.OPERATE,
    Action.RESTART_CLUSTER: Scope.OPERATE,
    Action.VIEW_ACCOUNTS: Scope.READ,
    Action.CREATE_CLUSTER: Scope.ADMIN,
    Action.CHANGE_CLUSTER: Scope.ADMIN,
    Action.CHANGE_ACCOUNTS: Scope.ADMIN,
    Action.CHANGE_VOLUMES: Scope.ADMIN,
    Action.REVIEW_TERMINALS: Scope.ADMIN,
    Action.CHANGE_MEMBERS: Scope.ADMIN,
    Action.GRANT_ROLE: Scope.ADMIN,
    Action.LEAVE_TEAM: Scope.ADMIN,
    Action.CHANGE_OWNER: Scope.ADMIN,
    Action.CHANGE_POLICY: Scope.ADMIN,
    Action.TERMINATE_CLUSTER: Scope.ADMIN,
    Action.DELETE_CLUSTER: Scope.ADMIN,
    Action.DELETE_VOLUMES: Scope.ADMIN,
}


def covers(scopes: Collection[Scope] | None, action: Action) -> bool:
    """Whether a token of these scopes may be used for `action`; None is no token, and no ceiling."""
    return scopes is None or SCOPE_OF[action] is Scope.READ or SCOPE_OF[action] in scopes
