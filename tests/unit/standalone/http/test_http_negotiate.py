"""Accept headers: the first form that can be given."""

import pytest

from ingot.api.status import ApiError
from ingot.standalone.http.negotiate import Form, indented, negotiate

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json", Form()),
        ("application/yaml", Form("application/yaml")),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
        (f"{TABLE},application/json", Form(kind="Table")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", Form(kind="Table")),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", Form()),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", Form(kind="PartialObjectMetadata")),
    ],
)
def test_forms(accept: str, form: Form) -> None:
    assert negotiate(accept) == form


@pytest.mark.parametrize("accept", ["application/vnd.kubernetes.protobuf", "text/html", "application/json;as=Poem;g=x"])
def test_what_cannot_be_given_is_not_acceptable(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        negotiate(accept)
    assert refused.value.code == 406


def test_only_custom_kinds_take_any_application() -> None:
    assert negotiate("application/*", custom=True) == Form()
    with pytest.raises(ApiError, match="Available representations"):
        negotiate("application/*")


@pytest.mark.parametrize(
    ("pretty", "agent", "expected"),
    [("", "kubectl", False), ("", "curl/8", True), ("true", "kubectl", True), ("0", "Mozilla/5.0 (X11)", False)],
)
def test_answers_are_indented_for_people(pretty: str, agent: str, expected: bool) -> None:
    assert indented({"pretty": pretty}, agent) is expected
