"""Regions on their pages and in the API: registered, changed, rotated, disabled, checked; and who sees what."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters import readiness, regions, tasks
from clusters.finding import Finding, State, as_stored, from_stored, worst
from clusters.models import Image, Region
from clusters.order import Order, spec_for
from console import secrets
from console.errors import Rejected, Unavailable
from console.models import Event, User
from tests import fake_platform
from tests.cast import Cast, the_region, tiny_cluster
from tests.clusters.test_pages import page, words

pytestmark = pytest.mark.django_db
NEW = "/regions/new/?provisioner=fake"
ORDER = {"slug": "north", "name": "The north", "zone": "n1", "password": "hunter2-hunter2"}
FULL = Finding("gpus", "GPUs", State.WARN, "None is free.", "Wait.", ("a: 0 of 8",), ("kubectl get nodes",))
AWAY = Finding("api", "API server", State.BAD, "It does not answer.", "Is it on?")


@pytest.fixture(autouse=True)
def _nothing_found() -> Iterator[None]:
    yield
    fake_platform.FOUND.clear()


@pytest.fixture
def lab(db: None) -> Region:
    return the_region()


@pytest.fixture
def ops(lab: Region) -> User:
    return User.objects.create(username="ops", is_staff=True)


@pytest.fixture
def staff(ops: User) -> Client:
    client = Client()
    client.force_login(ops)
    return client


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks) -> list[int]:  # type: ignore[no-untyped-def]
    """The regions that a worker was asked to look at."""
    seen: list[int] = []
    monkeypatch.setattr(tasks.check_region, "apply_async", lambda args, **_: seen.append(args[0]))
    return seen


def field_of(html: str, name: str) -> str:
    """The field's own markup, with its problems."""
    return html.split(f'data-field="{name}"', 1)[1].split("data-field=", 1)[0]


def test_kinds_of_platform_are_offered_with_what_they_are(staff: Client) -> None:
    text = words(page(staff, "/regions/new/"))
    assert "A platform of the tests" in text and "This machine (sandbox)" in text


def test_registered_region_has_its_row_its_sealed_secret_and_its_event(staff: Client) -> None:
    assert staff.post(NEW, ORDER).headers["Location"] == "/regions/north/"
    region = Region.objects.get(slug="north")
    assert (region.name, region.config) == ("The north", {"zone": "n1"})
    assert secrets.get("region:north", "password") == b"hunter2-hunter2"
    assert Event.objects.get(verb="region.register").target == "north"


def test_secret_is_on_no_page_in_no_event_and_not_in_the_api(staff: Client) -> None:
    staff.post(NEW, ORDER)
    paths = ("/regions/", "/regions/north/", "/regions/north/settings/", "/regions/north/credentials/")
    for path in (*paths, "/api/v1/regions", "/api/v1/regions/north", "/api/v1/regions/north/readiness"):
        assert "hunter2" not in page(staff, path), path
    assert "hunter2" not in str(list(Event.objects.values()))
    assert staff.get("/api/v1/regions/north").json()["secrets"] == ["password"]


def test_what_was_typed_as_a_secret_is_not_sent_back_with_an_error(staff: Client) -> None:
    response = staff.post(NEW, {**ORDER, "slug": "Not a slug"})
    assert response.status_code == 422 and b"hunter2" not in response.content
    assert not Region.objects.filter(name="The north").exists()


@pytest.mark.parametrize(
    ("slug", "says"),
    [("lab", "There is a region lab already"), ("new", "Choose another"), ("A b", "lower-case")],
)
def test_slug_in_use_or_wrong_is_said_at_its_field(staff: Client, slug: str, says: str) -> None:
    response = staff.post(NEW, {**ORDER, "slug": slug})
    assert response.status_code == 422 and says in words(response.content.decode())


