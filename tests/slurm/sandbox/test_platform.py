"""What a region on this machine is told to need."""

from pathlib import Path

import pytest

from clusters.finding import State
from clusters.models import Region
from slurm.provisioners.sandbox.volumes import lay_dataset
from storage.kinds import Kind
from storage.models import Offer


@pytest.mark.django_db
def test_each_dataset_on_offer_needs_its_files(tmp_path: Path, settings) -> None:  # type: ignore[no-untyped-def]
    settings.VAR_DIR = tmp_path
    region = Region.objects.create(slug="here", name="Here", provisioner="sandbox")

    def found() -> dict[str, tuple[State, str]]:
        findings = region.platform.readiness()
        return {one.key: (one.state, one.sentence) for one in findings if one.key == "datasets"}

    assert found() == {}
    Offer.objects.create(region=region, slug="corpus", name="Corpus", kind=Kind.DATASET, source="corpus")
    assert found() == {"datasets": (State.WARN, "There are no files of corpus.")}
    lay_dataset("corpus", {"README": "read me"})
    assert found() == {"datasets": (State.OK, "The files of corpus are here.")}
