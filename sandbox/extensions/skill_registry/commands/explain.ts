import { PithError, printable, type Command, type CommandContext, type JsonValue } from 'pith';
import type { SkillRegistry } from '../registry.ts';
import { realOf } from '../scan/stamp.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { toolsetLines, toolsetReport, type ToolsetReport } from '../toolsets/toolset-report.ts';
import { budgetLine, catalogOf, type CatalogReport } from './explain-catalog.ts';
import { allowedToolsLines, allowedToolsOf, type AllowedToolsReport } from './explain-tools.ts';
import { scriptsOf, type ScriptReport } from './explain-scripts.ts';
import { triggerLines, triggersOf, type TriggerReport } from './explain-triggers.ts';
import { learnedOf, rankingLines, rankingOf, type RankingReport } from './explain-ranking.ts';
import { usesOf } from './explain-uses.ts';
import { diagnosticJson, diagnosticText } from './rows.ts';
import { trustedWithoutAsking } from './trust-target.ts';
import { wantedSkill } from './wanted.ts';

/** What `skills.max_skills` is without a setting. */
const MOST_BROUGHT = 3;

export function explain(context: CommandContext, registry: SkillRegistry, search: SkillSearch): Command {
  return {
    path: 'skills explain',
    description: 'Say where a skill was found, why it is or is not offered, and how it ranks for a text',
    arguments: [{ name: 'id', description: 'id, display name or source/id', required: true }],
    options: [
      { name: 'agent', short: 'a', type: 'string', description: 'as this agent sees it' },
      { name: 'text', type: 'string', description: 'a request to rank it for' },
    ],
    async run(input, io, signal) {
      const snapshot = await registry.refreshIfOlderThan(0);
      const skill = await wantedSkill(registry, snapshot, String(input.arguments['id']));
      const agentId = input.options['agent'];
      const agent = typeof agentId === 'string' ? await context.agents.find(agentId) : null;
      const text = input.options['text'];
      if (typeof text === 'string' && text.trim() === '') throw new PithError('usage', '--text is empty');
      const catalog = await catalogOf(skill, snapshot, agent, context.id);
      const report = {
        ...placeOf(skill, snapshot),
        trusted: trustOf(skill, registry),
        catalog,
        ...toolsetsPart(skill, context),
        scripts: scriptsOf(skill, agent, context.id),
        ...allowedPart(skill),
        ...(await triggersOf(skill, snapshot, agent, text, Number(context.config['max_skills'] ?? MOST_BROUGHT))),
        ...(typeof text === 'string' ? { ranking: await rankingOf(skill, text, agent, catalog, { search, snapshot, signal }) } : {}),
        learned: await learnedOf(context, skill),
      };
      const uses = await usesOf(context, skill, agent);
      if (io.wantsJson) io.json({ ...report, ...(uses === null ? {} : { uses: uses.json }) });
      else for (const line of [...linesOf(skill, report), ...(uses?.lines ?? [])]) io.print(printable(line));
    },
  };
}

interface Report {
  readonly [key: string]: JsonValue | undefined;
  readonly shadows: readonly string[];
  readonly others: readonly { readonly source: string; readonly path: string; readonly state: string; readonly reason: string | null }[];
  readonly trusted: string;
  readonly toolsets?: ToolsetReport;
  readonly catalog: CatalogReport;
  readonly triggers?: TriggerReport;
  readonly scripts: readonly ScriptReport[];
  readonly allowedTools?: AllowedToolsReport;
  readonly ranking?: RankingReport;
  /** Texts for which it was loaded that help to find it. */
  readonly learned: number;
}

function allowedPart(skill: Skill): Pick<Report, 'allowedTools'> {
  const allowed = allowedToolsOf(skill);
  return allowed === undefined ? {} : { allowedTools: allowed };
}

function toolsetsPart(skill: Skill, { dataDirectory }: CommandContext): Pick<Report, 'toolsets'> {
  const toolsets = toolsetReport(skill, dataDirectory);
  return toolsets === null ? {} : { toolsets };
}

function placeOf(skill: Skill, snapshot: Snapshot) {
  const others = snapshot.all.filter((other) => other.id === skill.id && other !== skill);
  const { id, source, file, state, reason, tokens, diagnostics } = skill;
  return {
    id,
    source,
    path: file,
    state,
    reason,
    tokens,
    shadows: state === 'offered' ? others.filter((other) => other.state === 'shadowed').map((other) => other.file) : [],
    others: others.map(({ source: from, file: at, state: its, reason: why }) => ({ source: from, path: at, state: its, reason: why })),
    shadowedBy: state === 'shadowed' ? (snapshot.skills.get(id)?.file ?? null) : null,
    diagnostics: diagnostics.map(diagnosticJson),
  };
}

/** Why its text may reach a model, or may not. */
function trustOf({ source: label, state, reason }: Skill, { sources, trust }: SkillRegistry): string {
  const source = sources.find((one) => one.label === label);
  if (source === undefined || state === 'untrusted') return `no, ${reason ?? ''}`;
  if (source.trusted) return `yes, ${trustedWithoutAsking(source)}`;
  const record = trust.file.read().sources.get(realOf(source.directory) ?? source.directory);
  return record === undefined ? `no, ${label} is not trusted` : `yes, since ${record.at}`;
}

function* linesOf(
  skill: Skill,
  { shadows, others, trusted, catalog, triggers, ranking, toolsets, scripts, allowedTools, learned }: Report,
): Iterable<string> {
  yield `${skill.id}: ${skill.state}${skill.reason === null ? '' : `, ${skill.reason}`}`;
  yield `found in ${skill.source}: ${skill.file}`;
  for (const file of shadows) yield `shadows ${file}`;
  for (const { path, state, reason } of others)
    if (!shadows.includes(path)) yield `also in ${path}: ${state}${reason === null ? '' : `, ${reason}`}`;
  yield `trusted: ${trusted}`;
  if (skill.state === 'untrusted') yield `to look at it and decide: pith skills trust ${JSON.stringify(`${skill.source}/${skill.id}`)}`;
  yield `${skill.tokensEstimated ? 'about ' : ''}${skill.tokens} tokens`;
  const place = catalog.mode === 'catalog' || catalog.mode === 'none' ? 'catalog' : `mode ${catalog.mode}`;
  yield `${place}${catalog.agent === null ? '' : ` of ${catalog.agent}`}: ${catalog.offered ? 'yes' : 'no'}, ${catalog.why}`;
  if (catalog.offered) yield `line: ${catalog.line}`;
  if (catalog.withinBudget !== null) yield budgetLine(catalog);
  if (catalog.withinBudget !== null)
    yield catalog.withinBudget
      ? `it has its line within ${catalog.budget} tokens`
      : `not all lines fit into ${catalog.budget} tokens: it is found by list_skills, or pin it (skills.pinned)`;
  if (triggers !== undefined) yield* triggerLines(triggers);
  if (ranking !== undefined) yield* rankingLines(ranking);
  if (learned > 0) yield `learned: ${learned} of the texts that it was loaded for ${learned === 1 ? 'helps' : 'help'} to find it`;
  if (toolsets !== undefined) yield* toolsetLines(toolsets);
  if (allowedTools !== undefined) yield* allowedToolsLines(allowedTools);
  for (const { path, runs } of scripts) yield `script ${path}: ${runs}`;
  for (const diagnostic of skill.diagnostics) yield diagnosticText(diagnostic);
}
