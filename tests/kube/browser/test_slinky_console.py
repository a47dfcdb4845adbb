"""One story in the browser, on a real Kubernetes API with the operator's double and real Slurm: a region is
registered with an account that has the handed-out rights and no others, a cluster is made in it, used, scaled in beside
a job, and given a slurm.conf that it cannot live with.

The tests build on each other, in this order: the first that fails makes the others fail.
"""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.demo.console import until
from tests.demo.tab import PageOf, Tab
from tests.demo.test_slurm_conf import DEADLY, add, editor, text
from tests.demo.test_terminal import Shell
from tests.kube.browser.console import SlinkyConsole
from tests.kube.double.operator import Double
from tests.kube.rig import things
from tests.kube.rig.admin import Admin
from tests.kube.rig.api import wait_until

pytestmark = pytest.mark.timeout(400)
SLUG, PREFIX = "hall-2", "browser"
NAMESPACE = f"{PREFIX}-research"
ACCOUNT = "quarterdeck"
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
PLANS = (
    {"slug": "h100-8", "name": "8 x H100", "gpu_model": "H100", "gpus": 8, "cpus": 32, "memory_mib": 256_000},
    {"slug": "cpu-32", "name": "32 CPUs", "gpus": 0, "cpus": 32, "memory_mib": 128_000},
)
# What is told by a first cluster, or is the business of those who run the Kubernetes, keeps no region from being ready.
NEEDED = {"api", "credential", "permissions", "crds", "storage", "gpus", "plans", "database", "login"}
NEEDED |= {"quotas", "clock"}
CHANGED_WITHIN_S = 120
Picture = Callable[[Tab, str], None]


@pytest.fixture(scope="module", autouse=True)
def machines(kubernetes: Admin, operator: Double | None) -> Iterator[None]:
    """GPU machines that only GPU workers may use, as they usually are; the double minds the team's namespace."""
    if operator:
        operator.mind(NAMESPACE)
    names = [node["metadata"]["name"] for node in kubernetes.api.get(things.NODES)["items"]]
    tainted = [name for name in names if name.startswith("gpu-node")]
    taint(kubernetes, tainted, [TAINT])
    yield
    taint(kubernetes, tainted, None)
    if operator:
        kubernetes.delete_namespace(NAMESPACE)


def taint(kubernetes: Admin, nodes: list[str], taints: list[dict[str, str]] | None) -> None:
    for name in nodes:
        kubernetes.api.merge(f"{things.NODES}/{name}", {"spec": {"taints": taints}})


def put(kubernetes: Admin, thing: things.Thing) -> None:
    """Made, or brought to what it is to be: what `kubectl apply` does."""
    plurals = {
        "Namespace": things.NAMESPACES,
        "ServiceAccount": f"{things.NAMESPACES}/{ACCOUNT}/serviceaccounts",
        "Secret": f"{things.NAMESPACES}/{ACCOUNT}/secrets",
        "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    }
    path = plurals[thing["kind"]]
    if kubernetes.api.create(path, thing) is None:
        kubernetes.api.merge(f"{path}/{thing['metadata']['name']}", thing)


def kubeconfig_of(kubernetes: Admin) -> str:
    """With the token that permissions.yaml asks for, as kubeconfig.sh makes it."""
    path = f"{things.NAMESPACES}/{ACCOUNT}/secrets/{ACCOUNT}-token"
    wait_until("the account's token", lambda: "token" in kubernetes.api.get(path).get("data", {}))
    token = base64.b64decode(kubernetes.api.get(path)["data"]["token"]).decode()
    config = yaml.safe_load(kubernetes.api.kubeconfig)
    config["users"][0]["user"] = {"token": token}
    return yaml.safe_dump(config)


def states(page: Page) -> dict[str, str]:
    """The readiness page's findings: state by key."""
    found: dict[str, str] = page.locator(".findings > li").evaluate_all(
        "all => Object.fromEntries(all.map(one => [one.id.replace('finding-', ''), one.firstElementChild.innerText]))"
    )
    return {key: state.strip() for key, state in found.items()}


def test_region_is_registered_with_the_rights_that_are_handed_out_and_found_ready(
    page_of: PageOf, kubernetes: Admin, picture: Picture
) -> None:
    tab = page_of("ada").open("/regions/new/?provisioner=slinky")
    tab.expect_sound()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("link", name="permissions.yaml").click()
    for thing in yaml.safe_load_all(Path(download.value.path()).read_text()):
        put(kubernetes, thing)
    tab.page.get_by_label("Short name").fill(SLUG)
    tab.page.get_by_label("Name", exact=True).fill("Kubernetes, hall 2")
    tab.page.get_by_label("kubeconfig", exact=True).fill(kubeconfig_of(kubernetes))
    tab.page.get_by_label("Namespace prefix").fill(PREFIX)
    tab.page.get_by_text("the browser's terminal only, through the API server").click()
    tab.page.get_by_role("button", name="Register").click()
    tab.page.wait_for_url(re.compile(f"/regions/{SLUG}/$"))
    tab.see("#finding-api", "Kubernetes v1.", within_s=40)
    tab.see("#finding-plans", "The region has no plan.")
    add_plans(tab)
    tab.open(f"/regions/{SLUG}/").page.get_by_role("button", name="Check again").click()
    tab.see("#finding-plans", "fits on a machine", within_s=40)
    found = states(tab.page)
    assert {key: found.get(key) for key in NEEDED} == dict.fromkeys(NEEDED, "ok")
    tab.see(".qd-head", "ready")
    tab.expect_sound()
    picture(tab, "region-ready")
    phone = page_of("ada", "phone").open(f"/regions/{SLUG}/")
    phone.expect_sound()
    picture(phone, "region-ready-phone")


def add_plans(tab: Tab) -> None:
    """On the admin site, as the page says."""
    page = tab.page
    page.get_by_role("link", name="Change on the admin site").click()
    for number, plan in enumerate(PLANS):
        page.get_by_role("button", name="Add another Plan").click()
        for name, value in plan.items():
            page.locator(f"[name=plans-{number}-{name}]").fill(str(value))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".messagelist")).to_contain_text("changed successfully")


