"""The webhooks that a cluster is told to ask."""

import yaml

from ingot.api import registry
from ingot.api.machinery import generate, webhooks


def test_every_served_version_of_every_kind_is_asked_about():
    for configuration in webhooks.configurations(registry.kinds()):
        [webhook] = configuration["webhooks"]
        asked = {
            (group, version, resource)
            for rule in webhook["rules"]
            for group in rule["apiGroups"]
            for version in rule["apiVersions"]
            for resource in rule["resources"]
            if "/" not in resource
        }
        assert asked == {
            (info.group, version.name, info.plural)
            for info in registry.kinds()
            for version in info.versions
            if version.served
        }


def test_the_status_is_asked_about_where_it_has_older_shapes_or_demands_a_right():
    for configuration, asked in zip(
        webhooks.configurations(registry.kinds()),
        (["dataimportcrons/status"], ["dataimportcrons/status", "datavolumes/status"]),
        strict=True,
    ):
        resources = [each for rule in configuration["webhooks"][0]["rules"] for each in rule["resources"]]
        assert [each for each in resources if "/" in each] == asked


def test_admission_and_conversion_are_one_service():
    converting = [crd["spec"]["conversion"]["webhook"] for crd in registry.crds() if "conversion" in crd["spec"]]
    assert converting
    assert all(webhook["conversionReviewVersions"] == ["v1"] for webhook in converting)
    admitting = [made["webhooks"][0] for made in webhooks.configurations(registry.kinds())]
    services = [webhook["clientConfig"]["service"] for webhook in converting + admitting]
    assert {service["path"] for service in services} == {"/convert", "/mutate", "/validate"}
    assert {(service["namespace"], service["name"], service["port"]) for service in services} == {
        ("ingot", "ingot-webhooks", 443)
    }


def test_a_stale_file_is_told(tmp_path):
    generate.write(tmp_path)
    file = tmp_path / "deploy/webhooks.yaml"
    assert [each["kind"] for each in yaml.safe_load_all(file.read_text())] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ]
    file.write_text(file.read_text().replace("v1alpha1", "v1alpha2"))
    assert generate.stale(tmp_path) == ["deploy/webhooks.yaml"]
