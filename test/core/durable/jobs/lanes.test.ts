import { describe, expect, it } from 'vitest';
import type { LanePolicy } from '../../../../core/durable/index.ts';
import { declared } from './new-job.ts';
import { DONE, storeWorld, type StoreWorld, STORES } from './store-world.ts';

type State = Parameters<LanePolicy['pick']>[0];

/** Slots of each lane; the owner who was served least recently, then the most urgent. A newcomer takes the slot of one that is less urgent. */
function fair(slots: Readonly<Record<string, number>>, seen: State[] = []): LanePolicy {
  return {
    rules: (lane) => slots[lane] ?? 1,
    pick(state) {
      const { arrived, heads, running, served, promised, rules } = state;
      seen.push(state);
      const free = Number(rules) - running.length;
      const victim =
        arrived === null ? undefined : running.find((job) => job.preemptible && !job.preempted && job.priority < arrived.priority);
      if (arrived !== null)
        return free > 0 || !victim
          ? { start: [], preempt: [], promised: new Map() }
          : { start: [], preempt: [victim.id], promised: new Map([[arrived.id, victim.id]]) };
      const turns = new Map(served);
      const start: string[] = [];
      let left = heads.filter(({ id }) => promised.has(id) && !running.some((job) => job.id === promised.get(id)));
      start.push(...left.map(({ id }) => id));
      left = heads.filter(({ id }) => !promised.has(id));
      for (let turn = Math.max(0, ...turns.values()) + 1; left.length > 0; turn += 1) {
        const [next] = left.toSorted(
          (one, other) => (turns.get(one.owner) ?? 0) - (turns.get(other.owner) ?? 0) || other.priority - one.priority,
        );
        if (next === undefined) break;
        start.push(next.id);
        turns.set(next.owner, turn);
        left = left.filter(({ id }) => id !== next.id);
      }
      return { start: start.slice(0, Math.max(0, free)), preempt: [], promised: new Map() };
    },
  };
}

const LANES = declared('x.a', { lanes: true, concurrency: 1_000_000 });

