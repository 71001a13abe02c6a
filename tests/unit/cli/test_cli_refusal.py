"""Refusals of manifests, for a person."""

from ingot.api.status import ApiError, Cause, invalid, not_found
from ingot.cli.failure import explain, explain_connection
from ingot.cli.manifest import Manifest, parse
from ingot.cli.refusal import refusal
from ingot.kube.transport import ConnectionFailed

TEXT = b"apiVersion: v1\nkind: Service\nmetadata:\n  name: x\nspec:\n  frob: 1\n  ports:\n  - port: 99999\n"


def manifest() -> Manifest:
    (found,) = parse(TEXT, "f.yaml")
    assert isinstance(found, Manifest)
    return found


def test_every_fault_of_an_invalid_object_has_its_field_and_line() -> None:
    causes = [Cause("spec.ports[0].port", "must be between 1 and 65535"), Cause("spec.type", "is required")]
    said = refusal(manifest(), invalid("", "Service", "x", causes)).splitlines()
    assert said == [
        "not valid:",
        "  spec.ports[0].port (line 8): must be between 1 and 65535",
        "  spec.type (line 5): is required",
        "  Mend this and apply again; the object was left as it was.",
    ]


def test_a_conflict_names_the_managers_and_the_way_out() -> None:
    causes = [{"reason": "FieldManagerConflict", "field": ".spec.frob", "message": 'conflict with "kubectl"'}]
    said = refusal(manifest(), ApiError(409, "Conflict", "Apply failed with 1 conflict", {"causes": causes}))
    assert '  spec.frob (line 6): conflict with "kubectl"' in said
    assert "--force-conflicts" in said


def test_an_unknown_field_is_found_in_the_sentence_of_an_apply() -> None:
    message = "failed to create typed patch object (d/x; /v1, Kind=Service): .spec.frob: field not declared in schema"
    assert "  spec.frob (line 6): field not declared in schema" in refusal(manifest(), ApiError(500, "", message))


def test_several_faults_of_types_are_found() -> None:
    message = (
        "failed to create typed patch object (d/x; /v1, Kind=Service): errors:\n"
        "  .spec.frob: field not declared in schema\n"
        "  .spec.ports: expected list, got &value.valueUnstructured{Value:1}"
    )
    said = refusal(manifest(), ApiError(500, "", message))
    assert "  spec.frob (line 6): field not declared in schema" in said
    assert "  spec.ports (line 7): expected list, got 1" in said


def test_unknown_fields_of_custom_kinds_are_found() -> None:
    message = 'strict decoding error: unknown field "spec.frob", unknown field "spec.ports[0].x"'
    said = refusal(manifest(), ApiError(400, "BadRequest", message))
    assert "  spec.frob (line 6): no such field" in said
    assert "  spec.ports[0].x (line 8): no such field" in said


def test_a_missing_namespace_is_told_how_to_be_made() -> None:
    said = refusal(manifest(), not_found("", "namespaces", "lab"))
    assert said.startswith('namespaces "lab" not found')
    assert "Apply a Namespace lab first" in said


def test_other_refusals_come_with_a_cure_where_one_is_known() -> None:
    assert "RoleBinding" in explain(ApiError(403, "Forbidden", "no"))
    assert "kubeconfig" in explain(ApiError(401, "Unauthorized", "Unauthorized"))
    assert explain(not_found("", "pods", "x")) == 'pods "x" not found'
    assert "log" in explain(ApiError(500, "InternalError", "boom"))


def test_a_refused_connection_says_who_named_the_server_and_how_to_start_one() -> None:
    failed = ConnectionFailed("https://127.0.0.1:1", "GET", "/api", "refused", "connect")
    said = explain_connection(failed, "/lab/kubeconfig")
    assert "https://127.0.0.1:1 (from /lab/kubeconfig): nothing listens there" in said
    assert "ingot up --dir /lab --detach" in said
    assert "ingot up --detach" in explain_connection(failed, "~/.kube/config")


def test_a_write_without_an_answer_may_have_been_done() -> None:
    failed = ConnectionFailed("https://a", "PATCH", "/api", "closed", "reset")
    assert "may have been done" in explain_connection(failed, "x")
    failed = ConnectionFailed("https://a", "GET", "/api", "closed", "reset")
    assert "may have been done" not in explain_connection(failed, "x")
