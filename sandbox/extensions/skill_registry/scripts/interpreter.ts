import path from 'node:path';
import type { ConfinedPrograms } from 'pith';

/** What a script is run with. */
export type Interpreter =
  | { readonly kind: 'program'; readonly argv: readonly string[] }
  /** TypeScript: made into JavaScript first. */
  | { readonly kind: 'typescript' }
  /** Python with dependencies named in the file. */
  | { readonly kind: 'uv' }
  | { readonly kind: 'unknown'; readonly why: string };

const BY_EXTENSION: Readonly<Record<string, string>> = {
  '.js': 'node',
  '.mjs': 'node',
  '.ts': 'typescript',
  '.py': 'python3',
  '.sh': 'sh',
};
const METADATA = /^# \/\/\/ script\s*$[\s\S]*?^# \/\/\/\s*$/mu;

/** By the first line of the script, else by its extension. */
export async function interpreterOf(script: string, text: string, programs: Pick<ConfinedPrograms, 'locate'>): Promise<Interpreter> {
  const extension = path.extname(script).toLowerCase();
  const shebang = shebangOf(text);
  const name = shebang?.name ?? BY_EXTENSION[extension];
  if (name === undefined) {
    const known = Object.keys(BY_EXTENSION).join(', ');
    return { kind: 'unknown', why: `its first line names no interpreter (#!/usr/bin/env …), and its extension is none of ${known}` };
  }
  const isPython = /^python[\d.]*$/u.test(name);
  if (name === 'uv' || (isPython && METADATA.test(text))) return { kind: 'uv' };
  if (name === 'typescript' || (extension === '.ts' && ['node', 'tsx', 'ts-node'].includes(name))) return { kind: 'typescript' };
  if (name === 'node') return { kind: 'program', argv: [process.execPath, ...(shebang?.args ?? [])] };
  const wanted = await programs.locate(name);
  const program = wanted.path ?? (isPython ? (await programs.locate('python3')).path : null);
  if (program !== null) return { kind: 'program', argv: [program, ...(shebang?.args ?? [])] };
  const cure = isPackageName(name) ? ` (such as: ${wanted.install})` : '';
  return { kind: 'unknown', why: `'${name}' is not installed among the programs of the system; install it${cure}` };
}

function shebangOf(text: string): { readonly name: string; readonly args: readonly string[] } | null {
  const line = /^#![ \t]*([^\r\n]+)/u.exec(text)?.[1];
  if (line === undefined) return null;
  const words = line.trim().split(/\s+/u);
  const isEnv = path.basename(words[0] ?? '') === 'env';
  const rest = isEnv ? words.slice(words[1] === '-S' ? 2 : 1) : words;
  const [program = '', ...args] = rest;
  return { name: path.basename(program), args };
}

/** A name from a file goes into a command that a person may copy. */
function isPackageName(name: string): boolean {
  return /^[a-z0-9][a-z0-9.+-]*$/u.test(name);
}
