import path from 'node:path';
import { isInside } from '@pith/safe-files';
import type { Case, Verdict } from './case.ts';
import { listingOf, type ListedSkill, type Reading } from './listing.ts';
import type { LoaderRun } from './run-loader.ts';

export type Outcome = 'loaded' | 'refused' | 'crashed' | 'hung' | 'flooded' | 'no list' | 'not run';
export type Mark = 'right' | 'wrong' | 'open' | 'not run';

/** A loader's result on one case. */
export interface Result {
  readonly case: Case;
  readonly outcome: Outcome;
  /** The listed skill; null where the loader did not load it. */
  readonly skill: ListedSkill | null;
  readonly specification: Mark;
  readonly lenient: Mark;
  /** What is wrong, or why the case did not run, as sentences without a full stop. */
  readonly notes: readonly string[];
  readonly ms: number;
}

/** Judges one run of a case. `hasRun`: whether something of the skill was executed. */
export function checkedRun(
  one: Case,
  run: LoaderRun,
  { root, hasRun }: { readonly root: string; readonly hasRun: boolean },
  reading: Reading,
): Result {
  const listed = run.end === 'ended' ? listingOf(run.stdout, reading) : null;
  const here = (listed ?? []).filter((skill) => isBelow(skill, root));
  const skill = here.find((each) => isOf(each, one, root)) ?? null;
  const outcome = outcomeOf(run, listed, skill);
  const always = [...harm(one, run, hasRun), ...(listed === null ? [failure(run, outcome)] : losses(one, here, root))];
  const { specification, lenient } = one.expect;
  const facts = skill !== null && [specification, lenient].includes('loads') ? factsOf(one, skill) : [];
  const mark = (verdict: Verdict): Mark => {
    if (always.length > 0) return 'wrong';
    if (verdict === 'open') return 'open';
    if ((verdict === 'loads') !== (skill !== null)) return 'wrong';
    return verdict === 'loads' && facts.length > 0 ? 'wrong' : 'right';
  };
  const marks = { specification: mark(specification), lenient: mark(lenient) };
  return { case: one, outcome, skill, ...marks, notes: [...always, ...facts], ms: run.ms };
}

/** The result of a case that this machine cannot have. */
export function notRun(one: Case, why: string): Result {
  return { case: one, outcome: 'not run', skill: null, specification: 'not run', lenient: 'not run', notes: [why], ms: 0 };
}

function outcomeOf(run: LoaderRun, listed: readonly ListedSkill[] | null, skill: ListedSkill | null): Outcome {
  if (run.end !== 'ended') return run.end;
  if (listed !== null) return skill === null ? 'refused' : 'loaded';
  return run.code === 0 ? 'no list' : 'crashed';
}

function failure(run: LoaderRun, outcome: Outcome): string {
  if (outcome === 'hung') return 'it did not end in time';
  if (outcome === 'flooded') return 'it printed without end';
  const lines = run.stderr.trim().split('\n');
  const said = (lines.findLast((line) => /\berror\b/iu.test(line)) ?? lines.at(-1) ?? '').slice(0, 200);
  const how =
    outcome === 'crashed' ? `it ended with ${run.signal ?? run.code} and listed nothing` : 'its output is not a JSON list of skills';
  return said === '' ? how : `${how}: ${said}`;
}

/** Failures that are wrong whatever the verdicts are. */
function harm(one: Case, run: LoaderRun, hasRun: boolean): readonly string[] {
  return [
    ...(hasRun ? ['it ran what is in the skill'] : []),
    ...one.never.filter((text) => run.stdout.includes(text)).map((text) => `it shows '${text}'`),
  ];
}

/** Other skills of the root that are missing. */
function losses(one: Case, here: readonly ListedSkill[], root: string): readonly string[] {
  const places = new Set(here.map((skill) => (skill.path === undefined ? null : placeOf(skill.path, root))));
  const unplaced = here.filter((skill) => skill.path === undefined);
  const lost = one.neighbours.filter((name) => !places.has(name) && !unplaced.some((skill) => isNamed(skill, [name])));
  const named = lost.length > 3 ? `${lost.length} good skills` : `the good ${lost.length === 1 ? 'skill' : 'skills'} ${lost.join(', ')}`;
  return [
    ...(lost.length === 0 ? [] : [`it lost ${named} beside it`]),
    ...(one.most !== undefined && here.length > one.most ? [`it lists ${here.length} skills where there is ${one.most}`] : []),
  ];
}

function factsOf(one: Case, skill: ListedSkill): readonly string[] {
  const { id, name, description, version, body } = skill;
  const known = id ?? name;
  const notes: string[] = [];
  if (known !== undefined && !isNamed({ name: known }, one.names))
    notes.push(`it is known as '${known.slice(0, 80)}', not as '${one.names[0]!.slice(0, 80)}'`);
  if (description !== undefined && one.descriptions.length > 0 && !one.descriptions.some((right) => isSameText(description, right)))
    notes.push(`its description is '${description.slice(0, 80)}', not '${one.descriptions[0]!.slice(0, 80)}'`);
  if (version !== undefined && version !== (one.version ?? version)) notes.push(`its version is '${version}', not '${one.version}'`);
  if (body !== undefined && !body.includes(one.body ?? '')) notes.push('its body is not what is in the file');
  return notes;
}

/** Skills of other folders do not count. A relative path may be relative to anything: it counts as one of this root. */
function isBelow({ path: at }: ListedSkill, root: string): boolean {
  return at === undefined || !path.isAbsolute(at) || isInside(at, root);
}

function isOf(skill: ListedSkill, { folder, names }: Case, root: string): boolean {
  return skill.path === undefined ? isNamed(skill, [folder, ...names]) : placeOf(skill.path, root) === folder.normalize('NFC');
}

/** The skill's folder below `skills`, from the path of the folder or of its SKILL.md. */
function placeOf(at: string, root: string): string {
  const below = path.isAbsolute(at) ? path.relative(path.join(root, 'skills'), at) : at.replace(/^(?:\.\/)?(?:skills\/)?/, '');
  return below.replace(/\/(?:[^/]+\.md)?$/i, '').normalize('NFC');
}

function isNamed({ id, name }: Pick<ListedSkill, 'id' | 'name'>, names: readonly string[]): boolean {
  const wanted = new Set(names.map((each) => each.trim().normalize('NFKC')));
  return [id, name].some((each) => each !== undefined && wanted.has(each.trim().normalize('NFKC')));
}

/** White space may differ; a list may cut a long text. */
function isSameText(listed: string, right: string): boolean {
  const [given, whole] = [listed, right].map((text) => text.replace(/\s+/g, ' ').trim()) as [string, string];
  const cut = given.replace(/(?:…|\.\.\.)$/, '').trimEnd();
  return (
    given === whole ||
    (cut.length >= LEAST_SHOWN && cut !== given && whole.startsWith(cut)) ||
    (whole.length > LONGEST && given.length >= LONGEST && whole.startsWith(given))
  );
}

const LEAST_SHOWN = 20;
/** The specification's limit of a description. */
const LONGEST = 1024;
