import { lacksRoom } from '@pith/safe-files';
import { startedByOther } from '@pith/supervised-process';
import path from 'node:path';
import type * as Esbuild from 'esbuild';
import type { BuildFailure, Message, Plugin } from 'esbuild';
import { contractShim } from './contract-shim.ts';
import { CONTRACT, FORBIDDEN, importRules, type ImportRules } from './import-rules.ts';
import { NO_MAP, ownSources } from './own-sources.ts';
import { Problem } from '../kernel/index.ts';

export interface BundleRequest extends ImportRules {
  /** Relative to the directory. */
  readonly entry: string;
  /** Stands for the entry's file, where there is none. */
  readonly text?: string;
  /** Why what the text imports when it runs cannot be bundled: then that import rejects. null: it can. Absent: nothing is bundled then. */
  readonly faultOf?: (wanted: string) => Promise<string | null>;
  /** Where the bundle will lie: its source map says where the sources are from there. */
  readonly file: string;
}

/** One module of an extension's own files for one entry. Throws a `Problem` of phase `bundle` that names file and line. */
export async function bundle(request: BundleRequest): Promise<string> {
  const { build } = await openBundler();
  try {
    const result = await build({
      absWorkingDir: request.directory,
      bundle: true,
      format: 'esm',
      platform: 'node',
      conditions: [], // without `module`, which bundlers take and Node does not: packages are imported by Node
      target: 'node20',
      logLevel: 'silent',
      legalComments: 'none',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true, target: 'ES2022', verbatimModuleSyntax: false } },
      plugins: [rejecting(request), await contractShim(), ownSources(request), importRules(request)],
      ...(request.text === undefined
        ? { entryPoints: [path.join(request.directory, request.entry)] }
        : { stdin: { contents: request.text, resolveDir: request.directory, sourcefile: request.entry } }),
      write: false,
      outfile: request.file,
      sourcemap: 'inline',
      sourcesContent: true, // so that readers of the map need not find the virtual ones
    });
    return result.outputFiles[0]?.text ?? '';
  } catch (error) {
    throw isBuildFailure(error) ? problemOfBuild(error.errors[0], request) : error;
  }
}

/** As `bundle`, of a text that goes on without those of its `import()` that cannot be bundled: they reject with the reason. */
export async function bundleText(request: BundleRequest): Promise<string> {
  const problemOf = async (each: BundleRequest): Promise<Problem | string> =>
    bundle(each).catch((error: unknown) => {
      if (error instanceof Problem) return error;
      throw error;
    });
  const whole = await problemOf(request);
  if (typeof whole === 'string') return whole;
  // Which of them it was shows by bundling each alone.
  const faultOf = async (wanted: string): Promise<string | null> => {
    const found = await problemOf({ ...request, text: `import ${JSON.stringify(wanted)};` });
    return typeof found === 'string' ? null : found.message;
  };
  return bundle({ ...request, faultOf });
}

function rejecting({ directory, entry, text, faultOf }: BundleRequest): Plugin {
  return {
    name: 'pith-faults',
    setup(build) {
      if (text === undefined || faultOf === undefined) return;
      build.onResolve({ filter: /.*/ }, async ({ kind, importer, path: wanted }) => {
        const isTexts = kind === 'dynamic-import' && importer === path.join(directory, entry);
        const fault = isTexts ? await faultOf(wanted) : null;
        return fault === null ? undefined : { path: wanted, namespace: FAULT, pluginData: fault };
      });
      build.onLoad({ filter: /.*/, namespace: FAULT }, ({ pluginData }) => ({
        contents: `throw new Error(${JSON.stringify(pluginData)});`,
      }));
    },
  };
}

const FAULT = 'pith-fault';

function problemOfBuild(message: Message | undefined, { directory, entry, contracts = {} }: BundleRequest): Problem {
  const { text = 'could not be bundled', detail, location: place } = message ?? {};
  if (lacksRoom(detail) || TOO_MANY.test(text))
    return new Problem('bundle', 'bundle_failed', `its files cannot be read now: ${text}`, {
      file: path.join(directory, entry),
      cause: detail,
      cure: 'end what is not needed, or raise the limit (ulimit -n)',
    });
  const file = place ? path.resolve(directory, place.file.replace(`${CONTRACT}:`, '')) : path.join(directory, entry);
  const [owner] = Object.entries(contracts).find(([, contract]) => contract.file === file) ?? [];
  // What ends too early is found in the line that was added.
  const line = place && (place.lineText.includes(NO_MAP) ? place.line - 1 : place.line);
  const where = owner === undefined ? `${path.relative(directory, file)}${line ? `:${line}` : ''}` : `the contract of '${owner}'`;
  const prohibited = detail === FORBIDDEN;
  return new Problem('bundle', prohibited ? FORBIDDEN : 'bundle_failed', `${where}: ${text}`, {
    file,
    ...(line ? { line } : {}),
    cure: prohibited ? message?.notes[0]?.text : 'correct the source',
  });
}

/** As esbuild says it of files that it opens itself. */
const TOO_MANY = /too many open files/iu;

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && Array.isArray((error as Partial<BuildFailure>).errors);
}

/** esbuild, whose process runs and answers: once that has failed, it never tries again by itself. Rejects `process_not_started`. */
async function openBundler(): Promise<typeof Esbuild> {
  const esbuild = await import('esbuild');
  try {
    await startedByOther(() => esbuild.transform(''));
  } catch (error) {
    await esbuild.stop(); // the next asks for a new process
    throw error;
  }
  return esbuild;
}
