import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '@pith/promises';
import { catalogParts } from '../../sandbox/extensions/skill_registry/catalog/catalog-context.ts';
import { ScopeCache } from '../../sandbox/extensions/skill_registry/catalog/scope.ts';
import { mostTokens } from '@pith/token-count';
import { SkillRegistry } from '../../sandbox/extensions/skill_registry/registry.ts';
import { Bm25fRanker } from '@pith/word-ranker';
import { documentOf } from '../../sandbox/extensions/skill_registry/search/ranker-feed.ts';
import type { RegistryConfig } from '../../sandbox/extensions/skill_registry/scan/sources.ts';
import type { Snapshot } from '../../sandbox/extensions/skill_registry/skill.ts';
import { writeStrangers } from '../fixtures/strangers.ts';
import { type Bench, interleaved, liveBytes, type Row, scaled, spreadOf, timed } from './measure.ts';
import { inFolder, put, settle, skillSandbox, skillText } from './places.ts';
import { agentSpec, TURN } from '../fixtures/agent-spec.ts';

const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

export function registryOf(sandbox: string, dataDirectory: string, config: RegistryConfig = {}): SkillRegistry {
  return new SkillRegistry({
    sandbox,
    project: path.dirname(sandbox),
    dataDirectory,
    config: { sources: { replace: [path.join(sandbox, 'skills')] }, ...config },
    clock: systemClock,
    logger: SILENT,
  });
}

/** The registry and the catalog, in this process. */
export const skillsInProcess: Bench = async ({ runs, quick }) =>
  inFolder(async (folder) => {
    const rows: Row[] = [];
    let fresh = 0;
    const empty = (sandbox: string) => registryOf(sandbox, path.join(folder, `data-${fresh++}`));
    for (const count of quick ? [100, 1000] : [100, 1000, 10_000]) {
      const sandbox = await skillSandbox(folder, count);
      await settle();
      const skills = count.toLocaleString('en');
      const judged = count === 1000;

      const cold = await interleaved(runs, {
        floor: () => timed(() => readAll(sandbox)),
        measured: () => timed(() => empty(sandbox).refresh()),
      });
      rows.push({ figure: `cold discovery of ${skills} skills`, unit: 'ms', ...cold, ...(judged && { boundsAt: 7.6, must: 60, aim: 30 }) });

      if (judged) rows.push(await strangers(runs, folder, empty));
      const registry = empty(sandbox);
      await registry.refresh();
      const again = await interleaved(runs * 3, {
        floor: () => timed(() => statAll(sandbox)),
        measured: () => timed(() => registry.refresh()),
      });
      rows.push({
        figure: `unchanged rescan of ${skills}`,
        unit: 'ms',
        ...again,
        ...(judged && { boundsAt: 3.2, must: 5 }),
        ...(count === 10_000 && { boundsAt: 40, must: 60 }),
      });

      let edits = 0;
      const file = path.join(sandbox, 'skills', 'skill-7', 'SKILL.md');
      const ranker = new Bm25fRanker();
      for (const skill of registry.current().skills.values()) ranker.upsert(documentOf(skill, ''));
      const edit = async () => {
        await put(file, skillText(7, ` Edit ${edits++}.`));
        return timed(() => /^description: (.*)/mu.exec(readFileSync(file, 'utf8'))?.[1]);
      };
      const one = await interleaved(runs * 3, {
        floor: edit,
        measured: () => timed(async () => ranker.upsert(documentOf((await registry.refresh()).skills.get('skill-7')!, ''))),
      });
      rows.push({ figure: `one changed of ${skills}, to indexed`, unit: 'ms', measured: one.measured, floor: again.floor });

      rows.push({
        figure: `memory of one indexed skill of ${skills}`,
        unit: 'KB',
        ...(await memory(runs, sandbox, count, empty)),
        ...(judged && { must: 3 }),
      });
      rows.push(...(await catalog(runs, count, registry.current())));
      await registry.close();
    }
    return rows;
  });

