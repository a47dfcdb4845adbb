"""The admin site of people and teams, for platform operators. What happened is shown and never changed."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from console.models import ApiToken, Event, Membership, Team, User

admin.site.site_header = "Quarterdeck"
admin.site.site_title = "Quarterdeck admin"
admin.site.index_title = "Platform"
admin.site.register(User, UserAdmin)


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 1
    autocomplete_fields = ["user"]


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    list_display = ["slug", "name", "created_at"]
    search_fields = ["slug", "name"]
    inlines = [MembershipInline]


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows to look at: nobody adds, changes or deletes them here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["at", "who", "verb", "target", "cluster", "outcome", "team_slug"]
    list_filter = ["outcome", "verb", "team_slug"]
    search_fields = ["who", "target", "cluster"]
    date_hierarchy = "at"


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """A token can be taken away, not read: only its beginning was kept."""

    list_display = ["prefix", "name", "user", "scopes", "created_at", "expires_at", "last_used_at"]
    exclude = ["digest"]

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return True
