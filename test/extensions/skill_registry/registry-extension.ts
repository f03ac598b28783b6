import path from 'node:path';
import type { Command, ExtensionContext, JsonValue, Tool, ToolCall, ToolResult, TopicMap } from 'pith';
import SkillRegistryExtension from '../../../sandbox/extensions/skill_registry/main.ts';
import { configSchema } from '../../../sandbox/extensions/skill_registry/config.ts';
import { afterEach } from 'vitest';
import { systemClock } from '../../../core/kernel/index.ts';
import { usePlaces } from '../fake-context.ts';
import { skillSandbox, type SkillSandbox } from './skill-sandbox.ts';

export interface RegistryExtension extends SkillSandbox {
  readonly extension: SkillRegistryExtension;
  /** What was published. */
  readonly published: { readonly topic: string; readonly payload: unknown }[];
  /** Plays an event of the kernel. */
  emit<T extends keyof TopicMap>(topic: T, payload: TopicMap[T]): void;
  tool(name: string): Tool;
  call(name: string, input: Readonly<Record<string, unknown>>, call: ToolCall): Promise<ToolResult>;
  /** The output of a call that must succeed. */
  read(name: string, input: Readonly<Record<string, unknown>>, call: ToolCall): Promise<string>;
}

const releases: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const release of releases.splice(0).reverse()) await release();
});

/** The extension over a real sandbox, with as much of a context as it uses. `clock` moves by hand where it is given. */
export async function registryExtension(
  files: Readonly<Record<string, string>>,
  config: Readonly<Record<string, unknown>> = {},
  clock = systemClock,
): Promise<RegistryExtension> {
  const sandbox = await skillSandbox(files);
  const handlers: { topic: string; run: (payload: never) => unknown }[] = [];
  const published: { topic: string; payload: unknown }[] = [];
  const log = (level: string) => (message: string) => void sandbox.log.push(`${level} ${message}`);
  const context = {
    id: 'skill_registry',
    directory: path.join(sandbox.sandbox, 'extensions/skill_registry'),
    dataDirectory: path.join(sandbox.sandbox, 'data/extensions/skill_registry'),
    use: usePlaces({ sandbox: sandbox.sandbox }),
    config: configSchema().parse(config),
    clock,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    events: {
      publish: (topic: string, payload: unknown) => void published.push({ topic, payload }),
      handle: (topic: string, run: (payload: never) => unknown) => {
        handlers.push({ topic, run });
        return () => undefined;
      },
    },
    database: { all: () => [], get: () => null, write: async () => undefined },
    find: () => [],
    own: (release: () => void) => void releases.push(release),
  } as unknown as ExtensionContext<ReturnType<ReturnType<typeof configSchema>['parse']>>;
  const extension = new SkillRegistryExtension(context);
  const tool = (name: string) => {
    const found = extension.getTools().find((one) => one.name === name);
    if (found === undefined) throw new Error(`no tool ${name}`);
    return found;
  };
  const call = async (name: string, input: Readonly<Record<string, unknown>>, toolCall: ToolCall) =>
    (await tool(name).execute(tool(name).input.parse(input) as JsonValue, toolCall)) as ToolResult;
  return {
    ...sandbox,
    extension,
    published,
    tool,
    call,
    emit: (topic, payload) => handlers.filter((handler) => handler.topic === topic).forEach(({ run }) => run(payload as never)),
    async read(name, input, toolCall) {
      const result = await call(name, input, toolCall);
      if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
      return result.output as string;
    },
  };
}

export function commandPaths(commands: readonly Command[]): string[] {
  return commands.map((command) => command.path).sort();
}
