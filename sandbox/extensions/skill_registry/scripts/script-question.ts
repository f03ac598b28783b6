import type { ApprovalQuestion } from 'pith';
import type { SkillsConfig } from '../config.ts';
import type { Skill } from '../skill.ts';
import { passedNames, subjectOf, type ScriptFile } from './script-file.ts';

type Settings = SkillsConfig['scripts'];

/** What a person reads before a script runs, and what their yes is for. The arguments stand in the input, so that an `always` holds for others too. */
export function questionOf(skill: Skill, script: ScriptFile, settings: Settings): ApprovalQuestion {
  const { path, sha256, others, allSha256, declared } = script;
  const names = passedNames(script, settings);
  const text = [
    `runs ${path} of the skill '${skill.id}' (${skill.source}, ${skill.realDirectory})`,
    ...(declared?.description ? [`which says: ${declared.description}`] : []),
    `sha256 ${sha256}`,
    ...(others === 0 ? [] : [`with ${others} other ${others === 1 ? 'file' : 'files'} of the skill, all together sha256 ${allSha256}`]),
    ...(names.length === 0 ? [] : [`with ${names.join(', ')} of your environment`]),
    settings.sandbox === 'none'
      ? 'WITHOUT A SANDBOX (skills.scripts.sandbox: none): it can do all that you can'
      : 'in a sandbox: no network, no files but those of the skill, which it can only read',
    'a yes holds for all of this as it is now; always: for each time that this script is run in this conversation, with whatever arguments',
  ].join('\n');
  return { text, subject: subjectOf(skill, script, settings) };
}
