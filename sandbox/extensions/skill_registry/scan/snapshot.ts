import type { Diagnostic } from 'pith';
import type { SkillsChange } from '../contract.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { candidateOf, filtersOf, rank, type Candidate } from './precedence.ts';
import { aliasesOf } from './names.ts';
import type { SourcedScan } from './source-scans.ts';
import type { RegistryConfig } from './sources.ts';

const IDS_AT_ONCE = 400;

/** Decides who wins, who is listed and why, in pieces. `scans` are in order of precedence, lowest first. */
export function* buildSnapshot(
  scans: readonly SourcedScan[],
  config: RegistryConfig,
  before: Snapshot,
  findings: readonly Diagnostic[] = [],
): Generator<void, Snapshot> {
  const byId = new Map<string, Candidate[]>();
  let gathered = 0;
  for (let index = scans.length - 1; index >= 0; index -= 1) {
    const sourced = scans[index] as SourcedScan;
    for (const found of sourced.scan.skills.values()) {
      if (++gathered % IDS_AT_ONCE === 0) yield;
      const candidate = candidateOf(sourced, found);
      const rivals = byId.get(found.id);
      if (rivals === undefined) byId.set(found.id, [candidate]);
      else rivals.push(candidate);
    }
  }
  const filters = filtersOf(config, byId.values());
  const skills = new Map<string, Skill>();
  const all: Skill[] = [];
  const ids = [...byId.keys()].sort();
  if (ids.length > IDS_AT_ONCE) yield;
  let done = 0;
  for (const id of ids) {
    if (done++ % IDS_AT_ONCE === IDS_AT_ONCE - 1) yield;
    const ranked = rank(byId.get(id) as Candidate[], filters);
    for (const skill of ranked) all.push(skill);
    skills.set(id, ranked.find((skill) => skill.state === 'offered') ?? (ranked[0] as Skill));
  }
  if (ids.length > IDS_AT_ONCE) yield;
  const aliases = aliasesOf(skills);
  if (ids.length > IDS_AT_ONCE) yield;
  const diagnostics = [...findings, ...scans.flatMap(({ scan }) => scan.diagnostics), ...filters.diagnostics];
  return Object.freeze({ generation: before.generation + 1, skills, all, aliases, diagnostics });
}

/** What became different for those who ask by id. */
export function* changeBetween(before: Snapshot, after: Snapshot): Generator<void, SkillsChange> {
  const added: string[] = [];
  const changed: string[] = [];
  let done = 0;
  for (const [id, skill] of after.skills) {
    if (++done % IDS_AT_ONCE === 0) yield;
    const earlier = before.skills.get(id);
    if (earlier === undefined) added.push(id);
    else if (earlier !== skill && withoutTokens(earlier) !== withoutTokens(skill)) changed.push(id);
  }
  const removed = [...before.skills.keys()].filter((id) => !after.skills.has(id));
  return { added, changed, removed };
}

/** That tokens were counted changes nothing for anybody who read the skill. */
function withoutTokens(skill: Skill): string {
  return JSON.stringify({ ...skill, tokens: 0, tokensEstimated: false });
}
