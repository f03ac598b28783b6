import { realpathSync } from 'node:fs';
import path from 'node:path';
import { runsLater } from '../contract/runs-later.ts';
import { type Manifest } from '../contract/manifest.ts';
import { NETWORK_REACH } from '../contract/manifest-asks.ts';

/** Where what nobody may be given by a manifest lies. Absolute paths. */
export interface Places {
  readonly sandbox: string;
  readonly home: string | null;
  readonly dataDirectory: string;
}

/** The manifest with no more than what of its asks is in `agreed`. */
export function narrowed(manifest: Manifest, agreed: ReadonlySet<string>): Manifest {
  const { permissions, secrets, events } = manifest;
  return {
    ...manifest,
    secrets: secrets.filter((name) => agreed.has(`secret ${name}`)),
    permissions: {
      network: permissions.network && agreed.has('network'),
      read: permissions.read.filter((file) => agreed.has(`read ${file}`)),
      write: permissions.write.filter((file) => agreed.has(`write ${file}`)),
      agents: permissions.agents.filter((id) => agreed.has(`agent ${id}`)),
    },
    events: { ...events, handles: events.handles.filter(({ topic }) => agreed.has(`hears ${topic}`)) },
  };
}

/** As a person reads it. */
export function askText(ask: string): string {
  const [kind = '', ...rest] = ask.split(' ');
  const what = rest.join(' ');
  switch (kind) {
    case 'network':
      return `the network: ${NETWORK_REACH}`;
    case 'secret':
      return `the secret ${what}`;
    case 'read':
      return `read ${what}`;
    case 'write':
      return `write ${what}`;
    case 'hears':
      return `hear ${what}`;
    default:
      return `start turns of the agent ${what} with that agent's own tools`;
  }
}

/** Why nobody can be given that by a manifest; null when a person may agree to it. */
export function whyNever(ask: string, places: Places): string | null {
  const found = /^(read|write) (.*)$/s.exec(ask);
  if (found === null) return null;
  const [, how, given = ''] = found;
  const file = locate(given, places);
  const ways = [file, realOf(file)];
  if (file.split(path.sep).some((name) => ENVIRONMENT_FILE.test(name))) return 'no extension may open a .env file';
  if (ways.includes(path.parse(file).root)) return 'no extension may open the whole disk; name single folders';
  for (const place of protectedPlaces(places)) {
    const at = [place, realOf(place)];
    if (ways.some((way) => at.some((each) => isInside(way, each)))) return `no extension may open ${shown(place, places)}`;
    const isLink = ways[0] !== ways[1] && how === 'read';
    if (isLink && at.some((each) => isInside(each, ways[1]!))) return `it is a link to a folder that holds ${shown(place, places)}`;
    if (how === 'write' && ways.some((way) => at.some((each) => isInside(each, way))))
      return `it holds ${shown(place, places)}, which no extension may open`;
  }
  const later = how === 'write' ? runsLater(namesOf(file, places)) : null;
  return later === null ? null : `what is written there ${later}`;
}

/** From the innermost of sandbox, project and home down; else from the root. */
function namesOf(file: string, { sandbox, home }: Places): readonly string[] {
  const base = [sandbox, path.dirname(sandbox), home].find((folder) => folder !== null && isInside(file, folder)) ?? path.parse(file).root;
  return path.relative(base, file).split(path.sep);
}

/** Files and folders that no manifest opens, whether they are there or not. */
export function protectedPlaces({ sandbox, home, dataDirectory }: Places): readonly string[] {
  return [
    ...['pith.yaml', 'extensions', 'agents'].map((name) => path.join(sandbox, name)),
    dataDirectory,
    '/proc',
    '/sys',
    '/dev',
    ...credentialPlaces({ sandbox, home }),
  ];
}

/** Where keys and tokens lie: no process of an extension sees them, also not in a folder that it may read. */
export function credentialPlaces({ sandbox, home }: Pick<Places, 'sandbox' | 'home'>): readonly string[] {
  return [
    ...ENVIRONMENT_FILES.map((name) => path.join(path.dirname(sandbox), name)),
    ...(home === null ? [] : CREDENTIALS.map((name) => path.join(home, name))),
  ];
}

/** Wherever it lies. */
const ENVIRONMENT_FILE = /^\.env(?:\..*)?$|^\.envrc$/i;

/** In the project. */
const ENVIRONMENT_FILES = ['.env', '.env.local', '.env.development', '.env.production', '.env.test', '.envrc'];

/** In the home folder: keys, tokens and what programs run by themselves. */
const CREDENTIALS = [
  '.pith',
  '.ssh',
  '.gnupg',
  '.aws',
  '.claude',
  '.claude.json',
  '.codex',
  '.m2/settings.xml',
  '.gradle/gradle.properties',
  '.bash_history',
  '.zsh_history',
  '.azure',
  '.kube',
  '.docker',
  '.config/gcloud',
  '.config/gh',
  '.config/op',
  '.password-store',
  '.local/share/keyrings',
  '.mozilla',
  '.config/google-chrome',
  '.config/chromium',
  'Library/Keychains',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.git-credentials',
  '.config/git/credentials',
  '.cargo/credentials.toml',
  '.terraform.d/credentials.tfrc.json',
];

/** The path that a manifest names, as it is written and as it really lies: what is checked is what is opened. */
export function grantedPath(given: string, places: Pick<Places, 'sandbox' | 'home'>): { readonly named: string; readonly real: string } {
  const named = locate(given, places);
  return { named, real: realOf(named) };
}

function locate(given: string, { sandbox, home }: Pick<Places, 'sandbox' | 'home'>): string {
  if (home !== null && (given === '~' || given.startsWith('~/'))) return path.resolve(path.join(home, given.slice(1)));
  return path.resolve(path.dirname(sandbox), given);
}

/** Where it really lies, as far as it is there: a link on the way counts. */
function realOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    const above = path.dirname(file); // not there, or not to be looked into
    return above === file ? file : path.join(realOf(above), path.basename(file));
  }
}

function shown(place: string, { home }: Places): string {
  return home !== null && isInside(place, home) ? path.join('~', path.relative(home, place)) : place;
}

function isInside(file: string, folder: string): boolean {
  const way = path.relative(folder, file);
  return way === '' || (way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way));
}
