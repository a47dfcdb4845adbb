"""What a region offers, and what of a spec it does not: plans, their shapes and sizes, and images."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clusters.models import Image, Plan, Region
from clusters.spec import ClusterSpec, Shape
from clusters.upgrades import upgrade_problems
from console.errors import Missing, Problem


def most_nodes(region: Region) -> dict[str, int]:
    """How many nodes a group of each plan may have."""
    return dict(region.plans.values_list("slug", "most_nodes"))


def images_of(region: Region) -> list[Image]:
    """Those that clusters there can start from, the newest Slurm first."""
    enabled = Image.objects.filter(enabled=True).order_by("-slurm_version", "slug")
    return [image for image in enabled if offers(region, image)]


@dataclass(frozen=True)
class ImageChoice:
    """An image that a cluster could go to. `why_not` is a sentence where it cannot, `hint` what to do instead."""

    image: Image
    why_not: str = ""
    hint: str = ""


def image_choices(region: Region, spec: ClusterSpec) -> list[ImageChoice]:
    """All that the region offers, the newest Slurm first, the cluster's own among them."""
    return [_choice(image, spec) for image in images_of(region)]


def with_image(spec: ClusterSpec, image: Image) -> ClusterSpec:
    return replace(spec, image=image.slug, slurm_version=image.slurm_version)


def _choice(image: Image, spec: ClusterSpec) -> ImageChoice:
    if image.slug == spec.image:
        return ImageChoice(image, "The cluster runs it.")
    problem = next(iter(upgrade_problems(spec, with_image(spec, image))), None)
    return ImageChoice(image, problem.message, problem.hint) if problem else ImageChoice(image)


def offers(region: Region, image: Image) -> bool:
    try:
        return region.platform.offers(image.slurm_version)
    except Missing:  # of a platform that this console does not have; creating says so
        return True


def inventory_problems(region: Region, spec: ClusterSpec, before: ClusterSpec | None) -> tuple[Problem, ...]:
    """What `spec` asks for and the region does not offer. What the cluster already has is not questioned."""
    return (*_plans(region, spec, before), *_image(region, spec, before))


def _plans(region: Region, spec: ClusterSpec, before: ClusterSpec | None) -> Iterator[Problem]:
    had = {group.shape for group in before.groups} if before else set()
    offered: dict[str, Shape] = {plan.slug: plan.shape for plan in Plan.objects.filter(region=region)}
    for index, group in enumerate(spec.groups):
        if group.shape not in had and offered.get(group.shape.plan) != group.shape:
            yield Problem(
                f"groups[{index}].shape.plan",
                f"{region.slug} has no plan {group.shape.plan} of this shape.",
                "Choose one of the region's plans.",
            )


def _image(region: Region, spec: ClusterSpec, before: ClusterSpec | None) -> Iterator[Problem]:
    if before and (before.image, before.slurm_version) == (spec.image, spec.slurm_version):
        return
    image = Image.objects.filter(slug=spec.image, enabled=True).first()
    if image is None:
        yield Problem("image", f"There is no image {spec.image}.", "Choose one of the list.")
    elif not offers(region, image):
        yield Problem("image", f"{image.name} does not run in {region.slug}.", "Choose another.")
    elif image.slurm_version != spec.slurm_version:
        yield Problem("slurm_version", f"Image {image.slug} carries Slurm {image.slurm_version}.")
    elif before:
        yield from upgrade_problems(before, spec)
