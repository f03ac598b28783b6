import { SourceMap } from 'node:module';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { z, type Places, TopicMap } from 'pith';
import { yamlValue } from '@pith/guarded-yaml';
import { didYouMean } from '@pith/plain-text';
import type { Plugin } from 'esbuild';
import type { Finding } from '../finding.ts';
import type { Source } from '../sources.ts';

export interface EventPlaces extends Pick<Places, 'shippedSandbox'> {
  /** Whose extensions' contracts are found before those that ship. */
  readonly sandbox: string;
}

/**
 * Topics that an extension publishes or listens to and that its manifest does not name. A trial starts no service, so nothing else would say
 * it before it runs. Judged is what is sure: `events.publish` of a literal, of a constant, or of what `defineTopic` made.
 */
export async function eventFindings(folder: string, sources: readonly Source[], places: EventPlaces): Promise<readonly Finding[]> {
  const declared = declarationsIn(sources);
  if (declared === null) return [];
  const uses = await usesIn(folder, sources, { ...places, entrypoint: declared.entrypoint });
  const file = join(folder, 'manifest.yaml');
  const findings = uses.flatMap(({ topic, act, place, ...use }): readonly Finding[] => {
    const wrong = act === 'publish' ? refusedPublishing(declared, topic, use.isOwn) : refusedListening(declared, topic, use.isDurable);
    if (wrong === null) return [];
    const [why, cure] = wrong;
    const verb = act === 'publish' ? 'publishes' : 'listens to';
    return [{ severity: 'error', message: `${verb} '${topic}', ${why}`, file, cure, ...place }];
  });
  return [...new Map(findings.map((finding) => [finding.message, finding])).values()];
}

const names = z.record(z.string(), z.unknown()).catch({});
const manifest = z.object({
  entrypoint: z.string(),
  defines: z.object({ topics: names }).catch({ topics: {} }),
  events: z
    .object({
      publishes: z.array(z.string()).catch([]),
      handles: z.array(z.object({ topic: z.string() })).catch([]),
    })
    .catch({ publishes: [], handles: [] }),
});
type Declared = z.infer<typeof manifest>;

/** null: it has no code, or its manifest is broken, which others say. */
function declarationsIn(sources: readonly Source[]): Declared | null {
  try {
    return manifest.safeParse(yamlValue(String(sources.find(({ path }) => path === 'manifest.yaml')?.bytes))).data ?? null;
  } catch {
    return null; // the trial says what is wrong with it
  }
}

type Wrong = readonly [why: string, cure: string];

function refusedPublishing({ defines, events: { publishes } }: Declared, topic: string, isOwn: boolean): Wrong | null {
  const by = ofKernel(topic)?.by;
  if (by === 'kernel') return ['which only the kernel does', 'publish another topic'];
  if (Object.hasOwn(defines.topics, topic) || by === 'itself' || publishes.includes(topic)) return null;
  if (isOwn) return [UNDEFINED, `add ${topic} to 'defines.topics'`];
  return [`${UNDECLARED}${didYouMean(topic, [...publishes, ...Object.keys(defines.topics)])}`, `add ${topic} to 'events.publishes'`];
}

function refusedListening({ events: { handles } }: Declared, topic: string, isDurable: boolean): Wrong | null {
  const declared = handles.map((each) => each.topic);
  if (!isDurable || declared.includes(topic)) return null;
  return [`${UNDECLARED}${didYouMean(topic, declared)}`, `add ${topic} with its handler to 'events.handles'`];
}

const UNDECLARED = 'which its manifest does not declare';
const UNDEFINED = 'which its contract defines and its manifest does not';

interface Topic {
  readonly topic: string;
  readonly isDurable: boolean;
  /** A file of the extension itself makes it. */
  readonly isOwn: boolean;
}

interface Use extends Topic {
  readonly act: Act;
  /** null: in no file of the extension. */
  readonly place: { readonly file: string; readonly line: number } | null;
}

const ACTS = ['publish', 'handle'] as const;
type Act = (typeof ACTS)[number];

/**
 * No text of an extension can hold these names by chance, and the bundler puts them only where a member is named: never into strings and
 * comments. It gives each constant of a module a name that nothing else in the bundle has.
 */
const MARKS = { publish: 'pith_marked_publish', handle: 'pith_marked_handle' } as const satisfies Record<Act, string>;
const CALL =
  /\bevents\??\.pith_marked_(publish|handle)\(\s*(?:"([^"\\]*)"|'([^'\\]*)'|`([^`\\$]*)`|([\p{ID_Start}$_][\p{ID_Continue}$]*))\s*[,)]/gu;
/** A member of its own of that name: whose `events` is called is not sure then. */
const OWN_MEMBER = /(?<![.\w$])pith_marked_(publish|handle)\b/g;
const CONSTANT = /^var ([\w$]+) = (?:"([^"\\]*)"|defineTopic\d*\("([^"\\]*)"(?:, \{ durable: (true|false) \})?\));$/gmu;

