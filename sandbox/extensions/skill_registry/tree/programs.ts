import type { TreeEntry } from './folder-tree.ts';

/** A file that can be run, by Pith or by anything else: marked so, named so, or lying where a skill's code lies. */
export function isProgram({ path, executable }: Pick<TreeEntry, 'path' | 'executable'>): boolean {
  return executable || CODE.test(path);
}

const CODE =
  /^(?:scripts|toolsets)\/|\.(?:[cm]?[jt]sx?|py|pyw|sh|bash|zsh|fish|rb|pl|php|lua|r|ps1|psm1|bat|cmd|exe|dll|so|dylib|node|wasm|jar|command|scpt|applescript)$/i;
