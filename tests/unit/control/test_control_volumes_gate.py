"""At most so many transfers at once, and who comes first goes first."""

from collections.abc import Callable
from typing import Any

import pytest

from ingot.api.cdi.names import PRIME_FOR, QUEUED
from ingot.api.object import Object
from ingot.control.volumes.gate import PATIENCE_SECONDS, Gate
from ingot.control.volumes.place import START_SECONDS, looking
from ingot.control.volumes.returns import PAUSE_SECONDS
from ingot.control.volumes.turns import TURN_SECONDS
from ingot.kube.cache import Cache, Key
from ingot.kube.clock import ManualClock, timestamp
from unit.control.population import BORN, NOW, RUNNING, fill, pod, prime_of, target, to_device


class Yard:
    def __init__(self, limit: int = 2) -> None:
        self.claims, self.pods, self.volumes, self.clock = Cache(), Cache(), Cache(), ManualClock(NOW)
        self.gate = Gate(self.claims, self.pods, self.volumes, self.clock, limit)

    def works(self, worker: Object) -> None:
        """The pod is there, and what it is for."""
        name = worker["metadata"]["annotations"][PRIME_FOR].removeprefix("ns/")
        fill(self.claims, target(name), prime_of(target(name)))
        fill(self.pods, worker)


def test_so_many_are_let_in_and_the_others_know_their_place() -> None:
    yard = Yard()
    places = [yard.gate.admit(target(name)) for name in "abcd"]
    assert places == [0, 0, 1, 2]
    assert yard.gate.admit(target("a")) == 0


def test_who_was_made_first_goes_first() -> None:
    yard = Yard(limit=1)
    assert yard.gate.admit(target("first")) == 0
    assert yard.gate.admit(target("late", at="2023-11-14T22:15:00Z")) == 1
    assert yard.gate.admit(target("early", at="2023-11-14T22:14:00Z")) == 1
    yard.gate.leave(Key("ns", "first"))
    assert yard.gate.admit(target("late", at="2023-11-14T22:15:00Z")) == 2
    assert yard.gate.heads() == [Key("ns", "early")]
    assert yard.gate.admit(target("early", at="2023-11-14T22:14:00Z")) == 0


def test_a_transfer_ends_when_its_pod_is_over() -> None:
    yard = Yard(limit=1)
    assert yard.gate.admit(target("a")) == 0
    yard.works(pod("a", **RUNNING))
    assert yard.gate.admit(target("b")) == 1
    yard.works(pod("a", "Succeeded"))
    assert yard.gate.heads() == [Key("ns", "b")]
    assert yard.gate.admit(target("b")) == 0


def test_pods_of_before_count_after_a_restart_and_the_order_stays() -> None:
    yard = Yard(limit=1)
    yard.works(pod("a", **RUNNING))
    waiting = target("first", at="2023-11-14T22:13:21Z")
    waiting["metadata"]["annotations"][QUEUED] = "number 1 in the queue"
    fill(yard.claims, waiting)
    assert yard.gate.admit(target("second", at="2023-11-14T22:13:22Z")) == 2
    yard.pods.drop(Key("ns", "importer-prime-uid-a"))
    assert yard.gate.admit(target("second", at="2023-11-14T22:13:22Z")) == 2
    assert yard.gate.admit(waiting) == 0


@pytest.mark.parametrize("spec", [{"dataSourceRef": None}, {"volumeName": "pv"}])
def test_a_claim_that_only_says_that_it_waits_holds_up_nobody(spec: dict[str, Any]) -> None:
    yard = Yard(limit=1)
    liar = target("liar", at="2000-01-01T00:00:00Z", **spec)
    liar["metadata"]["annotations"][QUEUED] = "before everybody"
    fill(yard.claims, liar)
    assert yard.gate.admit(target("honest")) == 0


async def test_what_a_claim_says_of_itself_counts_for_a_while_after_the_start_only() -> None:
    """Nobody fills it, so that nobody takes away what it says."""
    yard = Yard(limit=1)
    liar = target("liar", at="2000-01-01T00:00:00Z", namespace="other")
    liar["metadata"]["annotations"][QUEUED] = "before everybody"
    fill(yard.claims, liar)
    assert yard.gate.admit(target("honest")) == 2
    await yard.clock.advance(PATIENCE_SECONDS)
    assert yard.gate.admit(target("honest")) == 0