async function usesIn(folder: string, sources: readonly Source[], { entrypoint, ...places }: EventPlaces & Pick<Declared, 'entrypoint'>) {
  const { build } = await import('esbuild');
  const built = await build({
    entryPoints: [entrypoint],
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    outfile: 'bundle.js',
    sourcemap: 'external',
    sourcesContent: false,
    logLevel: 'silent',
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, target: 'ES2022' } },
    plugins: [sourcesAndContracts(sources, places)],
    mangleProps: /^(?:publish|handle)$/,
    mangleCache: { ...MARKS },
  }).catch(() => null); // types and trial say what is wrong with it
  const text = built?.outputFiles.find(({ path }) => path.endsWith('.js'))?.text ?? '';
  const map = built?.outputFiles.find(({ path }) => path.endsWith('.map'))?.text;
  if (map === undefined) return [];
  const sourceMap = new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0]);
  /** null: it is in no file of the extension. */
  const placeOf = (at: number): Use['place'] | null => {
    const before = text.slice(0, at).split('\n');
    const entry = sourceMap.findEntry(before.length - 1, before.at(-1)?.length ?? 0);
    const path =
      'originalSource' in entry && entry.originalSource.startsWith(`${OWN}:`) ? entry.originalSource.slice(OWN.length + 1) : null;
    return path === null ? null : { file: join(folder, path), line: (entry as { originalLine: number }).originalLine + 1 };
  };
  const constants = new Map<string, Topic>();
  for (const { index, 0: whole, 1: name = '', 2: literal, 3: id, 4: durable } of text.matchAll(CONSTANT)) {
    if (literal !== undefined) constants.set(name, literalTopic(literal));
    else if (id !== undefined)
      constants.set(name, { topic: id, isDurable: durable === 'true', isOwn: placeOf(index + whole.length - 1) !== null });
  }
  const unsure = new Set([...text.matchAll(OWN_MEMBER)].map(([, act]) => act));
  const changed = namesSetAgain(text);
  return [...text.matchAll(CALL)].flatMap(({ index, 0: call, 1: act, 2: double, 3: single, 4: template, 5: name = '' }): readonly Use[] => {
    const literal = double ?? single ?? template;
    const topic = literal === undefined ? constants.get(name) : literalTopic(literal);
    if (topic === undefined || unsure.has(act) || changed.has(name)) return [];
    return [{ ...topic, act: act as Act, place: placeOf(index + call.indexOf('.')) }];
  });
}

function ofKernel(topic: string): (typeof TopicMap)[keyof TopicMap] | undefined {
  return Object.hasOwn(TopicMap, topic) ? TopicMap[topic as keyof TopicMap] : undefined;
}

function literalTopic(topic: string): Topic {
  return { topic, isDurable: ofKernel(topic)?.durable === true, isOwn: false };
}

/** What a module sets again: the bundler writes its constants and variables alike. */
function namesSetAgain(text: string): ReadonlySet<string> {
  const names = [...text.matchAll(ASSIGNED)].map(([, name = '']) => name);
  const seen = new Set<string>();
  return new Set(names.filter((name) => seen.has(name) || !seen.add(name)));
}

const ASSIGNED = /(?<![.\w$])([\w$]+) = /g;

const OWN = 'own';

/** Reads nothing but the sources that are checked, and contracts: whatever else an import names stays outside. */
function sourcesAndContracts(sources: readonly Source[], { sandbox, shippedSandbox }: EventPlaces): Plugin {
  const known = new Map(sources.filter(({ path }) => /\.(?:[cm]?[jt]s|json)$/.test(path)).map(({ path, bytes }) => [path, bytes]));
  const found = (wanted: string): string | undefined =>
    [wanted, `${wanted}.ts`, wanted.replace(/\.([cm]?)js$/, '.$1ts'), `${wanted}/index.ts`, `${wanted}.js`].find((each) => known.has(each));
  return {
    name: 'sources-and-contracts',
    setup(asked) {
      asked.onResolve({ filter: /.*/ }, ({ path, kind, importer, namespace }) => {
        const other = /^pith\/([a-z][a-z0-9_]*)$/.exec(path)?.[1];
        const contract = other && contractIn([sandbox, shippedSandbox], other);
        if (contract) return { path: contract, namespace: 'contract' };
        const isOwn = kind === 'entry-point' || (namespace === OWN && /^\.\.?\//.test(path));
        const own = isOwn ? found(posix.join(kind === 'entry-point' ? '.' : posix.dirname(importer), path)) : undefined;
        return own === undefined ? { path, external: true } : { path: own, namespace: OWN };
      });
      asked.onLoad({ filter: /.*/, namespace: OWN }, ({ path }) => ({ contents: known.get(path) ?? '', loader: 'default' }));
      asked.onLoad({ filter: /.*/, namespace: 'contract' }, async ({ path }) => ({ contents: await readFile(path), loader: 'ts' }));
    },
  };
}

function contractIn(sandboxes: readonly string[], id: string): string | undefined {
  const files = sandboxes.map((each) => join(each, 'extensions', id, 'contract.ts'));
  return files.find((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
}