describe.each(STORES)('J5: lanes %s', (where, open) => {
  it('a policy is told of a job what the contract says, and no payload', async () => {
    const world = worldOf();
    const seen: State[] = [];
    const policy = fair({ l: 1 }, seen);
    await world.add('1', { lane: 'l', payload: '"secret"' }, policy);
    await world.claim('one', by(policy));
    await world.add('2', { lane: 'l', payload: '"secret"' }, policy);
    const keys = (jobs: readonly object[]) => jobs.map((job) => Object.keys(job).toSorted().join(' '));
    const told = 'id owner preemptible priority';
    expect(seen.map(({ arrived, heads }) => keys([arrived ?? [], heads].flat()))).toEqual([[told, told], [told], [told, told]]);
    expect(keys(seen.at(-1)?.running ?? [])).toEqual(['begun id owner preempted preemptible priority']);
  });

  const worldOf = (...more: Parameters<typeof storeWorld>[1][]): StoreWorld => storeWorld(open(), [LANES, ...(more[0] ?? [])]);
  const by = (policy: LanePolicy) => ({ policies: new Map([['x.a', policy]]) });

  it('1,000 jobs of 5 owners in 2 lanes start in exactly the order that the policy states', async () => {
    const count = where === 'in memory' && process.env['PITH_TEST_LONG'] !== '1' ? 200 : 1_000; // there each query looks at all
    const world = worldOf();
    const seen: State[] = [];
    const policy = fair({ wide: 3, narrow: 1 }, seen);
    // Owners come in turn, and in blocks; a seventh of the jobs is urgent.
    const added = Array.from({ length: count }, (_each, n) => ({
      id: `${n}`,
      lane: n % 3 === 0 ? 'narrow' : 'wide',
      owner: `o${n < 500 ? n % 5 : Math.floor(n / 100) % 5}`,
      priority: n % 7 === 0 ? 1 : 0,
    }));
    await world.addMany(added.length, (n) => added[n] ?? {}, '', policy);
    const started: string[] = [];
    for (let running: string[] = []; started.length < count;) {
      const taken = await world.claim('one', by(policy));
      started.push(...taken);
      running = [...running, ...taken];
      const ended = running.shift();
      if (ended === undefined) break;
      await world.end(ended, DONE, false);
    }

    for (const lane of ['wide', 'narrow']) {
      const expected: string[] = [];
      let left = added.filter((job) => job.lane === lane);
      const turns = new Map<string, number>();
      while (left.length > 0) {
        const heads = [...new Set(left.map(({ owner }) => owner))].flatMap(
          (owner) =>
            left
              .filter((job) => job.owner === owner)
              .toSorted((one, other) => other.priority - one.priority || Number(one.id) - Number(other.id))[0] ?? [],
        );
        const [next] = heads.toSorted(
          (one, other) =>
            (turns.get(one.owner) ?? 0) - (turns.get(other.owner) ?? 0) ||
            other.priority - one.priority ||
            Number(one.id) - Number(other.id),
        );
        if (next === undefined) break;
        expected.push(next.id);
        turns.set(next.owner, expected.length);
        left = left.filter(({ id }) => id !== next.id);
      }
      expect(started.filter((id) => added[Number(id)]?.lane === lane)).toEqual(expected);
    }
    const most = Math.max(...seen.map(({ heads }) => heads.length));
    expect(most).toBeLessThanOrEqual(15); // never all
  });

  it('a policy sees the first three of each owner, those of no owner too, and who was served when', async () => {
    const world = worldOf();
    const seen: State[] = [];
    const policy = fair({ l: 2 }, seen);
    for (const owner of ['o', null])
      for (let n = 0; n < 5; n += 1) await world.add(`${owner} ${n}`, { lane: 'l', owner, priority: n === 4 ? 1 : 0 });
    await world.add('elsewhere', { lane: 'm' });
    expect(await world.claim('one', by(policy))).toEqual(['o 4', 'null 4', 'elsewhere']);
    await world.claim('one', by(policy));
    const last = seen.findLast(({ rules, running }) => rules === 2 && running.length === 2);
    expect(last?.heads.map(({ id }) => id)).toEqual(['o 0', 'o 1', 'o 2', 'null 0', 'null 1', 'null 2']);
    expect(last?.served).toEqual(
      new Map([
        ['o', 1],
        [null, 2],
      ]),
    );
  });

  it('a newcomer is promised the slot of a less urgent one, which is asked to end', async () => {
    const world = worldOf();
    const policy = fair({ l: 1 });
    await world.add('low', { lane: 'l', owner: 'o', preemptible: true, tells: true }, policy);
    expect(await world.claim('one', by(policy))).toEqual(['low']);
    await world.add('other', { lane: 'l', owner: 'new', priority: 0 }, policy);
    await world.add('high', { lane: 'l', owner: 'o', priority: 5 }, policy);
    expect(await world.store.stops([{ id: 'low', fence: 1 }])).toEqual(new Map([[{ id: 'low', fence: 1 }, 'preempted']]));
    expect(await world.claim('one', by(policy))).toEqual([]);
    await world.end('low', world.failed());
    expect(await world.row('low')).toMatchObject({ state: 'cancelled', error: { code: 'preempted' }, attempts: 0 });
    expect(await world.claim('one', by(policy))).toEqual(['high']);
    expect(await world.row('high')).toMatchObject({ promise: null });
    expect(await world.store.count({ names: ['x.a ended'] })).toBe(1);
  });

  it('who was promised a slot is seen by the policy, however many of its owner came before it since', async () => {
    const world = worldOf();
    const policy = fair({ l: 1 });
    await world.add('low', { lane: 'l', owner: 'o', preemptible: true }, policy);
    await world.claim('one', by(policy));
    await world.add('promised', { lane: 'l', owner: 'p', priority: 1 }, policy);
    await world.addMany(4, () => ({ lane: 'l', owner: 'p', priority: 9 }), 'urgent ', policy);
    await world.end('low');
    expect(await world.claim('one', by(policy))).toEqual(['promised']);
  });

  it('a promise ends with who had it, and one that does not give its slot back loses it after 5 s', async () => {
    const world = worldOf();
    const policy = fair({ l: 1 });
    await world.add('low', { lane: 'l', owner: 'o', preemptible: true }, policy);
    await world.claim('one', by(policy));
    await world.add('high', { lane: 'l', owner: 'p', priority: 5 }, policy);
    await world.add('next', { lane: 'l', owner: 'q', priority: 4 }, policy);
    await world.store.cancel('high', '');
    expect((await world.row('high')).promise).toBeNull();
    for (let n = 0; n < 5; n += 1) {
      expect(await world.claim('two', by(policy))).toEqual([]);
      world.pass(1_000);
      await world.store.renew([{ id: 'low', fence: 1 }]);
    }
    expect(await world.claim('two', by(policy))).toEqual(['next']);
    expect(await world.states('low', 'high')).toBe('cancelled cancelled');
  });

  it('a wait gives the slot away, and going on takes no turn of its owner', async () => {
    const world = worldOf();
    const policy = fair({ l: 1 });
    await world.add('a', { lane: 'l', owner: 'o' });
    await world.claim('one', by(policy));
    await world.end('a', { kind: 'wait', wait: { resume: true } });
    await world.add('b', { lane: 'l', owner: 'p' });
    expect(await world.claim('one', by(policy))).toEqual(['b']);
    await world.store.resume('a', '1');
    expect(await world.claim('one', by(policy))).toEqual([]);
    await world.end('b');
    expect(await world.claim('one', by(policy))).toEqual(['a']);
    await world.end('a');
    for (const owner of ['p', 'o']) await world.add(`${owner} again`, { lane: 'l', owner });
    expect(await world.claim('one', by(policy))).toEqual(['o again']);
  });

  it('jobs in lanes wait for the code that brings the policy; others of the name do not, nor those inside another', async () => {
    const world = worldOf();
    await world.add('outside');
    expect(await world.claim()).toEqual(['outside']);
    await world.add('in', { lane: 'l' });
    const { taken, unloaded } = await world.store.claim(world.claimOf('one'));
    expect([taken, unloaded]).toEqual([[], ['x.a']]);
    expect(await world.claim('one', by(fair({ l: 1 })))).toEqual(['in']);
    await world.add('inside', { lane: 'l', parent: 'in', inside: true });
    expect(await world.claim('one', by(fair({ l: 1 })))).toEqual(['inside']); // its parent has the only slot
  });

  it('a process that serves one lane takes nothing else of the name', async () => {
    const world = worldOf();
    for (const lane of ['l', 'm', null]) await world.add(`of ${lane}`, { lane });
    const only = { names: new Set<string>(), lanes: new Set(['m']), jobs: new Set<string>() };
    expect(await world.claim('one', { ...by(fair({})), only })).toEqual(['of m']);
  });

  it('a policy can neither start a job that may not start nor end one that does not run', async () => {
    const world = worldOf();
    const policy: LanePolicy = {
      rules: () => null,
      pick: () => ({ start: ['b', 'b', 'later', 'unknown'], preempt: ['later', 'b'], promised: new Map([['later', 'b']]) }),
    };
    await world.add('b', { lane: 'l' });
    await world.add('later', { lane: 'l', at: world.clock.at + 10 });
    expect(await world.claim('one', by(policy))).toEqual(['b']);
    expect(await world.states('b', 'later')).toBe('running scheduled');
    expect((await world.row('later')).promise).toBeNull();
  });

  it('J5: a policy ends nothing outside its lane, and promises nothing there', async () => {
    const world = worldOf();
    await world.add('other', { lane: 'm' });
    expect(await world.claim('one', by(fair({})))).toEqual(['other']);
    await world.add('waits', { lane: 'm', at: world.clock.at });
    const policy: LanePolicy = { rules: () => null, pick: () => ({ start: [], preempt: ['other'], promised: new Map([['waits', 'x']]) }) };
    await world.add('a', { lane: 'l' }, policy);
    expect([(await world.row('other')).stop, (await world.row('waits')).promise]).toEqual([null, null]);
  });
});
