import { batches, excerpt, type Scanner, type ScannedLine, type ScannedText } from './scan-finding.ts';
import { type ScanRule, ruleTable } from './rules.ts';
import { CATCHERS, isWellKnown, PASTE_SITES, SHORTENERS } from './hosts.ts';

/** A name may be behind the escape of a line's end. */
const FETCH = String.raw`(?:\b|(?<=\\[nrt]))(?:curl|wget|aria2c|lwp-request|iwr|irm|Invoke-WebRequest|Invoke-RestMethod)\b`;
/** What may be before the program's name. */
const BEFORE = String.raw`(?:(?:sudo|doas|env|exec|nohup|command|time|xargs)\s+(?:-\S+\s+|\w+=\S*\s+){0,6}){0,3}(?:/[\w./-]{0,40}/)?`;
const SHELL = String.raw`(?:ba|z|da|k|fi|c|tc)?sh\b(?!\.\w)`;
/** An interpreter that reads its program from the pipe: without a script, or with a lone dash. */
const READS_PROGRAM = String.raw`(?:python[\d.]*|node|deno|bun|perl|ruby|php|pwsh|powershell)\s*(?:-\s*)?(?=$|[;&|)"'\u0060\u201d])`;
const RUNS = String.raw`\|&?\s*${BEFORE}(?:${SHELL}|${READS_PROGRAM}|iex\b|Invoke-Expression\b)`;

const DOWNLOADED = 'what is downloaded is run at once, unseen';
const DOWNLOADED_FILE = 'a file is downloaded and run';
const DECODED = 'what is decoded is run at once, unseen';

const RULES = ruleTable(String.raw`
download_and_run high: ${DOWNLOADED}
  ${FETCH}
  <240> ${RUNS}
  (?:${SHELL}|\bsource|(?:^|[\s;&|\u0060(])\.)\s+(?:-\w+\s+)?<\(\s*${FETCH}
  (?:\beval\b|${SHELL}\s+-\w*c\b|\bsource\b)
  <40> (?:\$\(|\u0060)\s*${FETCH}
  \b(?:iex|Invoke-Expression)\b
  <80> \b(?:iwr|irm|curl|wget|Invoke-WebRequest|Invoke-RestMethod)\b|DownloadString|Net\.WebClient
  \b(?:DownloadString|DownloadData)\b
  <200> \|\s*(?:iex|Invoke-Expression)\b
  \b(?:exec|eval)\s*\(
  <200> \b(?:urlopen|urlretrieve|requests\.get|httpx\.get|urllib\.request)\b
  \b(?:urlopen|requests\.get|httpx\.get)\s*\(
  <300> [;\s](?:exec|eval)\s*\(
  \b(?:eval|new Function)\s*\(\s*await\s*(?:\(\s*)?(?:await\s+)?\(?fetch\b
  \bfetch\s*\(
  <200> \.then\s*\(\s*eval\b
  \b(?:eval|instance_eval|class_eval|exec|system|assert)\b\s*\(?
  <60> \b(?:URI\.open|Net::HTTP\.get|URI\.parse|LWP::Simple|file_get_contents\s*\(\s*['"]https?:|open\s*\(\s*['"]https?:)
  \b(?:python[\d.]*|node|perl|ruby)\s+-\w*[ce]\b
  <20> \$\(\s*${FETCH}
  \bfetch\s*\(
  <200> \.then\s*\(\s*
  <60> (?:=>|\breturn\b)\s*(?:eval|Function|new Function)\s*\(
download_and_run high: ${DECODED}
  \bbase(?:64|32)\s+(?:-d|-D|--decode)\b
  <200> ${RUNS}
  \b(?:run|_?ex|_?exec\w*|_?eval\w*|f|fn|func|go|call|do|_+\w*)\s*\(\s*
  <20> \b(?:b64decode|a85decode|unhexlify|marshal\.loads)\s*\(
  getattr\s*\(\s*(?:__builtins__|builtins|os|__import__)\b
  <40> ['"]\s*\+\s*['"]
  \bprintf\s+['"]?(?:\\x[0-9a-f]{2}|\\[0-7]{3}){6,}
  <400> ${RUNS}
  \b(?:xxd\s+-r|gunzip|zcat|uudecode)\b
  <120> ${RUNS}
  \bopenssl\s+(?:enc|base64)\s
  <80> -d\b
  <120> ${RUNS}
  \b(?:eval|exec|Function|execSync|os\.system|system)\s*\(\s*
  <80> \b(?:atob|b64decode|a85decode|unhexlify|fromhex|base64_decode|codecs\.decode|marshal\.loads|zlib\.decompress)\s*\(
  \b(?:eval|exec|Function|execSync)\s*\(
  <160> Buffer\.from\s*\(
  <2000> ['"](?:base64|hex)['"]
  \b(?:powershell|pwsh)(?:\.exe)?\b
  <120> \s-(?:e|ec|enc|enco\w*)\s+[A-Za-z0-9+/=]{16,}
download_and_run medium: ${DOWNLOADED_FILE}
  ${FETCH}
  <300> (?:-o|-O|--output|-OutFile)\b
  <200> (?:&&|;)\s*(?:chmod\s+(?:\+x|[0-7]{3,4})\b|${BEFORE}${SHELL}\s+\S|\./\S)`);

