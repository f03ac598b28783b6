import { CREDENTIALS } from './credentials.ts';
import { CATCHERS } from './hosts.ts';
import { type NearbyRule, oneOf, type Sign } from './nearby.ts';
import { Sequence } from './sequence.ts';
import { warning } from './warning.ts';

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
const SENDS = oneOf(
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
  rule('sends the folder of an agent away', 1, AGENT_FILES, SENDS),
];

function rule(message: string, lines: number, ...signs: readonly Sign[]): NearbyRule {
  return { severity: 'high', code: 'exfiltrates', message, lines, signs, unless: WARNS };
}
