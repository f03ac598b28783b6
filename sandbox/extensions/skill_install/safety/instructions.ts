import { batches, excerpt, type Hit, type ScannedLine, type Scanner } from './scan-finding.ts';
import { ruleTable } from './rules.ts';

/** The same in other languages: German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese, Korean. */
const OTHER_LANGUAGES = [
  String.raw`\b(?:ignorier(?:e|en)|missachte|vergiss|umgehe)\s+(?:Sie\s+)?(?:(?:alle|sämtliche|die|deine|Ihre)\s+){0,3}(?:bisherigen|vorherigen|vorigen|früheren|obigen|vorangehenden)\s+(?:Anweisungen|Regeln|Vorgaben|Befehle)`,
  String.raw`\b(?:ignore[zr]?|oublie[zr]?|outrepasse[zr]?)\s+(?:(?:toutes|tous|les|tes|vos|ces)\s+){0,3}(?:instructions|règles|consignes|directives)\s+(?:précédentes|antérieures|ci-dessus|de sécurité|du système)`,
  String.raw`\b(?:ignor[ae]|olvid[ae]|omite|desatiend[ae])\s+(?:(?:todas|todos|las|los|tus|sus)\s+){0,3}(?:instrucciones|reglas|directrices|indicaciones)\s+(?:anteriores|previas|precedentes|de seguridad|del sistema)`,
  String.raw`\b(?:ignor[ae]|esque[cç]a|desconsidere)\s+(?:(?:todas|todos|as|os|suas|seus)\s+){0,3}(?:instruções|regras|diretrizes|orientações)\s+(?:anteriores|prévias|acima|de segurança|do sistema)`,
  String.raw`\b(?:ignora|dimentica)\s+(?:(?:tutte|tutti|le|i|tue|gli)\s+){0,3}(?:istruzioni|regole|direttive)\s+(?:precedenti|di sicurezza|del sistema)`,
  String.raw`(?:игнорируй(?:те)?|забудь(?:те)?|проигнорируй(?:те)?)\s+(?:(?:все|всё|свои|любые)\s+){0,3}(?:предыдущие|прежние|системные|прошлые)\s+(?:инструкции|указания|правила|команды)`,
  String.raw`(?:忽略|无视|忘记|無視)(?:掉)?(?:所有|全部|一切|你)?(?:的)?(?:之前|以前|先前|以上|上述|前面|系统|安全)(?:的)?(?:所有|全部)?(?:的)?(?:指令|指示|规则|規則|提示|限制)`,
  String.raw`(?:これまで|以前|上記|前)の(?:すべての|全ての)?(?:指示|命令|ルール|規則)(?:を|は)(?:すべて)?(?:無視|忘れ)`,
  String.raw`(?:이전|위)의?\s*(?:모든\s*)?(?:지시|명령|규칙)(?:사항)?(?:을|를)\s*무시`,
].join('|');

