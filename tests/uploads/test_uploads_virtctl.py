"""`virtctl image-upload`, the program of KubeVirt itself, against one machine (B8)."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from ingot.api.resources import VOLUME_CLAIMS
from kube.tool import VIRTCTL
from uploads.disks_to_send import a_disk, as_gzip, as_qcow2
from uploads.lab import Lab

pytestmark = pytest.mark.skipif(VIRTCTL.program() is None, reason=VIRTCTL.why_not())


async def upload(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    # It trusts the authorities of the machine it runs on, and takes no other.
    command = [str(VIRTCTL.program()), "image-upload", *arguments, "--namespace", lab.namespace, "--insecure"]
    environment = os.environ | {"KUBECONFIG": str(lab.machine.kubeconfig)}
    return await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


@pytest.mark.parametrize("packed", [as_qcow2, as_gzip, None], ids=["qcow2", "gzip", "raw"])
async def test_it_makes_a_datavolume_and_fills_it(lab: Lab, tmp_path: Path, packed) -> None:
    content = a_disk(tmp_path / "disk.raw")
    file = packed(tmp_path / "disk.raw") if packed else tmp_path / "disk.raw"
    done = await upload(lab, "dv", "disk", "--size", "64Mi", "--image-path", str(file), "--force-bind")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "completed successfully" in done.stdout
    await lab.phase("disk", "Succeeded")
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_it_makes_a_claim_and_fills_it(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw")
    done = await upload(lab, "pvc", "disk", "--size", "64Mi", "--image-path", str(tmp_path / "disk.raw"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_it_tells_why_a_file_is_refused(lab: Lab, tmp_path: Path) -> None:
    """What is larger than the volume; another file fills it afterwards."""
    large, small = tmp_path / "large.raw", tmp_path / "small.raw"
    a_disk(small)
    with large.open("wb") as file:
        file.write(os.urandom(1 << 20))
        file.truncate(128 << 20)
    done = await upload(lab, "dv", "disk", "--size", "64Mi", "--image-path", str(large), "--force-bind")
    assert done.returncode != 0
    assert "unexpected return value 4" in done.stderr
    claim = await lab.client.get(VOLUME_CLAIMS, "disk", lab.namespace)
    assert not claim["spec"].get("volumeName")
    done = await upload(lab, "dv", "disk", "--no-create", "--image-path", str(small))
    assert done.returncode == 0, done.stdout + done.stderr
    await lab.phase("disk", "Succeeded")
