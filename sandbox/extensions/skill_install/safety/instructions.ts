import { excerpt, paced, type Scanner, type ScanSeverity } from './scan-finding.ts';
import { Sequence } from './sequence.ts';

interface Rule {
  readonly code: string;
  readonly severity: ScanSeverity;
  readonly pattern: Sequence;
  readonly message: string;
}

const RULES: readonly Rule[] = [
  rule(
    'ignores_rules',
    'high',
    'tells the model to ignore its rules',
    String.raw`\b(?:ignore|disregard|forget|override|bypass|discard|set aside)\s+(?:(?:all|any|every|each|the|of|your|these|those|my|its|other)\s+){0,4}(?:(?:previous|prior|earlier|above|preceding|existing|former|original|system|developer|safety|security|built-in)\s+(?:and\s+)?){1,3}(?:instructions?|rules?|guidelines?|prompts?|directives?|polic(?:y|ies)|restrictions?|constraints?|guardrails|messages?)`,
  ),
  rule(
    'ignores_rules',
    'high',
    'tells the model to ignore its rules',
    String.raw`\b(?:ignore|disregard|forget)\s+(?:everything|anything|all)\s+(?:(?:that\s+)?(?:you|i|we)\s+(?:were|have been|was|have)\s+\w+|above|before this|you know about (?:safety|rules))`,
  ),
  rule(
    'ignores_rules',
    'high',
    'tells the model that no rules hold',
    String.raw`\byou (?:are|have) (?:now )?(?:no longer (?:bound|restricted|limited|subject)|free(?:d)? (?:of|from) (?:all |any )?(?:rules|restrictions|guidelines|limits))`,
  ),
  rule(
    'ignores_rules',
    'high',
    'tells the model to go around approvals',
    String.raw`\b(?:skip|bypass|disable|avoid|circumvent|suppress)\s+(?:(?:all|any|every|the|your|its|user|human|tool)\s+){0,4}(?:approvals?|confirmations?|permission (?:checks?|prompts?)|safety (?:checks?|measures?)|security (?:checks?|measures?))(?:\s+(?:prompts?|dialogs?|requests?))?`,
  ),
  rule(
    'hides_from_user',
    'high',
    'tells the model to hide something from the user',
    String.raw`\b(?:hide|conceal|keep)\s+(?:this|it|that|these|them|the \w+)(?:\s+\w+){0,3}?\s+(?:(?:a\s+)?secret\s+|hidden\s+)?from\s+(?:the\s+|your\s+)?(?:user|human|person|operator)`,
  ),
  rule(
    'hides_from_user',
    'high',
    'tells the model to act without the user knowing',
    String.raw`\bwithout\s+(?:the\s+|your\s+|any\s+)?(?:user|human|person|operator)(?:'s|s'|\u2019s)?\s+(?:knowing|knowledge|noticing|consent|awareness|permission|seeing)`,
  ),
  rule(
    'hides_from_user',
    'high',
    'tells the model to act in secret',
    String.raw`\b(?:secretly|covertly|surreptitiously)\s+(?:\w+\s+){0,2}?(?:send|upload|post|copy|run|execute|read|add|write|collect|install|forward|transmit|fetch|download)`,
  ),
  rule(
    'hides_from_user',
    'medium',
    'tells the model not to tell the user',
    String.raw`\b(?:do not|don't|don\u2019t|never|must not|without)\s+(?:ever\s+)?(?:tell|telling|inform|informing|alert|alerting|notify|notifying|warn|warning)\s+(?:the\s+|your\s+)?(?:user|human|operator|anyone|person)\b(?!\s+(?:to|how|when|what|which|where|they|if|whether)\b)`,
  ),
  rule(
    'exfiltrates',
    'high',
    'tells the model to send secrets away',
    String.raw`\b(?:send|upload|post|exfiltrate|forward|transmit|leak|email|submit)\s+(?:(?:all|any|every|the|your|their|his|its|user'?s?|of|a copy of|contents? of)\s+){0,5}(?:\w+\s+){0,2}?(?:secrets?|credentials?|passwords?|api[ _-]?keys?|access tokens?|private keys?|ssh keys?|environment variables?|env vars?|conversation|chat history|system prompt|cookies)\b`,
    60,
    String.raw`\bto\s+(?:(?:this|the following|an external|my|our|a remote)\s+\w+|https?:\/\/|[\w.+-]+@[\w-]+\.\w)`,
  ),
  rule(
    'exfiltrates',
    'high',
    'sends the environment away',
    String.raw`(?:^|[\s;&|(\u0060$])(?:env|printenv|set|history|export -p)\s*(?:\|\s*\w[\w -]{0,30}){0,2}\|\s*(?:curl|wget|nc|ncat|netcat)\b`,
  ),
  rule(
    'exfiltrates',
    'high',
    'sends the environment away',
    String.raw`\b(?:curl|wget)\b`,
    200,
    String.raw`(?:-d|-F|--data(?:-\w+)?|--form|--post-data|--post-file|-T|--upload-file)[ =]?["']?`,
    60,
    String.raw`(?:\$\((?:env|printenv|cat\s+~|history)|\u0060(?:env|printenv)\u0060)`,
  ),
  rule(
    'exfiltrates',
    'high',
    'sends the environment away',
    String.raw`(?:requests\.post|httpx\.post|urlopen|fetch|axios\.post)\s*\(`,
    200,
    String.raw`(?:dict\(os\.environ\)|os\.environ\s*[,)}]|JSON\.stringify\(process\.env\)|process\.env\s*[,)}])`,
  ),
  rule('exfiltrates', 'high', 'opens a shell or a channel to elsewhere', String.raw`/dev/tcp/[\w.$-]+/\d+`),
  rule('exfiltrates', 'high', 'opens a shell or a channel to elsewhere', String.raw`\bnc\b`, 60, String.raw`\s-e\s+/bin/`),
];

