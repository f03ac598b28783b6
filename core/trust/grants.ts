import { realpathSync } from 'node:fs';
import path from 'node:path';
import { isInside, linkTarget, runsLater, secretPlaces } from '@pith/safe-files';
import type { Manifest } from './manifest.ts';

/** The places that decide what no manifest can be granted. Absolute paths. */
export interface Places {
  readonly sandbox: string;
  readonly home: string | null;
  readonly dataDirectory: string;
  /** Folders that some extension may write, with links resolved: anything in them may become a link to elsewhere. */
  readonly writable?: readonly string[];
  /** Other sandboxes that the person trusts, with links resolved. */
  readonly otherSandboxes?: readonly string[];
}

/**
 * The permissions that a manifest requests beyond its own folder and data, one entry each, sorted: `network`, `secret NAME`, `read PATH`,
 * `write PATH`, `hears TOPIC`, `agent ID`, `guard`.
 */
export function manifestAsks(manifest: Manifest): readonly string[] {
  const { permissions, secrets, events, provides } = manifest;
  const asks = [
    ...(permissions.network ? ['network'] : []),
    ...secrets.map((name) => `secret ${name}`),
    ...permissions.read.map((file) => `read ${file}`),
    ...permissions.write.map((file) => `write ${file}`),
    ...events.handles.map(({ topic }) => `hears ${topic}`), // also topics that it publishes, since others publish them too
    ...permissions.agents.map((id) => `agent ${id}`),
    ...(provides.includes('guard') ? [GUARD_ASK] : []), // it sees the input of other tools
  ];
  return [...new Set(asks)].sort();
}

/** The permission to see and refuse every tool call. The manifest stays whole without it: an ungranted guard counts as a failing one. */
export const GUARD_ASK = 'guard';

/** What `permissions.network` allows, in words for the person who grants it. */
export const NETWORK_REACH = 'everything this machine can reach, local services and metadata addresses too';

/** The manifest, limited to the requests in `agreed`. */
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

/** The request in words, after "asks to" or "may". */
export function askText(ask: string): string {
  const [kind = '', ...rest] = ask.split(' ');
  // A path with other characters is quoted, so that it cannot pass for Pith's own words.
  const given = rest.join(' ');
  const what = /^[\p{L}\p{N}_./~@:+*-]+$/u.test(given) ? given : JSON.stringify(given);
  switch (kind) {
    case 'network':
      return `use the network: ${NETWORK_REACH}`;
    case 'secret':
      return `have the secret ${what}`;
    case 'read':
      return `read ${what}`;
    case 'write':
      return `write ${what}`;
    case GUARD_ASK:
      return 'see the input of every tool call and refuse it';
    case 'hears':
      return `hear the topic ${what}`;
    default:
      return `start turns of the agent ${what} with that agent's own tools`;
  }
}

/** The current meaning of a requested path. No extension can change where it leads: paths within `writable` are refused. */
export interface AskedPath {
  /** The path as written, absolute. */
  readonly named: string;
  /** The real path; it, or a link's target on the way, may not exist yet. */
  readonly real: string;
  /** Why no extension can have it; null when a person may grant it. */
  readonly never: string | null;
}

export function askedPath(how: 'read' | 'write', given: string, places: Places): AskedPath {
  const named = locate(given, places);
  const { real, through } = follow(named);
  const writer = places.writable?.find((folder) => through.some((at) => isInside(at, folder)));
  const never =
    writer === undefined
      ? whyNotPath(how, [named, real], places)
      : `an extension may write ${shown(writer, places)}, so it could lead elsewhere; ask for that folder`;
  return { named, real, never };
}

/** Why no manifest can be granted this; null when a person may grant it. */
export function whyNever(ask: string, places: Places): string | null {
  const found = PATH_ASK.exec(ask);
  return found === null ? null : askedPath(found[1] as 'read' | 'write', found[2]!, places).never;
}

/** As `askText`, with the real path and why it is never granted. `never`: granting it has no effect. */
export function examinedAsk(ask: string, places: Places): { readonly text: string; readonly never: boolean } {
  const found = PATH_ASK.exec(ask);
  if (found === null) return { text: askText(ask), never: false };
  const { named, real, never } = askedPath(found[1] as 'read' | 'write', found[2]!, places);
  const leads = real === named && !found[2]!.includes('..') ? '' : ` (leads to ${shown(real, places)})`;
  const text = `${askText(ask)}${leads}`;
  return { text: never === null ? text : `(never given: ${never}) ${text}`, never: never !== null };
}

/** The folders that these requests would make writable, with links resolved. Requests that are never granted do not count. */
export function writableBy(asks: readonly string[], places: Omit<Places, 'writable'>): readonly string[] {
  return asks.flatMap((ask) => {
    const found = PATH_ASK.exec(ask);
    if (found?.[1] !== 'write') return [];
    const { real, never } = askedPath('write', found[2]!, { ...places, writable: [] });
    return never === null ? [real] : [];
  });
}

const PATH_ASK = /^(read|write) (.*)$/s;

