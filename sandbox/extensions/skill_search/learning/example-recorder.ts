import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { type Logger, messageOf, type TurnInfo, type TurnProvider } from 'pith';
import { hideKeys } from '@pith/plain-text';
import type { SkillRecord, SkillUsed } from 'pith/skill_registry';
import { type LearnedExamples, LONGEST_EXAMPLE } from './learned-examples.ts';
import { clean } from '@pith/skill-files';
import { queryTerms } from '@pith/word-ranker';

/** The least number of words that say what a text is about, besides the skill's own name. */
const LEAST_WORDS = 3;
const LEAST_OWN = 2;
/** A longer message contains its material, whose words would count. */
const LONGEST_MESSAGE = 2000;

/** The part of a person's text that is stored as an example; null where it says too little or too much, or mentions secrets. */
export function exampleOf(text: string, { id, name }: Pick<SkillRecord, 'id' | 'name'>): string | null {
  if (text.length > LONGEST_MESSAGE) return null;
  const plain = clean(text.normalize('NFKC').replace(UNSEEN, '').replace(CODE, ' ').replace(HIDDEN, ' ')); // before any search, since an invisible mark may split a word
  if (speaksOfSecrets(plain)) return null;
  const kept = cut(clean(withoutPrivate(plain)));
  const words = queryTerms(kept);
  const own = new Set(queryTerms(`${id} ${name}`).map(({ term }) => term));
  return weightOf(words) >= LEAST_WORDS && weightOf(words.filter(({ term }) => !own.has(term))) >= LEAST_OWN ? kept : null;
}

/** Invisible characters, which do not belong to a word. */
const UNSEEN = /(?!\s)[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
const HIDDEN = /\[(?:hidden|secret [^\]]*)\]/g;
const CODE = /```[^]*?(?:```|$)/g;

/** Words next to private data of any form: such a text is not learned at all. */
const SECRET_WORDS = [
  'pass(?:es|words?|phrases?|codes?|keys?|wd|wort|wörter)?|pwd|psw|passw|pins?|secrets?|tokens?|credentials?|creds?|otp|totp|cvv|cvc',
  'ssn|social security|passport|iban|seed|mnemonic|recovery phrase|(?:api|access|account|private|shared|signing|ssh|encryption|secret)[ _-]*keys?',
  '(?:credit|debit|bank)[ -]*(?:cards?|accounts?)|(?:card|account|routing|konto|karten)[ -]*(?:numbers?|nummer|no|nr)|kreditkarte\\w*|kontonummer|kartennummer',
  'kennw(?:ort|örter)|zugangsdaten|geheim\\w*|mots? de passe|code secret|contraseñas?|contrasenas?|clave|senhas?|parola|wachtwoord|lösenord|hasło|şifre',
  'пароль\\w*|пароля|пароли',
].join('|');
const SECRET = new RegExp(
  `(?<![\\p{L}\\p{M}])(?:${SECRET_WORDS})(?![\\p{L}\\p{M}])|密码|密碼|口令|パスワード|暗証番号|비밀번호|كلمة (?:المرور|السر)|סיסמה`,
  'iu',
);
/** "the code is …", "code 83920". */
const SAID_CODE =
  /(?<!\p{L})codes?(?!\p{L})(?:\s*[=:>-]+|\s+(?:is|are|ist|lautet|est|es))?\s+(?:\S*\p{Nd}|(?<=(?:[=:>]|is|ist|lautet|est|es)\s+)\S)/iu;
/** Street addresses. */
const STREETS = 'street|st|road|rd|avenue|ave|lane|ln|drive|boulevard|blvd|square|court|straße|strasse|str|allee|platz|gasse|weg';
const HOME = new RegExp(
  `(?<!\\p{L})\\p{Nd}+\\p{L}?,?\\s+(?:\\p{L}[\\p{L}.'-]*\\s+){0,3}(?:${STREETS})(?!\\p{L})|\\p{L}*(?:straße|strasse|allee|platz|gasse|weg|str\\.)\\s+\\p{Nd}|` +
    '(?<!\\p{L})(?:rue|calle|via|avenida|rua)\\s|\\p{Nd}\\s+(?:rue|avenue)\\s',
  'iu',
);
const ENVELOPE = /-----\s*BEGIN/i;
/** The words of a wallet: a dozen or more, short, without the small words of a sentence. */
const WORD_ROW = /(?<![\p{L}\p{Nd}])(?:[a-z]{3,8}[ ,]+){11,}[a-z]{3,8}(?![\p{L}\p{Nd}])/iu;
const JOINING =
  /\b(?:the|and|for|with|from|that|this|into|all|our|your|are|which|how|can|please|not|when|what|you|has|have|was|were|then|but)\b/gi;

function speaksOfSecrets(text: string): boolean {
  const row = WORD_ROW.exec(text)?.[0];
  if (row !== undefined && (row.match(JOINING)?.length ?? 0) <= 1) return true;
  return [SECRET, SAID_CODE, HOME, ENVELOPE].some((pattern) => pattern.test(text));
}

const ADDRESS =
  /\b[a-z][a-z0-9+.-]*:\/\/\S+|\S+@\S+|\S*[/\\]\S*|(?<!\S)\S+\.(?:com|net|org|edu|gov|info|biz|internal|local|corp|lan|intranet)\b\S*|\bwww\.\S+/gi;
