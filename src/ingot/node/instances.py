"""The instances of this node: each gets its guest, is told of it, and leaves nothing behind."""

import logging

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.names import APP, LAUNCHER, NODE_NAME, launcher_name
from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.resources import INSTANCES, PODS
from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.node import launcher
from ingot.node.attempts import RETRY_SECONDS, Attempts
from ingot.node.chain import Chains
from ingot.node.consoles import Consoles
from ingot.node.domain.document import domain_name, instance_uid
from ingot.node.ending import Endings
from ingot.node.events import DomainState, Kind, Phase
from ingot.node.hypervisor import Hypervisor
from ingot.node.record import Record, Records
from ingot.node.starting import START_SECONDS
from ingot.node.status import NEVER_STARTED
from ingot.node.telling import Teller

log = logging.getLogger(__name__)

# A start may wait for a server that does not answer; those who wait must not keep others from starting.
WORKERS = 64
# How often a guest that stands still for an I/O error is let go on, to see whether its disk answers again.
REVIVE_SECONDS = 2.0


class Instances:
    """The controller of the instances whose launcher pods are on this node."""

    def __init__(
        self,
        manager: Manager,
        node: str,
        hypervisor: Hypervisor,
        records: Records,
        chains: Chains,
        attempts: Attempts,
        endings: Endings,
        teller: Teller,
        consoles: Consoles,
        clock: Clock = SYSTEM,
    ) -> None:
        self._client = manager.client
        self._node = node
        self._hypervisor = hypervisor
        self._records = records
        self._chains = chains
        self._attempts = attempts
        self._endings = endings
        self._teller = teller
        self._consoles = consoles
        self._clock = clock
        self.instances = manager.informer(INSTANCES, label_selector=f"{NODE_NAME}={node}")
        self._pods = manager.informer(PODS, field_selector=f"spec.nodeName={node}", label_selector=f"{APP}={LAUNCHER}")
        self._controller = Controller("node", self.reconcile, workers=WORKERS)
        self._controller.watch(self.instances).own(self._pods, owner=INSTANCES)
        self.instances.add_handler(self._abandon)
        manager.add(self._controller)
        hypervisor.subscribe(self._hear)
        for record in records.all():
            self._controller.queue.add(record.key)

    def look_at(self, key: Key) -> None:
        """Has an instance looked at soon, which need not be there any more."""
        self._controller.queue.add(key)

    def uids(self) -> set[str]:
        """The instances of this node, by their uids."""
        return {uid_of(instance) for instance in self.instances.cache.list()}

    def _abandon(self, old: Object | None, new: Object | None) -> None:
        """A start that nobody wants any more is broken off."""
        if new is None or is_deleting(new):
            self._attempts.abandon(uid_of(new or old or {}))

    def _hear(self, domain: str, kind: Kind, detail: str) -> None:
        """libvirt has something to tell: look at the instance of that domain, or at all when libvirt was away."""
        if kind is Kind.STOPPED:
            self._endings.note(domain, detail)
        for record in self._records.all():
            if record.domain == domain or kind is Kind.CONNECTION:
                self._controller.queue.add(record.key)

    async def reconcile(self, key: Key) -> Result | None:
        instance = self.instances.cache.get(key)
        for record in self._records.of(key):
            if (instance is None or record.uid != uid_of(instance)) and not await self._teller.found(
                record.key, record.uid
            ):
                wait = await self._endings.wipe(record)
                if wait is not None:
                    return Result(wait)
        if instance is None or (instance.get("status") or {}).get("nodeName") != self._node:
            return None
        pod = await self._pod(instance)
        if is_deleting(instance) or phase.is_final(instance) or launcher.is_going(pod):
            return await self._end(instance)
        if phase.phase_of(instance) in (phase.SCHEDULED, phase.RUNNING) and pod is not None:
            return await self._run(instance, pod)
        return None

    async def _pod(self, instance: Object) -> Object | None:
        """The launcher pod; asked for where the cache, which may be late, has none."""
        key = Key(namespace_of(instance), launcher_name(instance))
        if cached := self._pods.cache.get(key):
            return cached
        try:
            return await self._client.get(PODS, key.name, key.namespace)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def _run(self, instance: Object, pod: Object) -> Result | None:
        """The instance is to have a guest: look for it, and start it when it has not been."""
        domain = domain_name(instance)
        record = self._records.get(uid_of(instance))
        state = await self._hypervisor.state(domain)
        if record and record.started and state is None:
            await self._teller.ended(instance, await self._endings.reason(record, instance))
            return None
        if state is not None and not (record and record.started) and not await self._is_ours(instance, domain):
            why = f"libvirt has a domain {domain!r} that is not of this instance; end it with: virsh destroy {domain}"
            await self._teller.refused(instance, "DomainNameTaken", f"{why}; looked at again in 10 s")
            return Result(RETRY_SECONDS)
        if record is None:
            instance = await self._teller.hold(instance)
            record = self._records.make(instance, uid_of(pod))
        if state is None:
            return await self._start(instance, record)
        if state.phase is Phase.PAUSED and state.reason == "starting":
            return await self._hurry(record)
        if not record.started:
            # The agent was killed between a start and its note.
            record.started = True
            record.save()
        await self._tell_running(instance, record, state)
        return await self._revive(record, state)

    async def _tell_running(self, instance: Object, record: Record, state: DomainState) -> None:
        if instance["spec"]["domain"]["devices"].get("autoattachSerialConsole") is not False:
            self._consoles.attend(record.uid, record.console)
        await self._teller.running(instance, state, record.volumes)

    async def _hurry(self, record: Record) -> Result:
        """A start that an agent before us began, and that libvirt is still at: it has as long as one of ours."""
        now = self._clock.monotonic()
        record.next_try = record.next_try or now + START_SECONDS
        if now >= record.next_try:
            await self._endings.bury(record)
        return Result(1.0)

    async def _is_ours(self, instance: Object, domain: str) -> bool:
        return instance_uid(await self._hypervisor.xml(domain)) == uid_of(instance)

    async def _start(self, instance: Object, record: Record) -> Result | None:
        """Starts the guest, and tells when it runs."""
        wait = await self._attempts.start(instance, record)
        if wait is not None:
            return Result(wait)
        if state := await self._hypervisor.state(record.domain):
            await self._tell_running(instance, record, state)
            return None
        return Result(0.0)

    async def _revive(self, record: Record, state: DomainState) -> Result | None:
        """A guest that stands still because its disk failed goes on when the disk is back."""
        if state.phase is not Phase.PAUSED or state.reason != "ioerror":
            return None
        for volume in await self._chains.mend(record):
            log.warning("%s: the bridge of volume %s had died and was started again", record.key, volume)
        await self._hypervisor.resume(record.domain)
        return Result(REVIVE_SECONDS)

    async def _end(self, instance: Object) -> Result | None:
        """The instance is to have no guest any more, and nothing else here."""
        self._attempts.abandon(uid_of(instance))
        record = self._records.get(uid_of(instance))
        reason = NEVER_STARTED
        if record is not None:
            wait = await self._endings.stop(instance, record)
            if wait is not None:
                return Result(wait)
            if record.started:
                reason = await self._endings.reason(record, instance)
            await self._endings.clear(record)
        if not phase.is_final(instance):
            instance = await self._teller.ended(instance, reason)
        await self._teller.release(instance)
        return None
