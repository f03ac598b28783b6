import { existsSync } from 'node:fs';
import path from 'node:path';
import { type ExtensionContext, messageOf, PithError, type TopicMap, type TurnInfo } from 'pith';
import { sha256 } from '@pith/plain-data';
import { type SkillFolderPlaces, skillFolders } from '@pith/safe-files';
import { enumerated, printableLine } from '@pith/plain-text';
import { canonical, isComparable, likenessOf, parseSkillFile, treeDigest, wordsOf } from '@pith/skill-files';
import {
  type DraftedFile,
  type DraftOrigin,
  type SkillDraft,
  type SkillDrafts,
  SkillEvaluator,
  type SkillWriter,
  ThreadSources,
} from '../contract.ts';
import type { SkillsConfig } from '../config.ts';
import type { SkillRegistry } from '../registry.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Source } from '../scan/sources.ts';
import type { Snapshot } from '../skill.ts';
import { type DraftContent, isDraftId, writeDraft } from './draft-files.ts';
import type { DraftRecord } from './draft-records.ts';
import { howOf, takenBackBy } from './outside-changes.ts';
import type { Looked } from './draft-review.ts';
import { proposalCure } from './proposal-cure.ts';

export interface DraftPorts {
  readonly context: Pick<ExtensionContext<SkillsConfig>, 'id' | 'find' | 'clock' | 'config' | 'events' | 'logger'>;
  readonly registry: SkillRegistry;
  readonly search: SkillSearch;
  readonly writer: Pick<SkillWriter, 'places' | 'stage' | 'change' | 'unstage'>;
  readonly places: SkillFolderPlaces;
}

/** New skills that agents write: recorded as theirs before the first byte, offered by nobody, and made skills by who accepts what they were shown. */
export class Drafts implements SkillDrafts {
  /** Those that a turn wrote, by its id. */
  readonly #written = new Map<string, Set<string>>();
  /** What is still done for turns that have ended. */
  readonly #ending = new Set<Promise<void>>();

  constructor(private readonly ports: DraftPorts) {}

  async folders(): Promise<readonly string[]> {
    const { registry, places } = this.ports;
    const { all } = await registry.fresh();
    const holding = new Set(all.map(({ source }) => source));
    const isOfSkills = ({ configured, label, holdsDrafts }: Source) => holdsDrafts !== true && (configured || holding.has(label));
    return [...new Set([...skillFolders(places), ...registry.sources.filter(isOfSkills).map(({ directory }) => directory)])];
  }

  async write(given: string, files: readonly DraftedFile[], turn: TurnInfo): Promise<readonly string[]> {
    const { context, registry } = this.ports;
    const { records, files: folders } = registry.drafts;
    const id = canonical(given);
    const snapshot = await registry.fresh();
    const known = snapshot.skills.get(id);
    if ((known !== undefined && known.state !== 'draft') || existsSync(path.join(this.ports.places.sandbox, 'skills', given)))
      throw new PithError('use_proposal', `the skill '${printableLine(given)}' exists: ${proposalCure(turn)}`);
    if (context.config.new_skills === 'never')
      throw new PithError('not_allowed', 'agents write no new skills here (skills.new_skills: never)', {
        cure: 'describe the skill to the person',
      });
    if (!isDraftId(given))
      throw new PithError('not_allowed', `'${printableLine(given)}' cannot be the id of a new skill`, {
        cure: 'write it in lower-case words with hyphens, such as release-notes',
      });
    const misplaced = files.find((file) => /^skill\.md$/i.test(path.posix.basename(file.path)) && file.path !== 'SKILL.md');
    if (misplaced !== undefined)
      throw new PithError('not_allowed', `'${printableLine(misplaced.path)}' would be another skill in the draft '${id}'`, {
        cure: `write it as skills/${id}/SKILL.md`,
      });
    const record = folders.isThere(id) ? records.of(id) : null;
    if (record !== null && !isOwn(record, turn))
      throw new PithError('not_allowed', `'${id}' is a draft of the agent '${record.agent}', from another conversation`, {
        cure: 'choose another id, or ask the person to accept or discard it',
      });
    if (files.length === 0) return [];
    const text = files.find((file) => file.path.toLowerCase() === 'skill.md')?.text;
    const nearest = text === undefined ? [] : await this.#nearest(id, text, snapshot, turn);
    const sources = await this.#sourcesOf(turn.threadId);
    await records.change(id, (earlier) => {
      const before = earlier !== null && (folders.isThere(id) || isOwn(earlier, turn)) ? earlier : null; // of a draft that is gone nothing holds
      const written = { ...before?.files };
      for (const file of files) written[file.path] = [...new Set([...(written[file.path] ?? []), file.sha256])];
      return {
        agent: before?.agent ?? turn.agent.id,
        threadId: before?.threadId ?? turn.threadId,
        userId: before === null ? turn.userId : before.userId,
        at: context.clock.now(),
        sources: sources === null || before?.sources === null ? null : [...new Set([...(before?.sources ?? []), ...sources])],
        files: written,
      };
    });
    this.#written.set(turn.id, (this.#written.get(turn.id) ?? new Set()).add(id));
    return nearest;
  }

