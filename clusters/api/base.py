"""What every API view stands on: the declared action for each method, the open door, and pages of lists."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, ValidationError
from rest_framework.views import APIView

from clusters.access import Door, cluster_for
from clusters.when import refusals
from console.access import SIGNED_IN, STAFF, membership_for, require_staff
from console.errors import Forbidden, Missing, Problem, Rejected
from console.models import Membership, User
from console.numbers import typed_number
from console.roles import Action, Scope

Row = TypeVar("Row", bound=Model)
PAGE_SIZE = 100
MOST_PER_PAGE = 1000


class ActionView(APIView):
    """`actions` maps each method to what it asks of the person: a method that is not in it does not exist."""

    actions: ClassVar[Mapping[str, Action]] = {}

    def action_of(self, request: Request) -> Action:
        """The declared action; browsing a POST-only route asks for what its POST asks for."""
        return self.actions.get(request.method or "", next(iter(self.actions.values())))


class OwnView(APIView):
    """A view of what is the person's own, whatever their teams. `scopes` maps a method to what a token must be for;
    every token may do the others, and a session all."""

    action = SIGNED_IN
    scopes: ClassVar[Mapping[str, Scope]] = {}

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        needed, held = self.scopes.get(request.method or ""), self.me(request).token_scopes
        if needed and held is not None and needed not in held:
            raise Forbidden(
                f"For this your API token needs the scope {needed.value}.",
                "Make a token with that scope on your profile page, or do it there.",
            )

    def me(self, request: Request) -> User:
        assert isinstance(request.user, User), "nobody else is let through"
        return request.user


class StaffView(APIView):
    """A view for platform staff."""

    action = STAFF

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        require_staff(request.user)


class TeamView(ActionView):
    """A view below /teams/<team>/: `self.membership` is the caller's."""

    membership: Membership

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.membership = membership_for(request.user, kwargs["team"], self.action_of(request))


class ClusterView(ActionView):
    """A view below /teams/<team>/clusters/<cluster>/: `self.door` is open."""

    door: Door

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.door = cluster_for(request.user, kwargs["team"], kwargs["cluster"], self.action_of(request))


def found_in(rows: QuerySet[Row], missing: Missing, **named: object) -> Row:
    """The one row that is named so. Raises `missing`, which says in words what is not there."""
    row = rows.filter(**named).first()
    if row is None:
        raise missing
    return row


class Rows(Protocol):
    """What a page is cut from: a query set, or anything that reads no further than the end of a slice."""

    def __getitem__(self, part: slice, /) -> Iterable[Any]: ...


def page_of(request: Request, rows: Rows, serializer: type[BaseSerializer[Any]]) -> Response:
    """`{"results": [...], "next": url or null}`, `?offset=` and `?limit=` (at most 1000)."""
    offset = whole_number(request, "offset", default=0, most=10_000_000)
    limit = whole_number(request, "limit", default=PAGE_SIZE, most=MOST_PER_PAGE)
    found = list(rows[offset : offset + limit + 1])
    query = request.query_params.copy()
    query["offset"] = str(offset + limit)
    following = request.build_absolute_uri(f"?{query.urlencode()}") if len(found) > limit else None
    return Response({"results": serializer(found[:limit], many=True).data, "next": following})


def whole_number(request: Request, name: str, *, default: int, most: int) -> int:
    """A query parameter between 0 and `most`. Raises Rejected at that parameter."""
    text = request.query_params.get(name, str(default))
    number = typed_number(text, most=most)
    if number is None:
        raise Rejected(
            "The list was not read.", (Problem(name, f"{name} must be a whole number up to {most}."),)
        )
    return number


def checked(serializer: BaseSerializer[Any]) -> Mapping[str, Any]:
    """The validated body. Raises DRF's ValidationError, which the problem handler puts into words by field."""
    known = getattr(serializer, "fields", {})
    said = getattr(serializer, "initial_data", {})
    if isinstance(said, Mapping) and (refused := refusals(said, known)):
        raise ValidationError(refused)
    serializer.is_valid(raise_exception=True)
    data: Mapping[str, Any] = serializer.validated_data
    return data
