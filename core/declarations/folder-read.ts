import fs from 'node:fs';
import path from 'node:path';
import { messageOf, type Diagnostic } from '../contract/index.ts';
import { isForbidden, isPassing, kindOf } from '@pith/safe-files';
import { CONTRACT_FILE, MANIFEST_FILE, PROMPT_FILES, type Declaration, type FolderReading, type FolderRecord } from './declaration.ts';
import type { IndexFile } from './index-file.ts';
import { digestOf, MAX_FILES, stampFolder, readTextFile, type FolderStamp } from './source-files.ts';

/** Names that people write for `manifest.yaml`. */
const SLIPS: readonly string[] = ['manifest.yml', 'manifest.json', 'Manifest.yaml', 'manifest.yaml.txt'];

/** Names of files that are agents beside manifests, each with the extension that reads it. */
export type AgentFiles = ReadonlyMap<string, string>;

/**
 * What a folder declares, from the index while its files have not changed or cannot be read. A diagnostic when it declares nothing. Never rejects.
 * `agentFiles`: null for a folder of extensions.
 */
export async function readFolder(directory: string, agentFiles: AgentFiles | null, index: IndexFile): Promise<FolderRecord | Diagnostic> {
  try {
    const stamp = stampFolder(directory);
    const known = index.folder(directory);
    const isSame = known?.stamps === stamp.stamps && known.declaration.readBy === readerOf(stamp, agentFiles);
    if (known !== undefined && isSame && !known.fresh) {
      index.putFolder(directory, known); // the build may have read it
      return known;
    }
    if (declaringFile(stamp, agentFiles) === undefined) return nothingDeclared(directory, agentFiles, stamp);
    const digest = digestOf(directory, stamp.files);
    const record =
      known?.declaration.digest === digest && (isSame || isMoved(known, stamp, readerOf(stamp, agentFiles)))
        ? { ...known, stamps: stamp.stamps, fresh: stamp.fresh }
        : await read(directory, agentFiles, digest, stamp);
    index.putFolder(directory, record);
    return record;
  } catch (error) {
    const known = index.folder(directory);
    if (known === undefined || !isUnread(error)) return unreadable(directory, agentFiles === null ? 'extensions' : 'agents', error);
    return { ...known, unread: keptAsItWas(directory, error) };
  }
}

/** Whether a record of the same bytes under other stamps holds: all that it says comes from those bytes, now and then. */
function isMoved({ declaration }: FolderRecord, { odd, truncated, strayLinks }: FolderStamp, readBy: string | undefined): boolean {
  const { diagnostics, prompt, directory } = declaration;
  if (declaration.readBy !== readBy || diagnostics.length > 0 || odd.size > 0 || truncated || strayLinks.length > 0) return false;
  return prompt === null || whyNotItsOwn(directory, prompt.file) === null;
}

/** Whether the system did not let something be read: what is there may be as it was. */
function isUnread(error: unknown): boolean {
  return isPassing(error) || isForbidden(error);
}

/** Said of a folder that cannot be read, while what it declared before holds. */
export function keptAsItWas(folder: string, error: unknown): Diagnostic {
  return {
    severity: 'error',
    code: 'manifest_invalid',
    message: `the folder cannot be read, and what it declared before still counts: ${messageOf(error)}`,
    file: folder,
    cure: isPassing(error) ? 'end what is not needed, or raise the limit (ulimit -n); Pith looks again by itself' : 'make it readable',
  };
}

function declaringFile({ files }: FolderStamp, agentFiles: AgentFiles | null): string | undefined {
  return files.includes(MANIFEST_FILE) ? MANIFEST_FILE : files.find((file) => agentFiles?.has(file));
}

function readerOf(stamp: FolderStamp, agentFiles: AgentFiles | null): string | undefined {
  return agentFiles?.get(declaringFile(stamp, agentFiles) ?? '');
}

async function read(directory: string, agentFiles: AgentFiles | null, digest: string, stamp: FolderStamp): Promise<FolderRecord> {
  const name = declaringFile(stamp, agentFiles) as string;
  const readBy = readerOf(stamp, agentFiles);
  const reading: FolderReading =
    readBy === undefined
      ? await (await import('./manifest-file.ts')).readManifestFile(directory)
      : {
          declaration: { file: path.join(directory, name), manifest: null, readBy, diagnostics: [] },
          extraAgentKeys: [],
          ownedAgentKeys: [],
        };
  const found = [...reading.declaration.diagnostics];
  const prompt = promptOf(directory, stamp.files, found);
  for (const [each, what] of stamp.odd) if (what !== 'a socket') found.push(notAFile(directory, each, what));
  for (const other of name === MANIFEST_FILE ? stamp.files.filter((file) => agentFiles?.has(file)) : [])
    found.push(warning(directory, other, `is not read, because there is a ${MANIFEST_FILE}`, 'remove one of them'));
  if (stamp.truncated)
    found.push(
      warning(
        directory,
        name,
        `the folder has more than ${MAX_FILES} files; only the first are looked at, so changes in the rest are not seen`,
        'Move what is not source elsewhere',
      ),
    );
  for (const link of stamp.strayLinks)
    found.push(
      warning(directory, link, 'is a link to a folder elsewhere, which is not looked into', 'Copy the folder, or remove the link'),
    );
  const isBroken = found.some(({ severity }) => severity === 'error');
  const declaration: Omit<Declaration, 'shipped'> = {
    ...reading.declaration,
    id: path.basename(directory),
    directory,
    prompt,
    digest,
    codeDigest: digestOf(
      directory,
      stamp.files.filter((file) => file !== name),
    ),
    ...(stamp.files.includes(CONTRACT_FILE)
      ? { contract: { file: path.join(directory, CONTRACT_FILE), digest: digestOf(directory, [CONTRACT_FILE]) } }
      : {}),
    diagnostics: found,
    manifest: isBroken ? null : reading.declaration.manifest,
  };
  return { ...reading, stamps: stamp.stamps, fresh: stamp.fresh, declaration };
}