async def test_who_does_not_ask_again_loses_the_place() -> None:
    yard = Yard(limit=1)
    assert yard.gate.admit(target("a")) == 0
    assert yard.gate.admit(target("early")) == 1
    assert yard.gate.admit(target("late", at="2023-11-14T22:15:00Z")) == 2
    await yard.clock.advance(PATIENCE_SECONDS)
    assert yard.gate.admit(target("late", at="2023-11-14T22:15:00Z")) == 1
    yard.gate.leave(Key("ns", "a"))
    assert yard.gate.heads() == [Key("ns", "late")]


def test_namespaces_with_fewer_transfers_go_first() -> None:
    yard = Yard(limit=2)
    assert [yard.gate.admit(target(name)) for name in "abc"] == [0, 0, 1]
    assert yard.gate.admit(target("x", at="2023-11-14T22:15:00Z", namespace="other")) == 1
    yard.gate.leave(Key("ns", "a"))
    assert yard.gate.heads() == [Key("other", "x")]
    assert yard.gate.admit(target("c")) == 2


def _elsewhere(worker: Object) -> None:
    worker["metadata"]["namespace"] = "other"


def _another_name(worker: Object) -> None:
    worker["metadata"]["name"] = "aaa"


def _no_owner(worker: Object) -> None:
    worker["metadata"]["ownerReferences"] = []


def _another_owner(worker: Object) -> None:
    worker["metadata"]["ownerReferences"][0]["uid"] = "other"


@pytest.mark.parametrize("alter", [_elsewhere, _another_name, _no_owner, _another_owner])
def test_pods_that_only_say_that_they_are_workers_do_not_count(alter: Callable[[Object], None]) -> None:
    yard = Yard(limit=1)
    liar = pod("a", **RUNNING)
    alter(liar)
    yard.works(liar)
    assert yard.gate.admit(target("b")) == 0


@pytest.mark.parametrize(
    "status",
    [
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 1},
        {"state": {"terminated": {"exitCode": 1}}, "restartCount": 2},
    ],
)
def test_a_worker_that_waits_to_start_again_keeps_nobody_out(status: dict[str, Any]) -> None:
    yard = Yard(limit=1)
    yard.works(pod("broken", **status))
    assert yard.gate.admit(target("b")) == 0


async def test_a_worker_that_cannot_start_keeps_its_place_for_a_while_only() -> None:
    yard = Yard(limit=1)
    yard.works(pod("stuck", "Pending", state={"waiting": {"reason": "ContainerCreating"}}))
    assert yard.gate.admit(target("b")) == 1
    await yard.clock.advance(START_SECONDS)
    assert yard.gate.admit(target("b")) == 0


def test_one_whose_secret_is_missing_gives_its_place_up_until_it_runs() -> None:
    yard = Yard(limit=1)
    woken: list[Key] = []
    yard.gate.listen(woken.append)
    stuck = pod("stuck", "Pending", state={"waiting": {"reason": "ContainerCreating"}})
    yard.works(stuck)
    assert yard.gate.admit(target("b")) == 1
    yard.gate.give_way(stuck)
    yard.gate.give_way(stuck)
    assert woken == [Key("ns", "b")], "once"
    assert yard.gate.admit(target("b")) == 0
    yard.gate.leave(Key("ns", "b"))
    yard.works(pod("stuck", **RUNNING))
    assert yard.gate.admit(target("b")) == 1


def test_what_failed_before_is_kept_until_the_transfer_is_over() -> None:
    yard = Yard()
    yard.gate.note_failure(Key("ns", "a"), "no answer")
    yard.gate.leave(Key("ns", "a"))
    assert yard.gate.failure(Key("ns", "a")) == "no answer"
    yard.gate.forget(Key("ns", "a"))
    assert yard.gate.failure(Key("ns", "a")) == ""


def runs(since: int, restarts: int = 0) -> dict[str, Any]:
    """Since so many seconds after the pod was made."""
    return {"state": {"running": {"startedAt": timestamp(NOW + since)}}, "restartCount": restarts}


def surplus(yard: Yard, *names: str) -> list[str]:
    return [name for name in names if yard.gate.is_surplus(Key("ns", name))]