/** A line that fetches, and where it puts what it fetched. */
const SAVES = new RegExp(`${FETCH}[^\\n]{0,1000}`, 'gi');
const SAVED_AS = /(?:\s-\w*o[= ]?|\s--output(?:-document)?[= ]|\s-OutFile\s|>|\s-O\s)\s*["']?([^\s"'\u0060;&|)<>]{1,200})/gi;
const ADDRESS_NAME = /https?:\/\/[^\s"'\u0060;&|)<>]{0,300}\/([^\s"'\u0060;&|)<>/?#]{1,100})/gi;
/** A file that is run, or made ready for it. */
const RUN_FILE = new RegExp(
  String.raw`(?:(?<![\w./-])(?:${SHELL}|source|\.|python[\d.]*|node|deno\s+run|bun|perl|ruby|php|pwsh|powershell)\s+(?:-\S+\s+){0,4}|\bchmod\s+(?:[augo]*\+\w*x|[0-7]{3,4})\s+|(?:^|[;&|(\u0060$]|\bsudo|\bexec)\s*(?=[~./$]))["']?([^\s"'\u0060;&|)<>]{1,200})`,
  'gi',
);

/** Downloads and decoded texts that go straight into an interpreter, or into a file that a later line runs. */
export const downloadAndRun: Scanner = function* ({ kind, lines }) {
  let vendors = 0;
  const saved = new Map<string, number>();
  for (const batch of batches(lines)) {
    for (const one of batch) {
      const { number, plain: text } = one;
      for (const name of saved.size === 0 ? [] : namesIn(text, RUN_FILE)) {
        const line = saved.get(name);
        if (line === undefined) continue;
        saved.delete(name);
        yield { severity: 'medium', code: 'download_and_run', line, message: `${DOWNLOADED_FILE}: ${excerpt(name, 40)} in line ${number}` };
      }
      if (!WORTH_A_LOOK.test(text)) continue;
      const broken = brokenRule(text, kind);
      if (broken !== null) {
        const { message, found } = broken;
        const about = { code: 'download_and_run', line: number } as const;
        if (broken.isMention)
          yield { ...about, severity: 'medium', message: `speaks of a download that is run at once: ${excerpt(found)}` };
        else if (message === DOWNLOADED && kind === 'prose' && ++vendors <= MOST_VENDORS && installsFromVendor(one, lines))
          yield { ...about, severity: 'medium', message: `the installer of a vendor is run at once, unseen: ${excerpt(found)}` };
        else yield { ...about, severity: broken.severity, message: `${message}: ${excerpt(found)}` };
        continue;
      }
      for (const [download] of text.matchAll(SAVES))
        for (const name of [...namesIn(download, SAVED_AS), ...namesIn(download, ADDRESS_NAME)])
          if (saved.size < MOST_SAVED) saved.set(name, number);
    }
    yield null;
  }
};

/** Lines of one file that may be a vendor's; each is compared with the text. */
const MOST_VENDORS = 10;
/** Downloads of one file that are remembered. */
const MOST_SAVED = 100;

/** Whether a line speaks about such a command, which leaves its address out: `curl … | sh`. */
function isMention(text: string, found: string): boolean {
  return !text.includes('://') && /^[\w-]{1,20}(?:\s-\w{1,10})?\s{0,4}(?:\.{3}|\u2026|<\w{1,20}>|URL)?[\s\\]{0,4}\|/i.test(found);
}

/** The last parts of the paths that a pattern finds. */
function* namesIn(text: string, pattern: RegExp): Iterable<string> {
  for (const match of text.matchAll(pattern)) {
    const name = match[1]!.slice(match[1]!.lastIndexOf('/') + 1);
    if (/\w/.test(name)) yield name;
  }
}

const WORTH_A_LOOK =
  /curl|wget|aria2c|lwp-request|iwr|irm|invoke-|download|urlopen|requests\.get|httpx\.get|urllib|fetch|base64|base32|b64decode|a85decode|atob|xxd|openssl|gunzip|zcat|uudecode|unhexlify|fromhex|codecs|marshal|zlib|getattr|printf|URI|Net::HTTP|file_get_contents|LWP|https?:|Buffer\.from|powershell|pwsh/i;

type Broken = ScanRule & { readonly found: string; readonly isMention: boolean };

/** The first rule that a line breaks, and where. One that it only speaks of counts where there is no other. */
function brokenRule(text: string, kind: ScannedText['kind']): Broken | null {
  let mention: Broken | null = null;
  for (const one of RULES)
    for (const { text: found } of one.pattern.all(text)) {
      const broken = { ...one, found, isMention: one.message === DOWNLOADED && kind === 'prose' && isMention(text, found) };
      if (!broken.isMention) return broken;
      mention ??= broken;
    }
  return mention;
}

/** What a page about installing runs: one address over https, nothing dropped, kept or decoded on the way. */
const FETCHES = new RegExp(FETCH, 'gi');
const ADDRESS = /https:\/\/([a-z0-9][a-z0-9-]{0,62}(?:\.[a-z0-9][a-z0-9-]{0,62}){1,5})((?:\/[\w.@%+-]{0,80}){0,8})/gi;
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
function installsFromVendor(line: ScannedLine, lines: readonly ScannedLine[]): boolean {
  const text = line.plain;
  const [address, ...more] = text.matchAll(ADDRESS);
  if (address === undefined || more.length > 0 || (text.match(FETCHES)?.length ?? 0) > 1 || UNUSUAL.test(text)) return false;
  const [, host, route] = address as unknown as readonly [string, string, string];
  if (ANYBODY.test(host) || [...PASTE_SITES, ...CATCHERS, ...SHORTENERS].some((bad) => host === bad || host.endsWith(`.${bad}`)))
    return false;
  const index = lines.indexOf(line);
  if (!lines.slice(Math.max(0, index - LINES_BEFORE), index + 2).some(({ plain }) => INSTALLS.test(plain.replace(ADDRESSES, ''))))
    return false;
  const names = namesOf(host, route);
  if (!FORGE.test(host) && (isWellKnown(host) || VENDOR.test(host))) return true;
  return lines.slice(0, LINES).some(({ plain }) => names.some((name) => hasWord(plain.replace(ADDRESSES, ''), name)));
}

/** Lines of the page before it in which the word may be. */
const LINES_BEFORE = 8;
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
