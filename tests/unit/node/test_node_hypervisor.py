"""The hypervisor on libvirt's own test driver, which keeps its domains in this process."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ingot.node.events import Kind, Phase
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import GivenLibvirt
from ingot.node.link import HypervisorError
from ingot.node.pools import Pools

DOMAIN = "<domain type='test'><name>{name}</name><memory>32768</memory><os><type>hvm</type></os></domain>"


@pytest.fixture
async def hypervisor() -> AsyncIterator[Hypervisor]:
    async with Hypervisor(GivenLibvirt("test:///default")) as found:
        yield found


async def test_a_domain_is_started_looked_at_acted_on_and_destroyed(hypervisor: Hypervisor) -> None:
    await hypervisor.start(DOMAIN.format(name="a"))
    state = await hypervisor.state("a")
    assert state is not None
    assert (state.name, state.phase) == ("a", Phase.RUNNING)
    assert "<name>a</name>" in await hypervisor.xml("a")
    await hypervisor.suspend("a")
    assert (await hypervisor.domains())["a"].phase is Phase.PAUSED
    assert (await hypervisor.domains())["a"].reason == "user"
    await hypervisor.resume("a")
    await hypervisor.destroy("a")
    assert await hypervisor.state("a") is None
    assert "a" not in await hypervisor.domains()


async def test_destroying_what_is_gone_is_no_error_and_acting_on_it_is(hypervisor: Hypervisor) -> None:
    await hypervisor.destroy("nobody")
    with pytest.raises(HypervisorError, match="nobody") as caught:
        await hypervisor.suspend("nobody")
    assert caught.value.missing
    assert not caught.value.lost
    assert caught.value.domain == "nobody"


async def test_a_refused_start_names_the_domain(hypervisor: Hypervisor) -> None:
    await hypervisor.start(DOMAIN.format(name="b"))
    with pytest.raises(HypervisorError, match=r"b: .*b") as caught:
        await hypervisor.start(DOMAIN.format(name="b"))
    assert not caught.value.missing
    await hypervisor.destroy("b")


async def test_events_come_on_the_loop_until_the_subscription_ends(hypervisor: Hypervisor) -> None:
    heard: asyncio.Queue[tuple[str, Kind, str]] = asyncio.Queue()
    end = hypervisor.subscribe(lambda *event: heard.put_nowait(event))
    await hypervisor.suspend("test")
    assert await asyncio.wait_for(heard.get(), 5) == ("test", Kind.SUSPENDED, "paused")
    await hypervisor.resume("test")
    assert await asyncio.wait_for(heard.get(), 5) == ("test", Kind.RESUMED, "unpaused")
    end()
    await hypervisor.suspend("test")
    again: asyncio.Queue[tuple[str, Kind, str]] = asyncio.Queue()
    hypervisor.subscribe(lambda *event: again.put_nowait(event))
    await hypervisor.resume("test")
    await asyncio.wait_for(again.get(), 5)
    assert heard.empty()


async def test_a_uri_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    nowhere = Hypervisor(GivenLibvirt(f"qemu+unix:///system?socket={tmp_path}/none"))
    with pytest.raises(HypervisorError, match="none") as caught:
        await nowhere.open()
    assert caught.value.lost
    await nowhere.close()


async def test_pools_follow_the_usage_types_and_leave_other_pools_alone(hypervisor: Hypervisor, tmp_path: Path) -> None:
    pools = Pools(hypervisor)
    await pools.ensure("default", tmp_path / "a")
    await pools.ensure("fast", tmp_path / "b")
    await pools.ensure("fast", tmp_path / "c")
    assert await pools.offered() == {"default": tmp_path / "a", "fast": tmp_path / "c"}
    await pools.refresh("fast")
    await pools.keep(["default"])
    assert await pools.offered() == {"default": tmp_path / "a"}
    with pytest.raises(HypervisorError, match="fast") as caught:
        await pools.refresh("fast")
    assert caught.value.missing
    names = await hypervisor.call("", lambda connection: {pool.name() for pool in connection.listAllStoragePools()})
    assert "default-pool" in names
    assert (tmp_path / "c").is_dir()


async def test_a_pool_whose_directory_cannot_be_made_names_it(hypervisor: Hypervisor, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HypervisorError, match=r"usage type slow: .*file/below"):
        await Pools(hypervisor).ensure("slow", tmp_path / "file" / "below")
