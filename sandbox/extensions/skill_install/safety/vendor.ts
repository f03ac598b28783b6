import { CATCHERS, isWellKnown, PASTE_SITES, SHORTENERS } from './hosts.ts';
import type { ScannedLine } from './scan-finding.ts';

/** What a page about installing runs: one address over https, nothing dropped, kept or decoded on the way. */
const ADDRESS = /https:\/\/([a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9][a-z0-9-]{0,62}){1,5})((?:\/[\w.@%+-]{0,80}){0,8})/i;
const UNUSUAL =
  />>|\/dev\/null|\bcrontab\b|\bnohup\b|\bhttp:\/\/|\bbase64\b|--insecure\b|\s-\w*k\w*\s|\$\(\s*echo\b|&\s*$|\bsilently\b|\bwithout (?:asking|telling)|\/dev\/tcp/i;
const INSTALLS = /\binstall(?:s|ed|er|ers|ing|ation)?\b|\bset-?up\b|安装|安裝|インストール|설치|установ|instal[ae]/i;
/** Of those a stranger may have a name below. */
const ANYBODY =
  /(?:^|\.)(?:workers\.dev|github\.io|gitlab\.io|pages\.dev|vercel\.app|netlify\.app|herokuapp\.com|web\.app|firebaseapp\.com|onrender\.com|glitch\.me|replit\.app|repl\.co|amazonaws\.com|blob\.core\.windows\.net|storage\.googleapis\.com|gist\.githubusercontent\.com|duckdns\.org|r2\.dev)$/i;

/**
 * Whether a line of prose installs a vendor's tool as the vendor says: over https, where the text speaks of installing,
 * and from an address that bears a name of which the text speaks too.
 */
export function installsFromVendor(line: ScannedLine, lines: readonly ScannedLine[]): boolean {
  const text = line.plain;
  const address = ADDRESS.exec(text);
  if (address === null || UNUSUAL.test(text)) return false;
  const [, host, route] = address as unknown as readonly [string, string, string];
  if (ANYBODY.test(host) || [...PASTE_SITES, ...CATCHERS, ...SHORTENERS].some((bad) => host === bad || host.endsWith(`.${bad}`)))
    return false;
  const index = lines.indexOf(line);
  if (!lines.slice(Math.max(0, index - BEFORE), index + 2).some(({ plain }) => INSTALLS.test(plain.replace(ADDRESSES, '')))) return false;
  const names = namesOf(host, route);
  if (!FORGE.test(host) && (isWellKnown(host) || VENDOR.test(host))) return true;
  return lines.slice(0, LINES).some(({ plain }) => names.some((name) => hasWord(plain.replace(ADDRESSES, ''), name)));
}

/** Lines of the page before it in which the word may be. */
const BEFORE = 8;
/** No more of a text is looked at. */
const LINES = 200;
const ADDRESSES = /https?:\/\/\S{1,400}/g;

/** Of a host the labels but the last, of a repository its owner and its name. */
function namesOf(host: string, route: string): readonly string[] {
  const parts = FORGE.test(host) ? route.split('/').slice(1, 3) : host.split('.').slice(0, -1);
  return parts.map((part) => part.toLowerCase()).filter((part) => part.length > 1 && !COMMON.has(part));
}

/** Whose tools many install. */
const VENDOR =
  /(?:^|\.)(?:nodesource\.com|aka\.ms|chocolatey\.org|brew\.sh|rustup\.rs|deno\.land|bun\.(?:sh|com)|fly\.io|ollama\.com|nixos\.org|pnpm\.io|sdkman\.io|starship\.rs|pyenv\.run|helm\.sh|k3s\.io|tailscale\.com|cursor\.com|volta\.sh|mise\.run|get\.docker\.com)$/i;
const FORGE = /(?:^|\.)(?:github|githubusercontent|gitlab|bitbucket|jsdelivr|unpkg|huggingface)\.(?:com|org|net|co)$/i;

const COMMON: ReadonlySet<string> = new Set([
  'www',
  'get',
  'sh',
  'raw',
  'install',
  'installer',
  'download',
  'cdn',
  'api',
  'the',
  'bin',
  'setup',
  'tools',
]);

function hasWord(text: string, word: string): boolean {
  const lower = text.toLowerCase();
  for (let at = lower.indexOf(word); at !== -1; at = lower.indexOf(word, at + 1))
    if (!/\w/.test(lower.charAt(at - 1)) && !/\w/.test(lower.charAt(at + word.length))) return true;
  return false;
}
