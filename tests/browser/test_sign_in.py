"""Signing in with all its factors, in a real browser: an authenticator app, a passkey, and signing out everywhere."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from console.models import Event, GroupRole, Team, User
from tests.authenticator import code_of
from tests.browser.conftest import Console
from tests.identity_provider import identity_provider
from tests.seed import PASSWORD

KEEPER = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def page(browser: Browser, console: Console, settings) -> Iterator[Page]:
    """A browser that keeps passkeys, on the console's sign-in page under a name: browsers keep none for an address."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    user = console.made.users["mo"]
    user.set_password(PASSWORD)
    console.elsewhere(user.save)
    context = browser.new_context()
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    devtools = context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": KEEPER})
    page.goto(f"{console.url.replace('127.0.0.1', 'localhost')}/sign-in/")
    yield page
    context.close()
    assert not complaints


def sign_in(page: Page) -> None:
    page.get_by_label("Name").fill("mo")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.get_by_label("You: mo").click()
    page.get_by_role("button", name="Sign out", exact=True).first.click()
    expect(page.get_by_role("heading", name="Sign in to Quarterdeck")).to_be_visible()


def open_profile(page: Page) -> None:
    expect(page.get_by_label("You: mo")).to_be_visible()
    page.goto(re.sub(r"(//[^/]+)/.*", r"\1/profile/", page.url))


def test_app_is_set_up_and_then_asked_for(page: Page) -> None:
    sign_in(page)
    open_profile(page)
    page.get_by_label("Set up an authenticator app").click()
    secret = page.locator("#app-secret").inner_text()
    expect(page.locator("img.qr")).to_have_js_property("complete", True)
    page.get_by_label("Code that the app shows").fill(code_of(secret))
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("#recovery-codes li")).to_have_count(10)
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("10 left")).to_be_visible()
    sign_out(page)
    sign_in(page)
    page.get_by_label("Code").fill("000000")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("That code is not right")).to_be_visible()
    page.get_by_label("Code").fill(code_of(secret, later_s=30))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_label("You: mo")).to_be_visible()


def test_passkey_is_made_and_signs_in_as_second_factor_and_alone(page: Page) -> None:
    sign_in(page)
    open_profile(page)
    page.get_by_label("Add a passkey").click()
    page.get_by_label("Name").fill("work laptop")
    page.get_by_role("button", name="Make the passkey").click()
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("work laptop")).to_be_visible()
    sign_out(page)
    sign_in(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_label("You: mo")).to_be_visible()
    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_label("You: mo")).to_be_visible()
    how = (
        Event.objects.filter(verb="sign-in", outcome="done")
        .order_by("pk")
        .values_list("detail__why", flat=True)
    )
    assert list(how) == ["with password", "with password and passkey", "with passkey"]


def test_device_without_the_passkey_is_told_so(page: Page) -> None:
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_text("this device has no such passkey")).to_be_visible()
    assert not Event.objects.filter(verb="sign-in").exists()


def test_person_of_an_identity_provider_comes_in_and_into_their_team(page: Page, settings) -> None:
    with identity_provider() as provider:
        settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = provider.url, "qd"
        settings.OIDC_CLIENT_SECRET, settings.OIDC_NAME = "secret", "Example ID"
        GroupRole.objects.create(group="ml", team=Team.objects.get(slug="research"), role="viewer")
        provider.has(
            "e1", preferred_username="eve", email="eve@example.org", email_verified=True, groups=["ml"]
        )
        page.reload()
        page.get_by_role("link", name="Sign in with Example ID").click()
        page.get_by_placeholder("sub").fill("e1")
        page.get_by_role("button", name="Authorize").click()
        expect(page.get_by_label("You: eve")).to_be_visible()
        expect(page.get_by_role("link", name="llama-pretrain").first).to_be_visible()
        page.goto(re.sub(r"(//[^/]+)/.*", r"\1/profile/", page.url))
        expect(page.get_by_text("You sign in with Example ID")).to_be_visible()


def test_signed_out_everywhere_an_open_page_is_cut_off(console: Console, look: Callable[..., Page]) -> None:
    open_page = look("/t/research/c/llama-pretrain/nodes/", name="ops")
    expect(open_page.locator("#live")).to_have_text("live")
    other = look("/profile/", name="ops")
    other.get_by_role("link", name="Sign out everywhere").click()
    other.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    expect(other.get_by_role("heading", name="Sign in to Quarterdeck")).to_be_visible()
    expect(open_page.get_by_text("no longer have access")).to_be_visible(timeout=15_000)
    assert not User.objects.get(username="ops").browser_sessions.exists()
