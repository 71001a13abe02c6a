"""`ingot volume` on a whole machine: import, clone, watch, list, remove."""

from __future__ import annotations

import json

from guest.servers.nginx import Nginx
from ingot_up import IngotUp
from volumes.shelf import Shelf, ingot
from volumes.wares import SIZE, Wares


async def test_from_an_address_to_a_listed_volume_and_away(
    shelf: Shelf, whole: IngotUp, web: Nginx, wares: Wares
) -> None:
    async def run(*words: str, code: int = 0) -> str:
        return await ingot(whole, "volume", *words, "-n", shelf.namespace, code=code)

    assert "debian is ready: claim debian" in await run("import", f"{web.http}/disk.qcow2", "debian")
    assert await shelf.content("debian", SIZE) == wares.disk
    assert "there is a volume debian already" in await run("import", f"{web.http}/disk.raw", "debian", code=1)
    assert "copy is ready" in await run("clone", "debian", "copy", "--size", "64Mi")
    assert "empty is ready" in await run("blank", "empty", "--size", "8Mi")
    assert "before is ready" in await run("snapshot", "debian", "before")
    assert "again is ready" in await run("restore", "before", "again")
    assert await shelf.content("again", SIZE) == wares.disk
    rows = {row["name"]: row for row in json.loads(await run("ls", "-o", "json"))}
    assert rows.keys() == {"debian", "copy", "empty", "again"}
    assert {row["phase"] for row in rows.values()} == {"Succeeded"}
    assert rows["copy"]["source"] == f"pvc {shelf.namespace}/debian"
    assert "Nothing is being filled" in await run("watch")
    for name in ("copy", "empty", "again", "debian"):
        assert f"{name} removed\n" in await run("rm", name)
    assert "No volumes in namespace" in await run("ls")
    assert "there is no volume debian" in await run("rm", "debian", code=1)


async def test_a_file_is_uploaded_and_its_bytes_are_there(shelf: Shelf, whole: IngotUp, wares: Wares) -> None:
    """B8: upload."""
    file = str(wares.directory / "disk.qcow2")
    said = await ingot(whole, "volume", "upload", file, "sent", "-n", shelf.namespace)
    assert "sent is ready" in said
    assert await shelf.content("sent", SIZE) == wares.disk
    again = await ingot(whole, "volume", "upload", file, "sent", "-n", shelf.namespace, code=1)
    assert "waits for no upload" in again


async def test_a_refusal_names_the_field_and_what_would_be_accepted(shelf: Shelf, whole: IngotUp) -> None:
    said = await ingot(whole, "volume", "blank", "x", "--size", "much", "-n", shelf.namespace, code=1)
    assert "spec.storage.resources.requests.storage" in said
    said = await ingot(whole, "volume", "import", "/etc/passwd", "x", "-n", shelf.namespace, code=2)
    assert "ingot volume upload" in said
