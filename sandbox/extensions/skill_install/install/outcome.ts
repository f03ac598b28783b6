import type { CommandIO, JsonValue, PithError } from 'pith';
import type { SkillPlace } from 'pith/skill_registry';
import { printableLine } from '@pith/plain-text';
import type { Origin } from './origin.ts';
import { previewJson } from './preview.ts';
import type { StagedItem } from './staged-skill.ts';

/** What became of one thing that was to be installed. */
export interface Outcome {
  /** `plugin`: what is said of a plugin as a whole. */
  readonly kind: StagedItem['kind'] | 'plugin';
  readonly id: string;
  /** Its folder or file in the origin. */
  readonly from: string;
  /** null where it could not be looked at. */
  readonly item: StagedItem | null;
  /** Where it was, or would have been, put. */
  readonly place: string | null;
  /** `skipped`: something stands in its place, or there is no place for it. */
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
    skills: outcomes.filter(({ kind }) => kind === 'skill').map(outcomeJson),
    others: outcomes.filter(({ kind }) => kind !== 'skill').map(outcomeJson),
  });
  const [only, ...more] = outcomes;
  if (only?.error && more.length === 0) throw only.error;
  for (const { kind, id, error, state } of outcomes) {
    if (error === null) continue;
    const what = `${kind === 'skill' ? '' : `${kind} `}${printableLine(id)}`;
    const end = kind === 'plugin' && state === 'skipped' ? '' : ' was not installed';
    io.error(
      `pith: ${what}${end}: ${error.message}${error.where === undefined ? '' : ` (${error.where})`}${error.cure === undefined ? '' : `; ${error.cure}`}`,
    );
  }
  if (installed.length === 0) {
    io.print(
      outcomes.length === 0 ? 'Nothing was installed: what was chosen brings no skill, command or agent.' : 'Nothing was installed.',
    );
    return 1;
  }
  const skills = installed.filter(({ kind }) => kind === 'skill').map(({ id }) => id);
  const all = outcomes.filter(({ kind }) => kind === 'skill').length;
  const of = skills.length === all ? '' : `, ${skills.length} of ${all} skills`;
  if (skills.length > 0)
    io.print(`Installed ${skills.join(', ')} into ${place.label}${commit === null ? '' : ` (commit ${commit.slice(0, 12)})`}${of}.`);
  for (const { kind, id } of installed)
    if (kind === 'recipe') io.print(`Installed the recipe ${id}: see pith recipes show ${id}`);
    else if (kind === 'agent') io.print(`Installed the agent ${id}: see pith agents list`);
  if (!io.quiet && skills.length > 0) io.print(`Look at it with: pith skills show ${skills[0]}`);
  return 0;
}

function outcomeJson({ kind, id, from, item, place, state, error }: Outcome): JsonValue {
  const shown = item === null || place === null ? { kind, id } : previewJson(item, place);
  if (error === null) return { ...shown, from, state };
  const { code, message, where, cure } = error;
  return {
    ...shown,
    from,
    state,
    error: { code, message, ...(where === undefined ? {} : { where }), ...(cure === undefined ? {} : { cure }) },
  };
}