/** Numbers of people, accounts and cards; codes; and strings that no vocabulary has. */
const NUMBER = /\+?\p{Nd}[\p{Nd}\s().-]{4,}\p{Nd}/gu;
const CODE_WORD =
  /(?=(?:\S*?\p{Nd}){4})\S+|(?=\S*\p{Nd})(?=\S*[a-z])\S{10,}|(?<!\S)(?:npm|gh[a-z]|pypi|glpat|xox[a-z]|sk|pk|rk)[_-]\S{6,}|\S*=\S*|[!-~]{24,}|\S{41,}/giu;

/** Without possible keys, and without what identifies a person rather than a task. */
function withoutPrivate(text: string): string {
  return [ADDRESS, NUMBER, CODE_WORD].reduce((safe, pattern) => safe.replace(pattern, ' '), hideKeys(text).replace(HIDDEN, ' '));
}

/** Characters of scripts without spaces come as overlapping threes. */
function weightOf(words: ReturnType<typeof queryTerms>): number {
  return words.reduce((sum, { term }) => sum + (NO_SPACES.test(term) ? 0.5 : 1), 0);
}

const NO_SPACES = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

function cut(text: string): string {
  if (text.length <= LONGEST_EXAMPLE) return text;
  const head = text.slice(0, LONGEST_EXAMPLE);
  const space = head.lastIndexOf(' ');
  return (space > LONGEST_EXAMPLE / 2 ? head.slice(0, space) : head).replace(/[\ud800-\udbff]$/, '').trimEnd();
}

export interface ExampleRecorderPorts {
  readonly learned: Pick<LearnedExamples, 'add' | 'look' | 'count' | 'forget'>;
  readonly logger: Logger;
  /** The effective skill of an id. */
  skillOf(id: string): Promise<Pick<SkillRecord, 'id' | 'name'> | undefined>;
  /** Whether the turn's agent may be learned from. */
  allows(turn: TurnInfo): Promise<boolean>;
}

/** A turn that loads more skills than this was exploring: its text fits none of them in particular. */
const MOST_SKILLS = 3;

/** Learns from turns that loaded a skill and ended well: what the person said, and which skill was loaded. Works in the background. */
export class ExampleRecorder {
  /** The ids of the skills chosen for a turn's text, by turn. */
  private readonly turns = new Map<string, Set<string>>();
  private learning: Promise<void> = Promise.resolve();

  constructor(private readonly ports: ExampleRecorderPorts) {}

  /** A turn that continues after a question begins with what it has. */
  began(turn: TurnInfo): void {
    if (isPersons(turn) && chooses(turn) && !this.turns.has(turn.id)) this.turns.set(turn.id, new Set());
  }

  /** Records a skill that was chosen for the turn's text: not one that the agent always has, nor one from an earlier turn. */
  used({ turnId, skillId, state, how, again, carried, part }: SkillUsed): void {
    if (turnId === null || state !== 'loaded' || how === 'uses_skills' || again || carried || (part ?? 1) > 1) return;
    this.turns.get(turnId)?.add(skillId);
  }

  ended(turn: TurnInfo, reason: Parameters<NonNullable<TurnProvider['endTurn']>>[1]): void {
    if (reason === 'awaiting_approval') return;
    this.learning = this.learning.then(async () => {
      await yieldToOthers(); // all uses of the turn have been reported by then
      const ids = this.turns.get(turn.id) ?? new Set();
      this.turns.delete(turn.id);
      if (reason === 'done' && ids.size > 0 && ids.size <= MOST_SKILLS) await this.learn(turn, ids);
    });
  }

  /** Removes what was learned for a skill: another skill may get that id. */
  gone(ids: readonly string[]): void {
    const { learned, logger } = this.ports;
    const forget = async (): Promise<void> => {
      await learned.look();
      for (const id of ids) if (learned.count(id) > 0) await learned.forget(id);
    };
    this.learning = this.learning.then(forget).catch((error: unknown) => logger.warn(`what was learned is kept: ${messageOf(error)}`));
  }

  /** Resolves when learned texts have been written. */
  settled(): Promise<void> {
    return this.learning;
  }

  private async learn(turn: TurnInfo, ids: ReadonlySet<string>): Promise<void> {
    const { learned, logger, skillOf, allows } = this.ports;
    try {
      if (!(await allows(turn))) return;
      const said = turn.userTexts.at(-1) ?? '';
      const examples = [];
      for (const skillId of ids) {
        const skill = await skillOf(skillId);
        const text = skill === undefined ? null : exampleOf(said, skill);
        if (text !== null) examples.push({ skillId, text });
      }
      if (examples.length > 0) await learned.add(examples);
    } catch (error) {
      logger.warn('what was learned from a turn is not kept', { error: messageOf(error) });
    }
  }
}

/** Texts of another agent, a task or a schedule are not a person's wording. */
function isPersons({ depth, key }: TurnInfo): boolean {
  return depth === 0 && key === undefined;
}

/** The offline model takes the first of equals, so its choice says nothing about the meaning. */
function chooses({ model }: TurnInfo): boolean {
  return !model.ref.startsWith('offline/');
}