  async unconfined(program: string, turn: TurnInfo): Promise<void> {
    const { registry } = this.ports;
    await registry.outside.begin(turn.id, program, () => registry.refresh());
  }

  async proposalCure(turn: TurnInfo): Promise<string> {
    return proposalCure(turn);
  }

  async look(id: string): Promise<SkillDraft> {
    const looked = await this.#looked(id);
    const { origin, directory, content, why } = looked;
    const { textOf } = await import('./draft-review.ts');
    return { id: looked.id, origin, directory, digest: content.digest, text: textOf(looked), why };
  }

  accept(id: string, digest: string, by: string): Promise<void> {
    return this.#accept(id, digest, { how: 'accepted', by });
  }

  async discard(id: string): Promise<void> {
    const { records, files } = this.ports.registry.drafts;
    const content = await files.read(id);
    if (content === null) throw notThere(id);
    const other = unwrittenIn(content, records.of(id)) ?? (content.odd && '.');
    if (other !== null)
      throw new PithError(
        'skill_edited',
        `the draft '${id}' was not discarded: ${other === '.' ? content.odd : `no tool wrote '${printableLine(other)}' as it is`}`,
        {
          where: files.directory(id),
          cure: 'keep what you need of it, then remove the folder yourself',
        },
      );
    files.remove(id);
    records.remove(id);
    this.decided(id);
  }

  /** Resolves once it is known what changed below the tools. Tells people of the drafts that the turn wrote, or accepts them where the setting says that this needs nobody. */
  turnEnded(turn: TurnInfo): Promise<void> {
    const written = this.#written.get(turn.id) ?? [];
    this.#written.delete(turn.id);
    for (const id of written) void this.#finish(this.#settle(id, turn), `the draft '${id}' stays one`);
    return this.#finish(this.#lookOutside(turn), 'skills could not be compared');
  }

