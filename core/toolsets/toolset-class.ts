import { within } from '@pith/promises';
import { type Clock, messageOf, type Tool } from '../contract/index.ts';
import { TOOLSET_PREFIX } from '../kernel/records/extension-data.ts';
import { describeTools } from '../kernel/calls/tool-descriptor.ts';
import type { Declaration } from '../kernel/discovery/declaration.ts';
import { Problem } from '../kernel/records/problem.ts';
import { TOOLSET_INVALID } from './toolset-declaration.ts';
import type { ToolsetModule } from './toolset-bundle.ts';

/** A module that has not said its tools by then is left out, so that the others can. */
const MODULE_LIMIT_MS = 5000;
/** A model cannot choose among more, and each costs context in every step. */
const MOST_TOOLS = 100;

interface Loading {
  readonly declaration: Declaration;
  readonly clock: Clock;
  note(extensionId: string, code: string, message: string): void;
}

/**
 * Runs where the toolset lives: imports its modules side by side and makes an extension's class of their tools. What is wrong with one is
 * noted and costs its own tools only. Throws a `Problem` when nothing is left.
 */
export async function toolsetClass(bundle: Readonly<Record<string, unknown>>, loading: Loading): Promise<unknown> {
  const { declaration } = loading;
  const problems: string[] = [];
  const say = (spec: string, why: string): void => void problems.push(`${whereOf(spec, declaration.id)}: ${why}`);
  const tools = new Map<string, Tool>();
  const modules = bundle['modules'] as readonly ToolsetModule[];
  const found = await Promise.all(
    modules.map((module) => toolsOf(module, loading.clock).catch((error: unknown) => String(messageOf(error)))),
  );
  for (const [index, { spec }] of modules.entries()) {
    const list = found[index]!;
    if (typeof list === 'string') say(spec, list);
    else for (const tool of list) await take(tools, tool, (why) => say(spec, why));
  }
  if (tools.size === 0 && problems.length > 0)
    throw new Problem('import', TOOLSET_INVALID, problems.join('\n'), {
      file: declaration.file,
      cure: 'correct it; it is loaded again by itself',
    });
  for (const problem of problems) loading.note(declaration.id, TOOLSET_INVALID, problem);
  return class {
    getTools(): readonly Tool[] {
      return [...tools.values()];
    }
  };
}

function whereOf(spec: string, id: string): string {
  return `toolset '${spec.slice(0, 200)}' of the skill '${id.slice(TOOLSET_PREFIX.length)}'`;
}

/** Rejects with the reason and the cure. */
async function toolsOf(module: ToolsetModule, clock: Clock): Promise<readonly unknown[]> {
  if ('problem' in module) throw new Error(module.problem);
  return within(clock, MODULE_LIMIT_MS, load(module), () => {
    throw new Error(`it did not say its tools within ${MODULE_LIMIT_MS / 1000} s; do slow work in the tools themselves`);
  });
}

async function load({ exported, load: importIt }: Extract<ToolsetModule, { exported: string }>): Promise<readonly unknown[]> {
  const names = await importIt().catch((error: unknown) => {
    throw new Error(`it could not be imported: ${messageOf(error)}; correct the source`, { cause: error });
  });
  if (!Object.hasOwn(names, exported)) {
    const others = Object.keys(names).slice(0, 10);
    throw new Error(`it has no export '${exported}'; ${others.length === 0 ? 'it exports nothing' : `it exports ${others.join(', ')}`}`);
  }
  const list = await listOf(names[exported]);
  if (!Array.isArray(list))
    throw new Error(`'${exported}' is neither an array of tools nor a class with getTools(); make tools with defineTool`);
  if (list.length === 0) throw new Error(`'${exported}' brings no tools`);
  return list as readonly unknown[];
}

/** A class is constructed with nothing: a toolset has no door to the kernel. */
async function listOf(value: unknown): Promise<unknown> {
  if (Array.isArray(value)) return value;
  const maker: unknown = isClass(value) ? new value() : value;
  const { getTools } = (typeof maker === 'object' && maker !== null ? maker : {}) as { readonly getTools?: unknown };
  return typeof getTools === 'function' ? ((await getTools.call(maker)) as unknown) : undefined;
}

function isClass(value: unknown): value is new () => unknown {
  return typeof value === 'function' && typeof value.prototype === 'object';
}

/** Each is described alone first, so that one which is no tool does not cost the others. */
async function take(tools: Map<string, Tool>, tool: unknown, say: (why: string) => void): Promise<void> {
  try {
    const [described] = (await describeTools([tool as Tool])).descriptors;
    const { name } = described!;
    if (tools.has(name)) say(`a tool '${name}' is there already; rename one of them`);
    else if (tools.size >= MOST_TOOLS) say(`the tool '${name}' is left out, because a skill brings at most ${MOST_TOOLS}; make fewer`);
    else tools.set(name, tool as Tool);
  } catch (error) {
    const cure = error instanceof Problem && error.cure !== undefined ? `; ${error.cure}` : '';
    say(`${messageOf(error).slice(0, 500)}${cure}`);
  }
}