/** `ways`: the path as written, and the real path. */
function whyNotPath(how: 'read' | 'write', ways: readonly [string, string], places: Places): string | null {
  const [named, real] = ways;
  const names = ways.flatMap((way) => way.split(path.sep));
  if (names.some((name) => ENVIRONMENT_FILE.test(name))) return 'no extension may open a .env file';
  const kept = names.find((name) => KEPT_ANYWHERE.includes(name));
  if (kept !== undefined) return `no extension may open ${kept}`;
  if (ways.includes(path.parse(real).root)) return 'no extension may open the whole disk; name single folders';
  for (const place of [...protectedPlaces(places), ...(how === 'write' ? unwritablePlaces(ways, places) : [])]) {
    const at = [place, realPathOf(place)];
    if (ways.some((way) => at.some((each) => isInside(way, each))))
      return `no extension may ${how === 'read' ? 'open' : 'change'} ${shown(place, places)}`;
    if (how === 'read' && named !== real && at.some((each) => isInside(each, real)))
      return `it is a link to a folder that contains ${shown(place, places)}`;
    if (how === 'write' && ways.some((way) => at.some((each) => isInside(each, way))))
      return `that folder contains ${shown(place, places)}, which no extension may change`;
  }
  if (how === 'read') return null;
  const later = ways.map((way) => runsLater(namesOf(way, places))).find((why) => why !== null);
  return later === undefined ? null : `a file there ${later}`;
}

/** Names below the innermost of sandbox, project and home; else from the root. */
function namesOf(file: string, { sandbox, home }: Places): readonly string[] {
  const bases = [sandbox, path.dirname(sandbox), home].flatMap((folder) => (folder === null ? [] : [folder, realPathOf(folder)]));
  const base = bases.find((folder) => isInside(file, folder)) ?? path.parse(file).root;
  return path.relative(base, file).split(path.sep);
}

/** Files and folders that no manifest can open, whether they exist or not. */
export function protectedPlaces({ sandbox, home, dataDirectory }: Places): readonly string[] {
  return [
    ...OF_SANDBOX.map((name) => path.join(sandbox, name)),
    dataDirectory,
    '/proc',
    '/sys',
    '/dev',
    // The socket of a container service gives root access.
    '/run',
    '/var/run',
    ...PASSWORDS,
    ...credentialPlaces({ sandbox, home }),
  ];
}

/** What the system, a timer, a shell or another sandbox's Pith executes or trusts. A project in a system folder is the person's own. */
function unwritablePlaces(ways: readonly string[], { sandbox, home, otherSandboxes = [] }: Places): readonly string[] {
  const project = path.dirname(sandbox);
  const isOfProject = ways.every((way) => [project, realPathOf(project)].some((folder) => isInside(way, folder)));
  return [
    ...SYSTEM.filter((place) => !isOfProject || !isInside(project, place)),
    ...(home === null ? [] : [path.join(home, 'bin')]),
    ...otherSandboxes.flatMap((other) => OF_SANDBOX.map((name) => path.join(other, name))),
  ];
}

const OF_SANDBOX = ['pith.yaml', 'extensions', 'agents'];

const SYSTEM = ['/etc', '/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/boot', '/var/spool'];

/** Places of keys and tokens: hidden from every extension process, also within a folder that it may read. */
export function credentialPlaces({ sandbox, home }: Pick<Places, 'sandbox' | 'home'>): readonly string[] {
  return [
    ...PASSWORDS,
    ...ENVIRONMENT_FILES.map((name) => path.join(path.dirname(sandbox), name)),
    ...(home === null ? [] : secretPlaces(home)),
  ];
}

const PASSWORDS = ['/etc/shadow', '/etc/gshadow'];

/** Files with keys and passwords, wherever they are. */
export const ENVIRONMENT_FILE = /^\.env(?:\..*)?$|^\.envrc$/i;

/** In the project. */
const ENVIRONMENT_FILES = ['.env', '.env.local', '.env.development', '.env.production', '.env.test', '.envrc'];

/** Names of places with keys in any folder, also below another user's home folder. */
const KEPT_ANYWHERE = [
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
];

function locate(given: string, { sandbox, home }: Pick<Places, 'sandbox' | 'home'>): string {
  if (home !== null && (given === '~' || given.startsWith('~/'))) return path.resolve(path.join(home, given.slice(1)));
  return path.resolve(path.dirname(sandbox), given);
}

const MOST_LINKS = 40;

/**
 * Resolves the path as the system does, also beyond missing parts. `through`: each folder in which a name was looked up, with links
 * resolved.
 */
function follow(file: string): { readonly real: string; readonly through: readonly string[] } {
  const { root } = path.parse(file);
  const rest = namesIn(file);
  const through: string[] = [];
  let at = root;
  for (let links = 0; rest.length > 0;) {
    const name = rest.shift()!;
    if (name === '..') at = path.dirname(at);
    if (name === '..' || name === '.') continue;
    through.push(at);
    const next = path.join(at, name);
    const target = links < MOST_LINKS ? linkTarget(next) : null;
    if (target === null) at = next;
    else {
      links += 1;
      if (path.isAbsolute(target)) at = root;
      rest.unshift(...namesIn(target));
    }
  }
  return { real: at, through };
}

function namesIn(file: string): string[] {
  return file
    .slice(path.parse(file).root.length)
    .split(path.sep)
    .filter((name) => name !== '');
}

/** The real path as far as it exists, links included. */
function realPathOf(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    const above = path.dirname(file); // missing, or not readable
    return above === file ? file : path.join(realPathOf(above), path.basename(file));
  }
}

function shown(place: string, { home }: Places): string {
  return home !== null && isInside(place, home) ? path.join('~', path.relative(home, place)) : place;
}
