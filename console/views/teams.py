"""All teams, for platform staff: who owns them, how large they are, and making one."""

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.access import staff_view
from console.errors import Rejected
from console.forms import TeamForm
from console.members import make_team
from console.models import Team, User
from console.page import close_dialog, render_dialog, render_page


@staff_view
def teams(request: HttpRequest, person: User) -> HttpResponse:
    own = set(person.memberships.values_list("team_id", flat=True))
    rows = Team.objects.annotate(people=Count("memberships"))
    shown = [
        {
            "team": team,
            "is_yours": team.pk in own,
            "owners": [name for name, role in team.admins if role == "owner"],
        }
        for team in rows.order_by("slug")
    ]
    return render_page(request, "console/all_teams.html", {"rows": shown})


@staff_view
def new_team(request: HttpRequest, person: User) -> HttpResponse:
    form = TeamForm(request.POST or None)
    context: dict[str, object] = {"form": form, "back": reverse("teams")}
    if request.method == "POST" and form.is_valid():
        try:
            made = make_team(form.save(commit=False), form.cleaned_data["owner"], by=person)
        except Rejected as error:
            for problem in error.problems:
                form.add_error(problem.path, f"{problem.message} {problem.hint}".strip())
        else:
            return close_dialog(request, reverse("members", kwargs={"team": made.slug}))
    status = 422 if request.method == "POST" else 200
    return render_dialog(request, "console/team_new.html", context, status=status)