  /** Resolves once nothing of an ended turn goes on. */
  async close(): Promise<void> {
    await Promise.all(this.#ending);
  }

  /** `otherwise`: what is the case where it fails. */
  #finish(work: Promise<void>, otherwise: string): Promise<void> {
    const done = work
      .catch((error: unknown) => this.ports.context.logger.warn(otherwise, { why: messageOf(error) }))
      .finally(() => this.#ending.delete(done));
    this.#ending.add(done);
    return done;
  }

  /** What changed below the tools while something ran that nothing confines. */
  async #lookOutside(turn: TurnInfo): Promise<void> {
    const { registry } = this.ports;
    const changes = await registry.outside.end(turn.id, () => registry.refresh());
    if (changes.length === 0) return;
    await registry.refresh();
    for (const { id, program, serves } of changes)
      this.#notify(
        turn,
        id,
        `The skill '${id}' ${howOf({ serves })} while ${program} ran, which nothing confines: ${serves === null ? 'nothing offers it' : 'the version before is used'} until you decide. To look at it: pith skills accept ${id}${serves === null ? '' : `; to take it back: ${takenBackBy({ id, serves })}`}`,
      );
  }

  async #settle(id: string, turn: TurnInfo): Promise<void> {
    const looked = await this.#looked(id).catch(() => null); // it was accepted or discarded meanwhile
    if (looked === null) return;
    const isAuto = this.ports.context.config.new_skills === 'auto';
    const why = isAuto ? againstAuto(looked, turn) : null;
    const wrote = `The agent '${turn.agent.id}' wrote`;
    if (isAuto && why === null) {
      await this.#accept(id, looked.content.digest, { how: 'accepted', by: turn.agent.id, reason: 'skills.new_skills: auto' });
      this.#notify(
        turn,
        id,
        `${wrote} the skill '${id}', and it is offered: it is text only and gains in its own cases. To look at it: pith skills show ${id}`,
      );
      return;
    }
    const held = why === null ? '' : ` (${why})`;
    this.#notify(
      turn,
      id,
      `${wrote} a draft of a skill, '${id}', which nothing offers yet${held}. To look at it and decide: pith skills accept ${id}, or pith skills discard ${id}`,
    );
  }

  async #accept(id: string, digest: string, note: Parameters<SkillWriter['change']>[2]): Promise<void> {
    const { registry, writer } = this.ports;
    const { content, why } = await this.#looked(id);
    if (content.digest !== digest)
      throw new PithError('skill_edited', `the draft '${id}' changed since it was shown`, {
        cure: `look at it again: pith skills accept ${id}`,
      });
    if (why !== null)
      throw new PithError('not_allowed', `the draft '${id}' cannot be accepted: ${why}`, { cure: 'have it corrected, or discard it' });
    const staged = await writer.stage('project');
    try {
      await writeDraft(path.join(staged, id), content.files);
      await writer.change(staged, [{ folder: id, id: '', from: id, entry: null, expects: null }], note);
    } finally {
      await writer.unstage(staged);
    }
    await this.#forget(id, digest);
    await registry.refresh();
  }

  /** What was written since it was accepted stays a draft: a person may still look at it. */
  async #forget(id: string, digest: string): Promise<void> {
    const { records, files } = this.ports.registry.drafts;
    if ((await files.read(id))?.digest !== digest) return;
    files.remove(id);
    records.remove(id);
    this.decided(id);
  }

  async #looked(id: string): Promise<Looked> {
    const { context, registry, places } = this.ports;
    const { records, files } = registry.drafts;
    const content = isDraftId(id) ? await files.read(id) : null;
    if (content === null) throw notThere(id);
    // Of a killed process that had accepted it, this is what it left.
    const accepted = await treeDigest(path.join(places.sandbox, 'skills', id)).catch(() => null);
    if (accepted === content.digest) {
      await this.#forget(id, accepted);
      throw notThere(id);
    }
    const snapshot = await registry.fresh();
    const text = content.files.find(({ path: name }) => name.toLowerCase() === 'skill.md');
    const described =
      text === undefined ? null : await parseSkillFile(text.bytes, { id, file: path.join(files.directory(id), text.path), mode: 'load' });
    const nearest = described === null ? [] : await this.#search(id, described.fields.description, snapshot);
    const origin = records.of(id);
    const { lookAt } = await import('./draft-review.ts');
    return lookAt(context, {
      id,
      origin,
      unwritten: unwrittenIn(content, origin),
      directory: files.directory(id),
      content,
      nearest,
      fields: described?.fields ?? null,
      evaluator: context.find(SkillEvaluator)[0] ?? null,
      exists: accepted !== null,
    });
  }

  /** The nearest skills of a new one. Rejects `use_proposal` where nobody could tell it from one that is offered. */
  async #nearest(id: string, text: string, snapshot: Snapshot, turn: TurnInfo): Promise<readonly string[]> {
    const { fields } = await parseSkillFile(text, { id, file: `${id}/SKILL.md`, mode: 'load' });
    const words = wordsOf({ id, description: fields.description });
    if (isComparable(words))
      for (const skill of snapshot.skills.values()) {
        if (skill.state !== 'offered' || likenessOf(words, wordsOf(skill)) === null) continue;
        throw new PithError(
          'use_proposal',
          `'${id}' would be nearly the skill '${printableLine(skill.id)}': ${proposalCure(turn, skill.id)}, or say in the description what '${id}' alone is for`,
        );
      }
    return this.#search(id, fields.description, snapshot);
  }

  async #search(id: string, description: string, snapshot: Snapshot): Promise<readonly string[]> {
    if (description.trim() === '') return [];
    const asked = { k: NEAREST + 1, weak: false, waitMs: SEARCH_MS };
    const { ranked } = await this.ports.search.rank(snapshot, description.slice(0, 1000), asked);
    return ranked
      .map((each) => each.id)
      .filter((each) => each !== id)
      .slice(0, NEAREST);
  }

  async #sourcesOf(threadId: string): Promise<DraftOrigin['sources']> {
    const [keeper] = this.ports.context.find(ThreadSources);
    if (keeper === undefined) return null;
    // What an agent that works for another read, and what those above it read before.
    const threads = threadId.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'));
    try {
      return [...new Set((await Promise.all(threads.map((thread) => keeper.sourcesOf(thread)))).flat())];
    } catch (error) {
      this.ports.context.logger.warn('what a conversation read from outside is not known', { threadId, why: messageOf(error) });
      return null;
    }
  }

  /** What people were told of this skill is out of date. */
  decided(id: string): void {
    this.#publish('notice.settled', { v: 1, about: { kind: 'skill', id } });
  }

  #notify({ threadId, userId }: TurnInfo, id: string, text: string): void {
    this.#publish('notify', { v: 1, text, kind: 'info', about: { kind: 'skill', id }, target: null, threadId, userId });
  }

  #publish<T extends 'notify' | 'notice.settled'>(topic: T, payload: TopicMap[T] & { readonly about: { readonly id: string } }): void {
    const { events } = this.ports.context;
    const { id } = payload.about;
    void this.#finish(
      events.publish(topic, payload, { key: `skill/${id}` }).then(() => undefined),
      `people could not be notified of the skill '${id}'`,
    );
  }
}

