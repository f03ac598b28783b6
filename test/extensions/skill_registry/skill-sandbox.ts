import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  PithError,
  type AgentSpec,
  type CommandContext,
  type CommandIO,
  type JsonValue,
  type Logger,
  type Places,
  type Protocol,
  type Remote,
} from 'pith';
import { didYouMean } from '@pith/plain-text';
import { onTestFinished } from 'vitest';
import { systemClock } from '@pith/promises';
import { SkillRegistry, type RegistryOptions } from '../../../sandbox/extensions/skill_registry/registry.ts';
import { folderWith } from '../../places.ts';

/** A project folder with a sandbox, removed after the test. */
export interface SkillSandbox {
  readonly project: string;
  readonly sandbox: string;
  write(file: string, content: string | Uint8Array): Promise<string>;
  remove(file: string): Promise<void>;
  registry(options?: Partial<RegistryOptions> & { readonly keepsBodies?: boolean }): SkillRegistry;
  readonly log: string[];
}

/** `files` are relative to the project. */
export async function skillSandbox(files: Readonly<Record<string, string>> = {}): Promise<SkillSandbox> {
  const project = folderWith(files);
  const sandbox = path.join(project, 'sandbox');
  await mkdir(path.join(sandbox, 'skills'), { recursive: true });
  const log: string[] = [];
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
    remove: (file) => rm(path.join(project, file), { recursive: true, force: true }),
    registry({ keepsBodies = true, ...options } = {}) {
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
      if (keepsBodies) void registry.keepBodies();
      onTestFinished(() => registry.close());
      return registry;
    },
  };
}

/** The text of a SKILL.md; `head` replaces the whole frontmatter. */
export function skillText({ name = 'demo', description = 'Does a thing. Use it for things.', more = '', body = 'Body.\n' } = {}): string {
  return `---\nname: ${name}\ndescription: ${description}\n${more}---\n${body}`;
}

/** `use` as a kernel answers it before anything else is there; what is not said is nowhere. */
export function usePlaces(places: Partial<Places>): CommandContext['use'] {
  const answer = { extensionId: 'kernel', sandbox: '/nowhere', untrustedSandbox: null, shippedSandbox: '/nowhere', home: null, ...places };
  return <T extends object>(_protocol: Protocol<T>) => answer as Remote<object> as Remote<T>;
}

export function logTo(lines: string[]): Logger {
  const at = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export function commandContext(
  { sandbox, project, log }: SkillSandbox,
  config: Readonly<Record<string, unknown>> = {},
  agents: readonly AgentSpec[] = [],
): CommandContext {
  return {
    id: 'skill_registry',
    directory: path.join(project, 'pith/sandbox/extensions/skill_registry'),
    dataDirectory: path.join(sandbox, 'data/extensions/skill_registry'),
    use: usePlaces({ sandbox }),
    config,
    clock: systemClock,
    logger: logTo(log),
    agents: {
      list: async () => agents,
      find: async (id) => {
        const found = agents.find((agent) => agent.id === id);
        if (found === undefined)
          throw new PithError(
            'agent_unknown',
            `there is no agent '${id}'${didYouMean(
              id,
              agents.map((agent) => agent.id),
            )}`,
          );
        return found;
      },
    },
  };
}

/** What a command prints: into a pipe, or on a terminal of so many columns. */
export function recordingIO({ json = false, columns = 0, workingDirectory = '/' } = {}): CommandIO & {
  readonly text: () => string;
  readonly values: JsonValue[];
} {
  const lines: string[] = [];
  const values: JsonValue[] = [];
  return {
    print: (text) => void (json || lines.push(text)),
    error: (text) => void lines.push(text),
    json: (value) => void values.push(value),
    ask: async () => null,
    input: (async function* () {})(),
    interactive: columns > 0,
    wantsJson: json,
    quiet: false,
    colour: false,
    columns,
    workingDirectory,
    text: () => lines.join('\n'),
    values,
  };
}
