import { basename, join } from 'node:path';
import type { Plugin } from 'esbuild';
import type { StateFolder } from '@pith/safe-files';
import { checkOf, type Check, type Finding } from '../finding.ts';

import { digestOf, notText, readSources, type Source } from '../sources.ts';
import type { TrialReport } from '../trial/report.ts';
import { tryExtension, type TrialPorts } from '../trial/trial.ts';
import { eventFindings } from './events.ts';
import { typeFindings } from './types.ts';

/** All that was asked of one state of an extension's files. */
export interface CheckedFolder {
  readonly id: string;
  readonly ok: boolean;
  /** Of the files that were checked. */
  readonly digest: string;
  readonly checks: readonly Check[];
  readonly tools: TrialReport['tools'];
  /** What was called. */
  readonly tried: readonly string[];
}

export interface CheckPorts extends TrialPorts {
  /** A folder that may be written. */
  readonly cache: StateFolder;
}

/** Order in which people correct things. */
const CHECKS = ['manifest', 'imports', 'types', 'load', 'contract', 'tests', 'smoke'] as const;

/** Checks an extension in any folder; nothing of it stays loaded. */
export async function checkExtension(folder: string, ports: CheckPorts, signal: AbortSignal): Promise<CheckedFolder> {
  const sources = await readSources(folder);
  const digest = digestOf(sources);
  const [report, types, contract, events] = await Promise.all([
    tryExtension(folder, sources, ports, signal),
    typeFindings(
      folder,
      sources.map(({ path }) => path),
      { cache: ports.cache, ...ports.places },
      signal,
    ),
    contractFindings(folder, sources),
    eventFindings(folder, sources, ports.places),
  ]);
  const findings: readonly (Finding & { readonly check: string })[] = [
    ...report.findings,
    ...types.map((finding) => ({ check: 'types', ...finding })),
    ...contract.map((finding) => ({ check: 'imports', ...finding })),
    ...events.map((finding) => ({ check: 'manifest', ...finding })),
    ...notText(sources).map(({ path, at }) => hiddenSource(join(folder, path), path, at)),
    ...(digestOf(await readSources(folder)) === digest ? [] : [CHANGED]),
  ];
  const checks = CHECKS.map((name) => checkOf(name, findings.filter(({ check }) => check === name).map(plain)));
  return { id: basename(folder), ok: checks.every(({ ok }) => ok), digest, checks, tools: report.tools, tried: report.tried };
}

/** A contract is part of every extension that imports it: only `pith` is there for all of them. */
async function contractFindings(folder: string, sources: readonly Source[]): Promise<readonly Finding[]> {
  const contract = sources.find(({ path }) => path === CONTRACT);
  if (contract === undefined) return [];
  const { build } = await import('esbuild');
  const others = new Set<string>();
  const plugin: Plugin = {
    name: 'contract-imports',
    setup: (asked) =>
      asked.onResolve({ filter: /.*/ }, ({ path, kind }) => {
        if (kind !== 'entry-point' && path !== 'pith') others.add(path);
        return kind === 'entry-point' ? undefined : { path, external: true };
      }),
  };
  const file = join(folder, CONTRACT);
  const given = { contents: String(contract.bytes), loader: 'ts', resolveDir: folder } as const;
  await build({ stdin: given, bundle: true, write: false, logLevel: 'silent', plugins: [plugin] }).catch(() => undefined); // types and trial say what is wrong with it
  const message = (path: string) => `'${path}' is imported by the contract, which every extension that uses it takes in`;
  return [...others].map((path) => ({
    severity: 'error',
    file,
    message: message(path),
    cure: "import 'pith' only there, and keep the rest in other files",
  }));
}

const CONTRACT = 'contract.ts';

function hiddenSource(file: string, path: string, at: number) {
  return {
    check: path === 'manifest.yaml' ? 'manifest' : 'load',
    severity: 'error',
    message: `is not text at byte ${at}, so nobody could read it before agreeing`,
    file,
    cure: 'write it as UTF-8 without NUL bytes, or take it out',
  } as const;
}

const CHANGED = {
  check: 'load',
  severity: 'error',
  message: 'the files were changed while they were checked',
  cure: 'check again',
} as const;

function plain({ severity, message, file, line, cure }: Finding): Finding {
  return {
    severity,
    message,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(cure === undefined ? {} : { cure }),
  };
}
