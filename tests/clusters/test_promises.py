"""A promise travels with a form and is held against what is so when it comes back."""

import pytest

from clusters.acts import Drain
from clusters.promises import Grown, keep, token_of
from tests.clusters.test_impact import REBOOT, SPEC, impact, job


def test_what_was_shown_may_be_confirmed():
    shown = impact(REBOOT, job(1, "slinky-0"))
    keep(token_of(shown), shown)
    keep(token_of(shown), impact(REBOOT))


def test_what_costs_more_by_now_is_refused_with_what_is_more():
    token = token_of(impact(REBOOT, job(1, "slinky-0")))
    with pytest.raises(Grown) as refused:
        keep(token, impact(REBOOT, job(1, "slinky-0"), job(2, "slinky-0")))
    assert "2 of mo would end now, too." in refused.value.message
    assert (refused.value.code, refused.value.status) == ("impact-grew", 409)


@pytest.mark.parametrize("token", ["", "nonsense", "eyJhIjoxfQ:1abc:xyz"])
def test_without_a_token_of_ours_nothing_was_promised(token):
    keep(token, impact(REBOOT, job(1, "slinky-0")))


def test_a_token_of_a_kinder_act_promises_no_more_than_that():
    """As when somebody confirms before the dialog has shown what was typed last."""
    kinder = token_of(impact(Drain(SPEC, ("slinky-0",))))
    with pytest.raises(Grown):
        keep(kinder, impact(REBOOT))
