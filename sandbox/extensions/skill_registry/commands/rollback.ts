import path from 'node:path';
import { type Command, PithError } from 'pith';
import { needsPerson } from '@pith/command-line';
import { printable, printableLine } from '@pith/plain-text';
import { folderDiffLines } from '@pith/skill-files';
import type { SkillVersion, SkillWriter } from '../contract.ts';
import type { HistorySubject } from '../history/history-file.ts';
import { versionNamed } from '../history/wanted.ts';
import type { SkillRegistry } from '../registry.ts';
import { changesBetween, nameOf, VERSION } from './history.ts';
import { wantedSubject } from './wanted.ts';

/** Puts a skill back to a version of its history: whole, recorded, and never over what nobody kept. */
export function rollback(registry: SkillRegistry, writer: SkillWriter): Command {
  return needsPerson<Parameters<Command['run']>[1], Command>(
    {
      path: 'skills rollback',
      needsTrust: true,
      description: 'Put a skill back to an earlier version, after showing what changes',
      arguments: [
        { name: 'id', description: 'id of the skill, or source/id', required: true },
        { name: 'version', description: VERSION, required: true },
      ],
      options: [{ name: 'yes', short: 'y', type: 'boolean', description: 'do not ask' }],
      async run({ arguments: given, options }, io, signal) {
        const snapshot = await registry.refreshIfOlderThan(0);
        const subject = await wantedSubject(registry, snapshot, String(given['id']));
        const { versions } = await registry.history.record(subject, { mustKeep: true });
        const now = versions.at(-1);
        const wanted = versionNamed(versions, String(given['version']));
        const id = printableLine(subject.id);
        if (wanted.digest === null)
          throw new PithError('usage', `version ${wanted.number} of '${id}' is its removal`, {
            cure: `remove it with: pith skills remove ${id}`,
          });
        if (wanted.digest === now?.digest) {
          io.json({ id: subject.id, rolledBack: false, version: wanted.number });
          io.print(`'${id}' is at version ${nameOf(wanted)} already.`);
          return 0;
        }
        const changes = await changesBetween(registry, subject, now, wanted);
        io.print(`${id}: from ${now === undefined ? 'nothing' : printableLine(nameOf(now))} to ${printableLine(nameOf(wanted))}`);
        for (const line of folderDiffLines(changes)) io.print(printable(line));
        const isAgreed = options['yes'] === true || (await isWanted(`Roll '${id}' back to version ${nameOf(wanted)}?`, io));
        if (isAgreed) await putBack({ registry, writer, signal }, subject, wanted, now?.digest ?? null);
        io.json({ id: subject.id, rolledBack: isAgreed, version: wanted.number, changes: changes.map((change) => ({ ...change })) });
        const undo = now?.digest ? `rollback ${id} ${now.number}` : `remove ${id}`;
        io.print(isAgreed ? `Rolled '${id}' back. To undo it: pith skills ${undo}` : 'Nothing was changed.');

        return isAgreed ? 0 : 1;
      },
    },
    (message, more) => new PithError('confirmation_needed', message, more),
  );
}

async function isWanted(question: string, io: Parameters<Command['run']>[1]): Promise<boolean> {
  if (io.interactive) return (await io.ask(question, { choices: ['yes', 'no'] })) === 'yes';
  throw new PithError('confirmation_needed', 'nobody can be asked here', { cure: 'look at what changes, then say --yes' });
}

interface PuttingBack {
  readonly registry: SkillRegistry;
  readonly writer: SkillWriter;
  readonly signal: AbortSignal;
}

/** `expects`: the digest of what a person has seen there. */
async function putBack(
  { registry, writer, signal }: PuttingBack,
  subject: HistorySubject,
  wanted: SkillVersion,
  expects: string | null,
): Promise<void> {
  const { source } = (await writer.places()).find(({ label }) => label === subject.label)!;
  const staged = await writer.stage(source, signal);
  try {
    const from = path.basename(subject.folder);
    await registry.history.putInto(path.join(staged, from), subject, wanted);
    const note = { how: 'rollback', by: 'person', reason: `back to version ${wanted.number}` } as const;
    await writer.change(staged, [{ folder: subject.folder, id: '', from, entry: null, expects }], note);
  } finally {
    await writer.unstage(staged);
  }
}
