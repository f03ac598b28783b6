import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { didYouMean, PithError, type AgentSpec, type AgentsApi, type CommandContext } from 'pith';

/** What decides which skills an agent sees. */
export type SkillAgent = Pick<AgentSpec, 'id' | 'keys' | 'usesSkills' | 'usesTools'>;

/** An agent by id: from the kernel where there is one, else from its manifest. Throws `agent_unknown`. */
export async function findAgent(context: CommandContext & { readonly agents?: AgentsApi }, id: string): Promise<SkillAgent> {
  if (context.agents !== undefined) {
    const agents = await context.agents.list();
    return (
      agents.find((agent) => agent.id === id) ??
      unknown(
        id,
        agents.map((agent) => agent.id),
      )
    );
  }
  const roots = [path.join(context.sandbox, 'agents'), path.resolve(context.directory, '../../agents')];
  const ids: string[] = [];
  for (const root of roots) {
    const found: string[] = await readdir(root).catch(() => []); // a sandbox need not have agents of its own
    ids.push(...found);
    if (found.includes(id)) return fromManifest(id, path.join(root, id, 'manifest.yaml'));
  }
  return unknown(id, ids);
}

async function fromManifest(id: string, file: string): Promise<SkillAgent> {
  const { parseManifest } = await import('./agent-manifest.ts'); // not 'yaml' itself: a bundle offers only its default
  const manifest = parseManifest(await readFile(file, 'utf8'));
  const agent = record(record(manifest)['agent']);
  return { id, keys: { skills: agent['skills'] }, usesSkills: texts(agent['uses_skills']), usesTools: texts(agent['uses_tools']) };
}

function unknown(id: string, ids: readonly string[]): never {
  throw new PithError('agent_unknown', `no agent is named '${id}'${didYouMean(id, ids)}`, { cure: 'see pith agents list' });
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
