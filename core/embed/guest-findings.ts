import { existsSync } from 'node:fs';
import type { Kernel } from '../compose/index.ts';
import { type AgentSpec, PithError, SkillProvider } from '../contract/index.ts';
import { handledKey } from '../declarations/index.ts';
import { firstAgent, refuseUnusable } from './agents.ts';
import type { PithOptions } from './options.ts';

/**
 * A program has nobody who would read what the kernel found wrong with what it gives. Starts the extensions `own`, which it brings, and those
 * that its settings name; rejects with the first finding.
 */
export async function refuseFindings(
  kernel: Kernel,
  options: PithOptions,
  { agents, own }: { readonly agents: readonly AgentSpec[]; readonly own: readonly string[] },
): Promise<void> {
  refuseWrongSettings(kernel);
  refuseBroken(kernel, own);
  const configured = Object.keys((options.settings?.['extensions'] ?? {}) as object).filter((id) => kernel.host.extensions.state(id));
  await refuseFailing(kernel, [...own, ...configured]);
  refuseUnknownNames(kernel, configured);
  await refuseUnusable(kernel, agents);
  await refuseUnusableSkills(kernel, options);
  const first = firstAgent(kernel, agents);
  if (options.instructions === undefined || first === null) return;
  throw new PithError('settings_invalid', `instructions: the agent '${first}' is used, which has its own`, {
    cure: 'write them there, or leave `instructions` out',
  });
}

function refuseWrongSettings(kernel: Kernel): void {
  const wrong = kernel.findings().find(({ severity, code }) => severity === 'error' && code === 'settings_invalid');
  if (wrong === undefined) return;
  const { code, message, file, line, cure } = wrong;
  throw new PithError(code, message, { where: file === undefined ? undefined : `${file}:${line ?? 1}`, cure });
}

/** Names in the settings that nothing goes by; in a sandbox, which others use too, only those that are slips. Call when the extensions that the program `configured` run. */
function refuseUnknownNames(kernel: Kernel, configured: readonly string[]): void {
  const notes = configured.flatMap((id) => kernel.host.extensions.show(id)?.notes ?? []);
  const wrong =
    kernel.findings().find(({ severity, code, message }) => OF_NAMES.has(code) && (severity === 'error' || OF_PROGRAM.test(message))) ??
    notes.find(({ code }) => code === 'config_invalid');
  if (wrong === undefined) return;
  const { message, cure } = wrong;
  throw new PithError('settings_invalid', message.replace(OF_PROGRAM, 'settings: ').replace(IN_PROGRAM, "'settings.$1"), {
    cure: cure ?? 'correct the name',
  });
}

const OF_NAMES: ReadonlySet<string> = new Set(['agent_unknown', 'name_unknown', 'unknown_key']);

/** How findings name what the settings of a program say. */
const OF_PROGRAM = /^flag:? /u;
const IN_PROGRAM = /'flag (\S+') is ignored/u;

/** Whoever gives an extension counts on it. Throws what is wrong with its declaration, and where it declares what a guest does not do. */
function refuseBroken(kernel: Kernel, ids: readonly string[]): void {
  const { declarations, failures } = kernel.host.extensions.discovery;
  for (const id of ids) {
    const wrong = failures.get(id) ?? declarations.get(id)?.diagnostics.find(({ severity }) => severity === 'error');
    if (wrong !== undefined) {
      const { code, message = 'it cannot be used', cure, file } = wrong;
      throw new PithError(code, `extensions.${id}: ${message}`, {
        where: file !== undefined && existsSync(file) ? file : undefined, // that of an object is not there
        cure: cure ?? 'correct its manifest',
      });
    }
    const manifest = declarations.get(id)?.manifest ?? null;
    const key = manifest === null ? undefined : handledKey(manifest);
    if (key === undefined) continue;
    throw new PithError('settings_invalid', `extensions.${id}.${key}: only \`pith chat\` and \`pith serve\` do what it declares`, {
      cure: `leave ${key} out, and call it from the program or from a service`,
    });
  }
}

/** Whoever gives a skill as an object counts on it. Rejects `settings_invalid` where one cannot be used, or another one has its id. */
async function refuseUnusableSkills({ host }: Kernel, { skills = [] }: PithOptions): Promise<void> {
  const ids = skills.flatMap((skill) => (typeof skill === 'string' ? [] : [skill.id]));
  if (ids.length === 0) return;
  const [provider] = await host.providers.active(SkillProvider);
  const wrong = (await provider?.listSkills())?.find(({ id, state }) => ids.includes(id) && (state === 'invalid' || state === 'shadowed'));
  if (wrong === undefined) return;
  const why = wrong.state === 'shadowed' ? 'a folder has a skill of this id, too' : (wrong.reason ?? 'it is invalid');
  const cure = wrong.state === 'shadowed' ? 'rename one of them' : 'correct it';
  throw new PithError('settings_invalid', `skills: '${wrong.id}' cannot be used: ${why}`, { cure });
}

/** They are started here, since a program has nobody who would read why one of them failed later. Rejects with that. */
async function refuseFailing({ host }: Kernel, ids: readonly string[]): Promise<void> {
  const started = await Promise.all(ids.map((id) => host.extensions.activate(id)));
  const wrong = started.find(({ state }) => state === 'failed' || state === 'blocked');
  if (wrong === undefined) return;
  const { id, code = 'provider_unavailable', message = 'it cannot start', file = '', cure = 'correct its code' } = wrong;
  const isOfCode = code.endsWith('_failed');
  throw new PithError(code, `extensions.${id}: ${message}`, {
    where: existsSync(file) ? file : undefined, // that of an object is not there
    cure: isOfCode ? 'correct its code, then call createPith again' : cure,
  });
}
