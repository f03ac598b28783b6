import type { Command, JsonValue } from 'pith';
import { localTime, renderTable, textColumns, widthOf } from '@pith/command-line';
import { printable, printableLine } from '@pith/plain-text';
import { folderDiff, type FileChange, folderDiffLines } from '@pith/skill-files';
import type { SkillVersion } from '../contract.ts';
import type { HistorySubject } from '../history/history-file.ts';
import { hexOf, versionNamed } from '../history/wanted.ts';
import type { SkillRegistry } from '../registry.ts';
import type { WithSkills } from './open-registry.ts';
import { wantedSubject } from './wanted.ts';

const ID = { name: 'id', description: 'id of the skill, or source/id', required: true };

/** How a person names a version, wherever one is asked for. */
export const VERSION = "its number, its frontmatter's version, or the beginning of its sha256";

export function history(withSkills: WithSkills): Command {
  return {
    path: 'skills history',
    description: 'List the accepted changes of a skill, the newest first',
    arguments: [ID],
    run: (input, io) =>
      withSkills(io, async (registry, snapshot) => {
        const subject = await wantedSubject(registry, snapshot, String(input.arguments['id']));
        const versions = [...(await registry.history.record(subject)).versions].reverse();
        if (io.wantsJson) return io.json(versions.map(versionJson));
        const rows = versions.map((version) => [
          String(version.number),
          version.version ?? '',
          localTime(version.at),
          version.how.replace('_', ' '),
          version.by,
          version.digest === null ? 'removed' : hexOf(version.digest).slice(0, 12),
          [version.proposal === null ? '' : `proposal ${version.proposal}`, version.reason ?? ''].filter((part) => part !== '').join(': '),
        ]);
        io.print(renderTable(rows, textColumns(['NUMBER', 'VERSION', 'WHEN', 'HOW', 'BY', 'SHA256', 'WHY']), widthOf(io)));
        const id = printableLine(subject.id);
        if (!io.quiet && versions.length > 1)
          io.print(
            `To see a change: pith skills diff ${id} ${versions[1]!.number} ${versions[0]!.number}. To go back: pith skills rollback ${id} NUMBER.`,
          );
      }),
  };
}

function versionJson({ number, digest, version, at, by, how, reason, proposal }: SkillVersion): JsonValue {
  return {
    version: version ?? String(number),
    number,
    sha256: digest && hexOf(digest),
    at: new Date(at).toISOString(),
    by,
    how,
    ...(reason === null ? {} : { reason }),
    ...(proposal === null ? {} : { proposal }),
  };
}

export function diff(withSkills: WithSkills): Command {
  return {
    path: 'skills diff',
    description: 'Show what differs between two versions of a skill',
    arguments: [
      ID,
      { name: 'from', description: `${VERSION} (default: the one before the last)` },
      { name: 'to', description: 'the same (default: what is in the folder now)' },
    ],
    run: (input, io) =>
      withSkills(io, async (registry, snapshot) => {
        const { id, from, to } = input.arguments;
        const subject = await wantedSubject(registry, snapshot, String(id));
        const { versions } = await registry.history.record(subject);
        const last = versions.at(-1);
        const after = to === undefined ? last : versionNamed(versions, String(to));
        const before = from === undefined ? versions.at(-2) : versionNamed(versions, String(from));
        const changes = await changesBetween(registry, subject, before, after);
        io.json({ from: before?.number ?? null, to: after?.number ?? null, changes: changes.map((change) => ({ ...change })) });
        const name = (version: SkillVersion | undefined) => (version === undefined ? 'nothing' : nameOf(version));
        io.print(printableLine(`${subject.id}: from ${name(before)} to ${name(after)}`));
        for (const line of folderDiffLines(changes)) io.print(printable(line));
        if (changes.length === 0) io.print('They are identical.');
      }),
  };
}

/** As a person reads it. */
export function nameOf({ number, version, digest }: SkillVersion): string {
  const content = digest === null ? 'removed' : hexOf(digest).slice(0, 12);
  return `${number} (${version === null ? content : `${version}, ${content}`})`;
}

/** What differs between two versions; undefined, and one that was removed, are empty. Rejects `version_not_kept`. */
export async function changesBetween(
  { history: kept }: Pick<SkillRegistry, 'history'>,
  subject: HistorySubject,
  before: SkillVersion | undefined,
  after: SkillVersion | undefined,
): Promise<readonly FileChange[]> {
  return folderDiff(await kept.folderOf(subject, before), await kept.folderOf(subject, after));
}
