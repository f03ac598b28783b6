import { PASTE_SITES } from './hosts.ts';
import { type NearbyRule, oneOf, type Sign, Sequence, warning } from './rules.ts';

const ARCHIVE =
  /\.(?:zip|rar|7z|tgz|tar\.gz|dmg|iso|msi|pkg)\b|\b(?:archives?|unzip|unpack|extract|decompress|winrar|7-?zip)\b|解压|解壓|压缩|распак|архив|descompr|descomprim|extra[ei]|entpack|archiv|décompress|extrai|展開|解凍|압축/i;
const FETCHED =
  /\b(?:download|get|grab|fetch|obtain)\b|https?:\/\/|下载|下載|скача|загруз|descarg|télécharg|herunterlad|lade\b|baix[ae]|scarica|ダウンロード|다운로드/i;
/** A password that is told, as opposed to one that is asked for, or an option. */
const PASSWORD = new RegExp(
  String.raw`(?:(?<![-\w$.])(?:pass(?:word|code|phrase|wd)?|pwd|pw)\b|密码|密碼|パスワード|비밀번호|парол[ьея]м?|contraseña|clave|senha|mot de passe|passwort|kennwort)(?:\s+(?:is|to (?:open|extract|unpack|unzip) (?:it\s+)?(?:is)?|for (?:it|the (?:archive|file|zip))(?:\s+is)?|ist|es|est|é|enter))?[\s:=：,–—-]{0,4}(?:[\u0060"'“”‘«「*(]{1,3}(?![<{$])[^\s\u0060"'”»」*]{2,60}[\u0060"'”»」*]|[:=：]\s{0,3}(?![<{$[])[\w.!@#%-]{2,60}|\benter\s+[\w.!@#%-]{2,40})|\barchive password\b|\bpassword-protected\b.{0,60}\bpass(?:word)?\b`,
  'i',
);
const RUN =
  /\b(?:run|execute|launch|start|open|double-?click|install)\b|运行|执行|執行|双击|запуст|открой|ejecut|inici[ae]|exécut|lance[zr]|ausführ|starte[n]?\b|execut[ea]|実行|실행/i;
const WARNS = warning('hides|malware|incident|ctf');
const FORBIDS_CHINESE = /不要|请勿/;

