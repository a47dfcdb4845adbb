"""The admin site of volumes: what regions offer is edited here; volumes are looked at here, changed on their pages."""

from django.contrib import admin

from console.admin import ReadOnlyAdmin
from storage.models import Offer, Volume


@admin.register(Offer)
class OfferAdmin(admin.ModelAdmin):
    """A volume keeps the class and source that its offer had when it was made."""

    list_display = [
        "slug",
        "name",
        "region",
        "kind",
        "storage_class",
        "source",
        "most_gib",
        "price_per_gib_month",
    ]
    list_filter = ["region", "kind"]


@admin.register(Volume)
class VolumeAdmin(ReadOnlyAdmin):
    list_display = [
        "slug",
        "team",
        "region",
        "kind",
        "size_gib",
        "used_bytes",
        "phase",
        "orphan_since",
        "seen_at",
    ]
    list_filter = ["phase", "kind", "region", "team"]
    search_fields = ["slug", "key"]
