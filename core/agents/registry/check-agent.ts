import { codeOf, messageOf, PithError } from '../../contract/errors.ts';
import type { AgentSpec, Diagnostic } from '../../contract/index.ts';
import type { ModelRouter } from '../../models/router.ts';
import type { AgentRegistry } from './registry.ts';

/** What keeps an agent that is about to be made from running: its names, its keys and its model. Never rejects. */
export async function checkAgent(
  registry: Pick<AgentRegistry, 'examine'>,
  models: Pick<ModelRouter, 'check'>,
  spec: AgentSpec,
): Promise<readonly Diagnostic[]> {
  const { notes } = await registry.examine(spec);
  try {
    models.check(spec.model);
    return notes;
  } catch (error) {
    const cure = error instanceof PithError ? error.cure : undefined;
    return [...notes, { severity: 'error', code: codeOf(error, 'model_unknown'), message: messageOf(error), ...(cure && { cure }) }];
  }
}
