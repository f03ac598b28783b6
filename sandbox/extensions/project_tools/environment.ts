import os from 'node:os';
import path from 'node:path';
import type { Clock, TurnInfo } from 'pith';
import { localTime } from '@pith/command-line';
import { printableLine } from '@pith/plain-text';
import { kindOf, namedBy } from './shell/git-guard.ts';
import { textOf } from './shell/git-settings.ts';

/**
 * Where the agent works, for the system text. Whether files have changed is left out: each edit would change the text, and the provider
 * would read the whole conversation again. null: the agent has no tools of the project.
 */
export function environmentText(root: string, { tools }: Pick<TurnInfo, 'tools'>, clock: Clock): string | null {
  if (!tools.some((tool) => tool.startsWith('project_tools/'))) return null;
  const branch = branchOf(root);
  return [
    '[Environment]',
    `Working folder: ${printableLine(root)}`,
    `System: ${os.type()} ${os.release()} (${process.arch})`,
    ...(tools.includes('project_tools/shell') ? ['Shell: bash'] : []),
    `Date: ${localTime(clock.now()).slice(0, 10)}`,
    ...(branch === null ? [] : [`Git: ${branch}`]),
  ].join('\n');
}

/** As `.git/HEAD` says it, without starting git. null: no repository, or one that keeps its branch elsewhere. */
function branchOf(root: string): string | null {
  for (let at = root; ; at = path.dirname(at)) {
    const dotGit = path.join(at, '.git');
    const folder = kindOf(dotGit) === 'file' ? namedBy(dotGit) : dotGit;
    const head = folder === null ? '' : textOf(path.join(folder, 'HEAD'));
    if (head !== '') return saidBy(head);
    if (path.dirname(at) === at) return null;
  }
}

function saidBy(head: string): string | null {
  const [, branch = null, commit = null] = /^(?:ref: refs\/heads\/(\S{1,200})|([\da-f]{12})[\da-f]+)$/u.exec(head) ?? [];
  if (commit !== null) return `no branch, at commit ${commit}`;
  return branch === null || branch === '.invalid' ? null : `branch ${printableLine(branch)}`; // where refs are in tables
}
