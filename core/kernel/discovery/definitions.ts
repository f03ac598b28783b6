import { createHash } from 'node:crypto';
import type { Diagnostic } from '../../contract/diagnostic.ts';
import { KERNEL_PROTOCOLS } from '../../contract/kernel-names.ts';
import type { Manifest } from '../../contract/manifest.ts';
import { didYouMean } from '@pith/plain-text';
import { canonicalJson } from '../../contract/plain-data.ts';
import { keepsNames, positionOf, type Declaration, type Imports } from './declaration.ts';

/**
 * Gives each declaration what the extensions that it depends on define, and holds what it names against that: a protocol or topic counts
 * only where its extension is named in `depends_on` or `optional_depends_on`. What ships takes what ships, whatever stands in its place.
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

/** Who defines each id: of two, what ships, else the first by its own id. */
type Owners = ReadonlyMap<string, string>;

function ownersOf(declarations: ReadonlyMap<string, Declaration>): Owners {
  const owners = new Map<string, string>();
  const rank = (declaration: Declaration) => (keepsNames(declaration) ? 0 : 1);
  for (const { id, manifest } of [...declarations.values()].sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1)))
    for (const name of namesDefinedBy(manifest)) if (!owners.has(name)) owners.set(name, id);
  return owners;
}

function namesDefinedBy(manifest: Manifest | null): readonly string[] {
  return Object.keys(manifest?.defines.protocols ?? {});
}

function importsOf({ manifest }: Declaration, find: (id: string) => Declaration | undefined): Imports {
  const taken = [...manifest!.depends_on, ...manifest!.optional_depends_on].flatMap((id) => find(id) ?? []);
  return { protocols: Object.assign({}, ...taken.map(({ manifest: each }) => each?.defines.protocols ?? {})) };
}

const made = new WeakMap<Declaration, { readonly text: string; readonly declaration: Declaration }>();

/** The same object as long as nothing of it changes. */
function settled(declaration: Declaration, imports: Imports, found: readonly Diagnostic[]): Declaration {
  const isAlone = Object.values(imports).every((each) => Object.keys(each).length === 0);
  if (isAlone && found.length === 0) return declaration;
  const text = canonicalJson([imports, found]);
  const known = made.get(declaration);
  if (known?.text === text) return known.declaration;
  const next: Declaration = {
    ...declaration,
    ...(isAlone ? {} : { imports, digest: digestWith(declaration.digest, imports) }),
    ...(found.some(({ severity }) => severity === 'error') ? { manifest: null } : {}),
    diagnostics: [...declaration.diagnostics, ...found],
  };
  made.set(declaration, { text, declaration: next });
  return next;
}

/** The digest of a folder's files together with what is taken from others: changes with either. */
export function digestWith(digest: string, imports: Imports): string {
  return createHash('sha256').update(digest).update('\0').update(canonicalJson(imports)).digest('hex');
}

interface Known {
  readonly imports: Imports;
  readonly owners: Owners;
  readonly declarations: ReadonlyMap<string, Declaration>;
}

function findingsOf({ id, file, positions }: Declaration, manifest: Manifest, known: Known): readonly Diagnostic[] {
  const { defines, provides, depends_on, optional_depends_on } = manifest;
  const { imports, owners, declarations } = known;
  const found: Diagnostic[] = [];
  // Where a manifest that it depends on cannot be read, the name may stand there.
  const isDoubtful = [...depends_on, ...optional_depends_on].some((each) => !declarations.get(each)?.manifest);
  const severity = isDoubtful ? 'warning' : 'error';
  const add = (key: string, code: string, message: string, cure: string): void => {
    const { line, column } = positionOf(positions ?? {}, key.split('.')) ?? { line: 1, column: 1 };
    found.push({ severity, code, message, file, line, column, cure });
  };
  const unknown = (key: string, code: string, what: string, name: string, known: readonly string[]): void => {
    const owner = owners.get(name);
    const hint = didYouMean(name, known);
    if (owner !== undefined)
      add(key, code, `the ${what} '${name}' is defined by '${owner}', which it does not depend on`, `add ${owner} to 'depends_on'`);
    else
      add(key, code, `nothing defines the ${what} '${name}'${hint}`, hint === '' ? `use one of: ${known.join(', ')}` : 'correct the name');
  };

  for (const name of Object.keys(defines.protocols)) {
    const owner = owners.get(name);
    if (owner !== id) add(`defines.protocols.${name}`, 'duplicate_id', `'${name}' is defined by '${owner}' already`, 'choose another id');
  }
  const protocols = { ...imports.protocols, ...defines.protocols };
  provides.forEach((name, index) => {
    if (KERNEL_PROTOCOLS.has(name) || Object.hasOwn(protocols, name)) return;
    unknown(`provides.${index}`, 'manifest_invalid', 'protocol', name, [...KERNEL_PROTOCOLS.keys(), ...owners.keys()]);
  });
  return found;
}
