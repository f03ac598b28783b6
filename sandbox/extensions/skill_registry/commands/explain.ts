import { type Command, type ExtensionContext, type JsonValue, messageOf, PithError } from 'pith';
import { printableLine } from '@pith/plain-text';
import { SkillExplainer } from '../contract.ts';
import type { SkillRegistry } from '../registry.ts';
import { diagnosticJson, diagnosticText } from '@pith/skill-files';
import type { SkillSearch } from '../search/skill-search.ts';
import type { Skill, Snapshot } from '../skill.ts';
import { budgetLine, catalogOf, type CatalogReport, type Place, placeFor, placeLine } from './explain-catalog.ts';
import { trustedWithoutAsking, wantedSkill } from './wanted.ts';
import { shownTo } from '../drafts/shown-to.ts';
import { isPattern } from '../modes/allowed-tools.ts';

export function explain(context: ExtensionContext, registry: SkillRegistry, search: SkillSearch): Command {
  return {
    path: 'skills explain',
    description: 'Explain where a skill was found, why it is or is not offered, and how it ranks for a text',
    arguments: [{ name: 'id', description: 'id, display name or source/id', required: true }],
    options: [
      { name: 'agent', short: 'a', type: 'string', description: 'as this agent sees it' },
      { name: 'text', type: 'string', description: 'a request to rank it for' },
    ],
    async run(input, io, signal) {
      const snapshot = shownTo(io, registry, await registry.refreshIfOlderThan(0));
      const skill = await wantedSkill(registry, snapshot, String(input.arguments['id']));
      const { agent: agentId, text: given } = input.options;
      const agent = typeof agentId === 'string' ? await context.agents.find(agentId) : null;
      const text = typeof given === 'string' ? given : null;
      if (text?.trim() === '') throw new PithError('usage', '--text is empty');
      const catalog = await catalogOf(skill, snapshot, agent, context);
      const report = {
        ...placeOf(skill, snapshot),
        trusted: trustOf(skill, registry),
        catalog,
        allowedTools: allowedToolsOf(skill),
        ...(text === null ? {} : { place: await placeFor(skill, text, { agent, catalog }, { search, snapshot, signal }) }),
      };
      const others = await fromOthers(context, skill, { agent, text }, signal);
      if (io.wantsJson) io.json({ ...others.json, ...report });
      else for (const line of [...linesOf(skill, report), ...others.lines]) io.print(printableLine(line));
    },
  };
}

/** What the other extensions know of it. One that fails is left out, with a word why. */
async function fromOthers(
  context: ExtensionContext,
  skill: Skill,
  asked: Parameters<SkillExplainer['explainSkill']>[1],
  signal: AbortSignal,
): Promise<{ readonly lines: readonly string[]; readonly json: { readonly [extensionId: string]: JsonValue } }> {
  const lines: string[] = [];
  const json: { [extensionId: string]: JsonValue } = {};
  for (const explainer of context.find(SkillExplainer)) {
    try {
      const explained = await explainer.explainSkill(skill, asked, signal);
      lines.push(...(explained?.lines ?? []));
      if (explained !== null) json[explainer.extensionId] = explained.json as JsonValue;
    } catch (error) {
      signal.throwIfAborted();
      lines.push(`${explainer.extensionId} cannot explain it: ${messageOf(error)}`);
    }
  }
  return { lines, json };
}

interface Report extends ReturnType<typeof placeOf> {
  readonly trusted: string;
  readonly catalog: CatalogReport;
  readonly allowedTools: ReturnType<typeof allowedToolsOf>;
  readonly place?: Place;
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
  const record = trust.sourceRecord(source);
  if (record === null) return `no, ${label} is not trusted`;
  return `yes, ${record.withProject ? 'with the project, ' : ''}since ${record.at}`;
}

function* linesOf(skill: Skill, { shadows, others, trusted, catalog, place: catalogPlace, allowedTools }: Report): Iterable<string> {
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
  if (catalog.withinBudget !== null) {
    yield budgetLine(catalog);
    if (catalog.withinBudget) yield `it has its line within ${catalog.budget} tokens`;
    else yield `not all lines fit into ${catalog.budget} tokens: it is found by list_skills, or pin it (skills.pinned)`;
  }
  if (catalogPlace !== undefined && place.startsWith('catalog')) yield placeLine(catalogPlace);
  if (allowedTools !== undefined) yield* allowedToolsLines(allowedTools);
  for (const diagnostic of skill.diagnostics) yield diagnosticText(diagnostic);
}

/** `names`: what `run_skill` grants where the agent has it, and `read_skill` shows as advice; the rest restricts arguments, which nothing here can hold a call to. */
function allowedToolsOf({ allowedTools }: Skill) {
  if (allowedTools === null) return undefined;
  return { names: allowedTools.filter((entry) => !isPattern(entry)), grantNothing: allowedTools.filter(isPattern) };
}

function* allowedToolsLines({ names, grantNothing }: NonNullable<Report['allowedTools']>): Iterable<string> {
  if (names.length > 0 || grantNothing.length === 0)
    yield `allowed tools: ${names.join(', ') || 'none'} (run_skill enforces them, read_skill shows them as advice)`;
  for (const entry of grantNothing) yield `allowed tool ${entry}: grants nothing, because patterns over arguments are not supported`;
}
