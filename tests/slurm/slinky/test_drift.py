"""What was changed by hand, against what was last sent."""

from slurm.provisioners.slinky.drift import drift_of, note_of, noted
from slurm.provisioners.slinky.likeness import unlike
from slurm.provisioners.slinky.render import render
from tests.slurm.slinky.designs import design_of

SENT = render(design_of())
NOTED = noted(note_of(design_of().names, SENT))


def edited(kind, **spec):
    return [{**one, "spec": {**one["spec"], **spec}} if one["kind"] == kind else one for one in NOTED]


def test_what_was_sent_is_kept_without_secrets_or_other_kinds():
    assert {one["kind"] for one in NOTED} == {"Accounting", "Controller", "RestApi", "NodeSet", "LoginSet"}
    assert list(NOTED) == [one for one in SENT if one["kind"] in {n["kind"] for n in NOTED}]


def test_nothing_touched_is_no_drift():
    assert drift_of(NOTED, NOTED) == ""
    assert drift_of((), NOTED) == ""


def test_an_edited_configuration_is_a_diff_of_its_lines():
    controller = next(one for one in NOTED if one["kind"] == "Controller")
    text = controller["spec"]["extraConf"].replace("MinJobAge=300", "MinJobAge=5")
    diff = drift_of(NOTED, edited("Controller", extraConf=text))
    assert "-MinJobAge=300" in diff and "+MinJobAge=5" in diff
    assert diff.startswith("--- Controller")


def test_an_edited_number_is_told_with_both_values():
    diff = drift_of(NOTED, edited("NodeSet", replicas=9)).splitlines()
    assert "-4" in diff and "+9" in diff


def test_a_deleted_object_is_drift():
    assert "deleted by hand" in drift_of(NOTED, [one for one in NOTED if one["kind"] != "RestApi"])


def test_defaults_and_other_peoples_fields_are_none():
    more = [{**one, "spec": {**one["spec"], "revisionHistoryLimit": 0}, "status": {"x": 1}} for one in NOTED]
    assert drift_of(NOTED, more) == ""


def test_a_spoilt_note_is_no_error():
    assert noted({"data": {"objects.json": "{"}}) == ()
    assert noted(None) == ()


def test_lists_are_compared_place_by_place():
    wanted = {"spec": {"list": [{"a": 1}, {"b": 2}]}}
    assert [path for path, *_ in unlike(wanted, {"spec": {"list": [{"a": 1, "x": 0}, {"b": 3}]}})] == [
        "spec.list[1].b"
    ]
    assert [path for path, *_ in unlike(wanted, {"spec": {"list": [{"a": 1}]}})] == ["spec.list"]
