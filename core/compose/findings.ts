import { within } from '@pith/promises';
import type { AgentRegistry } from '../agent/index.ts';
import { type Clock, type Diagnostic, SkillProvider } from '../contract/index.ts';
import { configuredIds, type Settings, unknownNames } from '../declarations/index.ts';
import type { Bus, Host } from '../kernel/index.ts';
import type { ModelRouter } from '../models/index.ts';
import { openSecretsFile, type SecretsFile } from '../trust/index.ts';
import { isWorthSaying, ofAgent, ofExtension, type Problem } from './problems.ts';
import { settingsFor, type SandboxReading } from './sandbox-reading.ts';

interface FindingSources {
  readonly sandbox: SandboxReading;
  readonly host: Host;
  readonly agents: AgentRegistry;
  readonly router: ModelRouter;
  readonly events: Pick<Bus, 'failures'>;
  readonly clock: Clock;
}

/** What is wrong in a sandbox, as far as it is known now. */
export interface Findings {
  /** Of settings, discovery and the kernel's own listeners. Loads nothing. */
  list(): readonly Diagnostic[];
  /**
   * What a person would want to know before they begin: wrong settings, extensions and agents that cannot run or of which a key was
   * ignored, and what extensions find wrong in their own matters. What only waits for something else is left out: its cause is there. With
   * an agent, other agents and what extensions find are left out: nothing is loaded for them.
   */
  problems(agentId?: string): Promise<readonly Problem[]>;
}

export function createFindings({ sandbox, host, agents, router, events, clock }: FindingSources): Findings {
  const { redactJson } = host.secrets;
  const { home } = sandbox.options;
  const secrets = home === undefined ? null : openSecretsFile(home);
  const list = () => {
    const { discovery } = host.extensions;
    const names = { ...discovery, agents: host.agents.declared(), router, toolsOf: toolNames(host) };
    const ofNames = unknownNames(sandbox.settings, names);
    return redactJson([...sandbox.diagnostics, ...unreadSecrets(secrets), ...discovery.diagnostics, ...ofNames, ...events.failures()]);
  };
  return {
    list,
    async problems(agentId) {
      await checkSettings(host, sandbox.settings, clock);
      const own = agentId === undefined ? await ownFindings(host) : [];
      await loadNamedTools(host, sandbox.settings, clock);
      const statuses = await agents.list(agentId);
      const { default_agent: defaultAgent } = settingsFor(sandbox.settings, host.agents.declared());
      const extensions = host.extensions.list();
      const failed = new Set(extensions.filter(({ state }) => state === 'failed' || state === 'blocked').map(({ id }) => id)); // with their agents
      const found: Problem[] = [
        ...list().filter(isWorthSaying),
        ...extensions.flatMap(ofExtension),
        ...statuses.filter(({ id }) => !failed.has(id)).flatMap((agent) => ofAgent(agent, agent.id === defaultAgent)),
        ...own.filter(isWorthSaying),
      ];
      return redactJson([...new Map(found.map((each) => [`${each.file}:${each.line}:${each.message}`, each])).values()]);
    },
  };
}

function unreadSecrets(secrets: SecretsFile | null): readonly Diagnostic[] {
  const message = secrets?.problem() ?? null;
  if (message === null) return [];
  return [
    { severity: 'error', code: 'settings_invalid', message, cure: 'correct the file, or move it away; until then no key in it is used' },
  ];
}

/** So long are code that knows the names of tools, and code that checks its settings, waited for. */
const LOAD_WAIT_MS = 2000;

/** Tools that the settings name one by one are known only to code that has run. */
export async function loadNamedTools({ providers }: Host, { approvals }: Settings, clock: Clock): Promise<void> {
  const named = approvals.tools.filter((entry) => entry.includes('/'));
  const known = Promise.allSettled(named.map((entry) => providers.tools.of(entry.split('/', 1)[0] as string)));
  if (named.length > 0) await within(clock, LOAD_WAIT_MS, known);
}

/** What a person wrote for an extension is checked by its code, which may not be needed otherwise. */
async function checkSettings({ extensions }: Host, settings: Settings, clock: Clock): Promise<void> {
  const idle = configuredIds(settings, extensions.discovery.declarations).filter((id) => extensions.state(id) === 'idle');
  if (idle.length > 0) await within(clock, LOAD_WAIT_MS, Promise.allSettled(idle.map((id) => extensions.activate(id))));
}

/** The names of an extension's tools, as far as they are known. */
export function toolNames({ providers }: Host): (extensionId: string) => readonly string[] {
  return (id) => providers.tools.known(id).map(({ name }) => name);
}

/** What extensions that run say is wrong in their own matters. Loads the skills, and no further extension. Never rejects. */
export async function ownFindings({ providers }: Pick<Host, 'providers'>): Promise<readonly Diagnostic[]> {
  await providers.active(SkillProvider);
  return providers.findings();
}
