import path from 'node:path';
import { type CommandContext, type CommandInput, type Diagnostic, type JsonValue, PithError, Places } from 'pith';
import { diagnosticJson, idOf, LINK_REFUSED } from '@pith/skill-files';
import { didYouMean, hiddenFolders, printableLine } from '@pith/plain-text';
import type { SkillRegistry } from '../registry.ts';
import { cureOf, type Skill, type Snapshot, summaryOf } from '../skill.ts';

/** The options that choose among the skills that were found. */
export const CHOICE = [
  { name: 'all', type: 'boolean', description: 'also those that are shadowed, disabled, untrusted or invalid, with the reason' },
  { name: 'state', type: 'string', description: 'only those in this state, such as untrusted' },
  { name: 'source', type: 'string', description: 'only those of this source' },
  { name: 'tag', type: 'string', description: 'only those with this tag' },
  { name: 'prefix', type: 'string', description: 'only those whose id begins with this' },
  { name: 'text', type: 'string', description: 'only those with this text in their id, name or description' },
] as const;

/** Every state that a skill can be in. */
const STATES: Readonly<Record<Skill['state'], true>> = {
  offered: true,
  draft: true,
  shadowed: true,
  disabled: true,
  untrusted: true,
  invalid: true,
};

/** A link in a source that is not followed: whatever it leads to is no skill here. */
interface RefusedLink extends Pick<Skill, 'id' | 'name' | 'description' | 'source' | 'state' | 'tags'> {
  readonly reason: string;
  readonly finding: Diagnostic;
}

/** What a listing has a line of. */
export type Listed = Skill | RefusedLink;

/** Those that the options choose: the skills, sorted by id, then the links. */
export function listed(
  { sources }: Pick<SkillRegistry, 'sources'>,
  { all, diagnostics }: Snapshot,
  { options }: Pick<CommandInput, 'options'>,
  context: Pick<CommandContext, 'use'>,
): readonly Listed[] {
  const { state, source, tag, prefix = '' } = options;
  requireState(state);
  const text = String(options['text'] ?? '')
    .trim()
    .toLowerCase();
  const isOfSource = source === undefined ? null : isShownAs(String(source), context);
  const isChosen = (row: Listed): boolean =>
    (state === undefined ? options['all'] === true || row.state === 'offered' : row.state === state) &&
    (isOfSource === null || isOfSource(row.source)) &&
    (tag === undefined || row.tags.includes(String(tag))) &&
    row.id.startsWith(String(prefix)) &&
    (text === '' || `${row.id} ${row.name} ${row.description}`.toLowerCase().includes(text));
  return [...all, ...refusedLinks(sources, diagnostics)].filter(isChosen);
}

/** Of no effect, as a misspelt state would be, is worse than an error. */
function requireState(state: CommandInput['options'][string]): void {
  if (state === undefined || Object.hasOwn(STATES, String(state))) return;
  const names = Object.keys(STATES);
  throw new PithError('usage', printableLine(`there is no state '${String(state)}' of skills${didYouMean(String(state), names)}`), {
    cure: `use one of: ${names.join(', ')}`,
  });
}

export function isLink(row: Listed): row is RefusedLink {
  return 'finding' in row;
}

/** Whether a line is that of `SOURCE/ID`: no other is. */
export function isNamed(name: string, context: Pick<CommandContext, 'use'>): (row: Listed) => boolean {
  const isName = isShownAs(name, context);
  return ({ source, id }) => isName(`${source}/${id}`);
}

/** Whether a text is this one, or is shown as this one where folders of this machine are hidden. */
function isShownAs(text: string, { use }: Pick<CommandContext, 'use'>): (each: string) => boolean {
  const hidden = hiddenFolders(use(Places));
  return (each) => each === text || hidden(each) === text;
}

/** One line of a listing as `--json` prints it. */
export function listedJson(row: Listed): { [key: string]: JsonValue } {
  if (!isLink(row)) return skillJson(row);
  const { finding, tags: _, ...rest } = row;
  return { ...rest, path: path.join(finding.file ?? '', 'SKILL.md'), tokens: 0, diagnostics: [diagnosticJson(finding)] };
}

/** One skill as `--json` prints it. */
export function skillJson(skill: Skill): { [key: string]: JsonValue } {
  const cure = cureOf(skill);
  const diagnostics = skill.diagnostics.map(diagnosticJson);
  const size = skill.tokensEstimated ? { tokensEstimated: true as const } : null;
  return { ...summaryOf(skill), ...size, tags: skill.tags, ...(cure === undefined ? {} : { cure }), diagnostics };
}

function refusedLinks(sources: SkillRegistry['sources'], diagnostics: readonly Diagnostic[]): readonly RefusedLink[] {
  return diagnostics.flatMap((finding) => {
    const { code, file = '', message } = finding;
    const source = code === LINK_REFUSED ? sources.find(({ directory }) => file.startsWith(`${directory}/`)) : undefined;
    if (source === undefined) return [];
    const id = idOf(file);
    return [{ id, name: id, description: '', source: source.label, state: 'invalid', tags: [], reason: `refused: ${message}`, finding }];
  });
}
