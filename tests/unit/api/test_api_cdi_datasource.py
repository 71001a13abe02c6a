import pytest
from judge_cdi import make, refusal, stored

from ingot.api import registry


def source(**said):
    return make("cdi.kubevirt.io/v1beta1", "DataSource", spec={"source": said})


@pytest.mark.parametrize("form", ["pvc", "snapshot", "dataSource"])
def test_each_form_of_link(form):
    given = source(**{form: {"namespace": "golden", "name": "fedora"}})
    assert stored(given) == given


def test_a_link_may_dangle_and_move():
    dangling, old = source(), source(pvc={"namespace": "golden", "name": "fedora-1"})
    assert stored(dangling) == dangling
    new = source(snapshot={"namespace": "golden", "name": "fedora-2"})
    assert stored(new, old) == new


def test_status_says_what_is_ready():
    given = source(pvc={"namespace": "golden", "name": "fedora"})
    given["status"] = {
        "source": given["spec"]["source"],
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2024-01-01T00:00:00Z"}],
    }
    assert stored(given, given, status=True) == given


def test_names_are_those_of_cdi():
    info = registry.find("cdi.kubevirt.io", "DataSource")
    assert (info.plural, info.short_names, info.categories) == ("datasources", ("das",), ("all",))
    assert info.columns == ()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"pvc": {"name": "a"}}, "spec.source.pvc"),
        ({"pvc": {"name": "", "namespace": "b"}}, "spec.source.pvc.name"),
        (
            {"pvc": {"name": "a", "namespace": "b"}, "snapshot": {"name": "a", "namespace": "b"}},
            "spec.source: at most one of pvc, snapshot and dataSource is expected",
        ),
        (
            {"dataSource": {"name": "it", "namespace": "here"}},
            "spec.source.dataSource: Unsupported value: a DataSource cannot follow itself; another one is",
        ),
        ({"http": {"url": "https://a"}}, "spec.source.http: unknown field"),
    ],
)
def test_links_that_are_refused(said, why):
    assert why in refusal(source(**said))