def test_cluster_is_created_there_and_its_nodes_bear_the_machines_names(
    page_of: PageOf, kubernetes: Admin, picture: Picture
) -> None:
    tab = page_of("ada")
    order(tab)
    for part in ("Accounting", "Controller", "REST service", "Workers", "Login node"):
        tab.see("[data-status=Creating] .qd-steps", part, within_s=30)
    tab.expect_sound()
    expect(tab.page.locator("#cluster-head")).to_contain_text("Running", timeout=CHANGED_WITHIN_S * 1000)
    tab.see("#connect", "Terminal")
    nodes = page_of("kim").open("nodes/")
    nodes.expect_live()
    placed = machines_by_name(kubernetes)
    assert set(placed) == {"slinky-0", "slinky-1", "cpu-workers-0"}
    assert {name: machine[:3] for name, machine in placed.items()} == {
        **dict.fromkeys(["slinky-0", "slinky-1"], "gpu"),
        "cpu-workers-0": "cpu",
    }
    for name, machine in placed.items():
        expect(nodes.row(name).locator(".qd-name")).to_have_text(f"{machine} ({name})")
        expect(nodes.row(name)).to_contain_text("idle")
        expect(nodes.row(name)).to_contain_text("Ready")
    nodes.expect_sound()


def order(tab: Tab) -> None:
    page = tab.open("/t/research/clusters/new/").page
    page.get_by_label("Name", exact=True).fill("demo")
    page.get_by_text("8 x H100", exact=True).click()
    page.locator("#id_gpu_nodes").fill("2")
    page.get_by_text("32 CPUs", exact=True).click()
    page.locator("#id_cpu_nodes").fill("1")
    expect(page.locator("#preview")).to_contain_text("name: demo")
    page.get_by_role("button", name="Create cluster").click()


def machines_by_name(kubernetes: Admin) -> dict[str, str]:
    """What the API itself says: each worker's machine, by its name in Slurm."""
    label = "nodeset.slinky.slurm.net/pod-hostname"
    pods = kubernetes.api.get(f"{things.NAMESPACES}/{NAMESPACE}/pods?labelSelector={label}")["items"]
    return {
        pod["metadata"]["labels"][label]: pod["spec"]["nodeName"]
        for pod in pods
        if not pod["metadata"].get("deletionTimestamp")
    }


def test_terminal_leads_through_the_api_server_to_a_login_node_that_knows_slurm(page_of: PageOf) -> None:
    shell = Shell(page_of("mo"))
    shell.run("clear; sinfo -h -o '%R %D %N'")
    shell.see(r"^slinky 2 slinky-\[0-1\]$", within_s=30)
    shell.see("^cpu-workers 1 cpu-workers-0$")
    shell.tab.expect_sound()


def test_job_is_submitted_on_the_page_and_runs(page_of: PageOf, picture: Picture) -> None:
    jobs = page_of("kim").open("jobs/")
    jobs.expect_live()
    tab = page_of("mo").open("jobs/new/")
    editor_of_script = tab.page.locator(".qd-ace")
    expect(editor_of_script).to_contain_text("#SBATCH")
    tab.page.get_by_label("Name", exact=True).fill("train")
    tab.page.get_by_label("Partition").select_option("slinky")
    tab.page.get_by_label("GPUs on each node").fill("8")
    tab.page.get_by_label("Time limit").fill("01:00:00")
    expect(editor_of_script).to_contain_text("--job-name=train")
    tab.page.locator(".qd-ace textarea").focus()
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.insert_text("\nsleep 86400\n")
    tab.page.get_by_role("button", name="Submit job").click()
    tab.page.wait_for_url(re.compile(r"/jobs/\d+/$"))
    tab.see(".job-head", "train", within_s=20)
    expect(jobs.page.locator("#jobs tbody tr", has_text="train")).to_contain_text("running", timeout=30_000)
    nodes = page_of("lin").open("nodes/")
    expect(nodes.page.locator("#node-rows")).to_contain_text("8 / 8")
    picture(nodes, "slinky-nodes")
    phone = page_of("lin", "phone").open("nodes/")
    phone.expect_sound()
    picture(phone, "slinky-nodes-phone")