/** Archives that a command opens with a password that is written there. */
const OPENS_PACKED = oneOf(
  new Sequence(String.raw`\bunzip\b`, 80, String.raw`\s-P\s?['"]?(?![$"'<{\s])\S`),
  new Sequence(String.raw`\b(?:7z[ar]?|7zz|unrar|unar)\b`, 80, String.raw`\s-p(?!\s|[$"'<{]|[a-z]{0,20}\])['"]?(?![$<{])[^\s'"]`),
  new Sequence(String.raw`\bExpand-7Zip\b`, 120, '-Password'),
  new Sequence(String.raw`\b(?:setpassword|extractall)\s?\(`, 80, String.raw`b['"][^'"]`),
  new Sequence(String.raw`\bopenssl\s(?:enc|aes-\w)`, 120, String.raw`-(?:pass\spass:|k\s)\w`),
);
const RUNS_FILE =
  /\bchmod\s+(?:[augo]*\+\w*x|[0-7]{3,4})\b|(?:^|[\s;&|(])\.\/\w|\bnohup\b|\bStart-Process\b|\bos\.startfile\b|\b(?:subprocess\.\w+|os\.system|os\.exec\w+|execFile(?:Sync)?|spawn(?:Sync)?)\s*\(|(?:^|[;&|]\s{0,8})(?:bash|sh|python3?|node)\s+\S+|(?:^|[;&|]\s{0,8})open\s+\S+\.(?:app|pkg|command)|\bcmd\s+\/c\b/im;

const PASTE_SITE = new RegExp(String.raw`(?<![\w-])(?:${PASTE_SITES.map((host) => host.replaceAll('.', '\\.')).join('|')})(?![\w-])`, 'i');
const TERMINAL = String.raw`(?:terminal|console|command (?:line|prompt)|powershell|shell|cmd(?:\.exe)?|run (?:dialog|box|window)|win\s?\+\s?r|eingabeaufforderung|consola|термина\w+|консол\w+|终端|終端|命令行|ターミナル|터미널)`;
const PASTES = String.raw`(?:past(?:e|ing)|copy|copies|run|execute|enter|type|pega\w*|pégalo|copi\w+|col(?:e|le|ler|lez)\b|ejecut\w*|execut\w*|exécut\w*|einfüg\w*|füge|встав\w+|выполн\w+|粘贴|貼上|贴|运行|执行|貼り付け|実行|붙여)`;
const COMMAND = String.raw`(?:commands?|script|code|snippet|line|instructions?|steps?|one-?liner|comando|befehl|commande|команд\w+|命令|代码|コマンド|명령)`;
const SAID = String.raw`(?:shown|displayed|listed|given|found|provided|written|printed|there|on (?:the|that|this) page|you (?:see|find)|it (?:says|shows|gives|contains))`;
/** What a page says is to go into a terminal. */
const INTO_TERMINAL = oneOf(
  new Sequence(PASTES, 100, TERMINAL),
  new Sequence(TERMINAL, 60, '(?:past(?:e|ing)|粘贴|встав|貼り付け)'),
  new Sequence(String.raw`\b(?:run|execute|follow)\b`, 40, String.raw`\b${COMMAND}\b`, 30, String.raw`\b${SAID}\b`),
  /\b(?:run|execute)\s(?:what(?:ever)?|everything|all)\s(?:it|that|the)\b/i,
);
const COPIES_COMMAND = oneOf(
  new Sequence(String.raw`\b(?:copy|get|grab|take|find|follow|run|execute|use)\b`, 40, String.raw`\b${COMMAND}\b`),
  new Sequence(PASTES, 40, COMMAND),
);
const OPENS_PAGE = new Sequence(
  String.raw`(?:\b(?:visit|open|go to|head (?:over )?to|navigate to|browse to|follow)\b|\b(?:abre|abra|visita|besuche|öffne|ouvre[zr]?)\b|откро[йе]|перейд|打开|访问|開啟|開く)`,
  100,
  String.raw`(?:https?:\/\/|\]\(|\bpage\b|\blink\b)`,
);
/** Pages of those whom everybody knows, and what is local. */
const KNOWN_PAGE =
  /https?:\/\/(?:[\w-]{1,40}\.){0,3}(?:localhost|127\.0\.0\.1|brew\.sh|docker\.com|nodejs\.org|python\.org|rust-lang\.org|rustup\.rs|astral\.sh|deno\.(?:com|land)|bun\.(?:sh|com)|google\.(?:com|dev)|microsoft\.com|apple\.com|github\.com|gitlab\.com|amazon\.com|anthropic\.com|claude\.com|openai\.com|kubernetes\.io|npmjs\.com|pypi\.org|cloudflare\.com)(?![\w.-])/i;

/** Programs that hide in archives with a password, and pages whose words go into a terminal: both are kept from a scan. */
export const prerequisites: readonly NearbyRule[] = [
  rule('packed_program', 'gives the password of an archive and says to run what is in it', 12, ARCHIVE, FETCHED, PASSWORD, RUN),
  rule('packed_program', 'opens an archive with a password and runs something', 12, OPENS_PACKED, RUNS_FILE),
  rule('page_to_run', 'sends the reader to a paste site for a command', 4, PASTE_SITE, INTO_TERMINAL),
  rule('page_to_run', 'sends the reader to a paste site for a command', 2, PASTE_SITE, OPENS_PAGE, COPIES_COMMAND),
  {
    ...rule('page_to_run', 'tells to open a page and to run what it says', 2, OPENS_PAGE, INTO_TERMINAL),
    unless: oneOf(WARNS, KNOWN_PAGE),
  },
];

function rule(code: string, message: string, lines: number, ...signs: readonly Sign[]): NearbyRule {
  return { severity: 'high', code, message, lines, signs, unless: oneOf(WARNS, FORBIDS_CHINESE) };
}
