"""A team with a region that offers volumes, and a volume there."""

import pytest
from django.conf import settings

from clusters.models import Region
from storage.kinds import Kind, Phase
from storage.models import Offer, Volume
from tests.cast import Cast, the_cast, the_region


@pytest.fixture
def cast(db: None) -> Cast:
    return the_cast()


@pytest.fixture
def lab(cast: Cast) -> Region:
    """The fake region with three kinds on offer."""
    settings.VOLUME_STORES["fake"] = "tests.storage.fake_store.FakeStore"
    region = the_region()
    Offer.objects.create(region=region, slug="fast", name="Fast", kind=Kind.PFS, price_per_gib_month="0.12")
    Offer.objects.create(region=region, slug="shared", name="Shared", kind=Kind.SFS, most_gib=500)
    Offer.objects.create(
        region=region, slug="imagenet", name="ImageNet", kind=Kind.DATASET, source="imagenet"
    )
    return region


def a_volume(cast: Cast, region: Region, slug: str = "scratch", **fields: object) -> Volume:
    """One that is there."""
    values = {"kind": Kind.PFS, "size_gib": 100, "phase": Phase.READY, **fields}
    return Volume.objects.create(team=cast.team, region=region, slug=slug, **values)
