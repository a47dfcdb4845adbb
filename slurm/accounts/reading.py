"""How the accounting database is asked for as a whole, and the book that the answers come to.

Pure; `slurm.client` runs the commands.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slurm.accounts.book import Book
from slurm.outputs.accounts import (
    ACCOUNT_COLUMNS,
    ASSOCIATION_COLUMNS,
    QOS_COLUMNS,
    USER_COLUMNS,
    Association,
    decode_accounts,
    decode_associations,
    decode_qos,
    decode_users,
)
from slurm.outputs.columns import Columns, columns_format, wider
from slurm.outputs.text import Unreadable


@dataclass(frozen=True)
class Asking:
    """Of the cluster of that name (ClusterName). With `is_wide` also lists that columns of the usual width cut off."""

    cluster: str
    is_wide: bool = False

    @property
    def commands(self) -> Mapping[str, Sequence[str]]:
        """By what each reads."""
        of_cluster = f"cluster={self.cluster}"
        return {
            "the accounts": self._show(ACCOUNT_COLUMNS, "accounts", "withcoord"),
            "the users": self._show(USER_COLUMNS, "users", "withcoord"),
            # "Without parent information or limits" (sacctmgr(1)): what is set on each itself.
            "what is set on associations": self._show(
                ASSOCIATION_COLUMNS, "associations", of_cluster, "wopl"
            ),
            "the associations": self._show(ASSOCIATION_COLUMNS, "associations", of_cluster),
            "the QOS": self._show(QOS_COLUMNS, "qos"),
        }

    def book(self, answers: Sequence[bytes]) -> Book:
        """From what the commands printed, in their order. Raises Unreadable; CutOff unless it was asked widely."""
        if not all(answers):
            raise Unreadable("there is nothing where at least root is expected")
        accounts, users, own, in_force, qos = answers
        people = decode_users(users, self._as_asked(USER_COLUMNS))
        by_name = {one.name: one for one in people}
        associations = self._as_asked(ASSOCIATION_COLUMNS)
        held = decode_associations(in_force, by_name, associations)
        return Book(
            self.cluster,
            decode_accounts(accounts, self._as_asked(ACCOUNT_COLUMNS)),
            people,
            tuple(_settled(decode_associations(own, by_name, associations), held)),
            held,
            decode_qos(qos, self._as_asked(QOS_COLUMNS)),
        )

    def _show(self, columns: Columns, *words: str) -> Sequence[str]:
        return ("sacctmgr", "-n", "show", *words, f"format={columns_format(self._as_asked(columns))}")

    def _as_asked(self, columns: Columns) -> Columns:
        return wider(columns) if self.is_wide else columns


def _settled(own: Sequence[Association], held: Sequence[Association]) -> Iterator[Association]:
    """A list of QOS that was set as a difference to the parent's (`qos+=short`) as what it comes to: sacctmgr prints no
    sign of it (22.05 to 26.05), so it would be taken for the whole list, and a whole one is what holds."""
    by_key = {(one.account, one.user, one.partition): one.qos for one in held}
    for one in own:
        qos = by_key.get((one.account, one.user, one.partition), ()) if one.qos else ()
        yield replace(one, qos=qos) if qos else one
