import path from 'node:path';
import type { AgentSpec } from 'pith';
import { printableLine } from '@pith/plain-text';
import { isCaseOfSkill } from '@pith/safe-files';
import { listResources } from '@pith/skill-files';
import type { FoundSkills, SkillLibrary, SkillRecord } from 'pith/skill_registry';

/** Of one file, and of all files of one skill. */
const MOST_BYTES = 16 * 1024 * 1024;

/** The skills that one agent may read now: offered ones, none that is a draft, untrusted, disabled or denied to it. */
export class ReadableSkills {
  constructor(
    private readonly library: SkillLibrary,
    /** As it is now. */
    private readonly agent: () => Promise<AgentSpec>,
  ) {}

  /** Sorted by id. */
  async skills(): Promise<readonly SkillRecord[]> {
    const { skills, agent } = await this.library.records({ agent: await this.agent() });
    const readable = new Set(agent?.readable);
    return skills.filter(({ id }) => readable.has(id));
  }

  async find(id: string): Promise<SkillRecord | null> {
    return (await this.skills()).find((skill) => skill.id === id) ?? null;
  }

  async search(query: string, most: number, signal: AbortSignal): Promise<FoundSkills> {
    return this.library.search(query, { k: most, agent: await this.agent() }, signal);
  }

  /** What follows its frontmatter, and the names of its files; where it lies on this machine is nobody's business. */
  async instructions(skill: SkillRecord): Promise<string> {
    const { body, sha256, stale } = await this.library.readBody(refOf(skill));
    const { entries, total } = await listResources(skill.realDirectory);
    return [
      `[Skill: ${printableLine(skill.id)}, sha256 ${sha256}]`,
      ...(stale === undefined ? [] : [`note: ${stale}`]),
      body,
      ...(total === 0
        ? []
        : [`[Its files: ${entries.map((each) => printableLine(each.path)).join(', ')}${total > entries.length ? ', and more' : ''}]`]),
    ].join('\n');
  }

  /** null: it has no such file that a model may read. Scripts are files like others. */
  async file(skill: SkillRecord, name: string): Promise<Uint8Array | null> {
    if (isCaseOfSkill(name)) return null;
    return this.library.readFile(refOf(skill), name === 'SKILL.md' ? path.basename(skill.file) : name, MOST_BYTES);
  }

  /** All of them by path; null: too many, too large, or not readable now. */
  files(skill: SkillRecord): Promise<Readonly<Record<string, Uint8Array>> | null> {
    return this.library.readFiles(refOf(skill), MOST_BYTES);
  }
}

function refOf({ source, id }: SkillRecord): string {
  return `${source}/${id}`;
}
