import { type AgentSpec, PithError, type TurnInfo, type SkillProvider } from 'pith';
import { printableLine, didYouMean } from '@pith/plain-text';
import path from 'node:path';
import { listResources, parseSkillFile, readableFiles, readSkillFile, resourceBytes, splitFrontmatter } from '@pith/skill-files';
import { catalogBudget, renderCatalog } from './catalog/catalog.ts';
import { agentSkills, type ScopeCache, scopeOf } from './catalog/scope.ts';
import type { CopiedFile, FoundSkills, RankerDocument, SkillLibrary, SkillRecord, SkillRecords, SkillText } from './contract.ts';
import { renderEnvelope } from './reading/envelope.ts';
import { skillFor, type ToolPorts } from './reading/read-skill.ts';
import { findSkill } from './scan/names.ts';
import { documentOf } from './search/ranker-feed.ts';
import { notOffered, type Skill, type Snapshot } from './skill.ts';
import type { SkillBody } from './bodies.ts';
import type { SkillRegistry } from './registry.ts';
import { findingsIn } from './trust/findings-in.ts';
import { namesVersion } from './versions/versions.ts';

/** What is published of one skill to others: more is no skill but a project. */
const MOST_FILES = 512;

/** A version that is named so never changes, wherever the sources are by now. */
const BY_DIGEST = /@sha256:[0-9a-f]{64}$/u;

/** What the registry answers to the other extensions of its family. */
export class Library implements SkillLibrary {
  private readonly views = new WeakMap<Snapshot, SkillRecords>();

  constructor(private readonly ports: Pick<ToolPorts, 'context' | 'registry' | 'cache' | 'turns' | 'search'>) {}

  async records(of?: { readonly turn: TurnInfo } | { readonly agent: AgentSpec } | 'now'): Promise<SkillRecords> {
    const { registry, cache, turns } = this.ports;
    if (of === 'now') return this.viewOf(await registry.refreshIfOlderThan(0));
    const snapshot = await (of === undefined ? registry.fresh() : 'turn' in of ? turns.snapshotOf(of.turn) : registry.freshFor(of.agent));
    const view = this.viewOf(snapshot);
    if (of === undefined) return view;
    const agent = 'turn' in of ? of.turn.agent : of.agent;
    if (!this.ports.context.config.enabled) return { ...view, agent: { readable: [], bound: [], settings: agentSkills(agent) } };
    return cache.made(snapshot, agent, 'records', () => ({ ...view, agent: agentRecords(cache, snapshot, agent) }));
  }

  async find(name: string, turn: TurnInfo): ReturnType<SkillLibrary['find']> {
    if (!this.ports.context.config.enabled) return { error: { code: 'skills_disabled', message: 'Skills are switched off.' } };
    const found = await skillFor(this.ports, name, turn);
    return 'ok' in found ? { error: found.error } : { skill: found };
  }

  scan(directory: string): ReturnType<SkillLibrary['scan']> {
    return findingsIn(this.ports.context, directory);
  }

  async named(reference: string): Promise<SkillRecord> {
    const { wantedSkill } = await import('./commands/wanted.ts');
    const { registry } = this.ports;
    const present = BY_DIGEST.test(reference) ? await registry.fresh() : await registry.refreshIfOlderThan(0);
    return wantedSkill(registry, present, reference);
  }

  async readBody(ref: string, notes: readonly string[] = []): Promise<SkillText> {
    const skill = await this.usable(ref);
    const { body, sha256, stale } = await this.ports.registry.readBody(skill);
    const resources = await listResources(skill.realDirectory);
    const said = stale === undefined ? notes : [...notes, `note: ${stale}`];
    const envelope = renderEnvelope({ skill, sha256, text: body, part: 1, parts: 1, resources, notes: said });
    return { skill, body, sha256, envelope, ...(stale === undefined ? {} : { stale }) };
  }

  async readFile(ref: string, path: string, most: number): Promise<Uint8Array | null> {
    const { realDirectory } = await this.usable(ref);
    const read = await resourceBytes(realDirectory, path, most);
    return read.kind === 'bytes' && (await this.isTrusted(ref)) ? read.bytes : null;
  }

  async readFiles(ref: string, most: number): Promise<Readonly<Record<string, Uint8Array>> | null> {
    const { realDirectory, file } = await this.usable(ref);
    const files = await readableFiles(realDirectory, path.basename(file), { files: MOST_FILES, bytes: most });
    return files !== null && (await this.isTrusted(ref)) ? files : null;
  }

