"""Registering a region of the slinky provisioner: what its form takes, refuses and makes of it."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from clusters.models import Region
from console import secrets
from console.models import User
from slurm.provisioners.slinky.region import DatabaseKind, LoginBy, settings_of
from slurm.provisioners.slinky.region_form import SlinkyForm
from tests.clusters.test_pages import page, words
from tests.clusters.test_regions import field_of

pytestmark = pytest.mark.django_db
NEW = "/regions/new/?provisioner=slinky"
TOKEN = "an-opaque-token-of-an-account"


def authority() -> str:
    """Some certificate authority's certificate, as a kubeconfig has it."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]),
    )
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=9))
    return base64.b64encode(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)).decode()


def kubeconfig(**user: str) -> str:
    cluster = {"server": "https://192.0.2.7:6443", "certificate-authority-data": authority()}
    return yaml.safe_dump(
        {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": cluster}],
            "users": [{"name": "u", "user": user or {"token": TOKEN}}],
        }
    )


def order(**fields: object) -> dict[str, object]:
    typed = {name: value for name, value in SlinkyForm.initial_from({}).items() if value is not None}
    return {"slug": "east", "name": "East", **typed, "kubeconfig": kubeconfig(), **fields}


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create(username="ops", is_staff=True))
    return client


def test_form_as_it_opens_makes_the_settings_that_are_the_default(staff: Client) -> None:
    assert staff.post(NEW, order()).headers["Location"] == "/regions/east/"
    region = Region.objects.get(slug="east")
    assert settings_of(region.config) == settings_of({})
    assert TOKEN in secrets.get("region:east", "kubeconfig").decode()


def test_what_is_typed_becomes_the_regions_settings(staff: Client) -> None:
    typed = order(
        login_by="NodePort",
        database="existing",
        database_host="db.example",
        database_password="correct horse",
        gpu_selector="pool=gpu\nexample.org/rack=a7",
        gpu_tolerations="nvidia.com/gpu:NoSchedule\ndedicated=slurm",
        storage_class="fast",
    )
    del typed["shadow_pods"]
    staff.post(NEW, typed)
    settings = settings_of(Region.objects.get(slug="east").config)
    assert settings.login_by is LoginBy.NODE_PORT and not settings.shadow_pods
    assert (settings.database.kind, settings.database.host) == (DatabaseKind.EXISTING, "db.example")
    assert settings.gpu_selector == {"pool": "gpu", "example.org/rack": "a7"}
    assert [(t.key, t.operator, t.value) for t in settings.gpu_tolerations][1] == (
        "dedicated",
        "Equal",
        "slurm",
    )
    assert secrets.get("region:east", "database-password") == b"correct horse"


def test_settings_page_shows_the_same_again_and_keeps_it(staff: Client) -> None:
    staff.post(NEW, order(gpu_selector="pool=gpu", gpu_tolerations="dedicated=slurm:NoExecute"))
    before = Region.objects.get(slug="east").config
    form = SlinkyForm.initial_from(before)
    staff.post("/regions/east/settings/", {**order(), **form, "name": "East hall"})
    after = Region.objects.get(slug="east")
    assert (after.name, settings_of(after.config)) == ("East hall", settings_of(before))


@pytest.mark.parametrize(
    ("wrong", "at", "says"),
    [
        ({"kubeconfig": ""}, "kubeconfig", "Paste a kubeconfig"),
        ({"kubeconfig": "a: b"}, "kubeconfig", "not a kubeconfig"),
        ({"kubeconfig": kubeconfig(exec="aws")}, "kubeconfig", "would run a command"),
        ({"kubeconfig": kubeconfig(tokenFile="/etc/passwd")}, "kubeconfig", "names a file"),
        ({"namespace_prefix": "Kube System"}, "namespace_prefix", "lower-case"),
        ({"images": "ghcr.io/x y"}, "images", "without blanks"),
        ({"state_size": "4"}, "state_size", "4Gi"),
        ({"gpu_selector": "pool: gpu"}, "gpu_selector", "Line 1"),
        ({"gpu_tolerations": "ok\nno space:here"}, "gpu_tolerations", "Line 2"),
        ({"login_by": "carrier"}, "login_by", "valid choice"),
        ({"database": "existing", "database_password": "x"}, "database_host", "Needed"),
        ({"database": "existing", "database_host": "db"}, "database_password", "Needed"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(staff: Client, wrong: dict[str, str], at: str, says: str) -> None:
    response = staff.post(NEW, order(**wrong))
    html = response.content.decode()
    assert response.status_code == 422 and says in words(field_of(html, at)), field_of(html, at)
    assert not Region.objects.exists()


def test_kubeconfig_is_not_sent_back_with_the_errors_of_other_fields(staff: Client) -> None:
    response = staff.post(NEW, order(state_size="none"))
    assert response.status_code == 422 and TOKEN.encode() not in response.content


def test_kubeconfig_comes_as_a_file_too(staff: Client) -> None:
    file = SimpleUploadedFile("config", kubeconfig().encode())
    staff.post(NEW, order(kubeconfig="", kubeconfig_file=file))
    assert TOKEN in secrets.get("region:east", "kubeconfig").decode()


def test_file_that_is_no_text_is_refused_at_its_field(staff: Client) -> None:
    response = staff.post(
        NEW, order(kubeconfig="", kubeconfig_file=SimpleUploadedFile("config", b"\xff\xfe\x00"))
    )
    assert "not text" in words(field_of(response.content.decode(), "kubeconfig_file"))


def test_region_in_the_consoles_own_cluster_needs_no_kubeconfig(staff: Client) -> None:
    staff.post(NEW, order(connection="in-cluster", kubeconfig=""))
    assert settings_of(Region.objects.get(slug="east").config).in_cluster


def test_settings_ask_for_a_kubeconfig_that_is_not_there_yet(staff: Client) -> None:
    staff.post(NEW, order(connection="in-cluster", kubeconfig=""))
    response = staff.post("/regions/east/settings/", order())
    assert "Replace credentials" in words(field_of(response.content.decode(), "connection"))


def test_rotation_takes_a_new_kubeconfig_and_refuses_a_bad_one(staff: Client) -> None:
    staff.post(NEW, order())
    bad = staff.post("/regions/east/credentials/", {"name": "East", "kubeconfig": "nonsense"})
    assert bad.status_code == 422 and TOKEN in secrets.get("region:east", "kubeconfig").decode()
    staff.post("/regions/east/credentials/", {"kubeconfig": kubeconfig(token="the-next-one")})
    assert "the-next-one" in secrets.get("region:east", "kubeconfig").decode()


def test_rotation_of_nothing_says_what_to_do(staff: Client) -> None:
    staff.post(NEW, order())
    response = staff.post("/regions/east/credentials/", {"kubeconfig": ""})
    assert response.status_code == 422 and "Paste what should replace it" in words(response.content.decode())


def test_page_shows_settings_in_words(staff: Client) -> None:
    staff.post(NEW, order())
    text = words(page(staff, "/regions/east/"))
    assert (
        "a load balancer for each" in text and "a MariaDB beside each cluster" in text and TOKEN not in text
    )