const RULES = ruleTable(String.raw`
ignores_rules high: tells the model to ignore its rules
  \b(?:ignore|disregard|forget|override|bypass|discard|set aside)\s+(?:(?:all|any|every|each|the|of|your|these|those|my|its|other)\s+){0,4}(?:(?:previous|prior|earlier|above|preceding|existing|former|original|system|developer|safety|security|built-in)\s+(?:and\s+)?){1,3}(?:instructions?|rules?|guidelines?|prompts?|directives?|polic(?:y|ies)|restrictions?|constraints?|guardrails|messages?)
  \b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:(?:that\s+)?(?:you|i|we)\s+(?:were|have been|was|have)\s+\w+|above|before this|you know about (?:safety|rules))
  \b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|the|of|your|these)\s+){0,4}(?:instructions?|rules?|guidelines?|directives?|polic(?:y|ies)|restrictions?)\s+(?:of|from|in)\s+(?:all\s+|any\s+|the\s+|your\s+){0,2}(?:other\s+skills?|system(?:\s+prompt)?|developers?|platform|operator|user|host)\b
  ${OTHER_LANGUAGES}
ignores_rules high: tells the model that no rules apply
  \byou (?:are|have) (?:now )?(?:no longer (?:bound|restricted|limited|subject)|free(?:d)? (?:of|from) (?:all |any )?(?:rules|restrictions|guidelines|limits))
ignores_rules high: tells the model to go around approvals
  \b(?:skip|bypass|disable|circumvent|suppress)\s+(?:(?:all|any|every|the|your|its|user|human|tool)\s+){0,4}(?:approvals?|confirmations?|permission (?:checks?|prompts?)|safety (?:checks?|measures?)|security (?:checks?|measures?))(?:\s+(?:prompts?|dialogs?|requests?))?
ignores_rules high: tells the model to change what needs the agreement of a person
  \b(?:set|change|edit|put|write|make|switch|turn|clear|empty|remove|delete|add|configure|update)\b
  <80> \b(?:approvals?(?:[.:]\s?\w+)?|extensions_sandbox|permissions?\.\w+)["'\u0060]?\s{0,4}(?:to|as|=|:)?\s{0,4}["'\u0060]?(?:\[\s*\]|\{\s*\}|(?:empty|off|none|never|false|nothing|an empty list)\b)
ignores_rules high: changes what needs the agreement of a person
  \bapprovals["']?\s*:\s*\{?\s*["']?tools["']?\s*:\s*\[\s*\]|\bapprovals\.tools\s*[:=]\s*\[\s*\]|\bextensions_sandbox["']?\s*[:=]\s*["']?off\b
hides_from_user high: tells the model to hide something from the user
  \b(?:hide|conceal|keep)\s+(?:this|it|that|these|them|the \w+)(?:\s+\w+){0,3}?\s+(?:(?:a\s+)?secret\s+|hidden\s+)?from\s+(?:the\s+|your\s+)?(?:user|human|person|operator)
hides_from_user high: tells the model to act without the user knowing
  \bwithout\s+(?:the\s+|your\s+|any\s+)?(?:user|human|person|operator)(?:'s|s'|\u2019s)?\s+(?:knowing|knowledge|noticing|consent|awareness|permission|seeing)
hides_from_user high: tells the model to act in secret
  \b(?:secretly|covertly|surreptitiously)\s+(?:\w+\s+){0,2}?(?:send|upload|post|copy|run|execute|read|add|write|collect|install|forward|transmit|fetch|download)
hides_from_user high: tells the model to send something away and not to say so
  \b(?:send|upload|post|forward|transmit|submit|copy|e-?mail|pipe)\b
  <200> https?:\/\/|@[\w-]+\.\w
  <200> \b(?:do not|don't|don\u2019t|never|without)\s+(?:ever\s+)?(?:tell|telling|inform|informing|mention|mentioning|explain|reveal|show|showing|ask|asking|notify|notifying)\b
hides_from_user medium: tells the model not to mention something to the user
  \b(?:do not|don't|don\u2019t|never)\s+(?:mention|reveal|show|explain|display|disclose)\s+(?:\w+\s+){1,4}to\s+(?:the\s+)?(?:user|human|operator|person)\b
hides_from_user medium: tells the model not to tell the user
  \b(?:do not|don't|don\u2019t|never|must not|without)\s+(?:ever\s+)?(?:tell|telling|inform|informing|alert|alerting|notify|notifying|warn|warning)\s+(?:the\s+|your\s+)?(?:user|human|operator|anyone|person)\b(?!\s+(?:to|how|when|what|which|where|they|if|whether)\b)
exfiltrates high: tells the model to send secrets away
  \b(?:send|upload|post|exfiltrate|forward|transmit|leak|email|submit)\s+(?:(?:all|any|every|the|your|their|his|its|user'?s?|of|a copy of|contents? of)\s+){0,5}(?:\w+\s+){0,2}?(?:secrets?|credentials?|passwords?|(?:seed|recovery|secret) phrases?|mnemonics?|wallet keys?|contents? of [^\s]{0,40}(?:\.env|\.pem|id_rsa)|api[ _-]?keys?|access tokens?|private keys?|ssh keys?|environment variables?|env vars?|conversation|chat history|system prompt|cookies)\b
  <60> \bto\s+(?:(?:this|the following|an external|my|our|a remote)\s+\w+|https?:\/\/|[\w.+-]+@[\w-]+\.\w)
exfiltrates high: sends the environment away
  (?:^|[\s;&|(\u0060$])(?:env|printenv|set|history|export -p)\s*(?:\|\s*\w[\w -]{0,30}){0,2}\|\s*(?:curl|wget|nc|ncat|netcat)\b
  \b(?:curl|wget)\b
  <200> (?:-d|-F|--data(?:-\w+)?|--form|--post-data|--post-file|-T|--upload-file)[ =]?["']?
  <60> (?:\$\((?:env|printenv|cat\s+~|history)|\u0060(?:env|printenv)\u0060)
  (?:requests\.post|httpx\.post|urlopen|fetch|axios\.post)\s*\(
  <200> (?:dict\(os\.environ\)|os\.environ\s*[,)}]|JSON\.stringify\(process\.env\)|process\.env\s*[,)}])
exfiltrates high: tells the model to put secrets into the address of a picture
  !\[[^\]\n]{0,80}\]\(\s*https?:\/\/[^)\s]{1,300}[?&/][\w-]{0,30}=?
  <200> \b(?:api[ _-]?keys?|secrets?|passwords?|conversation|chat history|(?:everything|all|what)\s+(?:that\s+)?the user|messages of the user|environment variables?|system prompt)\b
exfiltrates high: opens a shell or a channel to elsewhere
  /dev/tcp/[\w.$-]+/\d+
  \bnc\b
  <60> \s-e\s+/bin/`);

