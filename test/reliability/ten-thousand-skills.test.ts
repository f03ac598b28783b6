import { heldMemory, familyOf } from '@pith/supervised-process';
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import path from 'node:path';
import { scriptedModel, testKernel, type ScriptedStep, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '@pith/promises';
import { SkillRegistry } from '../../sandbox/extensions/skill_registry/registry.ts';
import { cpuOfThread, cpuTimed, liveBytes } from '../bench/measure.ts';
import { projectFolder, runPith, startPith, type Folder } from '../journeys/pith-process.ts';
import { realTime, until } from '../waiting.ts';

const LONG = process.env['PITH_TEST_LONG'] === '1';
const COUNT = LONG ? 10_000 : 100;
const CHANGES = COUNT;
const FLOOD_MS = LONG ? 60_000 : 600;
const POLL_MS = 5000;
/** A turn that begins so late after the last look is preceded by another, also before anything is watched. */
const NOT_FRESH_MS = 260;

const told: string[] = [];
const tell = (figure: string, value: number, unit: string): number => {
  told.push(`${figure}: ${value.toFixed(value < 10 ? 2 : 0)} ${unit}`);
  return value;
};

const textOf = (id: string, version: number) => `---
name: ${id}
description: Plans the ${id} step by step, edition ${version}. Use for questions about ${id}.
tags: [plans]
---

# ${id}

${`Each entry of ${id} names a person, a day and a file.\n`.repeat(12)}`;

let folder: Folder;
const fileOf = (id: string) => path.join(folder.sandbox, 'skills', id, 'SKILL.md');
/** What is on the disk: id → version. */
const written = new Map<string, number>();
const put = (id: string, version: number): void => {
  mkdirSync(path.dirname(fileOf(id)), { recursive: true });
  writeFileSync(fileOf(id), textOf(id, version));
  written.set(id, version);
};
const remove = (id: string): void => {
  rmSync(path.dirname(fileOf(id)), { recursive: true });
  written.delete(id);
};

beforeAll(async () => {
  folder = await projectFolder({ 'pith.yaml': 'extensions: { skill_registry: { sources: { replace: [sandbox/skills] } } }\n' });
  for (let at = 0; at < COUNT; at++) put(`plan-${String(at).padStart(5, '0')}`, 0);
});

afterAll(async () => {
  await folder.remove();
  if (LONG) process.stdout.write(`\n${told.join('\n')}\n`);
});

describe(`${COUNT.toLocaleString('en')} skills`, () => {
  it.runIf(LONG)('first index within 3 s, rescan within 250 ms, no piece of work above 50 ms, not 100 MB more', async () => {
    const registry = new SkillRegistry({
      sandbox: folder.sandbox,
      project: folder.path,
      dataDirectory: path.join(folder.path, 'data'),
      config: { sources: { replace: [path.join(folder.sandbox, 'skills')] } },
      clock: systemClock,
      logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const before = liveBytes();
    const pieces = longestPiece();
    await realTime(500, 'figures of an idle kernel'); // what is younger is read again
    expect(tell('first index, CPU', await cpuTimed(() => registry.refresh()), 'ms')).toBeLessThan(3000);
    expect(registry.current().all).toHaveLength(COUNT);
    const rescans: number[] = [];
    for (let round = 0; round < 10; round++) rescans.push(await timed(() => registry.refresh()));
    expect(tell('rescan, median of 10', rescans.sort((a, b) => a - b)[5]!, 'ms')).toBeLessThan(250);
    await registry.close();
    expect(tell('longest piece of the registry, CPU', pieces(), 'ms')).toBeLessThan(50);
    expect(tell('memory of the registry', (liveBytes() - before) / 2 ** 20, 'MB')).toBeLessThan(100);
    expect(registry.current().all).toHaveLength(COUNT); // still held while memory was measured
  });

  it('a turn of a kernel that has them lists each once; an edit, a new and a removed one are seen by the very next turn', async () => {
    await turnWithoutSkills(); // what it imports is no cost of skills
    const before = liveBytes();
    const model = scriptedModel();
    const pith = await testKernel({ sandbox: folder.sandbox, model });
    try {
      tell('services started', await timed(() => pith.kernel.start()), 'ms');
      if (LONG) await realTime(2000, 'figures of an idle kernel'); // the folders of extensions are watched by then
      const pieces = longestPiece(); // what boots before is the same with no skill
      model.add({ text: 'ok' });
      tell('first turn after that', await timed(() => pith.run('which plan is next')), 'ms');
      tell('longest piece of the first turn, CPU', pieces(), 'ms');
      expect(await listed(pith)).toEqual(written);
      if (LONG) await realTime(20_000, 'figures of an idle kernel'); // bodies are read, the index is written
      tell('longest piece until bodies were read, CPU', pieces(), 'ms');
      expect(await matching(pith, 'plan-00042')).toContain('edition 0');
      await realTime(NOT_FRESH_MS, 'figures of an idle kernel');
      put('plan-00042', 7);
      expect(await matching(pith, 'plan-00042')).toContain('edition 7');
      await realTime(NOT_FRESH_MS, 'figures of an idle kernel');
      put('zebra', 1);
      remove('plan-00017');
      expect(await matching(pith, 'zebra')).toContain('`zebra`');
      expect(await matching(pith, 'plan-00017')).not.toContain('`plan-00017`');
      if (!LONG) return;
      const turns: number[] = [];
      for (let turn = 0; turn < 20; turn++) {
        model.add({ text: 'ok' });
        turns.push(await timed(() => pith.run(`what is plan number ${turn}`, { threadId: `t${turn}` })));
        await realTime(300, 'figures of an idle kernel');
      }
      tell('a later turn, median of 20', turns.sort((a, b) => a - b)[10]!, 'ms');
      expect(tell('longest piece of the kernel, CPU', pieces(), 'ms')).toBeLessThan(50);
      expect(tell('memory of kernel and search', (liveBytes() - before) / 2 ** 20, 'MB')).toBeLessThan(100);
    } finally {
      await pith.stop();
    }
  }, 120_000);

  it(`a flood of ${CHANGES.toLocaleString('en')} changes converges within two polls, and no turn sees two versions of a skill`, async () => {
    const model = scriptedModel();
    const pith = await testKernel({ sandbox: folder.sandbox, model });
    try {
      await pith.kernel.start();
      if (LONG) await realTime(5000, 'figures of an idle kernel');
      const delays = monitorEventLoopDelay({ resolution: 5 });
      delays.enable();
      const cpu = process.cpuUsage();
      const flood = changes();
      let turns = 0;
      do {
        const list: ScriptedStep = { calls: [{ name: 'list_skills', input: { limit: 50 } }] };
        const wait: ScriptedStep = async () => {
          await realTime(LONG ? 300 : 60, 'load over time');
          return list as { calls: [] };
        };
        model.add(list, wait, wait, { text: 'ok' });
        const { results, requests } = await pith.run(`turn ${turns}`, { threadId: `flood-${turns++}` });
        expect(results).toHaveLength(3);
        expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(3);
        expect(new Set(results.map((result) => JSON.stringify('output' in result ? result.output : null))).size).toBe(1);
        expect(new Set(requests.map(({ system }) => system)).size).toBe(1);
      } while (!(await Promise.race([flood, new Promise<boolean>((resolve) => setImmediate(resolve, false))])));
      const { user, system } = process.cpuUsage(cpu);
      tell('CPU during the flood', (user + system) / 10 / FLOOD_MS, '%');
      tell('event loop during the flood, p99', delays.percentile(99) / 1e6, 'ms');
      tell('turns during the flood', turns, '');
      const from = performance.now();
      let seen = await listed(pith);
      while (!isEqual(seen, written) && performance.now() - from < 2 * POLL_MS) seen = await listed(pith);
      tell('converged after', performance.now() - from, 'ms');
      expect(seen).toEqual(written);
    } finally {
      await pith.stop();
    }
  }, 180_000);

  it.runIf(LONG)(
    'a chat answers with them, also beside a server: at first, with an index, and in a conversation',
    async () => {
      rmSync(path.join(folder.sandbox, 'data'), { recursive: true, force: true });
      const options = { cwd: folder.path, env: { HOME: path.join(folder.path, 'home') } };
      const question = 'Which skill plans plan-00042?';
      const chat = async (what: string) => {
        const ended = await runPith(['chat', '-p', question], options);
        expect([ended.code, ended.out], what).toEqual([0, expect.stringContaining('From the skill `plan-00042`')]);
      };
      for (const what of ['first chat', 'second chat', 'third chat']) tell(`${what}, whole process`, await timed(() => chat(what)), 'ms');
      const conversation = startPith(['chat', '--lines'], { ...options, input: null });
      const answered = async () => {
        const before = conversation.out().length;
        conversation.child.stdin.write(`${question}\n`);
        await until(() => conversation.out().slice(before).includes('From the skill `plan-00042`'));
      };
      tell('conversation, from its start to the first answer', await timed(answered), 'ms');
      tell('conversation, second answer', await timed(answered), 'ms');
      conversation.child.stdin.end();
      expect((await conversation.ended).code).toBe(0);
      const server = startPith(['serve'], { ...options, input: null });
      tell('serve says that it runs after', await timed(() => until(() => server.out().includes('Serving'))), 'ms');
      tell('chat beside it, whole process', await timed(() => chat('beside a server')), 'ms');
      tell('memory of the whole server', heldMemory(familyOf(server.child.pid!)).bytes / 2 ** 20, 'MB');
      server.child.kill('SIGTERM');
      expect((await server.ended).code).toBe(143);
    },
    120_000,
  );

  /** Resolves to true when all have been made: eight of ten are edits, one a new skill, one a removal. */
  async function changes(): Promise<boolean> {
    const ids = [...written.keys()];
    const from = performance.now();
    for (let change = 0; change < CHANGES; change++) {
      const id = ids[(change * 7919) % ids.length]!;
      if (change % 10 === 3) put(`new-${change}`, change);
      else if (change % 10 === 7 && written.has(id)) remove(id);
      else if (change % 10 === 5 && written.has(id)) {
        writeFileSync(`${fileOf(id)}.tmp`, textOf(id, change));
        renameSync(`${fileOf(id)}.tmp`, fileOf(id));
        written.set(id, change);
      } else put(id, change);
      const due = (FLOOD_MS * change) / CHANGES - (performance.now() - from);
      if (due > 1 || change % 20 === 0) await realTime(Math.max(1, due), 'load over time');
    }
    expect(readdirSync(path.join(folder.sandbox, 'skills'))).toHaveLength(written.size);
    return true;
  }
});

async function timed(work: () => unknown): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** What list_skills shows without a query, page after page: id → version. */
async function listed(pith: TestKernel): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (let offset = 0; ; offset += 50) {
    const lines = (await called(pith, { limit: 50, offset })).matchAll(/^• `([^`]+)`.*edition (\d+)\./gmu);
    const before = found.size;
    for (const [, id = '', version] of lines) found.set(id, Number(version));
    if (found.size < before + 50) return found;
  }
}

function matching(pith: TestKernel, query: string): Promise<string> {
  return called(pith, { query, limit: 5 });
}

/** Each call is a separate turn. Where a model would answer, others may work. */
async function called(pith: TestKernel, input: { query?: string; limit: number; offset?: number }): Promise<string> {
  await new Promise(setImmediate);
  const result = await pith.kernel.agents.callTool('orchestrator', 'list_skills', input);
  return result.ok ? String(result.output) : JSON.stringify(result);
}

function isEqual(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([id, version]) => b.get(id) === version);
}

async function turnWithoutSkills(): Promise<void> {
  if (!LONG) return;
  const empty = await projectFolder();
  const model = scriptedModel();
  const pith = await testKernel({ sandbox: empty.sandbox, model });
  model.add({ text: 'ok' });
  await pith.run('hello');
  await pith.stop();
  await empty.remove();
}

/** Milliseconds of CPU that the longest time between two turns of the event loop took so far. Other load does not lengthen it. */
function longestPiece(): () => number {
  if (!LONG) return () => 0;
  let longest = 0;
  let before = cpuOfThread();
  const tick = () => {
    const now = cpuOfThread();
    longest = Math.max(longest, now - before);
    before = now;
  };
  setInterval(tick, 1).unref();
  return () => longest;
}
