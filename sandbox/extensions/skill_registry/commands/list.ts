import { Places, PithError, type Command, type CommandContext, type CommandInput, type CommandIO } from 'pith';
import { didYouMean, printableLine } from '@pith/plain-text';
import { PAGE_OPTIONS, pageOf, renderTable, textColumns, widthOf } from '@pith/command-line';
import { briefOf, diagnosticText } from '@pith/skill-files';
import type { SkillRegistry } from '../registry.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { CHOICE, isLink, isNamed, type Listed, listed, listedJson } from './listed.ts';
import type { WithSkills } from './open-registry.ts';
import { CHANGED_OUTSIDE } from '../drafts/outside-changes.ts';
import { SKILL_UNSCANNED } from '../scan/precedence.ts';

const PLUGIN = { name: 'plugin', description: 'those of this plugin only' };

export function list(context: CommandContext, withSkills: WithSkills): Command {
  return {
    path: 'skills list',
    result: async () => (await import('./results.ts')).skillResult().array(),
    description: 'List the skills that are offered',
    arguments: [PLUGIN],
    options: [...CHOICE, ...PAGE_OPTIONS],
    run: (input, io) =>
      withSkills(io, async (registry, found) => {
        const { plugin } = input.arguments;
        const snapshot = plugin === undefined ? found : ofPlugin(found, String(plugin));
        const shown = pageOf(listed(registry, snapshot, input, context), input, (name) => isNamed(name, context));
        if (io.wantsJson) return io.json(shown.map(listedJson));
        print(shown, snapshot, { registry, options: input.options, isRestricted: context.use(Places).untrustedSandbox !== null }, io);
      }),
  };
}

/** How many there are, for who chooses among them: in each state, from each source and with each tag. */
export function count(context: CommandContext, withSkills: WithSkills): Command {
  return {
    path: 'skills count',
    description: 'Count the skills that are offered, by state, source and tag',
    options: CHOICE,
    run: (input, io) =>
      withSkills(io, async (registry, snapshot) => {
        const rows = listed(registry, snapshot, input, context);
        const groups = {
          states: counted(rows.map(({ state }) => state)),
          sources: counted(rows.map(({ source }) => source)),
          tags: counted(rows.flatMap(({ tags }) => tags)),
        };
        io.json({ total: rows.length, ...groups });
        const lines = Object.entries(groups).flatMap(([group, each]) => each.map((one) => [group, one.name, String(one.count)]));
        io.print(rows.length === 0 ? 'There are no such skills.' : renderTable(lines, textColumns(['BY', 'NAME', 'SKILLS']), widthOf(io)));
      }),
  };
}

function counted(names: readonly string[]): readonly { readonly name: string; readonly count: number }[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, count]) => ({ name, count }));
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

interface Listing {
  readonly registry: SkillRegistry;
  readonly options: CommandInput['options'];
  /** The sandbox must be trusted before any of its skills. */
  readonly isRestricted: boolean;
}

function print(shown: readonly Listed[], snapshot: Snapshot, { registry, options, isRestricted }: Listing, io: CommandIO): void {
  const all = options['all'] === true;
  if (shown.length > 0) {
    const rows = shown.map((row) => {
      if (isLink(row)) return [row.id, row.state, row.source, '', '', row.reason];
      const tokens = `${row.tokensEstimated ? '~' : ''}${row.tokens}`; // `~`: nobody has read the body yet
      return [row.id, row.state, row.source, tokens, row.version ?? '', row.reason ?? unscanned(row) ?? briefOf(row)];
    });
    const wraps = all || options['state'] !== undefined; // a cure is shown whole
    const titles = ['ID', 'STATE', 'SOURCE', 'TOKENS', 'VERSION', wraps ? 'DESCRIPTION OR REASON' : 'DESCRIPTION'];
    const columns = textColumns(titles).map((column, at) => (at === titles.length - 1 ? { ...column, wraps } : column));
    io.print(renderTable(rows, columns, widthOf(io)));
  } else {
    const where = registry.sources.at(-1)?.directory ?? 'sandbox/skills';
    const nothing = Object.keys(options).length === 0 ? 'No skill is offered.' : 'There are no such skills.';
    io.print(snapshot.all.length === 0 ? `No skills were found. Write one to ${printableLine(where)}/<id>/SKILL.md.` : nothing);
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

/** What this listing, which scans nothing, cannot know of a skill; null: it is as it says. */
function unscanned({ diagnostics }: Skill): string | null {
  const note = diagnostics.find(({ code }) => code === SKILL_UNSCANNED);
  return note === undefined ? null : `it ${note.message}`;
}