def test_nothing_is_half_registered(ops: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise Unavailable("The sealing key is lost.")

    monkeypatch.setattr(secrets, "put", fails)
    with pytest.raises(Unavailable):
        regions.register("fake", slug="half", name="Half", config={}, sealed={"password": b"x"}, by=ops)
    assert not Region.objects.filter(slug="half").exists()


def test_settings_change_what_the_form_asks_and_leave_the_rest(staff: Client, lab: Region) -> None:
    Region.objects.filter(pk=lab.pk).update(config={"zone": "n1", "of_an_older_console": 7})
    staff.post("/regions/lab/settings/", {"name": "Lab two", "zone": "n2"})
    lab.refresh_from_db()
    assert (lab.name, lab.config) == ("Lab two", {"zone": "n2", "of_an_older_console": 7})
    assert Event.objects.get(verb="region.change").detail == {"summary": "zone"}


def test_settings_that_clusters_live_by_stay(staff: Client, lab: Region, cast: Cast) -> None:
    tiny_cluster(cast.team)
    Region.objects.filter(pk=lab.pk).update(config={"zone": "n1"})
    staff.post("/regions/lab/settings/", {"name": "Lab", "zone": "n2"})
    lab.refresh_from_db()
    assert lab.config == {"zone": "n1"}


def test_credentials_are_replaced_and_the_settings_left_alone(staff: Client) -> None:
    staff.post(NEW, ORDER)
    staff.post("/regions/north/credentials/", {"name": "Other", "password": "another-password"})
    assert secrets.get("region:north", "password") == b"another-password"
    assert Region.objects.get(slug="north").name == "The north"


def test_disabled_region_is_not_offered_and_its_clusters_stay(staff: Client, lab: Region, cast: Cast) -> None:
    cluster = tiny_cluster(cast.team)
    assert "1 cluster, watched" in words(page(staff, "/regions/lab/standing/"))
    staff.post("/regions/lab/standing/")
    owner = Client()
    owner.force_login(cast.ada.user)
    assert ">Lab<" not in page(owner, "/t/research/clusters/new/")
    cluster.refresh_from_db()
    assert cluster.region == lab and "disabled" in page(staff, "/regions/")


def test_check_keeps_what_was_found_and_the_page_shows_it(staff: Client, lab: Region) -> None:
    fake_platform.FOUND["lab"] = (FULL, AWAY)
    tasks.check_region(lab.pk)
    text = words(page(staff, "/regions/lab/"))
    for said in (
        "not ready",
        "None is free.",
        "Wait.",
        "a: 0 of 8",
        "kubectl get nodes",
        "It does not answer.",
    ):
        assert said in text, said
    answer = staff.get("/api/v1/regions/lab/readiness").json()
    assert [row["state"] for row in answer["findings"]] == ["warn", "bad"] and not answer["checking"]


def test_platform_that_raises_is_a_finding(lab: Region) -> None:
    fake_platform.FOUND["lab"] = Unavailable("The platform is away.", "Wait for it.")
    tasks.check_region(lab.pk)
    lab.refresh_from_db()
    assert [(f.state, f.sentence, f.hint) for f in lab.findings] == [
        (State.BAD, "The platform is away.", "Wait for it.")
    ]


def test_region_of_an_unknown_platform_has_its_page_and_says_so(staff: Client, lab: Region) -> None:
    Region.objects.filter(pk=lab.pk).update(provisioner="gone")
    tasks.check_region(lab.pk)
    assert "no provisioner gone" in words(page(staff, "/regions/lab/"))


def test_check_again_asks_a_worker_and_shows_that_it_did(
    staff: Client, lab: Region, asked: list[int], django_capture_on_commit_callbacks
) -> None:  # type: ignore[no-untyped-def]
    with django_capture_on_commit_callbacks(execute=True):
        staff.post("/regions/lab/check/")
    assert asked == [lab.pk] and "Checking…" in page(staff, "/regions/lab/")
    tasks.check_region(lab.pk)
    assert "Check again" in page(staff, "/regions/lab/")


def test_slow_check_does_not_overwrite_a_later_one(lab: Region) -> None:
    later = timezone.now() + timedelta(minutes=1)
    Region.objects.filter(pk=lab.pk).update(readiness=as_stored((FULL,)), readiness_at=later)
    readiness.check(lab)
    lab.refresh_from_db()
    assert lab.findings == (FULL,)


def test_page_says_when_nobody_has_looked_for_long(staff: Client, lab: Region) -> None:
    Region.objects.filter(pk=lab.pk).update(readiness_at=timezone.now() - timedelta(hours=1))
    assert "is the worker running?" in page(staff, "/regions/lab/")


def test_create_form_shows_what_stands_in_the_way(lab: Region, cast: Cast) -> None:
    Region.objects.filter(pk=lab.pk).update(readiness=as_stored((FULL, AWAY)), readiness_at=timezone.now())
    owner = Client()
    owner.force_login(cast.ada.user)
    text = words(page(owner, "/t/research/clusters/new/"))
    assert "It does not answer." in text and "None is free." not in text


def test_image_that_a_region_cannot_run_is_not_offered_there(lab: Region, cast: Cast) -> None:
    Image.objects.create(slug="old", name="Slurm 22.05", slurm_version="22.05", source="bookworm")
    owner = Client()
    owner.force_login(cast.ada.user)
    assert "Slurm 22.05" not in page(owner, "/t/research/clusters/new/")
    with pytest.raises(Rejected) as refusal:
        spec_for(Order("x", "lab", "old", gpu_plan="gpu-8x", gpu_nodes=1))
    assert [problem.path for problem in refusal.value.problems] == ["image"]


def test_documents_are_downloaded_before_and_after_registering(staff: Client, lab: Region) -> None:
    Region.objects.filter(pk=lab.pk).update(config={"zone": "n7"})
    assert staff.get("/regions/new/fake/rights.yaml").content == b"zone: north\n"
    got = staff.get("/regions/lab/documents/rights.yaml")
    assert got.content == b"zone: n7\n" and "attachment" in got.headers["Content-Disposition"]
    assert staff.get("/regions/lab/documents/kubeconfig").status_code == 404


def test_rail_leads_staff_alone_to_regions(staff: Client, lab: Region, cast: Cast) -> None:
    assert 'href="/regions/"' in page(staff, "/regions/")
    owner = Client()
    owner.force_login(cast.ada.user)
    assert 'href="/regions/"' not in page(owner, "/t/research/")


def test_findings_survive_the_database_and_nonsense_is_none() -> None:
    assert from_stored(as_stored((FULL, AWAY))) == (FULL, AWAY)
    assert from_stored([{"colour": "red"}]) == ()


def test_worst_is_the_gravest_and_nothing_for_what_is_only_unknown() -> None:
    unknown = Finding("x", "X", State.UNKNOWN, "?")
    assert worst((FULL, AWAY)) == AWAY and worst((unknown, FULL)) == FULL and worst((unknown,)) is None


def test_registering_twice_is_refused_with_its_field(ops: User) -> None:
    with pytest.raises(Rejected) as refusal:
        regions.register("fake", slug="lab", name="Lab", config={}, sealed={}, by=ops)
    assert [problem.path for problem in refusal.value.problems] == ["slug"]


def test_health_is_public_and_says_only_ok() -> None:
    response = Client().get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


def test_region_that_is_deleted_on_the_admin_site_takes_its_secrets_with_it(ops: User) -> None:
    User.objects.filter(pk=ops.pk).update(is_superuser=True)
    region = regions.register("fake", slug="north", name="N", config={}, sealed={"password": b"x"}, by=ops)
    client = Client()
    client.force_login(ops)
    assert client.get(f"/admin/clusters/region/{region.pk}/change/").status_code == 200
    client.post(f"/admin/clusters/region/{region.pk}/delete/", {"post": "yes"})
    assert not Region.objects.filter(slug="north").exists()
    assert regions.kept_secrets(region) == frozenset()
