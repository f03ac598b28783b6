import {
  bodyAbove,
  fileNameIsNot,
  flowStyle,
  largerThan,
  longerThan,
  missing,
  misspelt,
  nameIs,
  noSemver,
  noText,
  noToolset,
  readByOthers,
  unknownTo,
  unknownTriggers,
  wrongType,
  type Check,
} from './checks.ts';
import type { Finding } from './finding.ts';
import { nameToWrite, namingCure } from './names.ts';
import { CLIENTS_OF } from './other-clients.ts';

export type Severity = 'error' | 'warning' | 'info';

/**
 * One rule. `lint` and `load` are the severities of its finding in the two modes, null where the mode does not report it; an error in load
 * mode makes the skill invalid. The reader itself finds what rules without a check describe.
 */
export interface Rule {
  readonly code: string;
  readonly lint: Severity | null;
  readonly load: Severity | null;
  readonly message: (detail: string) => string;
  /** What to write: a text, or a function of the finding and the skill's id. */
  readonly cure: string | ((finding: Finding, id: string) => string);
  readonly check?: Check;
}

export const SPECIFICATION_FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'] as const;
export const OUR_FIELDS = [
  'tags',
  'requires',
  'examples',
  'version',
  'brief_description',
  'triggers',
  'toolsets',
  'scripts',
  'default_enabled',
] as const;
export const KNOWN_FIELDS: ReadonlySet<string> = new Set([...SPECIFICATION_FIELDS, ...OUR_FIELDS]);
const NAMES: ReadonlySet<string> = new Set([...KNOWN_FIELDS, ...CLIENTS_OF.keys()]);
export const FILE_LIMIT = 1024 * 1024;
export const BODY_TOKEN_LIMIT = 8000;

type Modes = Pick<Rule, 'lint' | 'load'>;
/** The file is unusable. */
const FATAL: Modes = { lint: 'error', load: 'error' };
/** Against the specification, yet usable. */
const STRICT: Modes = { lint: 'error', load: 'warning' };
const ADVICE: Modes = { lint: 'warning', load: 'warning' };
const LINT_ONLY: Modes = { lint: 'warning', load: null };
const NOTE: Modes = { lint: 'info', load: null };

const BEGIN: Rule['cure'] = (_, id) =>
  `begin the file with the four lines \`---\`, \`name: ${nameToWrite('', id)}\`, \`description: What it does. Use when …\` and \`---\``;
const NAME: Rule['cure'] = ({ detail }, id) => namingCure(detail, id);
const DESCRIBE = 'write `description: What it does. Use when …`, in the words that people would use';
const SHORTEN = 'write two sentences, `What it does. Use when …`, and move the rest below the frontmatter';
const MOVE =
  'move detail into files such as `references/details.md`, each with a link where it is needed: `[details](references/details.md)`';
const UTF_8 = 'save the file as UTF-8 without a byte order mark';
const LF = 'save the file with LF line ends';

/** Why a file of unknown origin is not read. */
export const SEVERAL_LINKS = 'it has several hard links, so it may be a file from elsewhere';
export const COPY_IT = 'copy it here: `cp SKILL.md x && mv x SKILL.md`';

