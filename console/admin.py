"""The admin site of people and teams, for platform operators. What happened is shown and never changed."""

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from console import factors
from console.access import require_staff
from console.models import ApiToken, Event, GroupRole, Membership, Team, User

admin.site.site_header = "Quarterdeck"
admin.site.site_title = "Quarterdeck admin"
admin.site.index_title = "Platform"
# Of django-allauth's rows none is to be edited by hand: factors are reset on the person's page.
admin.site.unregister([EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken])


@login_not_required
def sign_in(request: HttpRequest, extra_context: object = None) -> HttpResponse:
    """The console's own: a form here would let people past their second factor. Raises Forbidden for who is in."""
    if request.user.is_authenticated:
        require_staff(request.user)
        return redirect("admin:index")
    after = request.GET.get("next") or reverse("admin:index")
    return redirect(f"{reverse('sign-in')}?{urlencode({'next': after})}")


admin.site.login = sign_in  # type: ignore[method-assign]  # as the documentation of AdminSite.login allows


@admin.register(User)
class PersonAdmin(UserAdmin):
    list_display = ["username", "email", "first_name", "last_name", "is_staff", "second_factor"]
    actions = ["reset_second_factors"]

    @admin.display(boolean=True, description="second factor")
    def second_factor(self, person: User) -> bool:
        return factors.has_second_factor(person)

    @admin.action(description="Reset second factors, and sign out everywhere", permissions=["change"])
    def reset_second_factors(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """For who has lost app, passkeys and recovery codes: make sure by another way that it is them."""
        by = require_staff(request.user)
        for person in people:
            if person.is_superuser and not by.is_superuser:
                self.message_user(request, f"{person} is a superuser: only another one can.", messages.ERROR)
                continue
            factors.reset(person, by=by)
            self.message_user(request, f"{person} has no second factor now, and is signed out everywhere.")


@admin.register(GroupRole)
class GroupRoleAdmin(admin.ModelAdmin):
    """What the groups of the identity provider are in teams. It holds from each person's next sign-in on."""

    list_display = ["group", "team", "role"]
    list_filter = ["team"]
    search_fields = ["group"]
    autocomplete_fields = ["team"]


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows to look at: nobody adds, changes or deletes them here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class MembershipInline(admin.TabularInline):
    """Looked at here. They are changed on the team's People page, where an owner stays and every act is recorded."""

    model = Membership
    extra = 0
    fields = ("user", "role", "slurm_users", "joined_at")
    readonly_fields = fields
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    """Its people are on its own page ("View on site"); a team is made on the Teams page."""

    list_display = ["slug", "name", "created_at"]
    search_fields = ["slug", "name"]
    readonly_fields = ["slug"]
    inlines = [MembershipInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def view_on_site(self, team: Team) -> str:
        return reverse("members", kwargs={"team": team.slug})


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["at", "who", "as_staff", "verb", "target", "cluster", "outcome", "team_slug"]
    list_filter = ["outcome", "as_staff", "verb", "team_slug"]
    search_fields = ["who", "target", "cluster"]
    date_hierarchy = "at"


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """A token can be taken away, not read: only its beginning was kept."""

    list_display = ["prefix", "name", "user", "scopes", "created_at", "expires_at", "last_used_at"]
    exclude = ["digest"]

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return True
