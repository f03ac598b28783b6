import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { CommandInput, CommandIO, JsonValue, Logger, PithError } from 'pith';
import type { TestKernel } from 'pith/testing';
import { onTestFinished } from 'vitest';
import { systemClock } from '@pith/promises';
import { SkillRegistry, type RegistryOptions } from '../../../sandbox/extensions/skill_registry/registry.ts';
import { adoptState, openTrustFile, trustSandbox } from '../../../core/trust/index.ts';
import { folderWith, kernelOf } from '../../places.ts';

/** A project folder with a sandbox, removed after the test. */
export interface SkillSandbox {
  readonly project: string;
  readonly sandbox: string;
  write(file: string, content: string | Uint8Array): Promise<string>;
  remove(file: string): Promise<void>;
  registry(options?: Partial<RegistryOptions>): SkillRegistry;
  readonly log: string[];
  run(command: string, given?: Asked): Promise<Answered>;
  /** As `run`, with what it throws as `error`. */
  attempt(command: string, given?: Asked): Promise<Answered>;
}

export interface Asked extends Partial<CommandInput> {
  readonly json?: boolean;
  readonly columns?: number;
  /** Of a person on a terminal; absent: there is nobody. */
  readonly answer?: string | null | ((question: string) => Promise<string>);
  /** It is typed in a conversation. */
  readonly session?: boolean;
  readonly config?: Readonly<Record<string, JsonValue>>;
  readonly home?: string;
  readonly signal?: AbortSignal;
}

export interface Answered {
  readonly error: PithError | null;
  readonly code: number;
  readonly text: string;
  readonly json: JsonValue;
  readonly values: readonly JsonValue[];
  readonly asked: readonly string[];
}

interface Box {
  readonly sandbox: string;
  /** Of a user who has nothing in it. */
  readonly home: string;
  /** By their options; nothing of them is activated. */
  readonly kernels: Map<string, TestKernel>;
}

/** `files` are relative to the project. */
export async function skillSandbox(files: Readonly<Record<string, string>> = {}): Promise<SkillSandbox> {
  const project = folderWith(files);
  const sandbox = path.join(project, 'sandbox');
  await mkdir(path.join(sandbox, 'skills'), { recursive: true });
  const log: string[] = [];
  const box: Box = { sandbox, home: folderWith({}), kernels: new Map() };
  const write = async (file: string, content: string | Uint8Array) => {
    const target = path.join(project, file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, content);
    return target;
  };
  return {
    project,
    sandbox,
    write,
    log,
    attempt: (name, given = {}) => attempt(box, name, given),
    async run(name, given = {}) {
      const answered = await attempt(box, name, given);
      if (answered.error !== null) throw answered.error;
      return answered;
    },
    remove: (file) => rm(path.join(project, file), { recursive: true, force: true }),
    registry(options = {}) {
      const registry = new SkillRegistry({
        sandbox,
        project,
        bundled: null,
        dataDirectory: path.join(sandbox, 'data/extensions/skill_registry'),
        config: {},
        clock: systemClock,
        logger: logTo(log),
        ...options,
      });
      onTestFinished(() => registry.close());
      return registry;
    },
  };
}

/** The text of a SKILL.md; `head` replaces the whole frontmatter. */
export function skillText({ name = 'demo', description = 'Does a thing. Use it for things.', more = '', body = 'Body.\n' } = {}): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}`;
}

/** Skills of these ids in a folder, each with its SKILL.md. */
export function skillsIn(folder: string, ...ids: readonly string[]): Record<string, string> {
  return Object.fromEntries(ids.map((id) => [`${folder}/${id}/SKILL.md`, skillText({ name: id })]));
}

/** A skill of the sandbox. */
export function ownSkill(id: string, values: Parameters<typeof skillText>[0] = {}): Record<string, string> {
  return { [`sandbox/skills/${id}/SKILL.md`]: skillText({ name: id, ...values }) };
}

export function logTo(lines: string[]): Logger {
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** What has the commands `pith skills …`. */
const COMMANDS = [
  'orchestrator',
  'recipes',
  'skill_install',
  'skill_lint',
  'skill_scripts',
  'skill_search',
  'skill_stats',
  'skill_triggers',
];

/** Runs a command of the extension as `pith` does. One that needs the index leaves its kernel as it was, for the next. */
async function attempt(box: Box, name: string, given: Asked): Promise<Answered> {
  const { json = false, answer, config = {}, home = box.home, signal = new AbortController().signal } = given;
  trustSandbox(openTrustFile(home), box.sandbox); // as `pith init` does: nothing of the project with it
  adoptState(path.join(box.sandbox, 'data'), home);
  const options = { sandbox: box.sandbox, home, accepts: false, flags: { skills: config }, only: COMMANDS };
  const kept = JSON.stringify(options);
  const pith = box.kernels.get(kept) ?? (await kernelOf(options));
  box.kernels.set(kept, pith);
  const { commands } = pith.kernel.host.providers;
  const named = commands.declared().filter(({ path: each }) => name === each || name.startsWith(`${each} `));
  const { extensionId: id, entry, needs } = named.sort((left, right) => right.path.length - left.path.length)[0]!;
  const found = needs === 'index' ? (await commands.importEntry(id, entry!))(commands.contextOf(id)) : commands.of(id);
  const command = (await found).find((one) => one.path === name)!;
  const lines: string[] = [];
  const values: JsonValue[] = [];
  const asked: string[] = [];
  const columns = given.columns ?? (answer === undefined ? 0 : 200);
  const io: CommandIO = {
    print: (text) => void (json || lines.push(text)),
    error: (text) => void lines.push(text),
    json: (value) => void values.push(value),
    ask: async (question) => (asked.push(question), typeof answer === 'function' ? answer(question) : (answer ?? null)),
    input: (async function* () {})(),
    interactive: columns > 0,
    wantsJson: json,
    quiet: false,
    colour: false,
    columns,
    workingDirectory: '/',
    userId: 'local',
    ...(given.session && { session: { threadId: 't', agentId: 'main', send: () => undefined } }),
  };
  const input = { arguments: given.arguments ?? {}, options: given.options ?? {} };
  const ended = await command.run(input, io, signal).then(
    (code) => ({ code: code ?? 0, error: null }),
    (error: PithError) => ({ code: 1, error }),
  );
  if (needs !== 'index') {
    box.kernels.delete(kept);
    await pith.stop();
  }
  return { ...ended, text: lines.join('\n'), json: values[0] ?? null, values, asked };
}
