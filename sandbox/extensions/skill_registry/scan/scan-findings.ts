import type { Diagnostic } from 'pith';
import type { Source } from './sources.ts';

export function sourceMissing({ label, directory }: Source, exists: boolean): Diagnostic {
  const what = exists ? 'is no directory' : 'does not exist';
  return warning('source_missing', directory, `the skill source '${label}' ${what}`, 'create the directory or correct the setting');
}

export function sourceTooLarge({ label, directory }: Source, limit: number): Diagnostic {
  const message = `the skill source '${label}' has more than ${limit} directories; the rest is left out`;
  return warning('source_too_large', directory, message, 'move skills into a smaller folder');
}

export function folderUnreadable(path: string, { label }: Source, why: string): Diagnostic {
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

export function linkBroken(path: string): Diagnostic {
  return warning('link_broken', path, 'a link leads nowhere', 'remove or correct it');
}

/** `other`: the source into which it leads, where that is looked into as well. */
export function linkRefused(path: string, { label }: Source, other: string | undefined): Diagnostic {
  if (other !== undefined) {
    const message = `a link leads out of the skill source '${label}'; what it leads to is listed in '${other}'`;
    return {
      severity: 'info',
      code: LINK_REFUSED,
      message,
      file: path,
      cure: 'list the target under skills.trusted_links to have it here too',
    };
  }
  const cure = 'copy the skill here, or list the target under skills.trusted_links';
  return warning(LINK_REFUSED, path, `a link leads out of the skill source '${label}'`, cure);
}

export function sourceTwice({ label, directory }: Source, other: Source): Diagnostic {
  const message = `the skill source '${label}' is the same folder as '${other.label}', where its skills are listed`;
  return { severity: 'info', code: 'source_twice', message, file: directory };
}

export function sourceNotAsked({ label, directory }: Source): Diagnostic {
  return {
    severity: 'info',
    code: 'source_trusted_by_settings',
    message: `the settings name the project's own '${label}' under skills.sources: its skills are trusted without being asked, also when they change`,
    file: directory,
    cure: `take it out of skills.sources and run pith skills trust ${label} to be asked of changes`,
  };
}

export function sourceLeadsOut({ label, directory }: Source, real: string): Diagnostic {
  const message = `the skill source '${label}' is refused: it is a link that leads out of the project, to ${real}`;
  return warning(LINK_REFUSED, directory, message, 'name it under skills.sources, or list the target under skills.trusted_links');
}

export function trustUnusable(file: string, problem: string): Diagnostic {
  const cure = 'remove the file, and trust again what you trust: pith skills trust <source>';
  return warning('trust_unusable', file, `nothing that was trusted counts: ${problem}`, cure);
}

function warning(code: string, file: string, message: string, cure: string): Diagnostic {
  return { severity: 'warning', code, message, file, cure };
}