  async isTrusted(ref: string, copy?: readonly CopiedFile[]): Promise<boolean> {
    return this.ports.registry.isStillTrusted(await this.skill(ref), copy);
  }

  async document(ref: string): Promise<RankerDocument> {
    const skill = await this.usable(ref);
    return documentOf(skill, (await this.ports.registry.studyBody(skill)) ?? '');
  }

  async documentAt(directory: string, id: string): Promise<RankerDocument | null> {
    const file = path.join(directory, 'SKILL.md');
    const read = await readSkillFile(file, [directory]);
    if (typeof read === 'string') return null;
    const { fields } = await parseSkillFile(read.text, { id, file, mode: 'load' });
    const split = splitFrontmatter(read.text, true);
    return documentOf({ ...fields, id, file, stamp: read.sha256 }, 'bodyOffset' in split ? read.text.slice(split.bodyOffset) : read.text);
  }

  async catalogued(): Promise<readonly string[]> {
    const { catalog, pinned } = scopeOf(await this.ports.registry.fresh(), { keys: {}, usesSkills: [] });
    return renderCatalog(catalog, { budget: catalogBudget(null), pinned }).lines.map(({ id }) => id);
  }

  async search(
    query: string,
    { k, agent }: { readonly k: number; readonly agent?: AgentSpec },
    signal?: AbortSignal,
  ): Promise<FoundSkills> {
    const { registry, cache, search } = this.ports;
    const present = await registry.refreshIfOlderThan(0);
    const snapshot = agent === undefined ? present : await registry.freshFor(agent);
    const readable = agent === undefined ? null : cache.scope(snapshot, agent).readable;
    const asked = readable === null ? { k, weak: true } : { k, weak: true, agentId: agent!.id, among: (id: string) => readable.has(id) };
    const { ranked, by, note } = await search.rankComplete(snapshot, query, asked, signal);
    return { ranked, by, note };
  }

  /** What waits for a person, or is switched off, is given to nobody. */
  private async usable(ref: string): Promise<Skill> {
    const skill = await this.skill(ref);
    if (skill.state === 'offered' || skill.state === 'shadowed') return skill;
    throw notOffered(skill);
  }

  private async skill(ref: string): Promise<Skill> {
    const { registry } = this.ports;
    const skill = findSkill(await registry.fresh(), ref) ?? (await keptAt(registry, ref));
    if (skill === null)
      throw new PithError('skill_not_found', `there is no skill '${printableLine(ref)}'`, { cure: 'see pith skills list' });
    return skill;
  }

  private viewOf(snapshot: Snapshot): SkillRecords {
    const { generation, skills, all } = snapshot;
    const view = this.views.get(snapshot) ?? { generation, skills: [...skills.values()], all, agent: null };
    this.views.set(snapshot, view);
    return view;
  }
}

/** A kept version by its `source/id`; null for any other reference. */
function keptAt({ versions }: ToolPorts['registry'], ref: string): Promise<Skill | null> {
  const cut = ref.lastIndexOf('/');
  return versions.at(ref.slice(0, Math.max(0, cut)), ref.slice(cut + 1));
}

function agentRecords(cache: ScopeCache, snapshot: Snapshot, agent: AgentSpec): NonNullable<SkillRecords['agent']> {
  const { readable, bound, settings } = cache.scope(snapshot, agent);
  return { readable: [...readable.keys()].sort(), bound: [...bound], settings };
}

type SkillContent = Awaited<ReturnType<SkillProvider['getSkillContent']>>;

/** The body of an offered skill for binding; the last good one of a skill that has gone since. */
export async function contentOf(registry: SkillRegistry, name: string): Promise<SkillContent> {
  const snapshot = registry.current();
  const skill = namesVersion(snapshot, name) ? await registry.versions.find(snapshot, name) : findSkill(snapshot, name);
  if (skill === undefined) {
    const last = registry.lastGood(name);
    if (last !== null)
      return content(last.skill, { ...last.body, stale: `skill '${printableLine(name)}' was removed; this is its last good version` });
    const hint = didYouMean(name, [...snapshot.skills.keys()]);
    throw new PithError('skill_not_found', `there is no skill named '${printableLine(name)}'${hint}`, {
      cure: 'correct the id or add the skill',
    });
  }
  if (skill.state !== 'offered' && skill.state !== 'shadowed') throw notOffered(skill);
  return content(skill, await registry.readBody(skill));
}

function content({ id, name, version }: Skill, { body, sha256, stale }: SkillBody): SkillContent {
  return { id, name, version, sha256, body, ...(stale === undefined ? {} : { stale }) };
}
