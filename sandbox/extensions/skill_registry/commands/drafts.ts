import { type Command, type CommandIO, PithError } from 'pith';
import { localTime, needsPerson } from '@pith/command-line';
import { folderDiffLines } from '@pith/skill-files';
import { printable, printableLine } from '@pith/plain-text';
import type { SkillDraft, SkillDrafts } from '../contract.ts';
import { howOf } from '../drafts/outside-changes.ts';
import type { SkillRegistry } from '../registry.ts';
import { changesBetween } from './history.ts';

/** Shows a draft whole, and has it offered by a yes to exactly that. */
export function accept(drafts: Pick<SkillDrafts, 'look' | 'accept'>, registry: SkillRegistry): Command {
  const command: Command = {
    path: 'skills accept',
    needsTrust: true,
    description: 'Show a new skill that an agent wrote, or what changed a skill outside, and accept it',
    arguments: [{ name: 'id', description: 'as skills list --all shows it', required: true }],
    options: [{ name: 'digest', type: 'string', description: 'accept without a question what has this digest, as this command showed it' }],
    async run(input, io) {
      const id = String(input.arguments['id']);
      const outside = await acceptOutside(registry, id, input.options['digest'], io);
      if (outside !== null) return outside;
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

async function isWanted({ id, digest }: Pick<SkillDraft, 'id' | 'digest'>, wanted: unknown, io: CommandIO): Promise<boolean> {
  if (typeof wanted === 'string') {
    if (wanted === digest) return true;
    throw new PithError('skill_edited', `nothing was accepted: '${id}' does not have that digest`, {
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

/** What programs changed that nothing confines: shown as a difference, and used from then on by a yes. */
async function acceptOutside(registry: SkillRegistry, id: string, wanted: unknown, io: CommandIO): Promise<number | null> {
  await registry.refresh();
  const change = registry.outside.all().find((each) => each.id === id || `${each.label}/${each.id}` === id);
  if (change === undefined) return null;
  const { versions } = await registry.history.record(change);
  const last = versions.at(-1);
  const before = versions.findLast(({ digest }) => digest !== null && digest === change.serves);
  io.print(printableLine(`${id}: ${howOf(change)} while ${change.program} ran, which nothing confines, ${localTime(change.at)}`));
  for (const line of folderDiffLines(await changesBetween(registry, change, before, last))) io.print(printable(line));
  const digest = last?.digest ?? '';
  io.print(digest);
  const isAccepted = await isWanted({ id, digest }, wanted, io);
  if (isAccepted) registry.outside.accept(change);
  await registry.refresh();
  io.json({ id, digest, accepted: isAccepted, reason: null, origin: null });
  if (isAccepted) io.print(`Accepted: ${printableLine(id)} is used as it is now from the next message on.`);
  return isAccepted ? 0 : 1;
}
