import path from 'node:path';
import { existsSync, statSync } from 'node:fs';
import {
  type AgentSpec,
  codeOf,
  type Command,
  type CommandContext,
  type CommandInput,
  type ExtensionContext,
  type JsonValue,
  PithError,
} from 'pith';
import { printable } from '@pith/plain-text';
import type { SkillRegistry } from '../registry.ts';
import { realOf } from '../scan/stamp.ts';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { budgetLine, catalogOf, type CatalogReport } from './explain-catalog.ts';
import { learnedCount, rankingLines, rankingOf, type RankingReport } from './explain-ranking.ts';
import { diagnosticJson, diagnosticText } from './rows.ts';
import { trustedWithoutAsking, wantedSkill } from './wanted.ts';
import { isPattern } from '../modes/allowed-tools.ts';
import { outcomeOf } from '../toolsets/skill-toolset.ts';

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
        toolsets: toolsetReport(skill, context.dataDirectory) ?? undefined,
        scripts: scriptsOf(skill, agent, context.id),
        allowedTools: allowedToolsOf(skill),
        ...(await triggersOf(skill, snapshot, agent, text, Number(context.config['max_skills'] ?? MOST_BROUGHT))),
        ...(typeof text === 'string' ? { ranking: await rankingOf(skill, text, agent, catalog, { search, snapshot, signal }) } : {}),
        learned: await learnedCount(context, skill),
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
  readonly toolsets: ToolsetReport | undefined;
  readonly catalog: CatalogReport;
  readonly triggers?: TriggerReport;
  readonly scripts: ReturnType<typeof scriptsOf>;
  readonly allowedTools: ReturnType<typeof allowedToolsOf>;
  readonly ranking?: RankingReport;
  /** Texts for which it was loaded that help to find it. */
  readonly learned: number;
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

/** `names`: what `run_skill` grants where the agent has it, and `read_skill` shows as advice; the rest restricts arguments, which nothing here can hold a call to. */
function allowedToolsOf({ allowedTools }: Skill) {
  if (allowedTools === null) return undefined;
  return { names: allowedTools.filter((entry) => !isPattern(entry)), grantNothing: allowedTools.filter(isPattern) };
}

function* allowedToolsLines({ names, grantNothing }: NonNullable<Report['allowedTools']>): Iterable<string> {
  if (names.length > 0 || grantNothing.length === 0)
    yield `allowed tools: ${names.join(', ') || 'none'} (run_skill holds to them, read_skill shows them as advice)`;
  for (const entry of grantNothing) yield `allowed tool ${entry}: grants nothing, because patterns over arguments are not supported`;
}

/** The scripts that a skill names, and whether they can be run, or why not. */
function scriptsOf(skill: Skill, agent: AgentSpec | null, extensionId: string) {
  const tool = `${extensionId}/run_skill_script`;
  const byAgent =
    agent === null ? `by agents that name ${tool}` : agent.usesTools.includes(tool) ? 'yes' : `no, the agent does not name ${tool}`;
  return skill.scripts.map(({ path: script }) => {
    const isThere = existsSync(path.join(skill.realDirectory, script));
    return {
      path: script,
      runs: !isThere ? 'no, its file is missing' : skill.state === 'offered' ? byAgent : `no, the skill is ${skill.state}`,
    };
  });
}

const DAY_MS = 86_400_000;
const DAYS = 30;
const SHOWN = 5;

/** What the ledger knows of a skill's last uses; null where the command runs without a database. */
async function usesOf(
  context: CommandContext & { readonly database?: ExtensionContext['database'] },
  { id }: Skill,
  agent: AgentSpec | null,
): Promise<{ readonly json: readonly JsonValue[]; readonly lines: readonly string[] } | null> {
  const { database, clock } = context;
  if (database === undefined) return null;
  const { recentUses } = await import('../ledger/usage.ts');
  const { stateText, timeOf, turnJson } = await import('./stats.ts');
  const filter = { since: clock.now() - DAYS * DAY_MS, ...(agent === null ? {} : { agent: agent.id }) };
  const uses = await recentUses(database, id, filter, SHOWN).catch((error: unknown) => {
    if (codeOf(error, '') === 'not_supported_yet') return null; // a separate process has no database
    throw error;
  });
  if (uses === null) return null;
  const lines = uses.map((use) => `used ${timeOf(use.at)} by ${use.agent}: ${stateText(use)}`);
  return { json: uses.map(turnJson), lines: lines.length === 0 ? [`not used in the last ${DAYS} days`] : lines };
}

