import { type Command, type CommandIO, PithError } from 'pith';
import { needsPerson } from '@pith/command-line';
import { printable, printableLine } from '@pith/plain-text';
import type { SkillDraft, SkillDrafts } from '../contract.ts';

/** Shows a draft whole, and has it offered by a yes to exactly that. */
export function accept(drafts: Pick<SkillDrafts, 'look' | 'accept'>): Command {
  const command: Command = {
    path: 'skills accept',
    needsTrust: true,
    description: 'Show a new skill that an agent wrote, and have it offered',
    arguments: [{ name: 'id', description: 'as skills list --all shows it', required: true }],
    options: [{ name: 'digest', type: 'string', description: 'accept without a question what has this digest, as this command showed it' }],
    async run(input, io) {
      const id = String(input.arguments['id']);
      const draft = await drafts.look(id);
      io.print(printable(draft.text));
      const isAccepted = draft.why === null && (await isWanted(draft, input.options['digest'], io));
      if (isAccepted) await drafts.accept(id, draft.digest, 'person');
      io.json({
        id,
        digest: draft.digest,
        accepted: isAccepted,
        reason: draft.why,
        origin: draft.origin === null ? null : { ...draft.origin },
      });
      if (isAccepted) io.print(`Accepted: ${printableLine(id)} is offered from the next message on.`);
      return isAccepted ? 0 : 1;
    },
  };
  return needsPerson<CommandIO, Command>(command, (message, options) => new PithError('confirmation_needed', message, options));
}

async function isWanted({ id, digest }: SkillDraft, wanted: unknown, io: CommandIO): Promise<boolean> {
  if (typeof wanted === 'string') {
    if (wanted === digest) return true;
    throw new PithError('skill_edited', `the draft '${id}' is not what has that digest`, {
      cure: `it is shown above; to accept it: --digest ${digest}`,
    });
  }
  if (io.interactive && !io.wantsJson) return (await io.ask('Accept this skill?', { choices: ['yes', 'no'] })) === 'yes';
  io.error(`pith: nothing was accepted: to accept what is shown, run: pith skills accept ${id} --digest ${digest}`);
  return false;
}

export function discard(drafts: Pick<SkillDrafts, 'discard'>): Command {
  return {
    path: 'skills discard',
    needsTrust: true,
    description: 'Remove a new skill that an agent wrote',
    arguments: [{ name: 'id', description: 'as skills list --all shows it', required: true }],
    async run(input, io) {
      const id = String(input.arguments['id']);
      await drafts.discard(id);
      io.json({ id, discarded: true });
      io.print(`Discarded: the draft ${printableLine(id)}.`);
    },
  };
}
