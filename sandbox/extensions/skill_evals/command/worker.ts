import { CommandProvider, type ExtensionContext } from 'pith';
import { kernelCommands } from '@pith/command-line';
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
  const kernel = kernelCommands(context.find(CommandProvider));
  if ((await kernel.find('model')) === null) return null; // a kernel without a command line
  const query = async (path: string, given: Readonly<Record<string, string>> = {}) =>
    (await kernel.run(path, { arguments: given }, signal)).values[0];
  const spec = await context.agents.find(asked.agent ?? (await context.agents.defaultId()));
  const { ref } = fieldsOf(await query('model', { ref: asked.model ?? spec.model }));
  const model = typeof ref === 'string' && !ref.startsWith('offline/') ? ref : null;
  return { agent: spec.id, model, carries: spec.usesSkills };
}
