import { batches, excerpt, type Scanner } from './scan-finding.ts';
import { CATCHERS } from './hosts.ts';
import { type NearbyRule, oneOf, type Sign, Sequence, warning } from './rules.ts';

/** Where keys, tokens and passwords of a person lie. */
export const CREDENTIALS = new RegExp(
  [
    String.raw`(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|homedir\(\)|Path\.home\(\)|/home/\w+|/Users/\w+|/root)[\w"'\s,)/\\+(-]{0,12}\.(?:ssh|aws|azure|kube|gnupg|docker/config|config/gcloud|config/gh|netrc|npmrc|pypirc|git-credentials|password-store|pgpass)\b`,
    String.raw`(?<![\w])\.(?:ssh/(?:id_\w+|authorized_keys|config|\*)|aws/credentials|kube/config|docker/config\.json|git-credentials|netrc|pgpass|gnupg/)`,
    String.raw`\bid_(?:rsa|dsa|ecdsa|ed25519)\b(?!\.pub)`,
    String.raw`/etc/shadow\b`,
    String.raw`\bLogin(?: |\\ )Data\b|\bkey4\.db\b|\blogins\.json\b|\bcookies\.sqlite\b|(?:Chrome|Chromium|Brave-Browser|BraveSoftware|Edge)[\\/ \w]{0,40}[\\/](?:User Data|Default)\b`,
    String.raw`\bLibrary/Keychains\b|\bdump-keychain\b|\bfind-(?:generic|internet)-password\b|\blogin\.keychain\b`,
    String.raw`\bwallet\.dat\b|\.electrum\b|\bMetaMask\b`,
    String.raw`169\.254\.169\.254|metadata\.google\.internal`,
  ].join('|'),
  'i',
);

/** Places where credentials lie: one that is read or sent away is worse than one that is named. */
export const credentialPaths: Scanner = function* ({ kind, lines }) {
  for (const batch of batches(lines)) {
    for (const { number, plain: line } of batch) {
      const text = line.includes('.pub') ? line.replace(PUBLIC_KEY, '').replace(OWN_KEYS, '') : line;
      const path = CREDENTIALS.exec(text);
      const project = path === null ? DOTENV.exec(text) : null;
      const found = path ?? project;
      if (found === null) continue;
      const warns = kind === 'prose' && GUARDS.test(text);
      const sent = !warns && SENDS.test(text) && (path !== null || TARGET.test(text));
      if (path === null && !sent) continue; // a project's `.env` is reported only where it leaves the machine
      const used = sent || (!warns && READS.test(text)) || (kind === 'code' && !COMMENT.test(text));
      yield {
        severity: used ? 'high' : 'medium',
        code: 'credential_path',
        line: number,
        message: `${sent ? 'reads and sends away' : used ? 'reads' : 'names'} a place where credentials lie: ${excerpt(found[0], 60)}`,
      };
    }
    yield null;
  }
};