function promptOf(directory: string, files: readonly string[], found: Diagnostic[]): Declaration['prompt'] {
  const [name, ...others] = PROMPT_FILES.filter((each) => files.includes(each));
  if (name === undefined) return null;
  for (const other of others) found.push(warning(directory, other, `is not read, because there is a ${name}`, 'remove one of them'));
  const file = path.join(directory, name);
  try {
    const why = whyNotItsOwn(directory, file);
    if (why === null) return { file, text: readTextFile(file, MAX_PROMPT_BYTES) };
    found.push({ ...PROMPT_FINDING, message: why, file, cure: "copy the prompt into the agent's folder" });
  } catch (error) {
    if (isPassing(error)) throw error;
    found.push({ ...PROMPT_FINDING, message: messageOf(error), file, cure: `make it UTF-8 text of at most ${MAX_PROMPT_BYTES} bytes` });
  }
  return null;
}

const PROMPT_FINDING = { severity: 'error', code: 'prompt_invalid', line: 1, column: 1 } as const;

/** A prompt is sent to a model, so nothing from outside the folder may be in its place. */
function whyNotItsOwn(directory: string, file: string): string | null {
  const real = fs.realpathSync(file);
  if (!real.startsWith(fs.realpathSync(directory) + path.sep)) return `is a link that leads out of the agent's folder, to ${real}`;
  const isInstalled = real.includes(`${path.sep}node_modules${path.sep}`); // installers link files of packages to their store
  return fs.statSync(real).nlink > 1 && !isInstalled ? 'has several hard links, so it may be a file from elsewhere' : null;
}

/** Whoever opened it would wait for ever. */
function notAFile(directory: string, name: string, what: string): Diagnostic {
  const code = PROMPT_FILES.includes(name) ? 'prompt_invalid' : 'manifest_invalid';
  return {
    severity: 'error',
    code,
    message: `is ${what}, not a file`,
    file: path.join(directory, name),
    line: 1,
    column: 1,
    cure: 'remove it',
  };
}

const MAX_PROMPT_BYTES = 256 * 1024;

function nothingDeclared(directory: string, agentFiles: AgentFiles | null, { files }: FolderStamp): Diagnostic {
  const stat = fs.statSync(path.join(directory, MANIFEST_FILE), { throwIfNoEntry: false });
  if (stat !== undefined) return { ...notAFile(directory, MANIFEST_FILE, kindOf(stat)), cure: `put a ${MANIFEST_FILE} in its place` };
  const others = [...(agentFiles?.keys() ?? [])];
  const meant = (file: string) => others.find((other) => other.toLowerCase() === file.toLowerCase());
  const slip = files.find((file) => SLIPS.includes(file) || meant(file) !== undefined);
  const wanted = [MANIFEST_FILE, ...others].join(' or ');
  return {
    severity: 'warning',
    code: 'manifest_missing',
    file: directory,
    message: `the folder has no ${wanted}${slip === undefined ? '' : `, but a ${slip}`}`,
    cure: slip === undefined ? `add a ${MANIFEST_FILE}, or move the folder elsewhere` : `rename ${slip} to ${meant(slip) ?? MANIFEST_FILE}`,
  };
}

/** What cannot be read fails as itself: it stays a declaration, so that what depends on it can name it. */
function unreadable(directory: string, kind: 'extensions' | 'agents', error: unknown): FolderRecord {
  const file = path.join(directory, MANIFEST_FILE);
  const diagnostic: Diagnostic = {
    severity: 'error',
    code: 'manifest_invalid',
    file,
    line: 1,
    column: 1,
    message: `the folder cannot be read: ${messageOf(error)}`,
    cure: `make it readable, or move it out of ${kind}`,
  };
  const declaration = {
    id: path.basename(directory),
    directory,
    file,
    manifest: null,
    prompt: null,
    digest: '',
    diagnostics: [diagnostic],
  };
  return { stamps: '', fresh: true, declaration, extraAgentKeys: [], ownedAgentKeys: null };
}

function warning(directory: string, name: string, message: string, cure: string): Diagnostic {
  return { severity: 'warning', code: 'manifest_invalid', message, file: path.join(directory, name), line: 1, column: 1, cure };
}
