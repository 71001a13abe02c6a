"""Imports: a worker pod fetches what a VolumeImportSource names, and writes it into the prime."""

from collections.abc import Mapping

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.api.resources import IMPORT_SOURCES
from ingot.control.volumes import source as data_volume_source
from ingot.control.volumes import worker
from ingot.control.volumes.delta import PREVIOUS, Deltas, note
from ingot.control.volumes.filler import Failed, Means, Step, Waiting, Words, Work, noted
from ingot.control.volumes.gate import Gate
from ingot.control.volumes.outcome import judge, last_report
from ingot.control.volumes.wishes import NOTHING, Wishes
from ingot.control.volumes.worker_filler import WorkerFiller, content_type, unsuitable
from ingot.images.pipeline.bounds import most_of_file
from ingot.kube.cache import Cache, key_of
from ingot.kube.manager import Manager

# One annotation for each header that is said in the source: from there it comes into a file. A command line is read by
# everybody on the node.
_HEADER = "ingot.io/header-"
# Addresses may hold secrets too: signatures, passwords.
URL_VARIABLE = "INGOT_SOURCE_URL"

# How often those who wait look whether it is their turn: pods that cannot start lose theirs without a change.
_QUEUE_SECONDS = 10.0


class Imports(WorkerFiller):
    """The filler of claims that name a VolumeImportSource."""

    resource = IMPORT_SOURCES
    words = Words("import", "ImportScheduled", "ImportInProgress", "ImportSucceeded", "ImportFailed")
    prefix = names.IMPORTER_PREFIX

    def __init__(self, means: Means, manager: Manager) -> None:
        super().__init__(means, manager)
        self._deltas = Deltas(means, manager)

    async def step(self, work: Work) -> Step:
        if work.prime is not None and work.pod is not None:
            step = judge(work.pod, work.prime)
            if isinstance(step, Waiting):
                step = await self._deltas.look_after(work.prime, work.pod, step)
            return noted(step, self.notes(work.prime))
        if fault := unsuitable(work.target, work.source, self._means.classes.cache) or not_delivered(work.source):
            return fault
        if place := self._means.gate.admit(work.target):
            return queued(place, self._means.gate, work.target)
        filled = await self.prime_of(work)
        previous = await self._deltas.previous(work.target, work.source, filled)
        job = import_job(work.target, work.source, self._means.classes.cache, previous, self._means.wishes)
        return noted(judge(await worker.ensure(self._means, filled, job), filled), self.notes(filled))

    def notes(self, prime: Object | None) -> Mapping[str, str]:
        pod = worker.of_prime(self._means.pods.cache, prime, self.prefix) if prime is not None else None
        return {**super().notes(prime), **(note(last_report(pod)) if pod is not None else {})}


def queued(place: int, gate: Gate, target: Object) -> Waiting:
    """What is said of a transfer that is so far back at the gate."""
    message = f"number {place} in the queue: at most {gate.limit} transfers go on at once"
    before = gate.failure(key_of(target))
    return Waiting(
        "Queued", f"{message}; it failed before: {before}" if before else message, _QUEUE_SECONDS, queued=True
    )


def not_delivered(source: Object) -> Failed | None:
    """Why nothing can be had from the source, whatever the claim."""
    why = data_volume_source.not_delivered(source["spec"]["source"])
    message = f'{IMPORT_SOURCES.kind} "{name_of(source)}": {why}; make another one, and the claim anew, final'
    return Failed(data_volume_source.NOT_DELIVERED, message) if why else None


def import_job(
    target: Object, source: Object, classes: Cache, previous: Object | None = None, wishes: Wishes = NOTHING
) -> worker.Job:
    """The job that fills the target's prime from the source; `previous` is the claim of the version before."""
    spec = source["spec"]
    ((kind, found),) = spec["source"].items()
    given = wishes.of_source(kind, found)
    size = worker.room(target, classes)
    args = ["import", "--source-kind", kind, "--target", worker.target_path(target)]
    args += ["--size", str(size), "--limit", str(size)]
    args += ["--content-type", content_type(source), "--state", names.STATE_PATH]
    if worker.is_preallocated(spec, target, wishes):
        args.append("--preallocate")
    mounts = source_mounts(given)
    if previous is not None:
        args += ["--previous", worker.source_path(previous)]
        mounts[PREVIOUS] = worker.source_mount(previous)
    return worker.Job(
        prefix=names.IMPORTER_PREFIX,
        component="importer",
        args=[*args, *source_args(given), *worker.outlet()],
        mounts=mounts,
        environment={**({URL_VARIABLE: given["url"]} if given.get("url") else {}), **wishes.proxies},
        annotations=header_annotations(given),
        priority=worker.priority_of(target),
        aside=most_of_file(size),
    )


def source_args(given: Object) -> list[str]:
    """How a worker is told of a source, but for its address."""
    args = [] if not given.get("checksum") else ["--checksum", worker.literal(given["checksum"])]
    if architecture := (given.get("platform") or {}).get("architecture"):
        args += ["--architecture", worker.literal(architecture)]
    if given.get("secretRef"):
        args += ["--secret", names.SECRET_PATH]
    if given.get("certConfigMap"):
        args += ["--certs", names.CERTS_PATH, "--certs-name", worker.literal(given["certConfigMap"])]
    if given.get("extraHeaders"):
        args += ["--header-file", f"{names.HEADERS_PATH}/{names.PLAIN_HEADERS}"]
    for index, _ in enumerate(given.get("secretExtraHeaders") or ()):
        args += ["--header-file", f"{names.HEADERS_PATH}/{index}"]
    return [*args, "--insecure"] if given.get("insecureSkipVerify") else args


def source_mounts(given: Object) -> dict[str, worker.Mount]:
    """The Secrets and ConfigMaps of a source, readable by the worker alone."""
    mounts = {}
    if given.get("secretRef"):
        mounts["secret"] = _secret(given["secretRef"], names.SECRET_PATH)
    if given.get("certConfigMap"):
        mounts["certs"] = worker.Mount({"configMap": {"name": given["certConfigMap"]}}, names.CERTS_PATH)
    if count := len(given.get("extraHeaders") or ()):
        items = [
            {"path": str(index), "fieldRef": {"fieldPath": f"metadata.annotations['{_HEADER}{index}']"}}
            for index in range(count)
        ]
        source = {"downwardAPI": {"items": items, "defaultMode": 0o400}}
        mounts["headers"] = worker.Mount(source, f"{names.HEADERS_PATH}/{names.PLAIN_HEADERS}")
    for index, name in enumerate(given.get("secretExtraHeaders") or ()):
        mounts[f"headers-{index}"] = _secret(name, f"{names.HEADERS_PATH}/{index}")
    return mounts


def _secret(name: str, path: str) -> worker.Mount:
    return worker.Mount({"secret": {"secretName": name, "defaultMode": 0o400}}, path)


def header_annotations(given: Object) -> dict[str, str]:
    """The headers of a source, for the pod to read."""
    return {f"{_HEADER}{index}": line for index, line in enumerate(given.get("extraHeaders") or ())}
