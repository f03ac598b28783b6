import { manifestAsks } from '../contract/manifest-asks.ts';
import fs from 'node:fs';
import path from 'node:path';
import { stateFolder } from '../contract/state-files.ts';
import { askText, harmlessSettings, loosened, reached, type Loosened, type Trust } from '../trust/index.ts';
import { discover } from './discovery/discover.ts';
import { openIndex } from './discovery/index-file.ts';
import { enabledBy } from './settings/config-of.ts';
import { loadSettings, type SettingsOptions } from './settings/settings.ts';

/** What a person is shown before they trust a sandbox. Everything in it was written by somebody else: whoever prints it makes it printable. */
export interface SandboxOverview {
  readonly sandbox: string;
  readonly project: string;
  /** Extensions that it brings, with what their manifests ask for. */
  readonly extensions: readonly { readonly id: string; readonly asks: readonly string[] }[];
  readonly agents: readonly string[];
  /** Programs that its settings run, such as MCP servers. */
  readonly commands: readonly string[];
  readonly addresses: readonly string[];
  readonly secrets: readonly string[];
  readonly loosens: readonly Loosened[];
  /** Settings beside these that hold only in a trusted sandbox. */
  readonly settings: readonly string[];
  /** Files of the project that are used from then on. */
  readonly files: readonly string[];
}

/** Of a project whose sandbox is trusted. */
const PROJECT_FILES = [
  'AGENTS.md',
  'CLAUDE.md',
  '.mcp.json',
  '.env',
  '.claude/skills',
  '.agents/skills',
  '.cursor/skills',
  '.codex/skills',
  'skills',
];

/** Looks at a sandbox without using anything of it: manifests and settings are parsed, no code is loaded, nothing is written. */
export async function overviewOf({ opened, sandbox: elsewhere }: Trust, home: string | undefined): Promise<SandboxOverview> {
  const index = openIndex(stateFolder(elsewhere, 'none')); // never saved
  const options: SettingsOptions = { sandbox: opened, env: {}, index, workingDirectory: opened };
  const { settings } = await loadSettings(options);
  const { settings: own } = await loadSettings({ ...options, sandbox: path.join(elsewhere, 'none'), home });
  const roots = [{ directory: opened, shipped: false }];
  const { declarations } = await discover({ roots, agentPaths: settings.agents.paths, index, isEnabled: enabledBy(settings), at: 0 });
  const all = [...declarations.values()].flatMap(({ id, manifest }) => (manifest === null ? [] : [{ id, manifest }]));
  const project = path.dirname(opened);
  const harmless = harmlessSettings(settings);
  return {
    sandbox: opened,
    project,
    extensions: all
      .filter(({ manifest }) => manifest.entrypoint !== undefined)
      .map(({ id, manifest }) => ({ id, asks: manifestAsks(manifest) })),
    agents: all.filter(({ manifest }) => manifest.agent !== undefined).map(({ id }) => id),
    ...reached(settings),
    loosens: loosened(settings, own),
    settings: Object.keys(settings.origins).filter((key) => !key.includes('.') && !Object.hasOwn(harmless, key)),
    files: PROJECT_FILES.filter((name) => fs.lstatSync(path.join(project, name), { throwIfNoEntry: false }) !== undefined),
  };
}

/** The lines of an overview; a section without anything is left out. */
export function overviewLines(overview: SandboxOverview): readonly string[] {
  const { extensions, agents, commands, addresses, secrets, loosens, settings, files } = overview;
  const asking = extensions.map(({ id, asks }) => (asks.length === 0 ? id : `${id}, which asks for: ${asks.map(askText).join('; ')}`));
  const sections: readonly (readonly [string, readonly string[]])[] = [
    ['code that runs (extensions)', asking],
    ['agents', agents],
    ['programs that its settings start', commands],
    ['addresses that its settings name', addresses],
    ['secrets that its settings name', secrets],
    ['safeguards that its settings loosen', loosens.map(({ setting, effect }) => `${effect} (${setting})`)],
    ['other settings', settings],
    ['files of the project that are used', files],
  ];
  return sections.flatMap(([title, rows]) => (rows.length === 0 ? [] : [`${title}:`, ...rows.map((row) => `  ${row}`)]));
}