export const RULES: readonly Rule[] = [
  // reading
  rule(
    'file_unreadable',
    FATAL,
    (why) => `cannot be read: ${why}`,
    ({ detail }) => {
      if (detail === SEVERAL_LINKS) return COPY_IT;
      if (detail.startsWith('it is a link ')) return 'remove the link and put the file itself in its place'; // chmod would change its target
      return 'give yourself the right to read it: `chmod u+r SKILL.md`';
    },
  ),
  rule('file_not_regular', FATAL, (why) => `cannot be read: ${why}`, 'put a text file in its place, named `SKILL.md`'),
  rule('file_too_large', FATAL, (bytes) => `is ${bytes} bytes; at most ${FILE_LIMIT} are allowed`, MOVE, largerThan(FILE_LIMIT)),
  rule('encoding_invalid', STRICT, () => 'is not valid UTF-8', UTF_8),
  rule('encoding_utf16', FATAL, () => 'is UTF-16', UTF_8),
  rule('line_ends_cr', FATAL, () => 'has lines that end with CR alone', LF),
  rule(
    'file_name_case',
    ADVICE,
    (name) => `is named ${name}`,
    ({ detail }) => `rename \`${detail}\` to \`SKILL.md\``,
    fileNameIsNot('SKILL.md'),
  ),
  rule('frontmatter_missing', STRICT, () => 'has no frontmatter', BEGIN),
  rule('frontmatter_and_text_missing', FATAL, () => 'has no frontmatter, and no text that says what it is for', BEGIN),
  rule('frontmatter_misspelt', FATAL, () => 'begins with a line that is nearly `---`', 'write `---` and nothing else on the first line'),
  rule('frontmatter_unclosed', FATAL, () => 'has frontmatter that is never closed', 'end the frontmatter with a line `---`'),
  rule(
    'frontmatter_too_large',
    FATAL,
    () => 'has more than 16 KiB of frontmatter',
    'keep `name:` and `description:` there, and move other text below the second `---`',
  ),
  rule(
    'frontmatter_no_map',
    FATAL,
    () => 'has frontmatter that is not a list of `key: value`',
    (_, id) => `write \`name: ${nameToWrite('', id)}\` and below it \`description: What it does. Use when …\``,
  ),
  rule(
    'yaml_invalid',
    FATAL,
    (why) => `has frontmatter that is not YAML: ${why}`,
    'correct that line: begin each `key: value` at its margin, and put a value that contains `: ` or begins with a special character in quotes, such as `description: "Use when: …"`',
  ),
  rule(
    'yaml_too_large',
    FATAL,
    (what) => `has frontmatter with ${what}`,
    'write each value as plain text, `key: value`, or move it below the frontmatter',
  ),
  rule('repaired_bom', ADVICE, () => 'begins with a byte order mark', UTF_8),
  rule('repaired_crlf', ADVICE, () => 'has CRLF line ends', LF),
  rule('repaired_comment', STRICT, () => 'has a comment before the frontmatter', 'move the comment below the second `---`'),
  rule('repaired_leading_blank', STRICT, () => 'has blank lines before the frontmatter', 'remove what is above the first `---`'),
  rule(
    'repaired_directive',
    STRICT,
    (line) => `has a YAML directive, which is ignored: ${line}`,
    ({ detail }) => `remove the line \`${detail}\``,
  ),
  rule('repaired_tab', STRICT, () => 'is indented with a tab', 'write two spaces in place of each tab'),
  rule(
    'repaired_quote',
    STRICT,
    (key) => `has a value of '${key}' that YAML cannot read unless it is quoted`,
    ({ detail }) => `put the value in quotes: \`${detail}: "…"\``,
  ),
  rule(
    'control_character',
    STRICT,
    (which) => `has a control character in its frontmatter: ${which}`,
    ({ detail }) => `remove ${detail} there, or write a space in its place`,
  ),
  rule(
    'duplicate_key',
    ADVICE,
    (key) => `has '${key}' twice; the last one is used`,
    ({ detail }) => `keep one line \`${detail}:\` and remove the other`,
  ),
  // names
  rule(
    'name_missing',
    STRICT,
    () => 'has no name; the directory name is used',
    (_, id) => namingCure('', id),
    missing('name'),
  ),
  rule(
    'name_length',
    STRICT,
    (name) => `has a name of ${[...name].length} characters; at most 64 are allowed`,
    NAME,
    nameIs((name) => [...name].length > 64),
  ),
  rule(
    'name_case',
    STRICT,
    (name) => `has upper-case letters in its name '${name}'`,
    NAME,
    nameIs((name) => name !== name.toLowerCase()),
  ),
  rule(
    'name_characters',
    STRICT,
    (name) => `has characters in its name '${name}' that are not letters, digits or hyphens`,
    NAME,
    nameIs((name) => /[^\p{L}\p{N}-]/u.test(name)),
  ),
  rule(
    'name_hyphens',
    STRICT,
    (name) => `has a leading, trailing or double hyphen in its name '${name}'`,
    NAME,
    nameIs((name) => /^-|-$|--/.test(name)),
  ),
  rule(
    'name_differs',
    STRICT,
    (name) => `has the name '${name}', which is not its directory's`,
    NAME,
    nameIs((name, id) => name !== id.normalize('NFKC')),
  ),
  // fields
  rule('description_taken_from_text', ADVICE, () => 'has no description; its first paragraph is used', DESCRIBE),
  rule('description_missing', FATAL, () => 'has no description', DESCRIBE, missing('description')),
  rule(
    'description_length',
    STRICT,
    (count) => `has a description of ${count} characters; at most 1024 are allowed`,
    SHORTEN,
    longerThan('description', 1024),
  ),
  rule(
    'description_long',
    LINT_ONLY,
    (count) => `has a description of ${count} characters; some clients cut it at 500`,
    SHORTEN,
    longerThan('description', 500, 1024),
  ),
  rule(
    'brief_long',
    NOTE,
    (count) => `has a brief_description of ${count} characters; the catalog has room for about 80`,
    'write in at most 80 characters what it does, such as `brief_description: Fills in PDF forms`',
    longerThan('brief_description', 80),
  ),
  rule(
    'compatibility_length',
    STRICT,
    (count) => `has a compatibility of ${count} characters; at most 500 are allowed`,
    'name only what it needs, such as `compatibility: Needs Python 3.11 and git`, and move the rest below the frontmatter',
    longerThan('compatibility', 500),
  ),
  rule(
    'field_unknown',
    STRICT,
    (keys) => `has fields that the format does not know: ${keys}`,
    ({ detail }) => `write a line \`metadata:\` and move them below it, each indented: \`  ${detail.split(', ', 1)[0]}: …\``,
    unknownTo(NAMES),
  ),
  rule(
    'field_of_others',
    NOTE,
    (keys) => `has fields that other clients read and Pith keeps: ${keys}`,
    'leave them for those clients; for a strict validator write them under `metadata:`, where no client reads them',
    readByOthers(CLIENTS_OF),
  ),
  rule('field_misspelt', STRICT, (what) => `has the unknown key ${what}`, wanted, misspelt(NAMES)),
  rule('field_type', STRICT, (what) => `has ${what}`, wanted, wrongType),
  rule(
    'triggers_unknown',
    STRICT,
    (keys) => `has triggers of a kind that the format does not know: ${keys}`,
    ({ detail }) => `write \`keywords:\`, \`verbs:\` or \`patterns:\` in place of \`${detail.split(', ', 1)[0]}:\``,
    unknownTriggers,
  ),
  rule(
    'pattern_invalid',
    STRICT,
    (why) => `has a trigger pattern that cannot be used, which is left out: ${why}`,
    "write it for RE2, without backreferences and lookaround, in single quotes that keep backslashes, such as `- '\\bpdf\\b'`",
  ),
  rule(
    'text_expected',
    ADVICE,
    (key) => `has a '${key}' that YAML does not read as text; it is taken as it is written`,
    ({ detail }) => `put the value in quotes: \`${detail}: "…"\``,
    noText,
  ),
  rule(
    'version_no_semver',
    ADVICE,
    (version) => `has the version '${version}', which is not a semantic one`,
    ({ detail }) => `write \`version: ${semanticVersion(detail)}\``,
    noSemver,
  ),
  rule(
    'toolset_invalid',
    STRICT,
    (toolset) => `names the toolset '${toolset}'`,
    'write the file and what it exports, such as `- toolsets/forms:FormsToolset`',
    noToolset,
  ),
  rule(
    'flow_style',
    LINT_ONLY,
    (key) => `has '${key}' in brackets or braces, which strict readers refuse`,
    ({ detail }) => `write \`${detail}:\` and below it each item on its own line, indented`,
    flowStyle,
  ),
  rule(
    'body_large',
    ADVICE,
    (tokens) => `has a body of about ${tokens} tokens; at most ${BODY_TOKEN_LIMIT} are advised`,
    MOVE,
    bodyAbove(BODY_TOKEN_LIMIT),
  ),
];

/** A rule by its code. */
export const RULE: ReadonlyMap<string, Rule> = new Map(RULES.map((one) => [one.code, one]));

/** The cure from the finding itself. */
function wanted(finding: Finding): string {
  return `write ${finding.wanted ?? finding.detail}`;
}

/** `1.0` as 1.0.0; 1.0.0 where there is no number. */
function semanticVersion(version: string): string {
  const numbers = (version.match(/\d+/g) ?? ['1']).slice(0, 3).map(Number);
  return [...numbers, 0, 0].slice(0, 3).join('.');
}

type Row = readonly [code: string, modes: Modes, message: Rule['message'], cure: Rule['cure'], check?: Check];

function rule(...[code, modes, message, cure, check]: Row): Rule {
  return { code, ...modes, message, cure, check };
}
