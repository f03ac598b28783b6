import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { didYouMean, type Diagnostic, type SkillState } from 'pith';
import type { SkillFields } from '../format/fields.ts';
import type { FoundSkill, SourceScan } from './found.ts';
import type { Skill, Snapshot, SnapshotChange } from '../skill.ts';
import type { RegistryConfig, Source } from './sources.ts';
import { toFileStamp, versionOf } from './stamp.ts';

export interface SourcedScan {
  readonly source: Source;
  readonly scan: SourceScan;
}

const IDS_AT_ONCE = 1000;

/** Decides who wins, who is listed and why, in pieces. `scans` are in order of precedence, lowest first. */
export function* buildSnapshot(scans: readonly SourcedScan[], config: RegistryConfig, before: Snapshot): Generator<void, Snapshot> {
  const filters = filtersOf(config);
  const byId = new Map<string, Candidate[]>();
  for (let index = scans.length - 1; index >= 0; index -= 1) {
    const { source, scan } = scans[index] as SourcedScan;
    for (const found of scan.skills.values()) {
      const candidate = { source, found, fields: found.good?.fields ?? found.parsed.fields };
      const rivals = byId.get(found.id);
      if (rivals === undefined) byId.set(found.id, [candidate]);
      else rivals.push(candidate);
    }
  }
  const skills = new Map<string, Skill>();
  const all: Skill[] = [];
  const ids = [...byId.keys()].sort();
  if (ids.length > IDS_AT_ONCE) yield;
  let done = 0;
  for (const id of ids) {
    if (done++ % IDS_AT_ONCE === IDS_AT_ONCE - 1) yield;
    const judged = judge(byId.get(id) as Candidate[], filters);
    for (const skill of judged) all.push(skill);
    skills.set(id, judged.find((skill) => skill.state === 'offered') ?? (judged[0] as Skill));
  }
  const diagnostics = scans.flatMap(({ scan }) => scan.diagnostics);
  const aliases = aliasesOf(skills);
  diagnostics.push(...unknownIds(config, skills, aliases));
  return Object.freeze({ generation: before.generation + 1, skills, all, aliases, diagnostics });
}

/** The skill that an id, a unique display name or `source/id` names, in whatever state; undefined when there is none. */
export function findSkill(snapshot: Snapshot, reference: string): Skill | undefined {
  const winner = snapshot.skills.get(reference) ?? snapshot.skills.get(snapshot.aliases.get(reference) ?? '');
  const cut = reference.lastIndexOf('/');
  if (winner !== undefined || cut === -1) return winner;
  const [source, id] = [reference.slice(0, cut), reference.slice(cut + 1)];
  return snapshot.all.find((skill) => skill.id === id && skill.source === source);
}

/** What became different for those who ask by id. */
export function changeBetween(before: Snapshot, after: Snapshot): SnapshotChange {
  const added: string[] = [];
  const changed: string[] = [];
  for (const [id, skill] of after.skills) {
    const earlier = before.skills.get(id);
    if (earlier === undefined) added.push(id);
    else if (earlier !== skill && isDifferent(earlier, skill)) changed.push(id);
  }
  const removed = [...before.skills.keys()].filter((id) => !after.skills.has(id));
  return { added, changed, removed };
}

interface Candidate {
  readonly source: Source;
  readonly found: FoundSkill;
  readonly fields: SkillFields;
}

interface Filters {
  readonly off: boolean;
  readonly allowed: ReadonlySet<string>;
  readonly disabled: ReadonlySet<string>;
}

const made = new WeakMap<FoundSkill, Skill>();

function filtersOf({ enabled, allowed, disabled }: RegistryConfig): Filters {
  return { off: enabled === false, allowed: new Set(allowed ?? []), disabled: new Set(disabled ?? []) };
}

/** One id's candidates, highest precedence first, become skills in the same order. */
function judge(candidates: readonly Candidate[], filters: Filters): Skill[] {
  let winner: Candidate | null = null;
  return candidates.map((candidate) => {
    const refusal = refusalOf(candidate, filters);
    if (refusal !== null) return toSkill(candidate, refusal.state, refusal.reason);
    if (winner === null) {
      winner = candidate;
      const loser = candidates.find(
        (other) => other !== candidate && refusalOf(other, filters) === null && !isSameContent(candidate.found, other.found),
      );
      return toSkill(candidate, 'offered', null, loser && differs(candidate, loser));
    }
    const extra = isSameContent(winner.found, candidate.found) ? undefined : differs(winner, candidate);
    return toSkill(candidate, 'shadowed', `shadowed by the one in ${winner.source.label}`, extra);
  });
}

