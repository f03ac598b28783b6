import { type CommandInput, type CommandIO, PithError, type z } from '../../contract/index.ts';
import { didYouMean, findingLine } from '@pith/plain-text';
import { type Kernel, ownFindings } from '../../compose/index.ts';
import { paintState, printFields, printTable } from './text.ts';
import type { agentResult } from './results.ts';
import type { AgentStatus } from '../../agent/index.ts';

export async function listAgents(kernel: Kernel, _input: CommandInput, io: CommandIO): Promise<void> {
  const agents = await kernel.agents.list();
  const chosen = kernel.settings.default_agent;
  io.json(agents.map((agent) => jsonOf(agent, chosen)));
  const rows = agents.map((agent) => ({
    ...agent,
    reason: agent.state === 'active' ? '' : agent.notes.map((finding) => finding.message).join('; '),
  }));
  printTable(
    io,
    rows,
    [
      { title: 'AGENT', value: ({ id }) => (id === chosen ? `${id} *` : id) },
      { title: 'STATE', value: ({ state }) => state, paint: (text, { state }) => paintState(io, state, text) },
      { title: 'MODEL', value: ({ spec }) => spec?.model ?? '' },
      { title: 'DESCRIPTION', value: ({ spec, reason }) => reason || (spec?.description ?? ''), below: true },
    ],
    'No agents: add one as sandbox/agents/<id>/manifest.yaml',
  );
  if (agents.some(({ id }) => id === chosen) && !io.quiet) io.print('\n* answers when no agent is named');
}

export async function showAgent(kernel: Kernel, input: CommandInput, io: CommandIO): Promise<number> {
  const found = await findAgent(kernel, String(input.arguments['id']));
  const own = found.spec === null ? [] : (await ownFindings(kernel.host)).filter(({ file }) => file === found.spec?.origin);
  const agent = { ...found, notes: [...found.notes, ...own] };
  io.json(jsonOf(agent, kernel.settings.default_agent));
  const { spec } = agent;
  printFields(io, [
    ['agent', agent.id],
    ['name', spec?.name === agent.id ? undefined : spec?.name],
    ['state', agent.state, (text) => paintState(io, text)],
    ['description', spec?.description],
    ['model', spec?.model],
    ['tools', spec?.usesTools.join(', ')],
    ['tools on demand', spec?.findsTools?.join(', ')],
    ['skills', spec?.usesSkills.join(', ')],
    ['delegates to', spec?.delegatesTo.join(', ')],
    [
      'limits',
      spec
        ? Object.entries(spec.limits)
            .map(([name, value]) => `${name} ${value}`)
            .join(', ')
        : undefined,
    ],
    ['prompt', spec?.promptFile ?? undefined],
    ['declared in', spec?.origin ?? undefined],
    ['findings', agent.notes.map(findingLine).join('\n')],
  ]);
  return agent.state === 'failed' ? 1 : 0;
}

/** Throws `agent_unknown` with the nearest names. */
export async function findAgent(kernel: Kernel, id: string): Promise<AgentStatus> {
  const agents = await kernel.agents.list();
  const found = agents.find((agent) => agent.id === id);
  if (found) return found;
  const ids = agents.map((agent) => agent.id);
  throw new PithError('agent_unknown', `no agent '${id}': nothing declares it${didYouMean(id, ids)}`, { cure: 'see: pith agents list' });
}

function jsonOf({ id, state, spec, notes }: AgentStatus, chosen: string): z.infer<ReturnType<typeof agentResult>> {
  return {
    id,
    name: spec?.name ?? id,
    description: spec?.description ?? '',
    state,
    default: id === chosen,
    model: spec?.model ?? null,
    uses_tools: [...(spec?.usesTools ?? [])],
    finds_tools: [...(spec?.findsTools ?? [])],
    uses_skills: [...(spec?.usesSkills ?? [])],
    delegates_to: [...(spec?.delegatesTo ?? [])],
    limits: spec ? { ...spec.limits } : null,
    file: spec?.origin ?? null,
    diagnostics: notes.map((finding) => ({ ...finding })),
  };
}
