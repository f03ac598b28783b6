import { dirname, join, resolve } from 'node:path';
import { SKILL_HOMES, SKILL_PROJECTS } from '@pith/safe-files';
import type { SkillsConfig } from '../config.ts';
import { DRAFTS_FOLDER } from '../drafts/draft-files.ts';

/** What `skills:` of the settings may say about where skills come from and which are used. */
export type RegistryConfig = Partial<SkillsConfig>;

export type SourceSetting = string | { readonly path: string; readonly label?: string };

/** A directory in which skills are looked for. */
export interface Source {
  readonly label: string;
  /** Absolute. */
  readonly directory: string;
  /** Untrusted skills are listed, not offered. */
  readonly trusted: boolean;
  /** Named in the settings: its absence is worth a warning. */
  readonly configured: boolean;
  /** Named in the settings, and thereby trusted: one of the project's, which would wait for a person otherwise. */
  readonly trustedBySettings?: boolean;
  /** A person trusted it with the project: what it held then is used, and what it holds later as the setting `trust` says. */
  readonly trustedWithProject?: boolean;
  /** Of skills that agents wrote and nobody has accepted: none of them is offered. */
  readonly holdsDrafts?: true;
  /** Where it must really lie, or under `trusted_links`; absent: anywhere. */
  readonly within?: string;
}

export interface Places {
  readonly sandbox: string;
  readonly project: string;
  /** The user's home folder, or null where there is none. */
  readonly home?: string | null;
  /** A sandbox that nobody has trusted: the skills of it and its project are listed, never offered. */
  readonly untrustedSandbox?: string | null;
  /** Files and folders of the project that a person trusted with the sandbox. */
  readonly projectFiles?: readonly string[];
  /** The shipped skills, or null where the sandbox holds them itself. */
  readonly bundled?: string | null;
  /** Folders of skills that shipped extensions carry, by the extension's id. */
  readonly carried?: ReadonlyMap<string, string>;
}

type Base = 'bundled' | 'home' | 'project' | 'sandbox';

interface DefaultSource {
  readonly label: string;
  readonly base: Base;
  readonly path: string;
  readonly trusted: boolean;
}

/** Every default source, lowest precedence first. What the settings add is before the last, which always wins. */
export const DEFAULT_SOURCES: readonly DefaultSource[] = [
  { label: 'bundled', base: 'bundled', path: '', trusted: true },
  ...SKILL_HOMES.map((name): DefaultSource => ({ label: `~/${name}/skills`, base: 'home', path: `${name}/skills`, trusted: true })),
  ...SKILL_PROJECTS.map((name): DefaultSource => ({ label: `${name}/skills`, base: 'project', path: `${name}/skills`, trusted: false })),
  { label: 'skills', base: 'project', path: 'skills', trusted: false },
  { label: 'sandbox/skills', base: 'sandbox', path: 'skills', trusted: true },
];

/** The sources to look into, lowest precedence first. Relative paths are relative to the project. */
export function resolveSources(places: Places, config: RegistryConfig): readonly Source[] {
  const { sources = [], skills_path: skillsPath } = config;
  const replace = 'replace' in sources ? sources.replace : null;
  const named = [...(replace ?? (sources as readonly SourceSetting[])), ...(skillsPath ? [skillsPath] : [])].map((setting) =>
    configured(setting, places),
  );
  const defaults = replace === null ? DEFAULT_SOURCES.flatMap((source) => located(source, places)) : [];
  return unique([...untrustedSources(places), ...defaults.slice(0, -1), ...named, ...defaults.slice(-1)]);
}

/** Below all others: what nobody trusts hides nothing. */
function untrustedSources({ untrustedSandbox }: Places): readonly Source[] {
  if (!untrustedSandbox) return [];
  const project = dirname(untrustedSandbox);
  return DEFAULT_SOURCES.flatMap(({ label, base, path }) => {
    if (base !== 'project' && base !== 'sandbox') return [];
    const directory = join(base === 'project' ? project : untrustedSandbox, path);
    return [{ label, directory, trusted: false, configured: false, within: project }];
  });
}

/** What agents write of new skills. Below all others: a draft hides nothing. */
export function draftsSource({ sandbox }: Pick<Places, 'sandbox'>): Source {
  return { label: 'drafts', directory: join(sandbox, ...DRAFTS_FOLDER), trusted: true, configured: false, holdsDrafts: true };
}

/** A path of the settings as an absolute one. */
export function locate(path: string, { project, home }: Pick<Places, 'project' | 'home'>): string {
  return home && (path === '~' || path.startsWith('~/')) ? join(home, path.slice(1)) : resolve(project, path);
}

function located({ label, base, path, trusted }: DefaultSource, places: Places): Source[] {
  const at = (directory: string, name = label): Source => ({ label: name, directory, trusted, configured: false });
  if (base === 'bundled') {
    const carried = [...(places.carried ?? [])].map(([id, directory]) => at(directory, `${label}/${id}`));
    return places.bundled ? [...carried, at(resolve(places.bundled))] : carried;
  }
  const root = base === 'home' ? places.home : base === 'project' ? places.project : places.sandbox;
  const source = root ? at(join(root, path)) : null;
  if (source === null) return [];
  const isAgreed = places.projectFiles?.includes(source.directory) === true;
  return [trusted ? source : { ...source, within: places.project, ...(isAgreed ? { trustedWithProject: true } : {}) }];
}

function configured(setting: SourceSetting, places: Places): Source {
  const path = typeof setting === 'string' ? setting : setting.path;
  const label = (typeof setting === 'string' ? undefined : setting.label) ?? path.replace(/\/+$/, '');
  const directory = locate(path, places);
  const asks =
    places.project !== places.home && DEFAULT_SOURCES.some((one) => !one.trusted && join(places.project, one.path) === directory);
  return { label, directory, trusted: true, configured: true, ...(asks ? { trustedBySettings: true } : {}) };
}

/** A directory that is listed twice counts once, where it has the higher precedence, and is trusted if either is; labels stay distinct. */
function unique(sources: readonly Source[]): readonly Source[] {
  const labels = new Set<string>();
  return sources
    .filter((source, index) => !sources.slice(index + 1).some((later) => later.directory === source.directory))
    .map((source) => {
      const label = labels.has(source.label) ? source.directory : source.label;
      labels.add(label);
      const trusted = source.trusted || sources.some((other) => other.trusted && other.directory === source.directory);
      return { ...source, label, trusted, ...(trusted ? { within: undefined } : {}) };
    });
}