/** Filters come before precedence: what is refused hides nothing. */
function refusalOf({ source, found, fields }: Candidate, filters: Filters): { state: SkillState; reason: string } | null {
  if (!found.parsed.valid && found.good === null) return { state: 'invalid', reason: invalidReason(found) };
  const listed = filters.allowed.has(found.id) || filters.allowed.has(fields.name);
  if (filters.off) return { state: 'disabled', reason: 'skills are switched off (skills.enabled)' };
  if (filters.disabled.has(found.id) || filters.disabled.has(fields.name))
    return { state: 'disabled', reason: 'it is listed under skills.disabled' };
  if (filters.allowed.size > 0 && !listed && !filters.allowed.has('*'))
    return { state: 'disabled', reason: 'it is not listed under skills.allowed' };
  if (!fields.defaultEnabled && !listed)
    return { state: 'disabled', reason: 'it is off by default (default_enabled: false) and not listed under skills.allowed' };
  if (!source.trusted) return { state: 'untrusted', reason: `its source ${source.label} is not trusted` };
  return null;
}

function toSkill({ source, found, fields }: Candidate, state: SkillState, reason: string | null, extra?: Diagnostic): Skill {
  const earlier = made.get(found);
  const count = found.parsed.diagnostics.length + (found.good ? 1 : 0) + (extra ? 1 : 0);
  const same = earlier?.state === state && earlier.reason === reason && earlier.source === source.label;
  if (same && earlier.diagnostics.length === count && earlier.tokensEstimated === (found.bodyTokens === null)) return earlier;
  const own = found.good === null ? found.parsed.diagnostics : [lastGoodUsed(found), ...found.parsed.diagnostics];
  const skill: Skill = {
    id: found.id,
    ...fields,
    source: source.label,
    directory: found.directory,
    realDirectory: found.realDirectory,
    file: found.file,
    stamp: toFileStamp(found.stamp),
    tokens: found.bodyTokens ?? found.good?.tokens ?? found.parsed.tokens,
    tokensEstimated: found.bodyTokens === null,
    state,
    reason,
    diagnostics: extra === undefined ? own : [...own, extra],
  };
  made.set(found, skill);
  return skill;
}

function lastGoodUsed({ file, parsed }: FoundSkill): Diagnostic {
  const error = parsed.diagnostics.find(({ severity }) => severity === 'error');
  return {
    severity: 'warning',
    code: 'last_good_used',
    message: 'is broken; its last good version stays in use',
    file,
    line: error?.line ?? 1,
    column: error?.column ?? 1,
    cure: error?.cure ?? 'correct the file',
  };
}

function differs(winner: Candidate, loser: Candidate): Diagnostic {
  return {
    severity: 'warning',
    code: 'shadowed_differs',
    message: `'${loser.found.id}' is in ${winner.source.label} and, with another text, in ${loser.source.label}; the first is used`,
    file: loser.found.file,
    line: 1,
    column: 1,
    cure: `remove one, or name '${loser.source.label}/${loser.found.id}' to use the other`,
  };
}

function invalidReason({ parsed }: FoundSkill): string {
  const error = parsed.diagnostics.find(({ severity }) => severity === 'error');
  return error === undefined ? 'it is invalid' : `${error.message} (line ${error.line})`;
}

function isSameContent(a: FoundSkill, b: FoundSkill): boolean {
  return a.stamp.size === b.stamp.size && digestOf(a) !== null && digestOf(a) === digestOf(b);
}

function digestOf(found: FoundSkill): string | null {
  if (found.digest !== null) return found.digest;
  if (found.stamp.size > 1024n * 1024n || found.parsed.diagnostics.some(({ code }) => code === 'file_unreadable')) return null;
  try {
    return (found.digest = createHash('sha256').update(readFileSync(found.file)).digest('hex'));
  } catch {
    return null; // gone meanwhile: the next scan sees it
  }
}

function aliasesOf(skills: ReadonlyMap<string, Skill>): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id, name, state } of skills.values()) {
    if (name === id || skills.has(name) || state === 'invalid') continue;
    if (aliases.has(name)) taken.add(name);
    aliases.set(name, id);
  }
  for (const name of taken) aliases.delete(name);
  return aliases;
}

function unknownIds(config: RegistryConfig, skills: ReadonlyMap<string, Skill>, aliases: ReadonlyMap<string, string>): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const setting of ['allowed', 'disabled'] as const) {
    for (const id of config[setting] ?? []) {
      if (id === '*' || skills.has(id) || aliases.has(id)) continue;
      const hint = didYouMean(id, skills.keys());
      found.push({
        severity: 'warning',
        code: 'setting_unknown_skill',
        message: `skills.${setting} names '${id}', which no source has${hint}`,
        cure: 'correct the id or remove it',
      });
    }
  }
  return found;
}

function isDifferent(a: Skill, b: Skill): boolean {
  if (a.file !== b.file || a.state !== b.state || a.reason !== b.reason) return true;
  if (versionOf(a.stamp) !== versionOf(b.stamp)) return true;
  return withoutTokens(a) !== withoutTokens(b);
}

/** That tokens were counted changes nothing for anybody who read the skill. */
function withoutTokens(skill: Skill): string {
  return JSON.stringify({ ...skill, tokens: 0, tokensEstimated: false });
}
