import { existsSync, realpathSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { PithError, Places, type CommandContext, type CommandIO } from 'pith';
import { stateFolder, type StateFolder } from '@pith/safe-files';

/** Where skills are installed: in this project, or for every project of this user. */
export type TargetSource = 'project' | 'user';

export interface Target {
  readonly source: TargetSource;
  /** As the registry calls this source. */
  readonly label: string;
  /** The folder that holds the skills' folders. */
  readonly skills: string;
  /** Beside it: what was installed, and from where. */
  readonly lockFile: string;
  /** What was confirmed and may be cut off: where only this Pith writes, for what comes with a folder is not believed. */
  readonly journals: StateFolder;
}

/** Throws `usage` for another word, where no home folder is known, and for what ships with Pith, unless somebody works on that. */
export function targetOf(
  context: Pick<CommandContext, 'use' | 'dataDirectory'>,
  source: string,
  io: Pick<CommandIO, 'workingDirectory'>,
): Target {
  const { sandbox, shippedSandbox, home } = context.use(Places);
  if (source === 'project') {
    if (sandbox === shippedSandbox && path.relative(path.dirname(sandbox), io.workingDirectory).startsWith('..'))
      throw new PithError('usage', `there is no sandbox here or above, and ${sandbox} came with Pith`, {
        cure: 'make one with: pith init, or name one with --sandbox',
      });
    return at('project', 'sandbox/skills', sandbox, stateFolder(context.dataDirectory, 'installs'));
  }
  if (source !== 'user') throw new PithError('usage', `--source '${source}' is not known`, { cure: "write 'project' or 'user'" });
  if (!home) throw new PithError('usage', 'no home folder is known', { cure: 'install with --source project' });
  const own = path.join(home, '.pith');
  return at('user', '~/.pith/skills', own, stateFolder(existsSync(own) ? realpathSync(own) : own, 'installs'));
}

/** Every target there is, the one that wins first. */
export function targetsOf(
  context: Pick<CommandContext, 'use' | 'dataDirectory'>,
  io: Pick<CommandIO, 'workingDirectory'>,
): readonly Target[] {
  return [targetOf(context, 'project', io), ...(context.use(Places).home ? [targetOf(context, 'user', io)] : [])];
}

/** The folder itself, made where it is absent: what is staged in it can be renamed into place. */
export async function openTarget(target: Target): Promise<string> {
  await mkdir(target.skills, { recursive: true });
  return realpath(target.skills);
}

function at(source: TargetSource, label: string, folder: string, journals: StateFolder): Target {
  return { source, label, skills: path.join(folder, 'skills'), lockFile: path.join(folder, 'skills.lock.json'), journals };
}
