"""The REST API of the demo with the tokens of `run.json`: the facts of the pages, and problems that name the field."""

import json
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.demo.console import CLUSTER, Answer, DemoConsole, until
from tests.demo.tab import PageOf

PROBLEM = "application/problem+json"


def expect_problem(answer: Answer, status: int) -> dict[str, Any]:
    assert (answer.status, answer.media_type) == (status, PROBLEM), answer
    assert (
        answer.body["status"] == status and answer.body["detail"] and answer.body["type"].startswith("urn:")
    )
    body: dict[str, Any] = answer.body
    return body


def test_status_is_the_word_on_the_page(console: DemoConsole, page_of: PageOf) -> None:
    answer = console.get("")
    assert (answer.body["name"], answer.body["status"]) == ("demo", "Running")
    page_of("kim").open().see("#cluster-head", answer.body["status"])


def test_spec_and_parts_are_those_of_the_cluster(console: DemoConsole) -> None:
    body = console.get("").body
    assert [(group["name"], len(group["ordinals"])) for group in body["spec"]["groups"]] == [
        ("slinky", 4),
        ("cpu-workers", 2),
    ]
    assert {part["state"] for part in body["parts"]} == {"up"}
    assert console.get("/revisions").body["results"][-1]["spec"]["name"] == "demo"


def test_lists_are_paged(console: DemoConsole) -> None:
    first = console.get("/nodes?limit=4").body
    assert len(first["results"]) == 4 and first["next"]
    path = first["next"].split("/api/v1/")[1]
    rest = console.ask("GET", path).body
    assert len(rest["results"]) == 2 and rest["next"] is None


@pytest.mark.parametrize("path", ["/nodes", "/jobs", "/partitions", "/changes", "/slurm-conf", "/revisions"])
def test_every_part_can_be_read_by_a_viewer(console: DemoConsole, path: str) -> None:
    assert console.get(path, by="kim").status == 200


def test_without_a_token_or_with_a_wrong_one_is_401(console: DemoConsole) -> None:
    expect_problem(console.ask("GET", CLUSTER, by=""), 401)
    expect_problem(console.ask("GET", CLUSTER, by="", token="qd_wrong"), 401)


def test_too_weak_a_role_is_403_and_says_which_one_it_takes(console: DemoConsole) -> None:
    answer = console.post("/actions/drain", {"nodes": ["slinky-0"], "reason": "x"}, by="kim")
    assert "operator" in json.dumps(expect_problem(answer, 403))


@pytest.mark.parametrize(
    "path", ["teams/other/clusters/demo", "teams/research/clusters/none", f"{CLUSTER}/nodes/x"]
)
def test_what_is_not_there_is_404(console: DemoConsole, path: str) -> None:
    expect_problem(console.ask("GET", path), 404)


def test_action_that_the_status_forbids_is_409_with_the_reason(console: DemoConsole) -> None:
    body = expect_problem(console.post("/actions/delete", {"name": "demo"}), 409)
    assert "Running" in body["detail"]


def test_stale_base_is_409(console: DemoConsole) -> None:
    expect_problem(console.post("/actions/scale", {"groups": {"slinky": 3}, "base": 99}), 409)


def test_problems_name_the_field(console: DemoConsole) -> None:
    order = {
        "name": "No Good",
        "region": "local",
        "image": "slurm-24-11",
        "gpu_plan": "h100-8",
        "gpu_nodes": 1,
    }
    for wrong, path in ({"gpu_nodes": 99}, "gpu_nodes"), ({}, "name"):
        answer = console.ask("POST", "teams/research/clusters", {**order, **wrong})
        assert [problem["path"] for problem in expect_problem(answer, 422)["errors"]] == [path]
    answer = console.post("/actions/drain", {"nodes": []})
    assert answer.status in (400, 422) and answer.media_type == PROBLEM
    assert {problem["path"] for problem in answer.body["errors"]} == {"nodes", "reason"}


def test_misspelt_filter_is_refused_to_a_script(console: DemoConsole) -> None:
    body = expect_problem(console.get("/jobs?q=usr:mo"), 422)
    assert body["errors"][0]["path"] == "q" and "user" in body["errors"][0]["message"]


def test_one_job_comes_with_all_that_slurm_says(console: DemoConsole) -> None:
    number = console.get("/jobs?q=name:train-70b").body["results"][0]["job_id"]
    # Seen as it was submitted, a moment before it starts.
    until(lambda: console.get(f"/jobs/{number}").body["state"] == "RUNNING", "train-70b runs", within_s=30)
    job = console.get(f"/jobs/{number}").body
    assert job["gpus"] == 8
    assert job["slurm"]["Name"] == "train-70b" and "gres/gpu=8" in job["slurm"]["Resources"]


def test_schema_is_openapi_with_every_route_and_examples(console: DemoConsole) -> None:
    request = urllib.request.Request(
        f"{console.url}/api/schema/?format=json",
        headers={"Authorization": f"Bearer {console.run['users']['kim']['token']}"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        schema = json.load(answer)
    assert schema["openapi"].startswith("3.")
    below = "/api/v1/teams/{team}/clusters/{cluster}"
    for name in ("nodes", "partitions", "jobs", "slurm-conf", "changes", "actions/drain", "actions/cancel"):
        assert f"{below}/{name}" in schema["paths"], name
    assert '"examples"' in json.dumps(schema)
    for reference in references(schema):
        assert reference.removeprefix("#/components/schemas/") in schema["components"]["schemas"]


def references(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [str(value["$ref"])] if "$ref" in value else []
        return own + [found for each in value.values() for found in references(each)]
    return [found for each in value for found in references(each)] if isinstance(value, list) else []


def test_browsable_page_shows_the_routes(page_of: PageOf) -> None:
    tab = page_of("kim").open("/api/docs/")
    expect(
        tab.page.get_by_text("/api/v1/teams/{team}/clusters/{cluster}/jobs", exact=True).first
    ).to_be_visible(timeout=15_000)


def test_session_of_the_browser_reads_the_api_too(page_of: PageOf) -> None:
    tab = page_of("kim").open()
    found = tab.page.evaluate(
        f"() => fetch('/api/v1/{CLUSTER}', {{headers: {{Accept: 'application/json'}}}}).then(a => a.json())"
    )
    assert found["status"] == "Running"
