import { messageOf, PithError, type Tool, type ToolProvider, z } from 'pith';

/** One `path:Export` of a skill. */
type Module =
  | { readonly name: string; load(): Promise<Readonly<Record<string, unknown>>> }
  /** Why it cannot be loaded, as a sentence with its cure. */
  | { readonly name: string; readonly problem: string };

/** The class of an extension that has the tools. */
interface Toolset {
  new (): ToolProvider;
  settingsNotes(): readonly { readonly code: string; readonly message: string }[];
}

/** A module that has not said its tools by then is left out, so that the others can. */
const MODULE_LIMIT_MS = 5000;
/** A model cannot choose among more, and each costs context in every step. */
const MOST_TOOLS = 100;

/**
 * Runs where the toolset lives: imports its modules side by side and makes an extension's class of their tools. What is wrong with one is
 * noted and costs its own tools only. Nothing runs when nothing is left.
 */
export async function makeToolset(skillId: string, modules: readonly Module[]): Promise<Toolset> {
  const problems: string[] = [];
  const tools = new Map<string, Tool>();
  const found = await Promise.all(modules.map((module) => toolsOf(module).catch((error: unknown) => String(messageOf(error)))));
  for (const [index, { name }] of modules.entries()) {
    const say = (why: string): void => void problems.push(`toolset '${name.slice(0, 200)}' of the skill '${skillId}': ${why}`);
    const list = found[index]!;
    if (typeof list === 'string') say(list);
    else for (const tool of list) take(tools, tool as Tool, say);
  }
  return class {
    static settingsNotes() {
      return problems.map((message) => ({ code: 'toolset_invalid', message }));
    }

    constructor() {
      if (tools.size === 0 && problems.length > 0)
        throw new PithError('toolset_invalid', problems.join('\n'), { cure: 'correct it; it is loaded again by itself' });
    }

    getTools(): readonly Tool[] {
      return [...tools.values()];
    }
  };
}

/** Rejects with the reason and the cure. */
async function toolsOf(module: Module): Promise<readonly unknown[]> {
  if ('problem' in module) throw new Error(module.problem);
  const limit = AbortSignal.timeout(MODULE_LIMIT_MS);
  const late = new Promise<never>((_, reject) => {
    const why = `it did not say its tools within ${MODULE_LIMIT_MS / 1000} s; do slow work in the tools themselves`;
    limit.addEventListener('abort', () => reject(new Error(why)));
  });
  return Promise.race([load(module), late]);
}

async function load({ name, load: importIt }: Extract<Module, { load: unknown }>): Promise<readonly unknown[]> {
  const exported = name.slice(name.lastIndexOf(':') + 1);
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

/** One that is no tool does not cost the others. */
function take(tools: Map<string, Tool>, tool: Tool | null, say: (why: string) => void): void {
  const name = String(tool?.name);
  const lacks = !(tool?.input instanceof z.ZodType)
    ? 'input: a zod schema'
    : typeof tool.execute === 'function'
      ? null
      : 'execute(input, call)';
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    say(`'${name.slice(0, 500)}' cannot be the name of a tool; use 1 to 64 letters, digits, _ and -`);
  else if (tool === null || lacks !== null) say(`tool '${name}' lacks ${lacks}; make tools with defineTool`);
  else if (tools.has(name)) say(`a tool '${name}' is there already; rename one of them`);
  else if (tools.size >= MOST_TOOLS) say(`the tool '${name}' is left out, because a skill brings at most ${MOST_TOOLS}; make fewer`);
  else tools.set(name, tool);
}
