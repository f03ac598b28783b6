import {
  examinedAsk,
  HARMLESS_SETTINGS,
  weakened,
  type Weakened,
  manifestAsks,
  projectFilesThere,
  reached,
  type Trust,
  writableBy,
} from '../trust/index.ts';
import fs from 'node:fs';
import path from 'node:path';
import { stateFolder } from '@pith/safe-files';
import { printableLine } from '@pith/plain-text';
import { discover, openIndex, enabledBy, isExtension, loadSettings, type SettingsOptions, shippedSandbox } from '../declarations/index.ts';

/** What a person is shown before they trust a sandbox. Everything in it was written by somebody else: whoever prints it makes it printable. */
export interface SandboxOverview {
  readonly sandbox: string;
  readonly project: string;
  /** Extensions that it brings, with what their manifests ask for, as a person reads it. */
  readonly extensions: readonly { readonly id: string; readonly asks: readonly ShownAsk[] }[];
  readonly agents: readonly string[];
  /** Programs that its settings run, such as MCP servers. */
  readonly commands: readonly string[];
  readonly addresses: readonly string[];
  readonly secrets: readonly string[];
  readonly weakened: readonly Weakened[];
  /** Every setting that holds only in a trusted sandbox, as `path = value`. */
  readonly settings: readonly string[];
  /** What else lies in it and is offered, such as skills with their scripts and tools. */
  readonly others: readonly string[];
  /** What is there and could not be read, so that nobody knows what a later edit of it brings. */
  readonly unreadable: readonly string[];
  /** Files of the project that are used from then on. */
  readonly files: readonly string[];
}

/** `never`: no extension is given that, whoever agrees. */
export interface ShownAsk {
  readonly ask: string;
  readonly text: string;
  readonly never: boolean;
}

/** Looks at a sandbox without using anything of it: manifests and settings are parsed, no code is loaded, nothing is written. */
export async function overviewOf(
  { opened, folder: project, isBare, sandbox: elsewhere, writable: recorded }: Trust,
  home: string | undefined,
): Promise<SandboxOverview> {
  if (isBare) return { ...NOTHING, sandbox: elsewhere, project, files: projectFilesThere(project) };
  const index = openIndex(stateFolder(elsewhere, 'none')); // never saved
  const options: SettingsOptions = { sandbox: opened, env: {}, workingDirectory: opened };
  const { settings, diagnostics: ofSettings } = await loadSettings(options);
  const { settings: own } = await loadSettings({ ...options, sandbox: path.join(elsewhere, 'none'), home });
  const roots = [
    { directory: opened, shipped: false },
    { directory: shippedSandbox(), shipped: true }, // which formats of agents there are
  ];
  const { declarations, diagnostics: ofFolders } = await discover({
    roots,
    agentPaths: settings.agents.paths,
    index,
    isEnabled: enabledBy(settings),
    at: 0,
  });
  const theirs = [...declarations.values()].filter(({ shipped }) => !shipped);
  const all = theirs.flatMap((each) => (each.manifest === null ? [] : [{ ...each, manifest: each.manifest }]));
  const asked = all.flatMap(({ manifest }) => manifestAsks(manifest));
  const known = { sandbox: opened, home: home ?? null, dataDirectory: settings.data_dir };
  const places = { ...known, writable: [...recorded(), ...writableBy(asked, known)] };
  return {
    sandbox: opened,
    project,
    extensions: all
      .filter(isExtension)
      .map(({ id, manifest }) => ({ id, asks: manifestAsks(manifest).map((ask) => ({ ask, ...examinedAsk(ask, places) })) })),
    agents: theirs.filter(({ manifest, readBy }) => manifest?.agent !== undefined || readBy !== undefined).map(({ id }) => id),
    ...reached(settings),
    weakened: weakened(settings, own),
    settings: leavesOf(Object.keys(settings.origins))
      .filter((key) => !HARMLESS_SETTINGS.includes(key))
      .map((key) => `${key} = ${JSON.stringify(valueAt(settings, key))}`),
    others: othersIn(opened),
    unreadable: [...ofSettings, ...ofFolders, ...theirs.flatMap(({ diagnostics }) => diagnostics)]
      .filter(({ severity }) => severity === 'error')
      .map(({ file, message }) => (file === undefined || message.includes(file) ? message : `${file}: ${message}`)),
    files: projectFilesThere(project),
  };
}

