import { CommandProvider, type ExtensionContext, PithError } from 'pith';
import { captureCommand } from '@pith/command-line';
import { fieldsOf } from '@pith/plain-data';

/** Who works on tasks. */
export interface Worker {
  readonly agent: string;
  /** `provider/model`. null: none is connected, and the offline one only quotes skills. */
  readonly model: string | null;
  /** What the agent carries in its instructions (`uses_skills`). */
  readonly carries: readonly string[];
}

export interface Asked {
  /** null: the default agent. */
  readonly agent: string | null;
  /** null: the agent's. */
  readonly model: string | null;
}

/** The agent and the model that answer a person who says nothing else. Asks no model. null: nobody can say. */
export async function workerOf(
  context: Pick<ExtensionContext, 'agents' | 'find'>,
  asked: Asked,
  signal: AbortSignal,
): Promise<Worker | null> {
  const kernel = context.find(CommandProvider).find(({ extensionId }) => extensionId === 'kernel');
  const paths = new Set((await kernel?.getCommands())?.map(({ path }) => path));
  if (kernel === undefined || !paths.has('agents list') || !paths.has('model')) return null; // a kernel without a command line
  const query = async (path: string, given: Readonly<Record<string, string>> = {}) =>
    (await captureCommand(kernel, path, { arguments: given }, signal)).values[0];
  const agent = asked.agent ?? defaultIn(await query('agents list'));
  const spec = await context.agents.find(agent);
  const { ref } = fieldsOf(await query('model', { ref: asked.model ?? spec.model }));
  const model = typeof ref === 'string' && !ref.startsWith('offline/') ? ref : null;
  return { agent: spec.id, model, carries: spec.usesSkills };
}

function defaultIn(agents: unknown): string {
  const all = (Array.isArray(agents) ? agents : []).map((one) => fieldsOf(one));
  const id = (all.find((one) => one['default'] === true) ?? all[0])?.['id'];
  if (typeof id === 'string') return id;
  throw new PithError('agent_unknown', 'there is no agent that could work on tasks', { cure: 'name one with --agent' });
}
