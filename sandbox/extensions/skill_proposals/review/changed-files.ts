import { isUtf8 } from 'node:buffer';
import { FileRefused } from '@pith/safe-files';
import { difference, parsePlan } from '@pith/text-changes';
import { isSameFile, type SkillTree } from '../change/skill-tree.ts';

/** A proposal is small: a comparison that gives up would leave no hunks to store. */
const COMPARE_MS = 10_000;

/** One file of a change. */
export interface ChangedFile {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Unified; empty where only the mode changes, null where a file is not text. */
  readonly patch: string | null;
  /** It can be run now, or no longer. */
  readonly mode: string | null;
}

export function changedFiles(before: SkillTree, after: SkillTree): readonly ChangedFile[] {
  const names = [...new Set([...before.files.keys(), ...after.files.keys()])].sort();
  return names.flatMap((path): ChangedFile[] => {
    const [old, next] = [before.files.get(path), after.files.get(path)];
    if (isSameFile(old, next)) return [];
    const [from, to] = [old, next].map((file) => {
      if (file === undefined) return null;
      return isUtf8(file.bytes) && !file.bytes.includes(0) ? file.bytes.toString() : undefined;
    });
    const isText = from !== undefined && to !== undefined;
    const wasProgram = old?.executable ?? false;
    const mode = next === undefined || next.executable === wasProgram ? null : next.executable ? RUNS : RUNS_NOT;
    const change = old === undefined ? 'added' : next === undefined ? 'removed' : 'changed';
    return [{ path, change, patch: isText ? (from === to ? '' : difference(path, from, to, COMPARE_MS)) : null, mode }];
  });
}

const RUNS = 'can be run';
const RUNS_NOT = 'can be run no longer';

/** The diff of texts as programs read it, modes included. */
export function unifiedDiff(files: readonly ChangedFile[]): string {
  const parts = files.map(({ path, change, patch, mode }) => {
    const [old, next] = mode === RUNS ? ['100644', '100755'] : ['100755', '100644'];
    const modes = change === 'added' ? [`new file mode ${next}`] : [`old mode ${old}`, `new mode ${next}`];
    const head = mode === null ? '' : [`diff --git a/${path} b/${path}`, ...modes, ''].join('\n');
    return head + (patch ?? '');
  });
  return parts.map((part) => (part.endsWith('\n') ? part : `${part}\n`)).join('');
}

/** The same for a person: what cannot be shown as text is said. */
export function diffText(files: readonly ChangedFile[]): string {
  return files
    .map(({ path, change, patch, mode }) =>
      [...(mode === null ? [] : [`${path}: ${mode}`]), patch === null ? `${path}: ${change}; it is not text` : patch.replace(/\n$/u, '')]
        .filter((part) => part !== '')
        .join('\n'),
    )
    .join('\n');
}

export interface ChangedLines {
  readonly added: number;
  readonly removed: number;
}

export function linesOf(files: readonly ChangedFile[]): ChangedLines {
  return counted(files.flatMap(({ patch }) => (patch ?? '').split('\n').slice(HEADER_LINES)));
}

/** The two names of a unified diff. */
const HEADER_LINES = 2;

function counted(lines: readonly string[]): ChangedLines {
  const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
  return { added: count('+'), removed: count('-') };
}

/** What a diff that is kept changes; null: somebody has edited it, and it is none any more. */
export function changeIn(diff: string): (ChangedLines & { readonly files: readonly Pick<ChangedFile, 'path' | 'change'>[] }) | null {
  try {
    const plan = parsePlan(diff);
    const files = plan.map(({ from, to }) => {
      const change = from === null ? ('added' as const) : to === null ? ('removed' as const) : ('changed' as const);
      return { path: String(to ?? from), change };
    });
    return { files, ...counted(plan.flatMap(({ patch }) => patch.hunks.flatMap(({ lines }) => lines))) };
  } catch (error) {
    if (error instanceof FileRefused) return null;
    throw error;
  }
}
