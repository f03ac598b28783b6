import type { AgentSpec, Diagnostic, ExtensionContext } from 'pith';
import { didYouMean, printableLine, slipsOf } from '@pith/plain-text';
import { agentSkills } from './catalog/scope.ts';
import { PART_TOKENS } from './reading/read-skill.ts';
import { countsAs, findSkill, isGlob, keptBack, unknownIn } from './scan/names.ts';
import type { SkillSearch } from './search/skill-search.ts';
import type { Skill, Snapshot } from './skill.ts';
import { SKILL_UNTRUSTED } from './scan/precedence.ts';

/** What is wrong with skills, with the settings, with agents that name skills that are not there, and with the search. */
export async function findingsOf(
  { agents }: Pick<ExtensionContext, 'agents'>,
  search: Pick<SkillSearch, 'findings'>,
  snapshot: Snapshot,
): Promise<readonly Diagnostic[]> {
  const pins = (await agents.list()).flatMap((agent) => [...unknownSkills(agent, snapshot), ...longBound(agent, snapshot)]);
  const found = [...snapshot.diagnostics, ...pins];
  const flawed = snapshot.all.filter(({ state, diagnostics }) => state === 'invalid' || diagnostics.length > 0);
  return [
    ...flawed.flatMap(broken),
    ...flawed.flatMap(authorMistakes),
    ...flawed.flatMap(changedSinceTrusted),
    ...found.filter(({ severity }) => severity !== 'info'),
    ...search.findings(),
  ].map(asLine);
}

/** Ids and places are the names of folders: whatever they hold, a finding is one line. */
function asLine(found: Diagnostic): Diagnostic {
  return { ...found, message: printableLine(found.message), ...(found.cure === undefined ? {} : { cure: printableLine(found.cure) }) };
}

function broken({ id, file, state, reason, diagnostics }: Skill): readonly Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (state !== 'invalid' && (state !== 'offered' || errors.length === 0)) return [];
  const note = state === 'invalid' ? '' : ' (an earlier version stays in use)';
  const stated: readonly Diagnostic[] =
    errors.length > 0 ? errors : [{ severity: 'error', code: 'skill_invalid', message: reason ?? 'invalid', file }];
  return stated.map((each) => ({ ...each, message: `skill '${id}': ${each.message}${note}` }));
}

/** What its author would want to know at once. */
function authorMistakes({ id, state, diagnostics }: Skill): readonly Diagnostic[] {
  if (state === 'untrusted' || state === 'shadowed') return [];
  const isUsed = state !== 'disabled'; // of one that nobody is given no size matters
  const found = diagnostics.filter(({ code }) => MISTAKES.has(code) && (isUsed || code !== 'body_large'));
  return found.map((each) => ({ ...each, message: `skill '${id}' ${each.message}` }));
}

const MISTAKES: ReadonlySet<string> = new Set(['description_taken_from_text', 'field_misspelt', 'body_large']);

/** A skill that waits because it is not what a person trusted, or came later. */
function changedSinceTrusted({ id, diagnostics }: Skill): readonly Diagnostic[] {
  return diagnostics.filter(({ code }) => code === SKILL_UNTRUSTED).map((each) => ({ ...each, message: `skill '${id}' ${each.message}` }));
}

/** A warning for each skill in an agent's instructions that other agents would be given in parts. */
function longBound({ id, origin, usesSkills }: AgentSpec, snapshot: Snapshot): readonly Diagnostic[] {
  return usesSkills.flatMap((name): readonly Diagnostic[] => {
    const skill = findSkill(snapshot, name);
    if (skill === undefined || skill.tokens <= PART_TOKENS) return [];
    const message = `agent '${id}': its instructions contain the whole of skill '${skill.id}', about ${skill.tokens} tokens, in every message; up to ${PART_TOKENS} are advised`;
    const cure = `move detail of '${skill.id}' into files under references/, or leave it out of uses_skills: read_skill gives it in parts`;
    return [{ severity: 'warning', code: 'bound_skill_large', message, cure, ...(origin === null ? {} : { file: origin }) }];
  });
}

/** Lists of ids under an agent's `skills`. */
const LISTS = ['allow', 'deny', 'pinned'] as const;
const MOST_WRONG = 2;

/**
 * A warning for each entry of an agent's `skills.allow`, `deny` and `pinned` that names no skill. What `allow` and `deny` name may be
 * missing, as skills of a source that is left out are, unless the name is close to that of a skill.
 */
function unknownSkills(agent: AgentSpec, { all, skills, aliases }: Snapshot): readonly Diagnostic[] {
  const { id, origin } = agent;
  const settings = agentSkills(agent);
  const lists = LISTS.filter((list) => settings[list].some((entry) => entry !== '*')); // mostly none
  if (lists.length === 0) return [];
  const known = [...skills.keys(), ...aliases.keys()];
  return lists.flatMap((list) => {
    const entries = settings[list];
    const denied = list === 'deny' ? keptBack(entries, all).unknown : null;
    return unknownIn(entries, all).flatMap((entry): readonly Diagnostic[] => {
      const meant = denied?.get(entry) ?? [];
      const close = isGlob(entry) ? [] : list === 'pinned' ? known : slipsOf(entry, known, MOST_WRONG);
      const hint = meant.length > 0 ? countsAs(meant) : didYouMean(entry, close);
      if (list !== 'pinned' && hint === '') return [];
      const message = `agent '${id}': skills.${list} names '${entry}', which no source has${hint}`;
      const where = origin === null ? {} : { file: origin };
      return [{ severity: 'warning', code: 'setting_unknown_skill', message, cure: 'correct the id or remove it', ...where }];
    });
  });
}