const NEAREST = 3;
const SEARCH_MS = 500;

/** The same agent, or one that works for the same person in the same conversation. */
function isOwn({ agent, threadId }: DraftOrigin, turn: TurnInfo): boolean {
  const rootOf = (thread: string) => thread.split('/', 1)[0];
  return agent === turn.agent.id || rootOf(threadId) === rootOf(turn.threadId);
}

/** The first file of which no tool recorded these bytes; null: there is none. */
function unwrittenIn({ files }: DraftContent, record: DraftRecord | null): string | null {
  return files.find(({ path: name, bytes }) => record?.files[name]?.includes(sha256(bytes)) !== true)?.path ?? null;
}

/** Why a person decides, whatever the setting; null: nobody has to. */
function againstAuto({ origin, content, why, findings, fields, comparison, unwritten }: Looked, turn: TurnInfo): string | null {
  if (why !== null) return why;
  if (unwritten !== null) return `no tool wrote '${printableLine(unwritten)}' as it is`;
  if (origin === null || origin.sources === null) return 'nobody keeps what its conversation read from outside';
  if (origin.sources.length > 0) return `its conversation read ${enumerated(origin.sources)}`;
  if (fields === null || content.files.some((file) => file.isProgram || /^(?:scripts|toolsets|hooks)\//i.test(file.path)))
    return 'it has more than text';
  if (fields.toolsets.length + fields.scripts.length > 0 || 'hooks' in fields.extra) return 'it declares what runs';
  if (fields.allowedTools?.some((tool) => !turn.tools.some((own) => own === tool || own.endsWith(`/${tool}`))) === true)
    return 'it allows tools that its author does not have';
  if (findings === null) return 'nothing scanned it';
  if (findings.some(({ severity }) => severity !== 'low')) return 'the scan found something';
  return comparison?.gain === true ? null : 'it needs three cases, a third of them not for training, and a gain by them';
}

function notThere(id: string): PithError {
  return new PithError('skill_not_found', `there is no draft '${printableLine(id)}'`, { cure: 'see pith skills list --all' });
}
