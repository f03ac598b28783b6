import path from 'node:path';
import { Places, PithError, type Command, type CommandContext, type CommandIO, type JsonValue } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import { renderTable, textColumns, widthOf } from '@pith/command-line';
import { briefOf, diagnosticJson, diagnosticText, idOf, LINK_REFUSED } from '@pith/skill-files';
import type { SkillRegistry } from '../registry.ts';
import { cureOf, type Skill, type Snapshot, summaryOf } from '../skill.ts';
import type { WithSkills } from './open-registry.ts';
import { CHANGED_OUTSIDE } from '../drafts/outside-changes.ts';
import { SKILL_UNSCANNED } from '../scan/precedence.ts';

export function list(context: CommandContext, withSkills: WithSkills): Command {
  return {
    path: 'skills list',
    description: 'List the skills that are offered',
    arguments: [{ name: 'plugin', description: 'those of this plugin only' }],
    options: [
      { name: 'all', type: 'boolean', description: 'also those that are shadowed, disabled, untrusted or invalid, with the reason' },
    ],
    run: (input, io) =>
      withSkills(async (registry, found) => {
        const all = input.options['all'] === true;
        const { plugin } = input.arguments;
        const snapshot = plugin === undefined ? found : ofPlugin(found, String(plugin));
        const shown = all ? snapshot.all : snapshot.all.filter((skill) => skill.state === 'offered');
        if (io.wantsJson) io.json([...shown.map(skillJson), ...(all ? refusedLinks(registry, snapshot) : [])]);
        else print(shown, snapshot, { registry, all, isRestricted: context.use(Places).untrustedSandbox !== null }, io);
      }),
  };
}

/** What there is of a plugin. Throws `skill_not_found`. */
function ofPlugin(snapshot: Snapshot, plugin: string): Snapshot {
  const all = snapshot.all.filter(({ id }) => id.startsWith(`${plugin}:`));
  if (all.length > 0) return { ...snapshot, all, diagnostics: [] };
  const plugins = new Set(snapshot.all.flatMap(({ id }) => (id.includes(':') ? id.slice(0, id.indexOf(':')) : [])));
  throw new PithError('skill_not_found', `there are no skills of a plugin '${printableLine(plugin)}'${didYouMean(plugin, plugins)}`, {
    cure: 'see pith skills list --all',
  });
}

/** One skill as `--json` prints it. */
export function skillJson(skill: Skill): { [key: string]: JsonValue } {
  const cure = cureOf(skill);
  const diagnostics = skill.diagnostics.map(diagnosticJson);
  return { ...summaryOf(skill), tags: skill.tags, ...(cure === undefined ? {} : { cure }), diagnostics };
}

interface Listing {
  readonly registry: SkillRegistry;
  readonly all: boolean;
  /** The sandbox must be trusted before any of its skills. */
  readonly isRestricted: boolean;
}

function print(shown: readonly Skill[], snapshot: Snapshot, { registry, all, isRestricted }: Listing, io: CommandIO): void {
  if (shown.length > 0) {
    const rows = shown.map((skill) => {
      const tokens = `${skill.tokensEstimated ? '~' : ''}${skill.tokens}`; // `~`: nobody has read the body yet
      return [skill.id, skill.state, skill.source, tokens, skill.version ?? '', skill.reason ?? unscanned(skill) ?? briefOf(skill)];
    });
    if (all) for (const { id, state, source, reason } of refusedLinks(registry, snapshot)) rows.push([id, state, source, '', '', reason]);
    const titles = ['ID', 'STATE', 'SOURCE', 'TOKENS', 'VERSION', all ? 'DESCRIPTION OR REASON' : 'DESCRIPTION'];
    const columns = textColumns(titles).map((column, at) => (at === titles.length - 1 ? { ...column, wraps: all } : column)); // a cure is shown whole
    io.print(renderTable(rows, columns, widthOf(io)));
  } else {
    const where = registry.sources.at(-1)?.directory ?? 'sandbox/skills';
    io.print(
      snapshot.all.length === 0 ? `No skills were found. Write one to ${printableLine(where)}/<id>/SKILL.md.` : 'No skill is offered.',
    );
  }
  if (!io.quiet) printWaiting(snapshot, isRestricted, io);
  // Two skills of one id both have the finding that they differ: it is said once.
  const found = [snapshot, ...snapshot.all].flatMap(({ diagnostics }) => diagnostics).filter(({ severity }) => all || severity !== 'info');
  const findings = new Set(found.map(diagnosticText));
  if (all) for (const line of findings) io.print(line);
  else printRest(snapshot, findings.size, io);
}

/** What a person may trust, and how. */
function printWaiting({ all }: Snapshot, isRestricted: boolean, io: CommandIO): void {
  const waiting = new Map<string, number>();
  for (const { state, source, diagnostics } of all)
    if (state === 'untrusted' && !diagnostics.some(({ code }) => code === CHANGED_OUTSIDE))
      waiting.set(source, (waiting.get(source) ?? 0) + 1);
  const [first] = waiting.keys();
  if (first === undefined) return;
  const word = /^[\w./~-]+$/.test(first) ? first : JSON.stringify(first);
  io.print(
    `Not trusted yet: ${[...waiting].map(([source, count]) => `${printableLine(source)} (${count})`).join(', ')}. To look at it and decide: ${isRestricted ? 'trust the sandbox first: pith trust' : `pith skills trust ${word}`}`,
  );
}

function printRest(snapshot: Snapshot, findings: number, io: CommandIO): void {
  const counts = new Map<string, number>();
  for (const { state } of snapshot.all) if (state !== 'offered') counts.set(state, (counts.get(state) ?? 0) + 1);
  if (findings > 0) counts.set(findings === 1 ? 'warning' : 'warnings', findings);
  if (counts.size === 0 || io.quiet) return;
  io.print(`${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}: see pith skills list --all`);
}

/** Links in a source that are not followed, as `--json` has them beside the skills: whatever they lead to is no skill here. */
function refusedLinks({ sources }: SkillRegistry, { diagnostics }: Snapshot) {
  return diagnostics.flatMap((finding) => {
    const { code, file = '', message } = finding;
    const source = code === LINK_REFUSED ? sources.find(({ directory }) => file.startsWith(`${directory}/`)) : undefined;
    if (source === undefined) return [];
    const stated = { state: 'invalid', tokens: 0, reason: `refused: ${message}`, diagnostics: [diagnosticJson(finding)] };
    return [{ id: idOf(file), name: idOf(file), description: '', source: source.label, path: path.join(file, 'SKILL.md'), ...stated }];
  });
}

/** What this listing, which scans nothing, cannot know of a skill; null: it is as it says. */
function unscanned({ diagnostics }: Skill): string | null {
  const note = diagnostics.find(({ code }) => code === SKILL_UNSCANNED);
  return note === undefined ? null : `it ${note.message}`;
}
