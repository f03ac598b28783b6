import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { constants, realpathSync } from 'node:fs';
import { link, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { codeOf, defineTool, type Tool, type ToolCall, type ToolResult, z } from 'pith';
import { printableLine } from '@pith/plain-text';
import { isInside, realOf, runsLater } from '@pith/safe-files';
import { type ToolPorts, withSkill } from '../reading/read-skill.ts';
import { componentsOf, resourceBytes, type Inside, openBelow, openFolder, placeIn, provesBy } from '@pith/skill-files';
import { noResource } from '../reading/resource.ts';
import { presentsSkill, skillError, skillResult } from '../reading/results.ts';
import { lateInput } from '../late-input.ts';
import type { Skill } from '../skill.ts';

const MOST_BYTES = 16 * 1024 * 1024;

/** Copies a file of a skill to where the agent may change it. The skill itself is never changed. */
export function copySkillFile(ports: ToolPorts): Tool {
  return defineTool({
    name: 'copy_skill_file',
    description:
      'Copies one file of a skill, such as templates/report.md, into the working directory, where it can be changed. Never replaces a file.',
    input: lateInput(() =>
      z.object({
        skill_id: z.string(),
        path: z.string().describe("Relative to the skill's folder."),
        to: z.string().describe('The new file, relative to the sandbox, as the tool `file` names it: "drafts/report.md".'),
      }),
    ),
    effect: 'write',
    optIn: true,
    present: presentsSkill('copy_skill_file', ['path', 'to'], (id, { path, to }) => `Resource ${path} of ${id} copied to ${to}`),
    execute: ({ skill_id, path, to }, call) => withSkill(ports, skill_id, call, (skill) => copy(ports, skill, { path, to }, call)),
  });
}

interface Asked {
  readonly path: string;
  readonly to: string;
}

async function copy(ports: ToolPorts, skill: Skill, { path, to }: Asked, { turn, signal }: ToolCall): Promise<ToolResult> {
  const target = componentsOf(to);
  if (target === null || printableLine(to) !== to) return refusal('refused', to);
  if (provesBy() !== 'descriptor')
    return skillError(
      'resource_unsupported',
      'Files cannot be copied on this system: it has no /proc, so that it cannot be proven where a new file would lie.',
    );
  const resource = await resourceBytes(skill.realDirectory, path, MOST_BYTES);
  if (resource.kind === 'refused') return noResource(skill);
  if (resource.kind === 'too_large')
    return skillError(
      'resource_too_large',
      `'${printableLine(resource.path)}' has ${resource.size} bytes; at most ${MOST_BYTES} are copied.`,
    );
  signal.throwIfAborted();
  const written = await ports.working.add(target, resource.bytes);
  if (written !== 'written') return refusal(written, to);
  ports.ledger.record(turn, { skillId: skill.id, state: 'resource_read', path: resource.path });
  const [from, where] = [printableLine(resource.path), target.join('/')];
  return skillResult(
    `Copied ${from} of ${printableLine(skill.id)} to ${where} (${resource.bytes.length} bytes). It may be changed there.`,
    skill,
    {
      title: `Resource ${from} of ${skill.id} copied to ${where}`,
      path: resource.path,
      to: where,
    },
  );
}

const REFUSALS: Readonly<Record<Exclude<Written, 'written'>, readonly [code: string, why: string]>> = {
  exists: ['file_exists', 'is there already, and nothing is ever replaced; choose another name'],
  protected: [
    'protected',
    'would be part of skills, extensions, agents, state or settings, which are not changed this way; choose another place',
  ],
  refused: ['file_unavailable', 'is no usable path in the sandbox (links, special files and outside paths are never used)'],
};

function refusal(written: Exclude<Written, 'written'>, to: string): ToolResult {
  const [code, why] = REFUSALS[written];
  return skillError(code, `'${printableLine(to.slice(0, 200))}' ${why}.`);
}

/** What came of writing a new file. */
type Written =
  | 'written'
  | 'exists'
  /** It would be taken for part of a skill, an extension or an agent, or holds state or settings. */
  | 'protected'
  /** A link, a file or nothing that may be used stands in its way. */
  | 'refused';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** The folder in which agents work: the sandbox, as for the tool `file`. Files are only ever added, and never outside. */
export class WorkingDirectory {
  readonly #sandbox: string;
  readonly #reserved: () => readonly string[];

  /** `reserved`: absolute paths of further folders that are not written to. */
  constructor(sandbox: string, reserved: () => readonly string[]) {
    this.#sandbox = sandbox;
    this.#reserved = reserved;
  }

  /** Whole or not at all; missing folders are made. `segments` are the names from the sandbox down. */
  async add(segments: readonly string[], bytes: Uint8Array): Promise<Written> {
    const root = realpathSync(this.#sandbox);
    if (isProtected(segments) || this.#isReserved(path.join(root, ...segments))) return 'protected';
    const folder = await openFolder(root);
    if (folder === null) return 'refused';
    let current = folder;
    try {
      for (const name of segments.slice(0, -1)) {
        const next = await this.#below(current, name);
        if (typeof next === 'string') return next;
        if (current !== folder) await current.handle.close();
        current = next;
      }
      return await create(current, segments.at(-1)!, bytes);
    } finally {
      if (current !== folder) await current.handle.close();
      await folder.handle.close();
    }
  }

  async #below(folder: Inside, name: string): Promise<Inside | Written> {
    const known = await openBelow(folder, [name], 'folder');
    if (known === null) {
      const made = await mkdir(placeIn(folder, name)).then(() => true, absent);
      return (made ? await openBelow(folder, [name], 'folder') : null) ?? 'refused';
    }
    if (!declaresSomething(await readdir(placeIn(known, '.')))) return known;
    await known.handle.close();
    return 'protected';
  }

  #isReserved(target: string): boolean {
    return this.#reserved().some((folder) => isInside(target, folder) || isInside(target, realOf(folder)));
  }
}

/** Under another name first: a file that is not whole is never seen, and what is there already stays. */
async function create(folder: Inside, name: string, bytes: Uint8Array): Promise<Written> {
  const temporary = placeIn(folder, `.${randomBytes(8).toString('hex')}.tmp`);
  const handle = await open(temporary, CREATE, 0o666);
  try {
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(temporary, placeIn(folder, name));
    return 'written';
  } catch (error) {
    if (codeOf(error, '') === 'EEXIST') return 'exists';
    throw error;
  } finally {
    await unlink(temporary);
  }
}

function absent(error: unknown): false {
  if (codeOf(error, '') === 'EEXIST') return false; // a link or a file
  throw error;
}

/** What makes a folder a skill, an extension or an agent. */
const DECLARATIONS: ReadonlySet<string> = new Set(['skill.md', 'manifest.yaml', 'agent.md']);

/** True for a path, as names from the sandbox down, at which nothing is put without a person: state, and whatever runs later and unasked. */
function isProtected(segments: readonly string[]): boolean {
  return segments.length === 0 || segments[0]?.toLowerCase() === 'data' || runsLater(segments) !== null;
}

/** Whether a folder with these names is a skill, an extension or an agent, wherever it lies. */
function declaresSomething(names: readonly string[]): boolean {
  return names.some((name) => DECLARATIONS.has(name.toLowerCase()));
}
