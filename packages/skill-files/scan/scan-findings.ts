import type { Diagnostic } from '../format/skill-file.ts';
import type { ScanSource } from './found.ts';

export function sourceMissing({ label, directory }: ScanSource, exists: boolean): Diagnostic {
  const what = exists ? 'is not a directory' : 'does not exist';
  return warning('source_missing', directory, `the skill source '${label}' ${what}`, 'create the directory or correct the setting');
}

export function sourceTooLarge({ label, directory }: ScanSource, limit: number): Diagnostic {
  const message = `the skill source '${label}' has more than ${limit} directories; the rest is left out`;
  return warning('source_too_large', directory, message, 'move skills into a smaller folder');
}

export function folderUnreadable(path: string, { label }: ScanSource, why: string): Diagnostic {
  return warning('source_unreadable', path, `a folder of the skill source '${label}' cannot be read: ${why}`, 'check its permissions');
}

export const LINK_REFUSED = 'link_refused';
export const NO_SKILL_FILE = 'no_skill_file';

export function noSkillFile(path: string): Diagnostic {
  const message = 'a folder among the skills has files but no SKILL.md';
  return { severity: 'info', code: NO_SKILL_FILE, message, file: path, cure: 'add a SKILL.md, or move the folder away' };
}

export function skillUnreadable(file: string): Diagnostic {
  return warning('file_unreadable', file, 'a SKILL.md cannot be read; perhaps it is a link that leads nowhere', 'restore or remove it');
}

export function skillAtRoot(file: string): Diagnostic {
  return warning(
    'skill_at_root',
    file,
    'a SKILL.md in the source folder itself is not used as a skill',
    'make a folder for it in the source and move it there',
  );
}

export function skillIsFolder(path: string): Diagnostic {
  return warning(
    'skill_file_is_folder',
    path,
    'a folder is named like a skill file, but is not a skill',
    'put a text file named `SKILL.md` in its place',
  );
}

export function linkBroken(path: string): Diagnostic {
  return warning('link_broken', path, 'a link leads nowhere', 'remove or correct it');
}

/** `other`: the source that contains the link's target, if one does. `allow`: how a person allows the link. */
export function linkRefused(
  path: string,
  { label }: ScanSource,
  { other, allow }: { readonly other: string | undefined; readonly allow: string | undefined },
): Diagnostic {
  const message = `a link leads out of the skill source '${label}'`;
  if (other === undefined) return warning(LINK_REFUSED, path, message, `copy the skill here${allow === undefined ? '' : `, or ${allow}`}`);
  return {
    severity: 'info',
    code: LINK_REFUSED,
    message: `${message}; what it leads to is listed in '${other}'`,
    file: path,
    cure: allow === undefined ? 'copy the skill to have it here too' : `${allow} to have it here too`,
  };
}

export function sourceLeadsOut({ label, directory }: ScanSource, real: string, allow = 'put a folder in its place'): Diagnostic {
  const message = `the skill source '${label}' is refused: it is a link that leads out of the project, to ${real}`;
  return warning(LINK_REFUSED, directory, message, allow);
}

function warning(code: string, file: string, message: string, cure: string): Diagnostic {
  return { severity: 'warning', code, message, file, cure };
}
