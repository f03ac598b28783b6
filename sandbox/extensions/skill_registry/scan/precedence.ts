import { readFileSync } from 'node:fs';
import type { Diagnostic } from 'pith';
import { didYouMean } from '@pith/plain-text';
import { sha256 } from '@pith/plain-data';
import type { Skill, SkillState } from '../skill.ts';
import { canonical, type FoundSkill, sizeOf, type SkillFields } from '@pith/skill-files';
import { type Distrust, untrustedSource } from '../trust/trust.ts';
import { countsAs, keptBack, matcher, type Named, unknownIn } from './names.ts';
import type { SourcedScan } from './source-scans.ts';
import type { RegistryConfig, Source } from './sources.ts';

/** One skill file that may become the skill of its id. */
export interface Candidate {
  readonly source: Source;
  readonly found: FoundSkill;
  readonly fields: SkillFields;
  /** null: it is trusted. */
  readonly distrust: Distrust | null;
}

/** What the settings leave out. */
export interface Filters {
  readonly off: boolean;
  /** Whether `allowed` names the skill, and whether only such skills are offered. */
  readonly isListed: (skill: Named) => boolean;
  readonly onlyListed: boolean;
  /** Whether `enable` names the skill. */
  readonly isEnabled: (skill: Named) => boolean;
  readonly isDisabled: (skill: Named) => boolean;
  /** Entries that name no skill. */
  readonly diagnostics: readonly Diagnostic[];
}

const made = new WeakMap<FoundSkill, Skill>();

export function filtersOf(
  { enabled, allowed = [], disabled = [], enable = [] }: RegistryConfig,
  candidates: Iterable<readonly Candidate[]>,
): Filters {
  const named = allowed.length + disabled.length + enable.length === 0 ? [] : [...candidates].flat();
  const skills = named.map(namedOf);
  const { has, unknown } = keptBack(disabled, skills);
  const warning = (setting: string, entry: string, meant: readonly string[] = []): Diagnostic => ({
    severity: 'warning',
    code: 'setting_unknown_skill',
    message: `skills.${setting} names '${entry}', which no source has${meant.length > 0 ? countsAs(meant) : didYouMean(entry, new Set(skills.flatMap(({ id, name }) => [id, name])))}`,
    cure: 'correct the id or remove it',
  });
  return {
    off: enabled === false,
    isListed: matcher(allowed.filter((entry) => entry !== '*')),
    onlyListed: allowed.length > 0 && !allowed.includes('*'),
    isEnabled: matcher(enable),
    isDisabled: has,
    diagnostics: [
      ...unknownIn(allowed, skills).map((entry) => warning('allowed', entry)),
      ...unknownIn(enable, skills).map((entry) => warning('enable', entry)),
      ...[...unknown].map(([entry, meant]) => warning('disabled', entry, meant)),
      ...onlyOffered(allowed, named),
    ],
  };
}

/** A list of nothing but skills that are off by default was probably meant to add them: it takes all others away. */
function onlyOffered(allowed: readonly string[], candidates: readonly Candidate[]): readonly Diagnostic[] {
  if (allowed.length === 0 || allowed.includes('*')) return [];
  const isListed = matcher(allowed);
  const listed = candidates.filter((each) => isListed(namedOf(each)));
  const others = new Set(candidates.filter((each) => !isListed(namedOf(each))).map(({ found }) => found.id));
  if (listed.length === 0 || others.size === 0 || !listed.every(({ fields }) => offByItself(fields) !== null)) return [];
  const ids = allowed.map((entry) => JSON.stringify(entry)).join(', ');
  return [
    {
      severity: 'warning',
      code: 'skills_only_allowed',
      message: `skills.allowed offers only ${ids} and disables ${others.size} other ${others.size === 1 ? 'skill' : 'skills'}`,
      cure: `to offer it beside them, write instead: skills: { allowed: ["*", ${ids}] }`,
    },
  ];
}

function namedOf({ source, found, fields }: Candidate): Named {
  return { id: found.id, name: fields.name, source: source.label, directory: found.directory };
}

export function candidateOf({ source, distrustOf }: SourcedScan, found: FoundSkill): Candidate {
  const fields = found.good?.fields ?? found.parsed.fields;
  return {
    source,
    found,
    fields,
    distrust: source.trusted && source.holdsDrafts !== true ? null : distrustOf === undefined ? untrustedSource(source) : distrustOf(found),
  };
}

/** One id's candidates, highest precedence first, become skills in the same order. */
export function rank(candidates: readonly Candidate[], filters: Filters): Skill[] {
  let winner: Candidate | null = null;
  return candidates.map((candidate) => {
    const refusal = refusalOf(candidate, filters);
    if (refusal !== null) return toSkill(candidate, refusal.state, refusal.reason, refusal.note);
    if (winner === null) {
      winner = candidate;
      const loser = candidates.find(
        (other) => other !== candidate && refusalOf(other, filters) === null && !isSameContent(candidate.found, other.found),
      );
      return toSkill(candidate, 'offered', null, loser && differs(candidate, loser));
    }
    const extra = isSameContent(winner.found, candidate.found) ? undefined : differs(winner, candidate);
    return toSkill(candidate, 'shadowed', `shadowed by the one in ${placeOf(winner, candidate)}`, extra);
  });
}

