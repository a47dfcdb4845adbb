"""What a team requires of its members: one dialog."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.access import team_view
from console.dialog import form_dialog
from console.models import Membership
from console.policy import has_one, people_without, require_second_factor
from console.roles import Action


@team_view(Action.CHANGE_POLICY)
def policy(request: HttpRequest, membership: Membership) -> HttpResponse:
    """POST turns around whether a second factor is required; `required` says what it is to be."""
    team = membership.team
    people = reverse("members", kwargs={"team": team.slug})
    context: dict[str, object] = {
        "team": team,
        "back": people,
        "without": [one.username for one in people_without(team)],
        "has_one": has_one(membership.user),
    }

    def act() -> str:
        require_second_factor(request.POST.get("required") == "1", by=membership)
        return people

    return form_dialog(request, "console/policy.html", context, None, act)
