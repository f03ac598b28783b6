import path from 'node:path';
import { type Command, type CommandIO, type ExtensionContext, PithError, type Remote } from 'pith';
import type { SkillLibrary } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import { needsPerson } from '@pith/command-line';
import { stateFolder } from '@pith/safe-files';
import { WrittenExamples } from '../enriching/written-examples.ts';
import { LearnedExamples } from './learned-examples.ts';

/** `pith skills forget`: removes what was learned of one skill or of all, and what a model wrote for it. Asks a person first. */
export function forget(context: Pick<ExtensionContext, 'database' | 'clock' | 'dataDirectory'>, library: Remote<SkillLibrary>): Command {
  const command: Command = {
    path: 'skills forget',
    description: 'Clear learned search data, and what a model wrote for it',
    arguments: [{ name: 'id', description: 'id, display name or source/id; without one, all skills' }],
    options: [{ name: 'yes', short: 'y', type: 'boolean', description: 'do not ask before it is removed' }],
    async run({ arguments: { id }, options }, io) {
      const learned = new LearnedExamples(context);
      await learned.look();
      const written = new WrittenExamples(context);
      const isKnown = typeof id === 'string' && (learned.count(id) > 0 || (await written.counts(id)).size > 0);
      const known = typeof id !== 'string' ? null : isKnown ? id : (await library.named(id)).id;
      const requests = [...(await written.counts(known)).values()].reduce((sum, one) => sum + one, 0);
      const count = learned.count(known) + requests;
      const former = known === null ? formerFiles(context.dataDirectory) : [];
      if (count === 0 && former.length === 0) return said(io, new Map(), known);
      const what = count > 0 ? textsOf(count) : 'what earlier versions learned';
      if (options['yes'] !== true && !(await agreed(io, what, known))) return io.print('Nothing was removed.');
      const gone = new Map(await learned.forget(known));
      for (const [skill, number] of await written.forget(known)) gone.set(skill, (gone.get(skill) ?? 0) + number);
      for (const remove of former) remove();
      if (gone.size > 0) return said(io, gone, known);
      io.json({ forgotten: [] });
      return io.print(`Removed ${what}.`);
    },
  };
  return needsPerson<CommandIO, Command>(command, (message, options) => new PithError('confirmation_needed', message, options));
}

/** Files of earlier versions with texts and their words. */
const FORMER = ['examples.jsonl', 'catalog.db-journal', 'catalog.db'];

function formerFiles(dataDirectory: string): readonly (() => void)[] {
  const folder = stateFolder(path.join(path.dirname(dataDirectory), 'skill_registry'));
  return FORMER.filter((name) => folder.has(name)).map((name) => () => folder.remove(name));
}

async function agreed(io: CommandIO, what: string, id: string | null): Promise<boolean> {
  if (!io.interactive)
    throw new PithError('confirmation_needed', `${what} would be removed, and nobody can be asked`, { cure: 'add --yes' });
  return (await io.ask(`Remove ${what} of ${id === null ? 'all skills' : printableLine(id)}?`, { choices: ['yes', 'no'] })) === 'yes';
}

function said(io: CommandIO, gone: ReadonlyMap<string, number>, id: string | null): void {
  const rows = [...gone].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  io.json({ forgotten: rows.map(([skill, examples]) => ({ id: skill, examples })) });
  const total = rows.reduce((sum, [, examples]) => sum + examples, 0);
  if (total === 0) io.print(id === null ? 'No examples are kept for any skill.' : `No examples are kept for '${printableLine(id)}'.`);
  else io.print(`Removed ${textsOf(total)}: ${rows.map(([skill, examples]) => `${skill} (${examples})`).join(', ')}.`);
}

function textsOf(count: number): string {
  return count === 1 ? '1 example' : `${count} examples`;
}
