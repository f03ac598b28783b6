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
      return `hear the topic ${what}`;
    default:
      return `start turns of the agent ${what} with that agent's own tools`;
  }
}

/** A path that a manifest asks for, looked at once: what is checked is what is shown and opened. */
export interface AskedPath {
  /** As it is written, absolute. */
  readonly named: string;
  /** Where that really lies; it may not be there yet. */
  readonly real: string;
  /** Why no extension may have it; null when a person may agree to it. */
  readonly never: string | null;
}

export function askedPath(how: 'read' | 'write', given: string, places: Places): AskedPath {
  const named = locate(given, places);
  const real = realOf(named);
  return { named, real, never: whyNotPath(how, [named, real], places) };
}

/** Why nobody can be given that by a manifest; null when a person may agree to it. */
export function whyNever(ask: string, places: Places): string | null {
  const found = PATH_ASK.exec(ask);
  return found === null ? null : askedPath(found[1] as 'read' | 'write', found[2]!, places).never;
}

/** As `askText`, with where a path leads and why it is never given. `never`: it is no use to agree to it. */
export function examinedAsk(ask: string, places: Places): { readonly text: string; readonly never: boolean } {
  const found = PATH_ASK.exec(ask);
  if (found === null) return { text: askText(ask), never: false };
  const { named, real, never } = askedPath(found[1] as 'read' | 'write', found[2]!, places);
  const leads = real === named && !found[2]!.includes('..') ? '' : ` (leads to ${shown(real, places)})`;
  return { text: `${askText(ask)}${leads}${never === null ? '' : `, which it is never given: ${never}`}`, never: never !== null };
}

const PATH_ASK = /^(read|write) (.*)$/s;

/** `ways`: as it is written and as it really lies. */
function whyNotPath(how: 'read' | 'write', ways: readonly [string, string], places: Places): string | null {
  const [named, real] = ways;
  const names = ways.flatMap((way) => way.split(path.sep));
  if (names.some((name) => ENVIRONMENT_FILE.test(name))) return 'no extension may open a .env file';
  const kept = names.find((name) => KEPT_ANYWHERE.has(name));
  if (kept !== undefined) return `no extension may open ${kept}`;
  if (ways.includes(path.parse(real).root)) return 'no extension may open the whole disk; name single folders';
  for (const place of [...protectedPlaces(places), ...(how === 'write' ? systemPlaces(places) : [])]) {
    const at = [place, realOf(place)];
    if (ways.some((way) => at.some((each) => isInside(way, each))))
      return `no extension may ${how === 'read' ? 'open' : 'change'} ${shown(place, places)}`;
    if (how === 'read' && named !== real && at.some((each) => isInside(each, real)))
      return `it is a link to a folder that holds ${shown(place, places)}`;
    if (how === 'write' && ways.some((way) => at.some((each) => isInside(each, way))))
      return `that folder holds ${shown(place, places)}, which no extension may change`;
  }
  if (how === 'read') return null;
  const later = ways.map((way) => runsLater(namesOf(way, places))).find((why) => why !== null);
  return later === undefined ? null : `a file there ${later}`;
}

/** From the innermost of sandbox, project and home down; else from the root. */
function namesOf(file: string, { sandbox, home }: Places): readonly string[] {
  const bases = [sandbox, path.dirname(sandbox), home].flatMap((folder) => (folder === null ? [] : [folder, realOf(folder)]));
  const base = bases.find((folder) => isInside(file, folder)) ?? path.parse(file).root;
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
    // Whoever may open the socket of a container service is root.
    '/run',
    '/var/run',
    '/etc/shadow',
    '/etc/gshadow',
    ...credentialPlaces({ sandbox, home }),
  ];
}

/** What the system, a timer or a shell runs. */
function systemPlaces({ home }: Places): readonly string[] {
  return [...SYSTEM, ...(home === null ? [] : [path.join(home, 'bin')])];
}

const SYSTEM = ['/etc', '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/boot', '/var/spool'];

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

/** Names that mean keys in whatever folder they lie: also below the home folder of somebody else. */
const KEPT_ANYWHERE: ReadonlySet<string> = new Set([
  '.pith',
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.git-credentials',
  '.password-store',
]);

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
