"""Uploads: a worker pod takes what is sent to it, and writes it into the prime."""

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import SECRETS, UPLOAD_SOURCES
from ingot.api.status import ApiError
from ingot.control.owning import is_owned
from ingot.control.uploads.credentials import new_data
from ingot.control.uploads.target import pod_name
from ingot.control.volumes import prime, worker
from ingot.control.volumes.filler import Step, Words, Work, noted
from ingot.control.volumes.outcome import judge
from ingot.control.volumes.wishes import NOTHING, Wishes
from ingot.control.volumes.worker_filler import WorkerFiller, unsuitable
from ingot.control.writing import live
from ingot.images.pipeline.bounds import most_of_file
from ingot.kube.cache import Cache, key_of
from ingot.kube.client import Client
from ingot.kube.objects import controller_of, is_deleting, set_controller_reference


class Uploads(WorkerFiller):
    """The filler of claims that name a VolumeUploadSource. It asks no gate: nobody knows when the bytes will come."""

    resource = UPLOAD_SOURCES
    words = Words("upload", "UploadScheduled", "UploadReady", "UploadSucceeded", "UploadFailed")
    prefix = names.UPLOADER_PREFIX

    async def step(self, work: Work) -> Step:
        if work.prime is not None and work.pod is not None:
            return noted(judge(work.pod, work.prime), self.notes(work.prime))
        if fault := unsuitable(work.target, work.source, self._means.classes.cache):
            return fault
        filled = await self.prime_of(work)
        await ensure_secret(self._means.client, filled, pod_name(work.target))
        job = upload_job(work.target, work.source["spec"], self._means.classes.cache, self._means.wishes)
        return noted(judge(await worker.ensure(self._means, filled, job), filled), self.notes(filled))


def upload_job(target: Object, spec: Object, classes: Cache, wishes: Wishes = NOTHING) -> worker.Job:
    """The job that fills the target, or its prime, with what is uploaded; `spec` is that of a VolumeUploadSource."""
    size = worker.room(target, classes)
    args = ["upload", "--target", worker.target_path(target), "--size", str(size), "--limit", str(size)]
    args += ["--content-type", spec.get("contentType") or names.DISK, "--state", names.STATE_PATH]
    args += ["--address", "$(POD_IP)", "--port", str(names.UPLOAD_PORT), "--tls", names.TLS_PATH]
    args += ["--called", f'claim "{name_of(target)}"']
    if worker.is_preallocated(spec, target, wishes):
        args.append("--preallocate")
    secret = {"secret": {"secretName": pod_name(target), "defaultMode": 0o400}}
    return worker.Job(
        prefix=names.UPLOADER_PREFIX,
        component="cdi-upload-server",
        args=[*args, *worker.outlet()],
        transfer=False,
        mounts={"tls": worker.Mount(secret, names.TLS_PATH)},
        priority=worker.priority_of(target),
        aside=most_of_file(size),
    )


async def ensure_secret(client: Client, filled: Object, name: str) -> None:
    """Makes what the pod proves itself with, if it is not there. Raises Hindered where that cannot be."""
    wanted: Object = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(filled),
            "labels": dict(names.APP_LABELS),
        },
        "data": new_data(name),
    }
    set_controller_reference(wanted, filled)
    try:
        await client.create(SECRETS, wanted)
        return
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise prime.not_made(f'Secret "{key_of(wanted)}"', error) from error
    found = await live(client, SECRETS, name_of(wanted), namespace_of(wanted))
    if found is not None and is_owned(found, filled) and not is_deleting(found):
        return
    # That of a claim of before, which had the same name, goes as its owner has gone.
    is_left = found is None or is_deleting(found) or (controller_of(found) or {}).get("name") == name_of(filled)
    raise prime.in_the_way(f'Secret "{key_of(wanted)}"', gone=is_left)