def test_a_worker_that_is_started_again_while_others_have_the_places_is_one_too_many() -> None:
    yard = Yard(limit=2)
    yard.works(pod("broken", state={"waiting": {}}, restartCount=1))
    assert [yard.gate.admit(target(name)) for name in "ab"] == [0, 0]
    yard.works(pod("a", **runs(5)))
    yard.works(pod("broken", **runs(4, restarts=1)))
    assert surplus(yard, "a", "broken") == ["broken"], "b may begin at any moment"
    yard.works(pod("b", **runs(9)))
    assert surplus(yard, "a", "b", "broken") == ["broken"]
    yard.works(pod("a", "Succeeded"))
    assert surplus(yard, "b", "broken") == []


def test_of_several_too_many_those_that_were_there_first_stay() -> None:
    yard = Yard(limit=2)
    for name, since in (("late", 9), ("early", 1), ("second", 2)):
        yard.works(pod(name, **runs(since, restarts=1)))
    assert surplus(yard, "early", "second", "late") == ["late"]


def test_who_would_begin_anew_stays() -> None:
    yard = Yard(limit=1)
    yard.works(pod("file", **runs(1, restarts=1)))
    yard.works(to_device("device", **runs(9, restarts=1)))
    assert surplus(yard, "device", "file") == ["file"]
    yard.works(pod("file", **runs(1)))
    assert surplus(yard, "device", "file") == ["device"]


STARTING: dict[str, Any] = {"state": {"waiting": {"reason": "ContainerCreating"}}}


async def late(yard: Yard, name: str, seconds: float = START_SECONDS) -> None:
    """Its pod has not started in time."""
    assert yard.gate.admit(target(name)) == 0
    yard.works(pod(name, "Pending", **STARTING))
    await yard.clock.advance(seconds)


async def test_who_starts_when_its_place_is_given_away_is_one_too_many() -> None:
    """Images that came after two minutes made twelve transfers out of four."""
    yard = Yard(limit=1)
    await late(yard, "late")
    assert yard.gate.admit(target("b")) == 0
    yard.works(pod("b", **runs(9)))
    yard.works(pod("late", **runs(40)))
    assert surplus(yard, "late", "b") == ["late"]
    assert yard.gate.surplus() == [Key("ns", "late")]
    yard.works(pod("b", "Succeeded"))
    assert surplus(yard, "late", "b") == []


async def test_who_is_late_goes_on_until_the_places_are_full_of_those_at_work() -> None:
    """Where all start late nobody would ever be at work."""
    yard = Yard(limit=1)
    await late(yard, "a")
    await late(yard, "b")
    assert yard.gate.admit(target("c")) == 0
    yard.works(pod("a", **runs(61)))
    assert surplus(yard, "a") == [], "c may begin, and has not"
    yard.works(pod("b", **runs(62)))
    assert surplus(yard, "a", "b") == ["b"], "it was later"
    yard.works(pod("c", **runs(3)))
    assert surplus(yard, *"abc") == ["a", "b"], "c has had its place all the time"


async def test_where_all_come_late_at_once_there_are_as_many_as_there_are_places() -> None:
    yard, names = Yard(limit=4), [f"disk-{number:02}" for number in range(8)]
    for name in names[:4]:
        assert yard.gate.admit(target(name)) == 0
        yard.works(pod(name, "Pending", **STARTING))
    assert yard.gate.admit(target(names[4])) == 1
    await yard.clock.advance(START_SECONDS)
    for name in names[4:]:
        assert yard.gate.admit(target(name)) == 0
        yard.works(pod(name, "Pending", **STARTING))
    for name in names:
        yard.works(pod(name, **runs(120)))
        assert surplus(yard, *names[:4]) == []
    assert surplus(yard, *names) == names[4:]


async def test_one_that_had_started_before_its_place_went_is_late_where_that_was_not_known() -> None:
    """The kubelet tells it later, and has a clock of its own."""
    yard = Yard(limit=1)
    await late(yard, "late")
    assert yard.gate.admit(target("b")) == 0
    yard.works(pod("late", **runs(29)))
    yard.works(pod("b", **runs(31)))
    assert surplus(yard, "late", "b") == ["late"]


