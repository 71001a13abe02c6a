"""Worker pods, field by field."""

from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.control.outfit import OF_ONE_MACHINE, Outfit, of_cluster
from ingot.control.volumes.detection import inspect_job
from ingot.control.volumes.filler import Failed
from ingot.control.volumes.importing import import_job, not_delivered
from ingot.control.volumes.marks import is_prime
from ingot.control.volumes.prime import prime
from ingot.control.volumes.recipe import recipe_of
from ingot.control.volumes.uploading import upload_job
from ingot.control.volumes.wishes import Wishes
from ingot.control.volumes.worker import Job, Mount, bare, render, room
from ingot.control.volumes.worker_filler import unsuitable
from ingot.images.pipeline.bounds import most_of_file
from ingot.kube.cache import Cache
from unit.control.population import SOURCE, fill, target

CLASSES = Cache()
fill(CLASSES, {"metadata": {"name": "fast"}, "provisioner": "ingot.io/local"})
fill(CLASSES, {"metadata": {"name": "far"}, "provisioner": "example.com/csi"})
GIB = 1 << 30


def source(kind: str, /, spec: Object | None = None, **given: Any) -> Object:
    metadata = {"name": "source", "namespace": "ns", "uid": "uid-source"}
    return {"kind": "VolumeImportSource", "metadata": metadata, "spec": {"source": {kind: given}, **(spec or {})}}


def filled(claim: Object) -> Object:
    made = prime(claim, SOURCE, "ns")
    made["metadata"]["uid"] = "uid-prime"
    return made


def pod_of(claim: Object, given: Object, outfit: Outfit = OF_ONE_MACHINE) -> Object:
    return render(filled(claim), import_job(claim, given, CLASSES), outfit)


def args_of(pod: Object) -> list[str]:
    (container,) = pod["spec"]["containers"]
    return list(container["args"])


def test_a_blank_disk_needs_little() -> None:
    pod = pod_of(target(), source("blank"))
    assert args_of(pod) == [
        *("worker", "import", "--source-kind", "blank", "--target", "/data/disk.img"),
        *("--size", str(GIB), "--limit", str(GIB), "--content-type", "kubevirt", "--state", "/state"),
        *("--report", "/dev/termination-log", "--listen", "$(POD_IP):8444"),
    ]
    assert pod["metadata"]["name"] == "importer-prime-uid-disk"
    assert pod["metadata"]["annotations"] == {names.PRIME_FOR: "ns/disk", "sidecar.istio.io/inject": "false"}
    assert pod["metadata"]["labels"][names.TRANSFER] == "true"
    assert pod["spec"]["restartPolicy"] == "OnFailure"
    assert pod["spec"]["automountServiceAccountToken"] is False
    (owner,) = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("PersistentVolumeClaim", "prime-uid-disk", True)
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "ingot"
    assert "command" not in container
    assert container["resources"]["limits"]["memory"]
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert volumes["data"]["persistentVolumeClaim"] == {"claimName": "prime-uid-disk"}
    assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]


def test_what_is_put_aside_on_the_node_has_a_bound() -> None:
    """A kubelet ends a pod that goes beyond it: the worker itself stops before."""
    jobs = (import_job(target(), source("http", url="http://far/disk"), CLASSES), upload_job(target(), {}, CLASSES))
    for job, most in ((jobs[0], GIB), (jobs[1], GIB), (inspect_job({"http": {"url": "http://far/disk"}}), 0)):
        (state,) = [each for each in bare(filled(target()), "pod", job)["spec"]["volumes"] if each["name"] == "state"]
        limit = whole(state["emptyDir"]["sizeLimit"])
        assert most_of_file(most) < limit if most else limit < 1 << 27


CONFIG = Wishes(
    {
        "preallocation": True,
        "podResourceRequirements": {"requests": {"cpu": "2"}, "limits": {"memory": "4Gi"}},
        "imagePullSecrets": [{"name": "pull"}],
        "importProxy": {"HTTPProxy": "http://out:1", "HTTPSProxy": "http://out:2", "noProxy": "near$"},
        "insecureRegistries": ["near:5000"],
    }
)


