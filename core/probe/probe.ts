import { randomUUID } from 'node:crypto';
import { PithError } from '../contract/errors.ts';
import type { Diagnostic, Failure } from '../contract/index.ts';
import { stateFolder } from '@pith/safe-files';
import type { Declaration, Discovery } from '../kernel/discovery/declaration.ts';
import { readFolder } from '../kernel/discovery/folder-read.ts';
import { openIndex } from '../kernel/discovery/index-file.ts';
import type { ProcessOptions } from '../process/tier.ts';
import type { ExtensionStatus, HostOptions } from '../kernel/host-options.ts';
import { runOwnTests } from './own-tests.ts';
import { checkOf, findingOf, type ProbeFinding, type ProbeReport } from './report.ts';
import { trySurface } from './smoke.ts';
import { openTrial } from './trial-host.ts';

/** What a probe takes from the host that runs. */
export type ProbeOptions = Pick<HostOptions, 'sandbox' | 'home' | 'dataDirectory' | 'packageRoot' | 'configOf' | 'confined'> &
  Pick<ProcessOptions, 'sandboxing'> & {
    readonly discovery: Discovery;
  };

/**
 * Loads the extension in `directory`, which need not be one of the sandbox, for trial: in a separate process, with a data folder that is
 * removed afterwards, without secrets, network and events of others. Its services are not started. Rejects `not_found` when there is no folder.
 */
export async function probeExtension(options: ProbeOptions, directory: string, signal: AbortSignal): Promise<ProbeReport> {
  const probes = stateFolder(options.dataDirectory, '.cache', 'probes');
  const name = `probe-${randomUUID()}`;
  const dataDirectory = probes.folder(name).make();
  try {
    const declaration = await declarationOf(directory, dataDirectory);
    return await probe(options, declaration, dataDirectory, signal);
  } finally {
    probes.remove(name);
  }
}

async function declarationOf(directory: string, dataDirectory: string): Promise<Declaration> {
  const record = await readFolder(directory, 'extensions', openIndex(stateFolder(dataDirectory, 'folder')));
  if (!('severity' in record)) return { ...record.declaration, shipped: false };
  throw new PithError('not_found', `there is no extension in ${directory}: ${record.message}`, { cure: record.cure ?? 'name its folder' });
}

async function probe(options: ProbeOptions, declaration: Declaration, dataDirectory: string, signal: AbortSignal): Promise<ProbeReport> {
  const { id, manifest } = declaration;
  const said = declaration.diagnostics.map(fromManifest);
  if (manifest === null) return reportOf(id, said, [], []);
  const { host, close } = await openTrial(options, declaration, dataDirectory);
  try {
    const status = await host.activate(id);
    if (status.state !== 'active') return reportOf(id, [...said, ...failuresOf(host.failures(), status)], [], []);
    const tools = manifest.provides.includes('tool') ? await host.tools(id) : [];
    const tests = await runOwnTests(options, { id, directory: declaration.directory, dataDirectory }, signal);
    const smoke = await trySurface(host, id, { manifest, tools }, signal);
    // What is wrong without a call that failed: an error in a timer, a promise that nobody waits for.
    const others = host.failures().filter((failure) => failure.extensionId === id && checkOf(failure) !== 'smoke');
    const findings = [...said, ...notesOf(host.show(id)), ...tests.findings, ...smoke.findings, ...others.map(findingOf)];
    return reportOf(id, findings, tools, [...tests.tried, ...smoke.tried]);
  } finally {
    await close();
  }
}

function reportOf(id: string, findings: readonly ProbeFinding[], tools: ProbeReport['tools'], tried: readonly string[]): ProbeReport {
  const shown = tools.map(({ name, description, effect, needsApproval }) => ({ name, description, effect, needsApproval }));
  return { id, ok: findings.every(({ severity }) => severity !== 'error'), findings, tools: shown, tried };
}

function failuresOf(failures: readonly Failure[], status: ExtensionStatus): readonly ProbeFinding[] {
  const own = failures.filter(({ extensionId }) => extensionId === status.id).map(findingOf);
  if (own.length > 0) return own;
  const { phase = 'order', code = 'dependency_failed', message = 'it cannot run', file, line, cure } = status;
  return [findingOf({ extensionId: status.id, phase, code, message, at: 0, file, line, cure })];
}

function notesOf(status: ExtensionStatus | null): readonly ProbeFinding[] {
  return (status?.notes ?? [])
    .filter(({ code }) => code === 'provides_mismatch' || code === 'tool_input_invalid' || code === 'phase_slow')
    .map(({ code, message }) => ({ check: code === 'phase_slow' ? 'load' : 'contract', severity: 'warning', code, message }));
}

function fromManifest(diagnostic: Diagnostic): ProbeFinding {
  return { check: 'manifest', ...diagnostic };
}
