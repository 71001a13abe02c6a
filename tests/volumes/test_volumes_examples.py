"""Every example about volumes does what its comment says, with servers of ours in place of those it names."""

from __future__ import annotations

from pathlib import Path

import yaml

from eventual import eventually
from guest.servers.nginx import Nginx
from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES
from ingot_up import IngotUp
from volumes.shelf import Shelf, ingot, phase
from volumes.wares import SIZE, Wares

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "volumes").glob("*.yaml"))
IMAGE = "docker://registry.example/disks/fedora:latest"


async def test_each_example_is_filled(
    shelf: Shelf, whole: IngotUp, web: Nginx, image: str, wares: Wares, tmp_path: Path
) -> None:
    assert EXAMPLES
    objects: list[Object] = []
    for file in EXAMPLES:
        text = file.read_text().replace("https://images.example", web.http).replace(IMAGE, image)
        # Guests are another test's.
        text = text.replace("runStrategy: Always", "runStrategy: Halted")
        text = text.replace("namespace: default", f"namespace: {shelf.namespace}")
        (tmp_path / file.name).write_text(text)
        objects += yaml.safe_load_all(text)
    await ingot(whole, "apply", "-f", str(tmp_path), "-n", shelf.namespace)
    for obj in objects:
        await _check(shelf, obj, wares)
    await ingot(whole, "delete", "-f", str(tmp_path), "-n", shelf.namespace)
    await shelf.nothing_left()


async def _check(shelf: Shelf, obj: Object, wares: Wares) -> None:
    name = obj["metadata"]["name"]
    if obj["kind"] == "VirtualMachine":
        name = obj["spec"]["dataVolumeTemplates"][0]["metadata"]["name"]
        await eventually(lambda: shelf.client.get(DATA_VOLUMES, name, shelf.namespace))
    if obj["kind"] == "PersistentVolumeClaim":

        async def bound() -> bool:
            return bool((await shelf.claim(name))["status"].get("phase") == "Bound")

        await eventually(bound)
    elif "upload" in (obj["spec"].get("source") or {} if "spec" in obj else {}):
        await shelf.until(name, lambda each: phase(each) == "UploadReady")
        return
    elif obj["kind"] in ("DataVolume", "VirtualMachine"):
        await shelf.filled(name)
    else:
        return
    if name != "database":
        assert await shelf.content(name, SIZE) == wares.disk
