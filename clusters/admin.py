"""The admin site of inventory (edited here) and of clusters and changes (looked at here, changed on their pages)."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse

from clusters.models import Change, ChangeLine, Cluster, Image, Node, Plan, Region
from clusters.regions import forget
from console.admin import ReadOnlyAdmin


class PlanInline(admin.TabularInline):
    model = Plan
    extra = 0


@admin.register(Region)
class RegionAdmin(admin.ModelAdmin):
    """Plans and partitions. Registering, settings and credentials have pages of their own, which check and seal."""

    list_display = ["slug", "name", "provisioner", "enabled", "readiness_at"]
    list_filter = ["provisioner", "enabled"]
    readonly_fields = ["slug", "provisioner", "config"]
    inlines = [PlanInline]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def view_on_site(self, region: Region) -> str:
        return reverse("region", kwargs={"region": region.slug})

    def delete_model(self, request: HttpRequest, region: Region) -> None:
        forget(region)

    def delete_queryset(self, request: HttpRequest, regions: "QuerySet[Region]") -> None:
        for region in regions:
            forget(region)


@admin.register(Plan)
class PlanAdmin(admin.ModelAdmin):
    list_display = [
        "slug",
        "region",
        "gpu_model",
        "gpus",
        "cpus",
        "memory_mib",
        "most_nodes",
        "price_per_hour",
    ]
    list_filter = ["region", "gpu_model"]


@admin.register(Image)
class ImageAdmin(admin.ModelAdmin):
    list_display = ["slug", "name", "slurm_version", "source", "enabled"]
    list_editable = ["enabled"]


@admin.register(Cluster)
class ClusterAdmin(ReadOnlyAdmin):
    list_display = ["slug", "team", "region", "status", "status_at", "observed_at", "revision"]
    list_filter = ["status", "region", "team"]
    search_fields = ["slug", "key"]


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    list_display = ["name", "machine", "cluster", "state", "gpus_allocated", "gpus", "reason"]
    list_filter = ["health", "cluster"]
    search_fields = ["name", "machine"]


class ChangeLineInline(admin.TabularInline):
    model = ChangeLine
    extra = 0
    can_delete = False
    readonly_fields = ["at", "tone", "text"]
    max_num = 0


@admin.register(Change)
class ChangeAdmin(ReadOnlyAdmin):
    list_display = ["cluster", "number", "kind", "status", "summary", "by", "at", "ended_at"]
    list_filter = ["status", "kind", "cluster__team"]
    exclude = ["lease_token"]
    inlines = [ChangeLineInline]