/** A project's own secrets: everybody names them, few send them away. */
const DOTENV =
  /(?<![\w$.*])\.env(?:\.(?:local|production|prod|development|staging))?(?![\w.-]{0,60}(?:example|sample|template|\())(?![\w(])/i;
const READS =
  /\b(?:cat|less|more|head|tail|cp|scp|rsync|tar|zip|base64|xxd|curl|wget|nc|ncat|type|Get-Content|Copy-Item|strings|sqlite3)\b|\bopen\s*\(|\bread(?:_text|_bytes|File(?:Sync)?)?\s*\(|createReadStream|\bread\b[^.\n]{0,40}\b(?:contents?|file|it)\b|dump-keychain|find-(?:generic|internet)-password/i;
const SENDS =
  /\b(?:curl|wget|nc|ncat|netcat|scp|rsync|ftp|sftp|telnet|Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b|requests\.(?:post|put)|httpx\.(?:post|put)|\bfetch\s*\(|urlopen|\b(?:upload|send|post|exfiltrate)\b/i;
const GUARDS =
  /\b(?:never|do not|don't|must not|should not|avoid|ensure|git-?ignore|detect|flag|suspicious|malicious|attack|misaligned|disguise|such as|e\.g\.|theft|stealing|leak|leave out|exclude[sd]?|except)\b/i;

/** Where a text leaves to. */
const TARGET = /https?:\/\/|\b(?:nc|ncat|netcat|scp|rsync)\b|@\S{0,40}\.env\b/i;
const COMMENT = /^\s*(?:#|\/\/|\*|--|;|REM\b)/i;
/** Where a public key goes. */
const OWN_KEYS = />>\s{0,4}(?:~|\$HOME)?\/?\.ssh\/authorized_keys/g;
const PUBLIC_KEY = /(?<!\S)\S*\.pub\b/g;

/** Where agents keep logins and settings of a person; skills and commands in there are no secrets. */
const AGENT = String.raw`(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|homedir\(\)|Path\.home\(\)|\bhome\b|/home/\w+|/Users/\w+|/root)[\w"'\s,)/\\+(-]{0,12}\.(?:claude|codex|openclaw|clawdbot|moltbot|pith|gemini|cursor|copilot|hermes|opencode|continue|aider)\b(?![\\/](?:skills|commands|agents|plugins|hooks|output-styles)\b)`;
const LOGIN = String.raw`(?<![\w])\.(?:claude|codex|openclaw|clawdbot|moltbot|pith|gemini|cursor|copilot|hermes|opencode)[\\/](?:\.?credentials|auth|openclaw|clawdbot|oauth|secrets|mcp|\.env|config|settings)`;
const AGENT_FILES = new RegExp(`${AGENT}|${LOGIN}`, 'i');
const SECRETS = new RegExp(`${AGENT_FILES.source}|${CREDENTIALS.source}`, 'i');
const ENVIRONMENT =
  /\bdict\(os\.environ|os\.environ\s*[,)}]|os\.environ\.(?:copy|items)\(|JSON\.stringify\((?:\w+\.){0,3}env\b|Object\.(?:entries|assign|keys)\((?:\{\},\s*)?process\.env|\.\.\.process\.env\b|\bENV\.to_h\b|\bGet-ChildItem\s+env:|\b(?:printenv|env)\s*(?:\||>)/i;
const CATCHER = new RegExp(String.raw`(?<![\w-])(?:${CATCHERS.map((host) => host.replaceAll('.', '\\.')).join('|')})(?![\w-])`, 'i');
const MESSENGER = /api\.telegram\.org\/bot|discord(?:app)?\.com\/api\/webhooks\/|hooks\.slack\.com\/services\//i;
const KEY_FILES = /\.(?:pem|kdbx|ppk|p12|pfx|keystore)\b|\bid_(?:rsa|ed25519)\b|\bwallets?\.(?:dat|json)|\bLogin Data\b/i;
const SENDS_FILES = oneOf(
  new Sequence(
    String.raw`\b(?:curl|wget|nc|ncat|scp|rsync)\b`,
    300,
    String.raw`--data|--post|--upload|\s-[dFT]\b|@-|@~|@\$|\w@[\w.-]{1,80}:`,
  ),
  /requests\.(?:post|put)|httpx\.(?:post|put)/i,
  new Sequence(String.raw`\b(?:POST|upload|exfiltrate)\b`, 120, String.raw`https?:\/\/`),
);
const WARNS = warning('exclude|detects?|flags?|theft|stealing|steals|leaks?|deny');

/** Secrets of a person, of the environment or of an agent, in one text with a place that takes whatever is sent to it. */
export const secretFlows: readonly NearbyRule[] = [
  rule('has credentials and a host that catches requests', Infinity, SECRETS, CATCHER),
  rule('has the whole environment and a host that catches requests', Infinity, ENVIRONMENT, CATCHER),
  rule('sends the whole environment to a conversation', Infinity, ENVIRONMENT, MESSENGER),
  rule('sends files of keys to a conversation', 40, KEY_FILES, MESSENGER),
  rule('sends files of keys to a host that catches requests', 40, KEY_FILES, CATCHER),
  rule('sends the folder of an agent away', 1, AGENT_FILES, SENDS_FILES),
];

function rule(message: string, lines: number, ...signs: readonly Sign[]): NearbyRule {
  return { severity: 'high', code: 'exfiltrates', message, lines, signs, unless: WARNS };
}