const WORTH_A_LOOK =
  /ignore|disregard|forget|override|bypass|discard|set aside|no longer|free|skip|disable|avoid|circumvent|suppress|hide|conceal|keep|without|secretly|covertly|surrept|never|not |don.t|send|upload|post|exfiltrate|forward|transmit|leak|email|submit|env|history|export|curl|wget|!\[|ignorier|missacht|vergiss|umgehe|oubli|outrepass|ignor|olvid|omite|desatiend|esque|desconsidere|dimentica|игнор|забуд|忽略|无视|忘记|無視|忘れ|무시|copy|mail|pipe|approval|extensions_sandbox|permission|dev\/tcp|\bnc\b/i;
/** A line that warns of such texts speaks about them. */
const WARNS =
  /\b(?:detect|flag|flags|e\.g\.|for example|such as|look for|injection|inject|malicious|attack\w*|suspicious|red flag|examples? of|pattern|phrases?|reject|refuse|report|like)\b/i;
const QUOTED = /["\u201c'\u0060]\s*$/;
const NEGATED =
  /\b(?:never|do not|don't|don\u2019t|must not|should not|cannot|can't|not|avoid|refuse to|rather than|instead of|tries to|attempts? to|trying to)\s+(?:\w+\s+){0,2}$/i;

/** A row or an entry that says what an option of a program does. */
const OPTION = /^\s*(?:[|*+-]\s{0,4})?(?:\*\*)?\u0060?(?:\w[\w-]{0,30}\s){0,3}-{1,2}[a-z][\w-]*/i;

/** Marks of Markdown and HTML in a sentence, which a model does not read. */
const MARKS = /[*_~`]+|<\/?\w{1,12}>/g;

/** Sentences that turn a model against its rules or its user. What is quoted in a warning counts less. */
export const instructions: Scanner = function* ({ lines }) {
  let at = 0;
  for (const batch of batches(lines)) {
    for (const { number, plain } of batch) {
      const rest = restOf(lines, at++);
      if (!WORTH_A_LOOK.test(plain)) continue;
      // A sentence may go on in the next lines; one that begins there is found there.
      const hit = worstIn(plain, rest) ?? worstIn(plain.replace(MARKS, ''), rest.replace(MARKS, ''));
      if (hit !== null) yield { ...hit, line: number };
    }
    yield null;
  }
};

/** So much of the next lines is read with a line, and so many of them. */
const NEXT = 160;
const NEXT_LINES = 8;

function restOf(lines: readonly ScannedLine[], at: number): string {
  let rest = '';
  let { number } = lines[at]!;
  for (const next of lines.slice(at + 1, at + 1 + NEXT_LINES)) {
    if (next.number === number || next.number > number + 2 || rest.length >= NEXT) break; // another piece of the same line, or far below
    rest += ` ${next.plain.trim()}`;
    ({ number } = next);
  }
  return rest.slice(0, NEXT);
}

/** The first sentence that begins in `own` and is no example; else the first of any. */
function worstIn(own: string, rest: string): Omit<Hit, 'line'> | null {
  const text = own + rest;
  let example: Omit<Hit, 'line'> | null = null;
  for (const { code, severity, pattern, message } of RULES) {
    for (const found of pattern.all(text)) {
      if (found.index >= own.length) break;
      const before = text.slice(Math.max(0, found.index - 120), found.index);
      if (code !== 'exfiltrates' && NEGATED.test(before)) continue;
      if (code === 'ignores_rules' && OPTION.test(own)) continue;
      const hit = { severity, code, message: `${message}: ${excerpt(found.text)}` };
      const isQuoted = isInQuotes(text, found.index) && (WARNS.test(before) || (code !== 'exfiltrates' && QUOTED.test(before)));
      if (!isQuoted && severity === 'high') return hit;
      example ??= isQuoted && severity === 'high' ? { ...hit, severity: 'medium' } : hit;
    }
  }
  return example;
}

/** Behind a mark that opens a quotation a little before; one that closes it is the second of its kind. */
function isInQuotes(text: string, at: number): boolean {
  const [, mark] = /(["\u201c\u0060'*])[^"\u201c\u201d\u0060]{0,40}$/.exec(text.slice(Math.max(0, at - 120), at)) ?? [];
  if (mark === undefined) return false;
  return !['"', '`'].includes(mark) || text.slice(0, at).split(mark).length % 2 === 0;
}