/** Filters come before precedence: what is refused hides nothing. */
function refusalOf(candidate: Candidate, filters: Filters): { state: SkillState; reason: string; note?: Diagnostic } | null {
  const { source, found, fields, distrust } = candidate;
  if (source.holdsDrafts === true)
    return { state: 'draft', reason: `${distrust?.reason ?? 'nobody has accepted it'}: pith skills accept ${found.id}` };
  if (!found.parsed.valid && found.good === null) return { state: 'invalid', reason: invalidReason(found) };
  if (filters.off) return { state: 'disabled', reason: 'skills are switched off (skills.enabled)' };
  const named = namedOf(candidate);
  const listed = filters.isListed(named);
  if (filters.isDisabled(named)) return { state: 'disabled', reason: 'it is listed under skills.disabled' };
  if (filters.onlyListed && !listed) return { state: 'disabled', reason: 'it is not listed under skills.allowed' };
  const off = listed || filters.isEnabled(named) ? null : offByItself(fields);
  if (off !== null) return { state: 'disabled', reason: `${off}; to have it, write into pith.yaml  skills: { enable: [${found.id}] }` };
  if (distrust === null || distrust.isUndecided === true) return null;
  return { state: 'untrusted', reason: distrust.reason, ...(distrust.isChange ? { note: notOffered(candidate, distrust) } : {}) };
}

function notOffered({ source, found }: Candidate, { reason }: Distrust): Diagnostic {
  return {
    severity: 'warning',
    code: SKILL_UNTRUSTED,
    message: `is not offered, because ${reason}`,
    file: found.file,
    cure: `look at it and decide: pith skills trust ${source.label}/${found.id}`,
  };
}

/** Of a skill that the scan of a running Pith may still hold back. */
export const SKILL_UNSCANNED = 'skill_unscanned';

function notScanned({ found: { file }, distrust }: Candidate): readonly Diagnostic[] {
  if (distrust?.isUndecided !== true) return [];
  return [{ severity: 'info', code: SKILL_UNSCANNED, message: distrust.reason, file }];
}

/** Of a skill that waits because it is not what a person trusted, or came later. */
export const SKILL_UNTRUSTED = 'skill_untrusted';

/** How its author says that nobody gets it unasked; null when they do not. */
function offByItself({ defaultEnabled, extra }: SkillFields): string | null {
  if (!defaultEnabled) return 'it is off by default (default_enabled: false)';
  const hidden = extra['disable-model-invocation'];
  return hidden === true || hidden === 'true' ? 'it is not for models to choose (disable-model-invocation: true)' : null;
}

/** Where a skill is, as somebody who looks at `beside` can tell it from that. */
function placeOf({ source, found }: Candidate, beside: Candidate): string {
  return source === beside.source ? canonical(`${source.label}${found.directory.slice(source.directory.length)}`) : source.label;
}

function toSkill(candidate: Candidate, state: SkillState, reason: string | null, extra?: Diagnostic): Skill {
  const { source, found, fields } = candidate;
  const earlier = made.get(found);
  const unscanned = notScanned(candidate);
  const count = found.parsed.diagnostics.length + (found.good ? 1 : 0) + unscanned.length + (extra ? 1 : 0);
  const same = earlier?.state === state && earlier.reason === reason && earlier.source === source.label;
  const isReported = extra === undefined || earlier?.diagnostics.at(-1)?.message === extra.message;
  if (same && isReported && earlier.diagnostics.length === count && earlier.tokensEstimated === (found.bodyTokens === null)) return earlier;
  const own = [...(found.good === null ? [] : [lastGoodUsed(found)]), ...unscanned, ...found.parsed.diagnostics];
  const skill: Skill = {
    id: found.id,
    ...fields,
    source: source.label,
    directory: found.directory,
    realDirectory: found.realDirectory,
    file: found.file,
    stamp: found.stamp,
    tokens: found.bodyTokens ?? found.good?.tokens ?? found.parsed.tokens,
    tokensEstimated: found.bodyTokens === null,
    state,
    reason,
    diagnostics: extra === undefined ? own : [...own, extra],
  };
  made.set(found, skill);
  return skill;
}

function lastGoodUsed({ file, parsed }: FoundSkill): Diagnostic {
  const error = parsed.diagnostics.find(({ severity }) => severity === 'error');
  return {
    severity: 'warning',
    code: 'last_good_used',
    message: 'is broken; its last good version stays in use',
    file,
    line: error?.line ?? 1,
    column: error?.column ?? 1,
    cure: error?.cure ?? 'correct the file',
  };
}

function differs(winner: Candidate, loser: Candidate): Diagnostic {
  const [here, there] = [placeOf(winner, loser), placeOf(loser, winner)];
  const address = winner.source === loser.source ? there : `${loser.source.label}/${loser.found.id}`;
  return {
    severity: 'warning',
    code: 'shadowed_differs',
    message: `'${loser.found.id}' is in ${here} and, with another text, in ${there}; the first is used`,
    file: loser.found.file,
    line: 1,
    column: 1,
    cure: `remove one, or name '${address}' to use the other`,
  };
}

function invalidReason({ parsed }: FoundSkill): string {
  const error = parsed.diagnostics.find(({ severity }) => severity === 'error');
  return error === undefined ? 'it is invalid' : `${error.message} (line ${error.line})`;
}

function isSameContent(a: FoundSkill, b: FoundSkill): boolean {
  return sizeOf(a.stamp) === sizeOf(b.stamp) && digestOf(a) !== null && digestOf(a) === digestOf(b);
}

function digestOf(found: FoundSkill): string | null {
  if (found.digest !== null) return found.digest;
  if (sizeOf(found.stamp) > 1024 * 1024 || found.parsed.diagnostics.some(({ code }) => NOT_READ.has(code))) return null;
  try {
    return (found.digest = sha256(readFileSync(found.file)));
  } catch {
    return null; // gone meanwhile: the next scan sees it
  }
}

const NOT_READ: ReadonlySet<string> = new Set(['file_unreadable', 'file_not_regular']);