def test_scaling_in_takes_the_named_node_and_leaves_the_job_alone(
    page_of: PageOf, console: SlinkyConsole, kubernetes: Admin, picture: Picture
) -> None:
    [job] = console.get("/jobs?q=name:train").body["results"]
    [idle] = {"slinky-0", "slinky-1"} - {job["nodes"]}
    kept = machines_by_name(kubernetes)[job["nodes"]]
    tab = page_of("lin").open()
    tab.page.locator("#cluster-head").get_by_role("link", name="Scale").click()
    tab.dialog.get_by_label("slinky", exact=True).fill("1")
    impact = tab.dialog.locator("#scale-impact")
    expect(impact).to_contain_text("slinky-1")
    tab.dialog.get_by_label("Nodes that go").fill(job["nodes"])
    expect(impact).to_contain_text("train")
    tab.dialog.get_by_label("Nodes that go").fill(idle)
    expect(impact).to_contain_text("no job")
    expect(impact).to_contain_text(idle)
    tab.expect_sound()
    picture(tab, "slinky-scale-in")
    tab.dialog.get_by_role("button", name="Scale").click()
    ended(tab, console, "committed")
    until(lambda: names(console) == {job["nodes"], "cpu-workers-0"}, "the row is gone", within_s=30)
    assert machines_by_name(kubernetes)[job["nodes"]] == kept
    assert idle not in machines_by_name(kubernetes)
    assert still_runs(console, job)


def names(console: SlinkyConsole) -> set[str]:
    return {node["name"] for node in console.get("/nodes").body["results"]}


def still_runs(console: SlinkyConsole, job: dict[str, object]) -> bool:
    [now] = console.get("/jobs?q=name:train").body["results"]
    return (now["state"], now["start_at"], now["nodes"]) == ("RUNNING", job["start_at"], job["nodes"])


def ended(tab: Tab, console: SlinkyConsole, how: str) -> None:
    """Wait on the page of the newest change, where its dialog led, until it says how it ended."""
    tab.page.wait_for_url(re.compile(r"/changes/\d+/$"))
    status = tab.page.locator(".live-body .qd-panel").first
    expect(status).to_contain_text(how, timeout=CHANGED_WITHIN_S * 1000)


def test_bad_line_is_refused_where_it_stands_and_nothing_is_touched(
    page_of: PageOf, console: SlinkyConsole
) -> None:
    revision = console.get("").body["revision"]
    tab = editor(page_of("lin"))
    add(tab, "MesageTimeout=45")
    line = text(tab).index("MesageTimeout=45") + 1
    problem = tab.see("#conf-problems .note", "Did you mean MessageTimeout?", within_s=20)
    expect(problem).to_contain_text(f"Line {line}")
    problem.get_by_role("button", name="MessageTimeout", exact=True).click()
    expect(tab.page.locator("#conf-problems")).to_be_hidden()
    add(tab, DEADLY)
    line = text(tab).index(DEADLY) + 1
    tab.page.get_by_role("button", name="Review and apply").click()
    expect(tab.dialog).to_contain_text("The cluster would not take this.", timeout=30_000)
    expect(tab.dialog).to_contain_text("switch/hpe_slingshot")
    expect(tab.dialog.get_by_role("button", name=f"Line {line}")).to_be_visible()
    expect(tab.dialog.get_by_role("button", name="Apply")).to_have_count(0)
    tab.expect_sound()
    assert console.get("").body["revision"] == revision


def test_file_that_slips_through_is_rolled_back_and_the_job_goes_on(
    page_of: PageOf, console: SlinkyConsole, picture: Picture
) -> None:
    [job] = console.get("/jobs?q=name:train").body["results"]
    before = console.get("").body["revision"]
    settings = console.get("/slurm-conf").body["settings"].rstrip()
    change = console.run_unchecked(f"{settings}\n{DEADLY}\n")
    assert change["status"] == "rolled back", change
    assert console.get("").body["revision"] == before
    tab = page_of("lin").open(f"changes/{change['number']}/")
    tab.see(".live-body", "rolled back")
    tab.see(".live-body", "switch/hpe_slingshot")
    tab.see(".live-body", f"Revision {before} is still what the cluster runs")
    tab.expect_sound()
    picture(tab, "slinky-rolled-back")
    until(lambda: console.get("").body["observed_problem"] == "", "the controller answers", within_s=30)
    assert still_runs(console, job)