interface TriggerReport {
  readonly [key: string]: string | number | boolean | null | string[];
  readonly text: string;
  /** What the message is given of the skills: 0 nothing, 1 their number, 2 their names, 3 the texts of those that fit. */
  readonly tier: number;
  readonly why: string;
  /** What of the skill's triggers the message has. */
  readonly hits: string[];
  /** Its place among the skills that match, from 1; null: it does not match. */
  readonly rank: number | null;
  readonly of: number;
  readonly maxSkills: number;
  /** Whether the message brings the skill's text. */
  readonly brought: boolean;
}

/** For an agent in mode `triggers` and a text: what the text brings, as the first message of a conversation. `maxSkills`: for agents that say nothing else. */
async function triggersOf(
  skill: Skill,
  snapshot: Snapshot,
  agent: AgentSpec | null,
  text: CommandInput['options'][string],
  maxSkills: number,
): Promise<{ readonly triggers?: TriggerReport }> {
  if (agent === null || typeof text !== 'string') return {};
  const { scopeOf } = await import('../catalog/scope.ts');
  const scope = scopeOf(snapshot, agent);
  if (scope.settings.mode !== 'triggers') return {};
  const { decide } = await import('../triggers/decision.ts');
  const { PatternCache } = await import('../triggers/pattern-cache.ts');
  const { TriggerIndex } = await import('../triggers/trigger-index.ts');
  const index = await TriggerIndex.of(snapshot, new PatternCache());
  const most = scope.settings.max_skills ?? maxSkills;
  const { tier, why, matches, chosen } = await decide({ snapshot, scope, index, text, maxSkills: most, recent: [], matched: [] });
  const at = matches.findIndex((one) => one.skill.id === skill.id);
  const hits = [...(matches[at]?.hits ?? [])];
  const rank = at === -1 ? null : at + 1;
  const brought = chosen.some(({ id }) => id === skill.id);
  return { triggers: { text, tier, why, hits, rank, of: matches.length, maxSkills: most, brought } };
}

function* triggerLines({ text, tier, why, hits, rank, of, maxSkills, brought }: TriggerReport): Iterable<string> {
  yield `triggers: '${text}' is of tier ${tier}, ${why}`;
  yield hits.length === 0
    ? 'triggers: the text has none of this skill'
    : `triggers: it has ${hits.join(', ')}${brought ? ', and brings its text' : '; others come before it'}`;
  if (rank !== null) yield `triggers: rank ${rank} of ${of}; at most ${maxSkills} are brought unless named (max_skills)`;
}

/** What is known of a skill's toolsets without running them; null where it declares none. */
interface ToolsetReport {
  readonly [key: string]: JsonValue;
  readonly modules: readonly string[];
  /** Those whose file is not there. */
  readonly missing: readonly string[];
  /** When they were last loaded; null: not yet. */
  readonly loaded: { readonly at: string; readonly tools: readonly string[]; readonly problems: readonly string[] } | null;
}

export function toolsetReport({ id, toolsets, realDirectory }: Skill, dataDirectory: string): ToolsetReport | null {
  if (toolsets.length === 0) return null;
  const missing = toolsets.filter(
    (spec) => !ENDINGS.some((ending) => isFile(path.resolve(realDirectory, spec.replace(/:[^:]*$/, '') + ending))),
  );
  const outcome = outcomeOf(dataDirectory, id);
  const loaded = outcome && { at: new Date(outcome.at).toISOString(), tools: outcome.tools, problems: outcome.problems };
  return { modules: toolsets, missing, loaded };
}

export function* toolsetLines({ modules, missing, loaded }: ToolsetReport): Iterable<string> {
  yield `toolsets: ${modules.join(', ')}`;
  for (const spec of missing) yield `toolset '${spec}': error: there is no such file; correct the path or add the file`;
  if (loaded === null) yield 'its tools have not been loaded yet: they come with the skill; pith doctor tries them';
  else yield `brought ${loaded.tools.length === 0 ? 'no tools' : loaded.tools.join(', ')} when last loaded, ${loaded.at}`;
  for (const problem of loaded?.problems ?? []) yield `error: ${problem}`;
}

const ENDINGS = ['', '.ts', '.js', '.mjs', '/index.ts', '/index.js', '/index.mjs'];

function isFile(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}
