import { homedir } from 'node:os';
import { isAbsolute, join, relative, resolve } from 'node:path';

/** What `skills:` of the settings may say about where skills come from and which are used. */
export interface RegistryConfig {
  readonly enabled?: boolean;
  readonly allowed?: readonly string[];
  readonly disabled?: readonly string[];
  /** Directories beside the default ones; `{ replace }` takes the place of all of them. */
  readonly sources?: readonly SourceSetting[] | { readonly replace: readonly SourceSetting[] };
  /** One more source. */
  readonly skills_path?: string | null;
  /** Directories outside a source that links in it may lead to. */
  readonly trusted_links?: readonly string[];
  /** Seconds between rescans; 0 switches them off. */
  readonly poll_seconds?: number;
}

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
}

export interface Places {
  readonly sandbox: string;
  readonly project: string;
  /** The shipped skills, or null where the sandbox holds them itself. */
  readonly bundled?: string | null;
}

type Base = 'bundled' | 'home' | 'project' | 'sandbox';

interface DefaultSource {
  readonly label: string;
  readonly base: Base;
  readonly path: string;
  readonly trusted: boolean;
  /** Only these are looked into; the others hold their place in the order. */
  readonly active: boolean;
}

const HOMES = ['.pickle-bot', '.agent', '.kodelet', '.openclaw', '.codex', '.cursor', '.claude', '.agents', '.pith'];
const PROJECTS = ['.cursor', '.codex', '.agent', '.kodelet', '.claude', '.agents'];

/** Every default source, lowest precedence first. What the settings add stands before the last, which always wins. */
export const DEFAULT_SOURCES: readonly DefaultSource[] = [
  { label: 'bundled', base: 'bundled', path: '', trusted: true, active: true },
  ...HOMES.map((name): DefaultSource => ({
    label: `~/${name}/skills`,
    base: 'home',
    path: `${name}/skills`,
    trusted: true,
    active: false,
  })),
  ...PROJECTS.map((name): DefaultSource => ({
    label: `${name}/skills`,
    base: 'project',
    path: `${name}/skills`,
    trusted: false,
    active: false,
  })),
  { label: 'skills', base: 'project', path: 'skills', trusted: false, active: false },
  { label: 'sandbox/skills', base: 'sandbox', path: 'skills', trusted: true, active: true },
];

/** The sources to look into, lowest precedence first. Relative paths are relative to the project. */
export function resolveSources(places: Places, config: RegistryConfig): readonly Source[] {
  const { sources = [], skills_path: skillsPath } = config;
  const replace = 'replace' in sources ? sources.replace : null;
  const named = [...(replace ?? (sources as readonly SourceSetting[])), ...(skillsPath ? [skillsPath] : [])].map((setting) =>
    configured(setting, places),
  );
  const defaults = replace === null ? DEFAULT_SOURCES.flatMap((source) => located(source, places)) : [];
  const last = defaults.length > 0 ? defaults.slice(-1) : [];
  return unique([...defaults.slice(0, -1), ...named, ...last]);
}

/** True when `path` is `directory` or lies in it. Both absolute. */
export function isInside(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || (way !== '..' && !way.startsWith('../') && !isAbsolute(way));
}

/** A path of the settings as an absolute one. */
export function locate(path: string, project: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : resolve(project, path);
}

function located({ label, base, path, trusted, active }: DefaultSource, places: Places): Source[] {
  if (!active) return [];
  if (base === 'bundled') return places.bundled ? [{ label, directory: resolve(places.bundled), trusted, configured: false }] : [];
  const root = base === 'home' ? homedir() : base === 'project' ? places.project : places.sandbox;
  return [{ label, directory: join(root, path), trusted, configured: false }];
}

function configured(setting: SourceSetting, { project }: Places): Source {
  const path = typeof setting === 'string' ? setting : setting.path;
  const label = (typeof setting === 'string' ? undefined : setting.label) ?? path.replace(/\/+$/, '');
  return { label, directory: locate(path, project), trusted: true, configured: true };
}

/** A directory that is listed twice counts where it has the higher precedence; labels stay distinct. */
function unique(sources: readonly Source[]): readonly Source[] {
  const labels = new Set<string>();
  return sources
    .filter((source, index) => !sources.slice(index + 1).some((later) => later.directory === source.directory))
    .map((source) => {
      const label = labels.has(source.label) ? source.directory : source.label;
      labels.add(label);
      return { ...source, label };
    });
}
