from ingot.api.status import MOST_CAUSES, Cause, invalid


def causes(number: int) -> list[Cause]:
    return [Cause(f"spec[{at}]", "Required value", "FieldValueRequired") for at in range(number)]


def test_every_cause_is_told() -> None:
    refused = invalid("g", "Kind", "one", causes(MOST_CAUSES))
    assert refused.details is not None
    assert [cause["field"] for cause in refused.details["causes"]] == [f"spec[{at}]" for at in range(MOST_CAUSES)]


def test_of_very_many_causes_the_first_are_told_and_the_number_of_the_others() -> None:
    refused = invalid("g", "Kind", "one", causes(MOST_CAUSES + 7))
    assert refused.details is not None
    assert len(refused.details["causes"]) == MOST_CAUSES + 1
    last = {"reason": "FieldValueInvalid", "message": "at least 7 more causes are not told", "field": ""}
    assert refused.details["causes"][-1] == last
    assert refused.message.endswith(f"spec[{MOST_CAUSES - 1}]: Required value, at least 7 more causes are not told]")
