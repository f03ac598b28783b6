import { PithError, type CommandIO } from 'pith';

/** Whether a person agrees; `yes`: they said so already. Rejects `usage` where nobody can be asked. */
export async function agrees(question: string, yes: boolean, io: CommandIO): Promise<boolean> {
  if (yes) return true;
  const answer = await io.ask(question, { choices: ['yes', 'no'] });
  if (answer === null && !io.interactive && io.session === undefined)
    throw new PithError('usage', 'nothing was changed: nobody can be asked here', { cure: 'add --yes' });
  return answer === 'yes';
}
