import type { CommandIO, JsonValue, PithError } from 'pith';
import type { SkillPlace } from 'pith/skill_registry';
import { printableLine, withCure } from '@pith/plain-text';
import type { Origin } from './origin.ts';
import { countOf, previewJson } from './preview.ts';
import type { StagedItem } from './staged-skill.ts';

/** What became of one thing that was to be installed. */
export interface Outcome {
  /** `plugin`: what is said of a plugin as a whole. */
  readonly kind: StagedItem['kind'] | 'plugin';
  readonly id: string;
  /** Its folder or file in the origin. */
  readonly from: string;
  readonly origin: Origin;
  readonly commit: string | null;
  /** null where it could not be looked at. */
  readonly item: StagedItem | null;
  /** Where it was, or would have been, put. */
  readonly place: string | null;
  /** `skipped`: something is in its place, or there is no place for it. */
  readonly state: 'installed' | 'declined' | 'refused' | 'skipped';
  readonly error: PithError | null;
}

/** Says what became of each. The exit code is 0 where anything was installed. Throws the error of the only one. */
export function report(
  outcomes: readonly Outcome[],
  {
    origin,
    commit,
    place,
    io,
  }: { readonly origin: Origin; readonly commit: string | null; readonly place: SkillPlace; readonly io: CommandIO },
): number {
  const installed = outcomes.filter(({ state }) => state === 'installed');
  io.json({
    installed: installed.length > 0,
    source: place.source,
    origin: { ...origin },
    commit,
    skills: outcomes.filter(({ kind }) => kind === 'skill').map((outcome) => outcomeJson(outcome, origin)),
    others: outcomes.filter(({ kind }) => kind !== 'skill').map((outcome) => outcomeJson(outcome, origin)),
  });
  const [only, ...more] = outcomes;
  if (only?.error && more.length === 0) throw only.error;
  for (const outcome of outcomes)
    if (outcome.error !== null) io.error(errorLine(outcome, outcome.error));
    else if (more.length > 0 || outcome.kind !== 'skill') io.print(`${nameOf(outcome)}: ${outcome.state}${hintOf(outcome)}`);
  if (installed.length === 0) {
    io.print('Nothing was installed.');
    return 1;
  }
  const items = installed.flatMap(({ item }) => item ?? []);
  const commits = new Set(installed.map((one) => one.commit));
  const [one] = commits.size === 1 ? commits : [];
  const rest = outcomes.filter(({ kind, state }) => kind !== 'plugin' && state !== 'installed').length;
  const what = items.length === 1 ? printableLine(items[0]!.id) : countOf(items);
  const not = rest === 0 ? '' : `; ${rest} ${rest === 1 ? 'was' : 'were'} not`;
  io.print(`Installed ${what} into ${whereTo(items, place)}${one ? ` (commit ${one.slice(0, 12)})` : ''}${not}.`);
  const skill = items.find(({ kind }) => kind === 'skill');
  if (!io.quiet && skill !== undefined) io.print(`Look at it with: pith skills show ${skill.id}`);
  return 0;
}

/** Recipes and agents have folders of their own. */
export function whereTo(items: readonly StagedItem[], { label }: SkillPlace): string {
  return items.every(({ kind }) => kind === 'skill') ? label : 'the sandbox';
}

function nameOf({ kind, id }: Outcome): string {
  return `${kind === 'skill' ? '' : `${kind} `}${printableLine(id, 80)}`;
}

function hintOf({ kind, id, state }: Outcome): string {
  if (state !== 'installed' || kind === 'skill') return '';
  return kind === 'recipe' ? `; see pith recipes show ${id}` : '; see pith agents list';
}

function errorLine(outcome: Outcome, { message, where, cure }: PithError): string {
  const end = outcome.kind === 'plugin' && outcome.state === 'skipped' ? '' : ' was not installed';
  return withCure(`pith: ${nameOf(outcome)}${end}: ${message}${where === undefined ? '' : ` (${where})`}`, cure);
}

function outcomeJson({ kind, id, from, origin, commit, item, place, state, error }: Outcome, asked: Origin): JsonValue {
  const elsewhere = origin === asked ? {} : { origin: { ...origin }, ...(commit === null ? {} : { commit }) };
  const shown = { ...(item === null || place === null ? { kind, id } : previewJson(item, place)), ...elsewhere };
  if (error === null) return { ...shown, from, state };
  const { code, message, where, cure } = error;
  return {
    ...shown,
    from,
    state,
    error: { code, message, ...(where === undefined ? {} : { where }), ...(cure === undefined ? {} : { cure }) },
  };
}
