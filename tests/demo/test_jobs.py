"""Jobs of the demo: found, followed, submitted, cancelled, held, released and requeued from the page; Slurm agrees."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.demo.console import DemoConsole, until
from tests.demo.tab import PageOf, Tab

QUICK = "#SBATCH --partition=cpu-workers --time=10\n"


@pytest.fixture(autouse=True)
def queue_as_before(console: DemoConsole) -> Iterator[None]:
    """What a test submits is called `trial-...`."""
    yield
    left = [job["job_id"] for job in console.get("/jobs?q=name:trial-").body["results"]]
    if left:
        console.post("/actions/cancel", {"jobs": left})
        until(
            lambda: not console.get("/jobs?q=name:trial-").body["results"],
            "the test's jobs are gone",
            within_s=20,
        )


def names(page: Page) -> list[str]:
    return page.locator("#jobs tbody .name").all_inner_texts()


def press(tab: Tab, *jobs: int, act: str) -> None:
    """Tick the jobs, press the act, and confirm it in its dialog."""
    for number in jobs:
        tab.row(str(number)).get_by_role("checkbox").check()
    tab.page.locator(".job-acts").get_by_role("button", name=act).click()
    expect(tab.dialog).to_be_visible()
    tab.dialog.get_by_role("button", name=re.compile(f"^{act}")).click()
    expect(tab.dialog).to_have_count(0)


def test_list_holds_the_whole_queue_and_why_each_job_waits(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    tab = page_of("kim", size).open("jobs/")
    tab.expect_live()
    for job in console.get("/jobs").body["results"]:
        if job["name"] in ("train-70b", "pretrain-moe", "tonight", "held-probe"):
            row = tab.page.locator("#jobs tbody tr", has_text=job["name"])
            expect(row).to_contain_text(job["job_id"])
            expect(row).to_contain_text(job["why"] or job["nodes"])
    tab.see("#jobs", "Not before 20")
    tab.see("#jobs", "Held by")
    tab.expect_sound()


def test_typing_in_the_filter_narrows_the_list_and_the_address(page_of: PageOf, size: str) -> None:
    tab = page_of("kim", size).open("jobs/")
    tab.page.get_by_label("Filter jobs").fill("gpus:>4 state:running")
    expect(tab.page.locator("#jobs tbody tr")).to_have_count(2)
    assert sorted(names(tab.page)) == ["ablation", "train-70b"]
    expect(tab.page).to_have_url(re.compile(r"q=gpus"))
    tab.page.get_by_label("Filter jobs").fill("node:slinky-1")
    expect(tab.page.locator("#jobs tbody tr", has_text="sft-8b")).to_be_visible()
    expect(tab.page.locator("#jobs tbody tr", has_text="train-70b")).to_have_count(0)
    tab.page.get_by_label("Filter jobs").fill("usr:root")
    tab.see(".job-hints", "Did you mean user")


def test_chips_count_and_filter(page_of: PageOf) -> None:
    tab = page_of("kim").open("jobs/")
    tab.page.get_by_role("group", name="Show").get_by_role("link", name="Waiting").click()
    expect(tab.page.locator("#jobs tbody tr", has_text="pretrain-moe")).to_be_visible()
    assert "train-70b" not in names(tab.page)


def test_heads_sort_by_the_database(page_of: PageOf) -> None:
    tab = page_of("kim").open("jobs/")

    def gpus() -> list[int]:
        return [int(text) for text in tab.page.locator("#jobs tbody td.g").all_inner_texts()]

    head = tab.page.locator("#jobs thead").get_by_role("link", name="GPUs")
    head.click()
    expect(tab.page).to_have_url(re.compile("sort=-?gpus"))
    first = gpus()
    tab.page.locator("#jobs thead").get_by_role("link", name="GPUs").click()
    until(lambda: gpus() != first, "the order turned")
    assert len(first) > 5
    assert sorted([first, gpus()]) == sorted([sorted(first), sorted(gpus(), reverse=True)])


def test_more_than_a_hundred_jobs_come_in_pages(console: DemoConsole, page_of: PageOf) -> None:
    console.submit(
        f"#SBATCH --job-name=trial-filler\n{QUICK}"
        "for n in $(seq 104); do sbatch -Q --hold -J trial-filler -p cpu-workers --wrap true >/dev/null; done"
    )
    until(
        lambda: len(console.get("/jobs?q=name:trial-filler+state:held").body["results"]) == 100,
        "a hundred jobs wait",
        within_s=40,
    )
    tab = page_of("kim").open("jobs/?q=name:trial-filler+state:held")
    until(
        lambda: tab.page.reload() and "of 104" in tab.page.locator(".foot").inner_text(),
        "104 jobs",
        within_s=30,
    )
    expect(tab.page.locator("#jobs tbody tr")).to_have_count(100)
    tab.page.get_by_role("link", name="Next").click()
    expect(tab.page.locator("#jobs tbody tr")).to_have_count(4)
    first = console.get("/jobs?q=name:trial-filler+state:held").body
    assert len(first["results"]) == 100 and "page=2" in first["next"]
    for page in (1, 2):
        cancel_listed(console, "name:trial-filler", f"the fillers of page {page} are gone")


def cancel_listed(console: DemoConsole, query: str, claim: str) -> None:
    """Cancel the jobs of the first page of `query`, and wait until the list has lost them."""
    ids = listed(console, query)
    assert console.post("/actions/cancel", {"jobs": sorted(ids)}).status == 204
    until(lambda: not listed(console, query) & ids, claim, within_s=20)


def listed(console: DemoConsole, query: str) -> set[str]:
    return {job["job_id"] for job in console.get(f"/jobs?q={query}").body["results"]}


def test_submitted_job_appears_by_itself_on_an_open_list(
    console: DemoConsole, page_of: PageOf, size: str
) -> None:
    watching = page_of("kim", size).open("jobs/")
    watching.expect_live()
    tab = page_of("mo", size).open("jobs/")
    tab.page.get_by_role("link", name="Submit job").click()
    expect(tab.page.locator(".qd-ace")).to_contain_text("#SBATCH")
    tab.page.get_by_label("Name", exact=True).fill("trial-submitted")
    tab.page.get_by_label("Partition").select_option("cpu-workers")
    tab.page.get_by_label("GPUs on each node").fill("")
    tab.page.get_by_label("Time limit").fill("00:05:00")
    expect(tab.page.locator(".qd-ace")).to_contain_text("--job-name=trial-submitted")
    tab.page.locator(".qd-ace textarea").focus()
    tab.page.keyboard.press("Control+End")
    tab.page.keyboard.insert_text("\nsleep 120\n")
    expect(tab.page.locator(".qd-ace")).to_contain_text("sleep 120")
    tab.expect_sound()
    tab.page.get_by_role("button", name="Submit job").click()
    tab.page.wait_for_url(re.compile(r"/jobs/\d+/$"))
    tab.see(".job-head", "trial-submitted", within_s=15)
    row = watching.page.locator("#jobs tbody tr", has_text="trial-submitted")
    expect(row).to_be_visible()
    number = int(tab.page.url.rstrip("/").rsplit("/", 1)[1])
    assert console.job(number)["partition"] == "cpu-workers"
    tab.see("#job-facts", "mo")


def test_script_that_cannot_run_is_refused_before_slurm_sees_it(page_of: PageOf) -> None:
    tab = page_of("mo").open("jobs/new/")
    tab.page.get_by_label("GPUs on each node").fill("99")
    tab.see("#advice", "Line")
    tab.page.get_by_role("button", name="Submit").click()
    expect(tab.page).to_have_url(re.compile("/jobs/new/$"))
    tab.see("#advice", "8")


def test_hold_and_release_are_seen_on_the_open_row(console: DemoConsole, page_of: PageOf, size: str) -> None:
    number = console.submit(f"#SBATCH --job-name=trial-hold --begin=now+1hour\n{QUICK}sleep 5")
    tab = page_of("noor", size).open("jobs/")
    expect(tab.row(str(number))).to_be_visible()
    press(tab, number, act="Hold")
    expect(tab.row(str(number))).to_contain_text("held")
    assert console.job(number)["reason"].startswith("JobHeld")
    press(tab, number, act="Release")
    expect(tab.row(str(number))).not_to_contain_text("held")
    until(lambda: not console.job(number)["reason"].startswith("JobHeld"), "it is released")


def test_cancel_ends_the_job_and_says_what_it_cost(console: DemoConsole, page_of: PageOf) -> None:
    number = console.submit(f"#SBATCH --job-name=trial-cancel\n{QUICK}sleep 600")
    until(lambda: console.job(number).get("state") == "RUNNING", "it runs", within_s=20)
    tab = page_of("noor").open(f"jobs/{number}/")
    tab.page.locator(".job-head").get_by_role("link", name="Cancel").click()
    expect(tab.dialog).to_contain_text("ends at once")
    tab.expect_sound()
    tab.dialog.get_by_role("button", name="Cancel job").click()
    until(lambda: console.job(number)["state"] == "CANCELLED", "it is cancelled", within_s=15)
    tab.see(".job-head", "cancelled", within_s=15)


def test_requeue_starts_the_job_again_from_the_beginning(console: DemoConsole, page_of: PageOf) -> None:
    number = console.submit(f"#SBATCH --job-name=trial-requeue\n{QUICK}sleep 600")
    until(lambda: console.job(number).get("state") == "RUNNING", "it runs", within_s=20)
    tab = page_of("noor").open("jobs/?q=name:trial-requeue")
    press(tab, number, act="Requeue")
    until(lambda: console.job(number)["state"] == "PENDING", "it waits again", within_s=15)
    expect(tab.row(str(number))).to_contain_text("waiting")


def test_several_jobs_are_cancelled_at_once(console: DemoConsole, page_of: PageOf) -> None:
    both = [console.submit(f"#SBATCH --job-name=trial-both --hold\n{QUICK}true") for _ in range(2)]
    tab = page_of("noor").open("jobs/?q=name:trial-both")
    press(tab, *both, act="Cancel")
    tab.see(".empty", "No job in the queue fits")
    tab.page.get_by_role("link", name="Search ended jobs too").click()
    expect(tab.page.locator("#jobs tbody tr")).to_have_count(2)


def test_member_controls_own_jobs_and_no_others(console: DemoConsole, page_of: PageOf) -> None:
    own = console.submit(f"#SBATCH --job-name=trial-own --hold\n{QUICK}true", by="mo")
    until(lambda: console.job(own), "it is seen")
    other = console.get("/jobs?q=name:train-70b").body["results"][0]["job_id"]
    assert console.post("/actions/cancel", {"jobs": [other]}, by="mo").status == 403
    tab = page_of("mo").open("jobs/?q=user:me")
    expect(tab.row(str(own))).to_be_visible()
    press(tab, own, act="Cancel")
    until(lambda: console.job(own)["state"] == "CANCELLED", "it is cancelled", within_s=15)


def test_job_page_knows_what_slurm_knows(console: DemoConsole, page_of: PageOf, size: str) -> None:
    job = console.get("/jobs?q=name:train-70b").body["results"][0]
    tab = page_of("kim", size).open(f"jobs/{job['job_id']}/")
    head = tab.see(".job-head", "train-70b")
    expect(head).to_contain_text("running")
    tab.see("#job-facts", "Everything Slurm says", within_s=15)
    tab.see("#job-facts", "#SBATCH --job-name=train-70b")
    tab.see("#job-facts", "Asked")
    tab.page.locator("#job-facts summary", has_text="Everything").click()
    expect(tab.page.locator("#job-facts dt", has_text=re.compile("^SubmitTime|^Submit"))).to_have_count(1)
    tab.expect_sound()


def test_waiting_job_says_in_words_why(console: DemoConsole, page_of: PageOf) -> None:
    job = console.get("/jobs?q=name:pretrain-moe").body["results"][0]
    assert re.search(r"Needs 4 nodes with 8 free GPUs each|Waits", job["why"]), job["why"]
    page_of("kim").open(f"jobs/{job['job_id']}/").see(".job-why", job["why"][:40])


def test_failed_job_of_the_history_shows_its_exit_code(page_of: PageOf) -> None:
    tab = page_of("kim").open("jobs/?q=state:failed+name:broken-import")
    tab.page.locator("#jobs tbody [data-row-link]").first.click()
    tab.see(".live-body", "Exit code")
    tab.see(".job-head", "failed")


def test_jobs_of_the_team_lie_in_one_list(page_of: PageOf) -> None:
    tab = page_of("kim").open("/t/research/jobs/")
    row = tab.page.locator("#jobs tbody tr", has_text="train-70b")
    expect(row.locator(".at")).to_have_text("demo")
    tab.expect_sound()