def test_what_the_cluster_wishes_is_granted() -> None:
    image = source("registry", url="docker://near:5000/disk:1")
    look = inspect_job({"registry": {"url": "docker://near:5000/disk:1"}}, wishes=CONFIG)
    for job in (import_job(target(), image, CLASSES, wishes=CONFIG), look):
        spec = bare(filled(target()), "pod", job, wishes=CONFIG)["spec"]
        (container,) = spec["containers"]
        assert spec["imagePullSecrets"] == [{"name": "pull"}]
        assert container["resources"] == {"requests": {"cpu": "2", "memory": "128Mi"}, "limits": {"memory": "4Gi"}}
        proxies = {each["name"]: each.get("value") for each in container["env"] if "proxy" in each["name"]}
        assert proxies == {"http_proxy": "http://out:1", "https_proxy": "http://out:2", "no_proxy": "near$$"}
        assert "--insecure" in container["args"]
    for job in (import_job(target(), image, CLASSES, wishes=CONFIG), upload_job(target(), {}, CLASSES, CONFIG)):
        assert "--preallocate" in job.args


def test_what_a_volume_says_itself_goes_before_what_the_cluster_wishes() -> None:
    declined = source("registry", {"preallocation": False}, url="docker://far/disk:1")
    args = import_job(target(), declined, CLASSES, wishes=CONFIG).args
    assert "--preallocate" not in args
    assert "--insecure" not in args, "it is another registry"


def test_secrets_are_in_files_and_nowhere_else() -> None:
    """N: no secret in a command line. An address and a header may be one."""
    given = source(
        "http",
        url="https://user:word@far/disk?signature=$5",
        secretRef="login",
        certConfigMap="authority",
        checksum="sha256:" + "0" * 64,
        extraHeaders=["Authorization: Bearer 77", "X-Other: 1"],
        secretExtraHeaders=["h0", "h1"],
        insecureSkipVerify=True,
    )
    pod = pod_of(target(), given)
    args = args_of(pod)
    (container,) = pod["spec"]["containers"]
    assert not [each for each in args if "signature" in each or "Bearer" in each]
    assert {"name": "INGOT_SOURCE_URL", "value": "https://user:word@far/disk?signature=$$5"} in container["env"]
    assert args[args.index("--secret") + 1] == "/secret"
    assert args[args.index("--certs") + 1] == "/certs"
    assert args[args.index("--certs-name") + 1] == "authority"
    assert args[args.index("--checksum") + 1] == "sha256:" + "0" * 64
    assert "--insecure" in args
    files = [args[index + 1] for index, each in enumerate(args) if each == "--header-file"]
    assert files == ["/headers/extraHeaders", "/headers/0", "/headers/1"]
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    assert volumes["secret"]["secret"] == {"secretName": "login", "defaultMode": 0o400}
    assert volumes["certs"]["configMap"] == {"name": "authority"}
    assert volumes["headers-1"]["secret"]["secretName"] == "h1"
    paths = [each["fieldRef"]["fieldPath"] for each in volumes["headers"]["downwardAPI"]["items"]]
    assert paths == ["metadata.annotations['ingot.io/header-0']", "metadata.annotations['ingot.io/header-1']"]
    assert pod["metadata"]["annotations"]["ingot.io/header-0"] == "Authorization: Bearer 77"
    mounts = {each["name"]: each for each in container["volumeMounts"]}
    assert mounts["secret"] == {"name": "secret", "mountPath": "/secret", "readOnly": True}


def test_what_the_source_and_the_claim_ask_for_is_passed_on() -> None:
    claim = target(volumeMode="Block")
    claim["metadata"]["annotations"] = {names.PRIORITY_CLASS: "low", names.PREALLOCATION: "true"}
    given = source("registry", url="docker://far/disk:1", platform={"architecture": "arm64"})
    pod = pod_of(claim, given)
    args = args_of(pod)
    assert args[args.index("--target") + 1] == "/dev/volume"
    assert args[args.index("--architecture") + 1] == "arm64"
    assert "--preallocate" in args
    assert pod["spec"]["priorityClassName"] == "low"
    (container,) = pod["spec"]["containers"]
    assert container["volumeDevices"] == [{"name": "data", "devicePath": "/dev/volume"}]
    assert "/data" not in [each["mountPath"] for each in container["volumeMounts"]]
    declined = source("registry", {"preallocation": False}, url="docker://far/disk:1")
    assert "--preallocate" not in args_of(pod_of(claim, declined))