async def test_one_that_starts_late_keeps_its_place_where_nobody_has_got_it() -> None:
    yard = Yard(limit=1)
    await late(yard, "late")
    yard.works(pod("late", **runs(40)))
    assert yard.gate.admit(target("b")) == 1
    assert surplus(yard, "late") == []


async def test_after_a_restart_those_are_late_that_have_not_started() -> None:
    yard = Yard(limit=1)
    for name in ("started", "starting"):
        await late(yard, name)
    yard.works(pod("started", **runs(60)))
    yard.gate = Gate(yard.claims, yard.pods, yard.volumes, yard.clock, limit=1)
    assert surplus(yard, "started", "starting") == []
    yard.works(pod("starting", **runs(61)))
    assert surplus(yard, "started", "starting") == ["starting"]


async def test_nobody_else_is_too_late_while_one_that_was_put_back_ends() -> None:
    """Its pod, which was no longer late then, made another too late that had its place, and so on."""
    yard = Yard(limit=2)
    for name in "abcd":
        await late(yard, name)
    for name in "abcd":
        yard.works(pod(name, **runs(140)))
        assert surplus(yard, "a", "b") == []
    for name in "cd":
        assert surplus(yard, *"abcd") == ["c", "d"]
        yard.gate.put_back(Key("ns", name))
    assert surplus(yard, *"abcd") == ["c", "d"], "they are still there"
    yard.pods.drop(Key("ns", "importer-prime-uid-c"))
    assert surplus(yard, *"abd") == ["d"]


async def test_who_is_late_and_at_work_is_not_sent_back_for_one_that_failed() -> None:
    yard = Yard(limit=1)
    await late(yard, "late")
    yard.works(pod("late", **runs(40)))
    yard.works(pod("broken", **runs(50, restarts=1)))
    assert surplus(yard, "late", "broken") == ["broken"]


async def test_one_whose_secret_came_late_is_one_too_many_however_soon_it_starts() -> None:
    yard = Yard(limit=1)
    stuck = pod("stuck", "Pending", **STARTING)
    yard.works(stuck)
    yard.gate.give_way(stuck)
    assert yard.gate.admit(target("b")) == 0
    yard.works(pod("b", **runs(4)))
    yard.works(pod("stuck", **runs(5)))
    assert surplus(yard, "stuck", "b") == ["stuck"]


async def test_who_was_late_waits_where_it_did_before() -> None:
    yard = Yard(limit=1)
    await late(yard, "late")
    assert yard.gate.admit(target("b")) == 0
    assert yard.gate.admit(target("c", at="2023-11-14T22:13:30Z")) == 1
    yard.gate.put_back(Key("ns", "late"))
    yard.pods.drop(Key("ns", "importer-prime-uid-late"))
    assert yard.gate.admit(target("late")) == 1
    yard.gate.leave(Key("ns", "b"))
    assert yard.gate.admit(target("c", at="2023-11-14T22:13:30Z")) == 2
    assert yard.gate.admit(target("late")) == 0


async def test_the_place_of_one_that_was_late_is_kept_for_longer_each_time() -> None:
    """Where its pods always take a minute, and all others a second, it never got one."""
    yard, key, kept = Yard(limit=1), Key("ns", "late"), []
    for _ in range(7):
        began = yard.clock.monotonic()
        born = pod("late", "Pending", **STARTING)
        born["metadata"].update(uid=f"uid-{began}", creationTimestamp=timestamp(yard.clock.time()))
        yard.works(born)
        while yard.gate.admit(target("b")):
            await yard.clock.advance(1)
        yard.gate.leave(Key("ns", "b"))
        kept.append(yard.clock.monotonic() - began)
        yard.gate.put_back(key)
    assert kept == [30, 60, 120, 240, 480, 960, 960]
    yard.gate.forget(key)
    assert yard.gate.admit(target("b")) == 0