/** A project without a sandbox brings files only. */
const NOTHING: Omit<SandboxOverview, 'sandbox' | 'project' | 'files'> = {
  extensions: [],
  agents: [],
  commands: [],
  addresses: [],
  secrets: [],
  weakened: [],
  settings: [],
  others: [],
  unreadable: [],
};

/** What a person reads before they agree, and what they agree to by that: an ask that is not shown whole is not given. */
export interface ShownOverview {
  readonly lines: readonly string[];
  /** False: something was cut or left out, so that nobody can agree to it. */
  readonly isWhole: boolean;
  readonly grants: Readonly<Record<string, readonly string[]>>;
  /** Of the project. */
  readonly files: readonly string[];
}

/** More than that nobody reads. */
const MOST_LINES = 400;
const LONGEST_LINE = 4000;
/** So many push what follows out of sight, in whatever script they are blank. */
const BLANKS = /[\p{Zs}\u2800\u3164\uFFA0]{4,}/gu;

/** The lines of an overview, printable; a section without anything is left out. */
export function shownOverview(overview: SandboxOverview): ShownOverview {
  const { extensions, agents, commands, addresses, secrets, weakened, settings, files, others, unreadable } = overview;
  const lines: string[] = [];
  const grants: Record<string, string[]> = {};
  let hidden = 0;
  let isWhole = true;
  const row = (text: string, indent: number): boolean => {
    const line = `${' '.repeat(indent)}${printableLine(text).replace(BLANKS, (blanks) => ` (${blanks.length} blanks) `)}`;
    const fits = lines.length < MOST_LINES && line.length <= LONGEST_LINE;
    isWhole &&= fits;
    if (fits) lines.push(line);
    else if (lines.length < MOST_LINES) lines.push(`${line.slice(0, LONGEST_LINE)}… (${line.length - LONGEST_LINE} more characters)`);
    else hidden += 1;
    return fits;
  };
  const section = (title: string, rows: readonly string[]): void => {
    if (rows.length > 0) row(`${title}:`, 0);
    for (const text of rows) row(text, 2);
  };
  section(
    'safeguards that its settings loosen',
    weakened.map(({ setting, effect }) => `${effect} (${setting})`),
  );
  section('programs that its settings start', commands);
  section('addresses that its settings name', addresses);
  section('secrets and variables that its settings name', secrets);
  if (extensions.length > 0) row('code that runs (extensions):', 0);
  for (const { id, asks } of extensions) {
    row(asks.length === 0 ? id : `${id}, which asks to`, 2);
    grants[id] = asks.filter(({ text, never }) => row(text, 4) && !never).map(({ ask }) => ask);
  }
  section('agents', agents);
  section('what else it offers (skills may bring scripts and tools)', others);
  section('files of the project that may be used', files);
  section('settings', settings);
  section('what could not be read', unreadable);
  if (lines.length === 0) lines.push('nothing that runs');
  if (hidden > 0) lines.push(`… and ${hidden} more lines`);
  return { lines, isWhole, grants, files };
}

/** The value at a dotted path, whose keys may hold dots themselves. */
function valueAt(value: unknown, dotted: string): unknown {
  if (dotted === '' || typeof value !== 'object' || value === null) return value;
  for (const [key, below] of Object.entries(value)) {
    if (key === dotted) return below;
    if (dotted.startsWith(`${key}.`)) return valueAt(below, dotted.slice(key.length + 1));
  }
  return undefined;
}

/** Declared apart, or not offered to anybody. */
const APART: ReadonlySet<string> = new Set(['extensions', 'agents', 'data', 'node_modules']);

function othersIn(sandbox: string): readonly string[] {
  const folders = namesIn(sandbox).filter((name) => !APART.has(name) && isFolder(path.join(sandbox, name)));
  return folders.map((folder) => `${folder}: ${namesIn(path.join(sandbox, folder)).length}`);
}

function isFolder(file: string): boolean {
  try {
    return fs.statSync(file).isDirectory();
  } catch {
    return false; // a link to nothing, or not to be looked at
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return fs
      .readdirSync(folder)
      .filter((name) => !name.startsWith('.'))
      .sort();
  } catch {
    return []; // there is none, or it may not be read
  }
}

/** Of dotted paths those that have none below them. */
function leavesOf(paths: readonly string[]): readonly string[] {
  return paths.filter((one) => !paths.some((other) => other.startsWith(`${one}.`)));
}