/** 2,000 skills with the defects of real ones, in their proportions. */
async function strangers(runs: number, folder: string, empty: (sandbox: string) => SkillRegistry): Promise<Row> {
  const sandbox = path.join(folder, 'strangers');
  const skills = path.join(sandbox, 'skills');
  const written = [...writeStrangers(skills, 2000)].filter(([, shape]) => shape !== 'nested');
  const files = written.map(([id, shape]) => path.join(skills, id, shape === 'lower_case' ? 'skill.md' : 'SKILL.md'));
  await settle();
  const cold = await interleaved(runs, {
    floor: () => timed(() => files.filter((file) => readFileSync(file, 'utf8').includes('description:')).length),
    measured: () => timed(() => empty(sandbox).refresh()),
  });
  return { figure: 'cold discovery of 2,000 skills of strangers', unit: 'ms', ...cold, must: 120 };
}

async function memory(runs: number, sandbox: string, count: number, empty: (sandbox: string) => SkillRegistry) {
  const files = readdirSync(path.join(sandbox, 'skills'));
  return interleaved(Math.min(runs, 5), {
    floor: () => {
      const before = liveBytes();
      const held = files.map((id, at) => Buffer.from(`${id}\t${skillText(at).slice(0, 220)}`).toString());
      const used = (liveBytes() - before) / held.length / 1024;
      return used;
    },
    measured: async () => {
      const before = liveBytes();
      const registry = empty(sandbox);
      await registry.refresh();
      await registry.close();
      const used = (liveBytes() - before) / count / 1024;
      return registry.current().all.length === count ? used : NaN;
    },
  });
}

async function catalog(runs: number, count: number, snapshot: Snapshot): Promise<readonly Row[]> {
  const cache = new ScopeCache();
  const ports = {
    cache,
    clock: systemClock,
    readTool: 'skill_registry/read_skill',
    suggested: async () => [],
    offered: () => undefined,
    search: { prepare: async () => {}, rank: async () => ({ ranked: [], ready: true, by: null, note: null }) },
  };
  const turn = { ...TURN, agent: AGENT, tools: ['skill_registry/read_skill'] };
  const kept = new Map([['main', 'text']]);
  const rounds = 2000;
  const found = await interleaved(runs, {
    floor: () =>
      timed(async () => {
        for (let at = 0; at < rounds; at++) await kept.get('main');
      }),
    measured: () =>
      timed(async () => {
        for (let at = 0; at < rounds; at++) await catalogParts(ports, snapshot, turn);
      }),
  });
  const parts = await catalogParts(ports, snapshot, turn);
  const tokens = mostTokens(parts?.system ?? '');
  const skills = count.toLocaleString('en');
  return [
    {
      figure: `catalog text of a turn, unchanged, ${skills} skills`,
      unit: 'µs',
      measured: scaled(found.measured, 1000 / rounds),
      floor: scaled(found.floor, 1000 / rounds),
      must: 20,
      aim: 1,
    },
    {
      figure: `catalog tokens, ${skills} skills`,
      unit: 'tokens',
      measured: spreadOf([tokens]),
      floor: spreadOf([mostTokens('[Available Skills]')]),
      must: 2000,
      ...(count < 10_000 ? {} : { aim: 1500 }), // fewer skills are shown in as rich a form as there is room for
    },
  ];
}

const AGENT = agentSpec({ origin: '' });

function readAll(sandbox: string): number {
  const root = path.join(sandbox, 'skills');
  let found = 0;
  for (const id of readdirSync(root)) found += readFileSync(path.join(root, id, 'SKILL.md'), 'utf8').indexOf('description:') > 0 ? 1 : 0;
  return found;
}

function statAll(sandbox: string): number {
  const root = path.join(sandbox, 'skills');
  let sizes = 0;
  for (const id of readdirSync(root)) sizes += Number(statSync(path.join(root, id, 'SKILL.md'), { bigint: true }).size);
  return sizes;
}
