import { createHash } from 'node:crypto';
import type { Diagnostic } from '../contract/index.ts';
import { KERNEL_PROTOCOLS, KERNEL_TOPICS } from './kernel-names.ts';
import type { Manifest } from '../trust/index.ts';
import { didYouMean } from '@pith/plain-text';
import { canonicalJson } from '@pith/plain-data';
import { positionOf } from '@pith/checked-yaml';
import { keepsNames, type Declaration, type Imports } from './declaration.ts';

/**
 * Gives each declaration what the extensions that it depends on define, and holds what it names against that: a protocol or topic counts
 * only where its extension is named in `depends_on` or `optional_depends_on`. What ships takes what ships, whatever is in its place.
 */
export function settleDefinitions(
  declarations: ReadonlyMap<string, Declaration>,
  shipped: ReadonlyMap<string, Declaration>,
): Map<string, Declaration> {
  const owners = ownersOf(declarations);
  return new Map(
    [...declarations].map(([id, declaration]) => {
      const { manifest } = declaration;
      if (manifest === null) return [id, declaration];
      const imports = importsOf(declaration, (each) => (declaration.shipped ? shipped.get(each) : undefined) ?? declarations.get(each));
      return [id, settled(declaration, imports, findingsOf(declaration, manifest, { imports, owners, declarations }))];
    }),
  );
}

/** Who defines each protocol and topic: of two, what ships, else the first by its own id. */
interface Owners {
  readonly protocols: ReadonlyMap<string, string>;
  readonly topics: ReadonlyMap<string, string>;
}

type Kind = keyof Owners;

function ownersOf(declarations: ReadonlyMap<string, Declaration>): Owners {
  const owners = { protocols: new Map<string, string>(), topics: new Map([...KERNEL_TOPICS.keys()].map((name) => [name, 'the kernel'])) };
  const rank = (declaration: Declaration) => (keepsNames(declaration) ? 0 : 1);
  for (const { id, manifest } of [...declarations.values()].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1)))
    for (const kind of KINDS) for (const name of namesOf(manifest, kind)) if (!owners[kind].has(name)) owners[kind].set(name, id);
  return owners;
}

const KINDS = ['protocols', 'topics'] as const;

function namesOf(manifest: Manifest | null, kind: Kind): readonly string[] {
  return Object.keys(manifest?.defines[kind] ?? {});
}

function importsOf({ manifest }: Declaration, find: (id: string) => Declaration | undefined): Imports {
  const taken = [...manifest!.depends_on, ...manifest!.optional_depends_on].flatMap((id) => find(id) ?? []);
  return {
    protocols: Object.fromEntries(
      taken.flatMap(({ id: by, manifest: each }) =>
        Object.entries(each?.defines.protocols ?? {}).map(([name, members]) => [name, { by, members }]),
      ),
    ),
    topics: Object.assign({}, ...taken.map(({ manifest: each }) => each?.defines.topics)) as Imports['topics'],
    contracts: Object.fromEntries(taken.flatMap(({ id, contract }) => (contract ? [[id, contract]] : []))),
    absent: manifest!.optional_depends_on.filter((id) => find(id) === undefined),
  };
}

function settled(declaration: Declaration, imports: Imports, found: readonly Diagnostic[]): Declaration {
  const isAlone = Object.values(imports).every((each) => Object.keys(each).length === 0);
  if (isAlone && found.length === 0) return declaration;
  return {
    ...declaration,
    ...(isAlone ? {} : { imports, digest: digestWith(declaration.digest, imports) }),
    ...(found.some(({ severity }) => severity === 'error') ? { manifest: null } : {}),
    diagnostics: [...declaration.diagnostics, ...found],
  };
}

/** The digest of a folder's files together with what is taken from others, wherever that lies: changes with either. */
export function digestWith(digest: string, { contracts, ...named }: Imports): string {
  const texts = Object.entries(contracts).map(([id, contract]) => [id, contract.digest]);
  return createHash('sha256')
    .update(digest)
    .update('\0')
    .update(canonicalJson({ ...named, texts }))
    .digest('hex');
}

/** How an ask for a topic begins. */
const HEARS = 'hears ';

interface Known {
  readonly imports: Imports;
  readonly owners: Owners;
  readonly declarations: ReadonlyMap<string, Declaration>;
}

function findingsOf({ id, file, positions, withheld = [] }: Declaration, manifest: Manifest, known: Known): readonly Diagnostic[] {
  const { defines, provides, events, depends_on, optional_depends_on } = manifest;
  const { imports, owners, declarations } = known;
  const found: Diagnostic[] = [];
  // Where a manifest that it depends on cannot be read, the name may be there.
  const isDoubtful = [...depends_on, ...optional_depends_on].some((each) => !declarations.get(each)?.manifest);
  const severity = isDoubtful ? 'warning' : 'error';
  const add = (key: string, code: string, message: string, cure: string): void => {
    const { line, column } = positionOf(positions ?? {}, key.split('.')) ?? { line: 1, column: 1 };
    found.push({ severity, code, message, file, line, column, cure });
  };
  const unknown = (kind: Kind, name: string, key: string, more: Iterable<string> = []): void => {
    const code = kind === 'protocols' ? 'manifest_invalid' : 'name_unknown';
    const what = kind === 'protocols' ? 'protocol' : 'topic';
    const owner = owners[kind].get(name);
    const names = [...more, ...owners[kind].keys()];
    const hint = didYouMean(name, names);
    if (owner !== undefined)
      add(key, code, `the ${what} '${name}' is defined by '${owner}', which it does not depend on`, `add ${owner} to 'depends_on'`);
    else
      add(key, code, `nothing defines the ${what} '${name}'${hint}`, hint === '' ? `use one of: ${names.join(', ')}` : 'correct the name');
  };

  for (const kind of KINDS) {
    for (const name of namesOf(manifest, kind)) {
      const owner = owners[kind].get(name);
      if (owner === id) continue;
      add(`defines.${kind}.${name}`, 'duplicate_id', `'${name}' is defined by '${owner}' already`, 'choose another id');
    }
  }
  const protocols = { ...imports.protocols, ...defines.protocols };
  provides.forEach((name, index) => {
    if (!KERNEL_PROTOCOLS.has(name) && !Object.hasOwn(protocols, name))
      unknown('protocols', name, `provides.${index}`, KERNEL_PROTOCOLS.keys());
  });
  const topics = new Map([...KERNEL_TOPICS, ...Object.entries({ ...imports.topics, ...defines.topics })]);
  events.publishes.forEach((name, index) => {
    if (!topics.has(name)) unknown('topics', name, `events.publishes.${index}`);
  });
  // Also what nobody has agreed to yet: nobody should agree to a slip.
  const asked = withheld.flatMap(({ ask }) => (ask.startsWith(HEARS) ? [{ topic: ask.slice(HEARS.length) }] : []));
  [...events.handles, ...asked].forEach(({ topic }, index) => {
    const key = index < events.handles.length ? `events.handles.${index}.topic` : 'events.handles';
    if (!topics.has(topic)) unknown('topics', topic, key);
    else if (!topics.get(topic)?.durable)
      add(key, 'name_unknown', `'${topic}' is not a durable topic`, "listen to it with 'events.handle' of the context");
  });
  return found;
}
