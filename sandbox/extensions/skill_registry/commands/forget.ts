import { PithError, type CommandContext, type CommandInput, type CommandIO } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { stateFolder } from '@pith/safe-files';
import type { LearnedExamples } from '../search/learned-examples.ts';
import { withRegistry } from './open-registry.ts';

/** Removes what was learned of one skill, or of all, from the file. A person is asked first. */
export async function forget(context: CommandContext, { arguments: { id }, options }: CommandInput, io: CommandIO): Promise<void> {
  const { LearnedExamples } = await import('../search/learned-examples.ts');
  const learned = new LearnedExamples(context);
  await learned.look();
  const known = typeof id === 'string' ? await idOf(context, id, learned) : null;
  const count = learned.count(known);
  const { rest } = learned;
  if (count === 0 && (known !== null || rest === 'nothing')) return said(io, new Map(), known);
  const what = count > 0 ? textsOf(count) : WHAT_IS_LEFT[rest];
  if (options['yes'] !== true && !(await agreed(io, what, known))) return io.print('Nothing was removed.');
  const gone = await learned.forget(known);
  await forgetVectors(context, rest === 'unreadable' ? null : new Set(gone.keys()));
  for (const name of FORMER_INDEX) stateFolder(context.dataDirectory).remove(name);
  if (gone.size > 0) return said(io, gone, known);
  io.json({ forgotten: [] });
  io.print(`Removed ${what}.`);
}

const WHAT_IS_LEFT = { nothing: '', damaged: 'damaged lines', unreadable: 'a file that cannot be read' } as const;

/** What a person names by a display name or `source/id`; or a skill that is gone, of which something was learned. */
async function idOf(context: CommandContext, name: string, learned: LearnedExamples): Promise<string> {
  if (learned.count(name) > 0) return name;
  const { findSkill } = await import('../scan/names.ts');
  return withRegistry(context, (_registry, snapshot) => {
    const skill = findSkill(snapshot, name);
    if (skill !== undefined) return skill.id;
    const hint = didYouMean(name, new Set([...learned.ids(), ...snapshot.skills.keys(), ...snapshot.aliases.keys()]));
    throw new PithError('skill_not_found', `no skill is named '${name}', and nothing was learned of one${hint}`, {
      cure: 'see LEARNED in pith skills stats',
    });
  });
}

async function agreed(io: CommandIO, what: string, id: string | null): Promise<boolean> {
  if (!io.interactive)
    throw new PithError('confirmation_needed', `${what} would be removed, and nobody can be asked`, { cure: 'add --yes' });
  return (await io.ask(`Remove ${what} of ${id ?? 'all skills'}?`, { choices: ['yes', 'no'] })) === 'yes';
}

/** A vector tells what a text is about. null: of all skills. */
async function forgetVectors(context: CommandContext, ids: ReadonlySet<string> | null): Promise<void> {
  const { forgetVectorsIn } = await import('../meaning/vector-file.ts');
  await forgetVectorsIn(context, ids);
}

/** Where earlier versions kept the words of the texts. */
const FORMER_INDEX = ['catalog.db-journal', 'catalog.db'];

function said(io: CommandIO, gone: ReadonlyMap<string, number>, id: string | null): void {
  const rows = [...gone].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  io.json({ forgotten: rows.map(([skill, examples]) => ({ id: skill, examples })) });
  const total = rows.reduce((sum, [, examples]) => sum + examples, 0);
  if (total === 0) io.print(id === null ? 'Nothing was learned of any skill.' : `Nothing was learned of '${id}'.`);
  else io.print(`Removed ${textsOf(total)}: ${rows.map(([skill, examples]) => `${skill} (${examples})`).join(', ')}.`);
}

function textsOf(count: number): string {
  return count === 1 ? '1 learned example' : `${count} learned examples`;
}