async def test_who_was_sent_back_waits_behind_the_others() -> None:
    """What always fails would keep all out that came after it."""
    yard = Yard(limit=1)
    yard.works(pod("broken", **runs(4, restarts=1)))
    assert yard.gate.admit(target("b")) == 1
    await yard.clock.advance(1000)
    yard.gate.send_back(Key("ns", "broken"))
    yard.pods.drop(Key("ns", "importer-prime-uid-broken"))
    assert yard.gate.admit(target("c", at="2023-11-14T22:15:00Z")) == 0
    assert yard.gate.admit(target("b")) == 1
    assert yard.gate.admit(target("broken")) == 2
    await yard.clock.advance(PAUSE_SECONDS)
    assert [yard.gate.admit(target(name)) for name in ("broken", "b")] == [2, 1]
    yard.gate.leave(Key("ns", "c"))
    assert [yard.gate.admit(target(name)) for name in ("broken", "b")] == [2, 0]


async def test_who_is_sent_back_again_and_again_waits_for_longer_and_longer() -> None:
    yard = Yard(limit=1)
    key, waits = Key("ns", "broken"), []
    for _ in range(7):
        yard.gate.send_back(key)
        began = yard.clock.monotonic()
        while yard.gate.admit(target("broken")):
            await yard.clock.advance(1)
        yard.gate.leave(key)
        waits.append(yard.clock.monotonic() - began)
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    yard.gate.forget(key)
    yard.gate.send_back(key)
    await yard.clock.advance(PAUSE_SECONDS)
    assert yard.gate.admit(target("broken")) == 0


async def moved(yard: Yard, seconds: float, **done: int) -> None:
    """Workers tell how far they are, and time passes until they tell it again."""
    for name in done:
        yard.gate.note_progress(Key("ns", name), pod(name), 0)
    await yard.clock.advance(seconds)
    for name, bytes_ in done.items():
        yard.gate.note_progress(Key("ns", name), pod(name), bytes_)


def over(yard: Yard, *names: str) -> list[str]:
    return [name for name in names if yard.gate.has_had_its_turn(Key("ns", name))]


async def test_who_is_slow_gives_its_place_to_one_that_waits() -> None:
    """Four slow servers kept all of a cluster waiting for days."""
    yard = Yard(limit=2)
    woken: list[Key] = []
    yard.gate.listen(woken.append)
    yard.works(pod("slow", **runs(1)))
    yard.works(pod("fast", **runs(1)))
    await moved(yard, TURN_SECONDS, slow=1100 * 60, fast=1 << 30)
    assert over(yard, "slow", "fast") == [], "nobody waits"
    assert yard.gate.admit(target("b")) == 1
    assert woken == [Key("ns", "slow")]
    assert over(yard, "slow", "fast") == ["slow"]
    yard.gate.end_turn(Key("ns", "slow"))
    assert over(yard, "slow", "fast") == [], "its place is going to be free"
    yard.pods.drop(Key("ns", "importer-prime-uid-slow"))
    assert yard.gate.admit(target("b")) == 0


async def test_no_more_give_their_places_than_wait_and_the_slowest_first() -> None:
    yard = Yard(limit=3)
    for name in "abc":
        yard.works(pod(name, **runs(1)))
    await moved(yard, TURN_SECONDS, a=3000, b=1000, c=2000)
    assert yard.gate.admit(target("d")) == 1
    assert over(yard, *"abc") == ["b"]


async def test_a_turn_is_twice_as_long_each_time() -> None:
    """Who begins anew with every turn comes to its end."""
    yard, turns = Yard(limit=1), []
    yard.works(pod("slow", **runs(1)))
    for _ in range(4):
        await moved(yard, 0, slow=1)
        began = yard.clock.monotonic()
        while not over(yard, "slow"):
            await yard.clock.advance(10)
            yard.gate.admit(target("b"))
        turns.append(yard.clock.monotonic() - began)
        yard.gate.end_turn(Key("ns", "slow"))
        await yard.clock.advance(PAUSE_SECONDS)
    assert turns == [TURN_SECONDS, 2 * TURN_SECONDS, 4 * TURN_SECONDS, 8 * TURN_SECONDS]


async def test_a_place_that_is_free_again_does_not_stay_empty_however_many_turns_were_had() -> None:
    yard = Yard(limit=1)
    key = Key("ns", "slow")
    for _ in range(5):
        yard.gate.end_turn(key)
    await yard.clock.advance(PAUSE_SECONDS)
    assert yard.gate.admit(target("slow")) == 0
    yard.gate.leave(key)
    yard.gate.send_back(key)
    await yard.clock.advance(PAUSE_SECONDS)
    assert yard.gate.admit(target("slow")) == 0, "it is its first failure"