def test_archives_are_told_as_such() -> None:
    args = args_of(pod_of(target(), source("http", {"contentType": "archive"}, url="http://far/files.tar")))
    assert args[args.index("--content-type") + 1] == "archive"


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ({}, GIB),
        ({"storageClassName": "far", "volumeMode": "Block"}, GIB),
        ({"storageClassName": "far"}, 967 << 20),
        ({"storageClassName": "missing"}, 967 << 20),
        ({"resources": {"requests": {"storage": "1G"}}}, 999_997_440),
        ({"resources": {"requests": {"storage": "1G"}}, "volumeMode": "Block"}, 1_000_000_000),
    ],
)
def test_a_filesystem_takes_its_part_where_it_is_a_real_one(spec: dict[str, Any], size: int) -> None:
    assert room(target(**spec), CLASSES) == size


def test_on_a_cluster_workers_are_of_its_image_and_not_root() -> None:
    free = pod_of(target(), source("blank"))["spec"]
    assert free["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    bound = pod_of(target(), source("blank"), of_cluster("example.com/ingot:1"))["spec"]
    assert bound["containers"][0]["image"] == "example.com/ingot:1"
    assert bound["securityContext"]["runAsNonRoot"] is True
    assert bound["securityContext"]["runAsUser"] == bound["securityContext"]["fsGroup"] == 107
    for spec in (free, bound):
        (container,) = spec["containers"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_a_job_may_have_a_device_to_read_and_no_prime() -> None:
    mount = Mount({"persistentVolumeClaim": {"claimName": "old"}}, "/dev/source", is_device=True)
    pod = bare(filled(target()), "cloner", Job("cloner-", "cloner", ["copy"], transfer=False, mounts={"old": mount}))
    (container,) = pod["spec"]["containers"]
    assert container["volumeDevices"] == [{"name": "old", "devicePath": "/dev/source"}]
    assert names.TRANSFER not in pod["metadata"]["labels"]


def test_a_prime_is_like_its_target_but_empty() -> None:
    claim = target(volumeMode="Block", selector={"matchLabels": {"a": "b"}})
    claim["metadata"]["annotations"] = {names.SELECTED_NODE: "here", names.POD_PHASE: "Running"}
    made = prime(claim, SOURCE, "ns")
    assert made["metadata"]["name"] == "prime-uid-disk"
    told = {names.PRIME_FOR: "ns/disk", names.SELECTED_NODE: "here", names.MADE_FROM: recipe_of(SOURCE)}
    assert made["metadata"]["annotations"] == told
    kept = {key: value for key, value in claim["spec"].items() if key != "dataSourceRef"}
    assert made["spec"] == kept
    assert is_prime(made, claim)


def test_a_claim_that_poses_as_a_prime_is_none() -> None:
    claim = target()
    posing = prime(claim, SOURCE, "ns")
    del posing["metadata"]["ownerReferences"]
    assert not is_prime(posing, claim)
    elsewhere = prime(claim, SOURCE, "other", dataSource={"kind": "PersistentVolumeClaim", "name": "golden"})
    assert "ownerReferences" not in elsewhere["metadata"]
    assert is_prime(elsewhere, claim)
    assert not is_prime(elsewhere, target("disk", namespace="third"))


@pytest.mark.parametrize(
    ("claim", "given", "reason"),
    [
        (
            target(volumeMode="Block"),
            source("http", {"contentType": "archive"}, url="http://far"),
            "IncompatibleVolumeMode",
        ),
        (target(resources={"requests": {"storage": "100m"}}), source("blank"), "ClaimTooSmall"),
        (target(), source("registry", imageStream="golden", pullMethod="node"), "SourceNotDelivered"),
        (target(), source("registry", url="oci-archive:///disk.tar"), "SourceNotDelivered"),
        (target(), source("gcs", url="gs://bucket/disk"), "SourceNotDelivered"),
        (target(), source("imageio", url="https://engine"), "SourceNotDelivered"),
        (target(), source("vddk", url="https://vcenter"), "SourceNotDelivered"),
    ],
)
def test_what_can_never_be_is_final_at_once(claim: Object, given: Object, reason: str) -> None:
    found = unsuitable(claim, given, CLASSES) or not_delivered(given)
    assert isinstance(found, Failed)
    assert found.reason == reason
    assert found.message.endswith("final")