const WORTH_A_LOOK =
  /ignore|disregard|forget|override|bypass|discard|set aside|no longer|free|skip|disable|avoid|circumvent|suppress|hide|conceal|keep|without|secretly|covertly|surrept|never|not |don.t|send|upload|post|exfiltrate|forward|transmit|leak|email|submit|env|history|export|curl|wget|dev\/tcp|\bnc\b/i;
/** A line that warns of such texts speaks about them. */
const WARNS =
  /\b(?:detect|flag|flags|e\.g\.|for example|such as|look for|injection|inject|malicious|attack\w*|suspicious|red flag|examples? of|pattern|phrases?|reject|refuse|report|like)\b|["\u201c'\u0060]\s*$/i;
const NEGATED =
  /\b(?:never|do not|don't|don\u2019t|must not|should not|cannot|can't|not|avoid|refuse to|rather than|instead of|tries to|attempts? to|trying to)\s+(?:\w+\s+){0,2}$/i;

/** Sentences that turn a model against its rules or its user. What is quoted in a warning counts less. */
export const instructions: Scanner = function* ({ lines }) {
  let at = 0;
  for (const one of paced(lines)) {
    if (one === null) {
      yield null;
      continue;
    }
    const { number } = one;
    const own = plain(one.text);
    const next = lines[++at];
    if (!WORTH_A_LOOK.test(own)) continue;
    // A sentence may go on in the next line; one that begins there is found there.
    const text = next?.number === number + 1 ? `${own} ${plain(next.text.slice(0, NEXT)).trimStart()}` : own;
    for (const { code, severity, pattern, message } of RULES) {
      const match = pattern.find(text);
      if (match === null || match.index >= own.length) continue;
      const before = text.slice(Math.max(0, match.index - 120), match.index);
      if (code !== 'exfiltrates' && NEGATED.test(before)) continue;
      const quoted = /["\u201c\u0060'*][^"\u201c\u201d\u0060]{0,40}$/.test(before) && WARNS.test(before);
      yield {
        severity: quoted && severity === 'high' ? 'medium' : severity,
        code,
        line: number,
        message: `${message}: ${excerpt(match.text)}`,
      };
      break;
    }
  }
};

/** So much of the next line is read with a line. */
const NEXT = 160;

/** Without what makes the same words look like others to a program. */
function plain(line: string): string {
  // oxlint-disable-next-line no-control-regex
  return /^[\x00-\x7f]*$/.test(line) ? line : line.normalize('NFKC').replace(/[\p{Cf}\u00ad]/gu, '');
}

function rule(code: string, severity: ScanSeverity, message: string, ...parts: readonly (string | number)[]): Rule {
  return { code, severity, pattern: new Sequence(...parts), message };
}