async def test_a_namespace_with_all_the_places_gives_one_to_another_that_waits() -> None:
    yard = Yard(limit=2)
    for name in "ab":
        yard.works(pod(name, **runs(1)))
    await moved(yard, TURN_SECONDS, a=1 << 30, b=1 << 31)
    assert yard.gate.admit(target("c")) == 1
    assert over(yard, *"ab") == [], "they are fast, and one of its own waits"
    assert yard.gate.admit(target("x", namespace="other")) == 1
    assert over(yard, *"ab") == ["a"]
    yard.works({**pod("b", "Succeeded")})
    assert over(yard, *"ab") == [], "there is room"


async def test_of_the_slow_those_go_last_that_would_begin_anew() -> None:
    """It loses all that it has fetched."""
    yard = Yard(limit=2)
    yard.works(to_device("device", **runs(1)))
    yard.works(pod("file", **runs(1)))
    await moved(yard, TURN_SECONDS, device=1000, file=2000)
    assert yard.gate.admit(target("b")) == 1
    assert over(yard, "device", "file") == ["file"]
    yard.gate.admit(target("c"))
    assert over(yard, "device", "file") == ["device", "file"]


async def test_a_namespace_with_all_the_places_gives_none_whose_work_would_be_lost() -> None:
    yard = Yard(limit=2)
    for name in "ab":
        yard.works(to_device(name, **runs(1)))
    await moved(yard, TURN_SECONDS, a=1 << 30, b=1 << 31)
    assert yard.gate.admit(target("x", namespace="other")) == 1
    assert over(yard, *"ab") == []
    yard.works(pod("b", **runs(1)))
    assert over(yard, *"ab") == ["b"]


async def test_a_worker_that_has_not_told_how_far_it_is_stays() -> None:
    yard = Yard(limit=1)
    yard.works(pod("silent", **runs(1)))
    await yard.clock.advance(10 * TURN_SECONDS)
    assert yard.gate.admit(target("b")) == 1
    assert over(yard, "silent") == []
    yard.gate.note_progress(Key("ns", "silent"), pod("silent"), 5)
    assert over(yard, "silent") == [], "its turn begins when it is heard"


def test_pods_that_move_nothing_do_not_count() -> None:
    yard = Yard(limit=1)
    yard.works(pod("upload", transfer=False, **RUNNING))
    assert yard.gate.admit(target("b", at=BORN)) == 0


def test_who_has_left_does_not_wait() -> None:
    yard = Yard(limit=1)
    assert yard.gate.admit(target("a")) == 0
    assert yard.gate.admit(target("b")) == 1
    yard.gate.leave(Key("ns", "b"))
    assert yard.gate.admit(target("c")) == 1


def volume(name: str, at: str = BORN) -> Object:
    return {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "creationTimestamp": at}}


def test_who_looks_for_a_size_is_one_of_those_that_transfer() -> None:
    """An image that tells its size at its end is read whole for that."""
    yard = Yard(limit=1)
    assert yard.gate.admit_look(volume("a")) == 0
    assert yard.gate.admit(target("b")) == 1
    fill(yard.volumes, volume("a"))
    looks = pod("a", **RUNNING)
    owner = {"kind": "DataVolume", "name": "a", "uid": "uid-a", "controller": True}
    looks["metadata"].update(name="size-detection-uid-a", annotations={}, ownerReferences=[owner])
    fill(yard.pods, looks)
    yard.gate.leave(looking(Key("ns", "a")))
    assert yard.gate.admit(target("b")) == 1
    assert yard.gate.admit_look(volume("c", at="2023-11-14T22:15:00Z")) == 2
    fill(yard.pods, {**looks, "status": {"phase": "Succeeded"}})
    assert yard.gate.heads() == [Key("ns", "b")]
    assert yard.gate.admit(target("b")) == 0
    yard.gate.leave(Key("ns", "b"))
    assert yard.gate.heads() == [], "DataVolumes ask by themselves"
    assert yard.gate.admit(target("d", at="2023-11-14T22:16:00Z")) == 2
    assert yard.gate.admit_look(volume("c", at="2023-11-14T22:15:00Z")) == 0
