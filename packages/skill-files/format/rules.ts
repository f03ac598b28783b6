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
  among,
  unknownTo,
  unknownTriggers,
  wrongType,
  type Check,
} from './checks.ts';

export type Severity = 'error' | 'warning' | 'info';

/**
 * One rule. `lint` and `load` are the severities of its finding in the two modes, null where the mode is silent;
 * an error in load mode makes the skill invalid. Rules without a check are found while reading.
 */
export interface Rule {
  readonly code: string;
  readonly lint: Severity | null;
  readonly load: Severity | null;
  readonly message: (detail: string) => string;
  readonly cure: string;
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
/** Of other systems: kept, and left to them. `disable-model-invocation` counts here too. */
const FIELDS_OF_OTHERS: readonly string[] = [
  'disable-model-invocation',
  'user-invocable',
  'argument-hint',
  'arguments',
  'when_to_use',
  'model',
  'effort',
  'context',
  'agent',
  'hooks',
  'paths',
  'globs',
  'alwaysApply',
  'author',
  'homepage',
];
const NAMES: ReadonlySet<string> = new Set([...KNOWN_FIELDS, ...FIELDS_OF_OTHERS]);
export const FILE_LIMIT = 256 * 1024;
export const BODY_TOKEN_LIMIT = 8000;

type Modes = Pick<Rule, 'lint' | 'load'>;
/** Nothing can be made of the file. */
const BEGIN = 'begin the file with a line `---`, then `name:` and `description:`, then a line `---`';

const FATAL: Modes = { lint: 'error', load: 'error' };
/** Against the specification, and yet usable. */
const STRICT: Modes = { lint: 'error', load: 'warning' };
const ADVICE: Modes = { lint: 'warning', load: 'warning' };
const LINT_ONLY: Modes = { lint: 'warning', load: null };
const NOTE: Modes = { lint: 'info', load: null };

export const RULES: readonly Rule[] = [
  // reading
  rule('file_unreadable', FATAL, (why) => `cannot be read: ${why}`, 'make the file readable'),
  rule('file_not_regular', FATAL, (why) => `cannot be read: ${why}`, 'put a text file in its place'),
  rule(
    'file_too_large',
    FATAL,
    (bytes) => `is ${bytes} bytes; at most ${FILE_LIMIT} are allowed`,
    'move detail into files under references/',
    largerThan(FILE_LIMIT),
  ),
  rule('encoding_invalid', STRICT, () => 'is not valid UTF-8', 'save the file as UTF-8'),
  rule('encoding_utf16', FATAL, () => 'is UTF-16', 'save the file as UTF-8'),
  rule('line_ends_cr', FATAL, () => 'has lines that end with CR alone', 'save the file with LF line ends'),
  rule('file_name_case', ADVICE, (name) => `is named ${name}`, 'rename it to SKILL.md', fileNameIsNot('SKILL.md')),
  rule('frontmatter_missing', STRICT, () => 'has no frontmatter', BEGIN),
  rule('frontmatter_and_text_missing', FATAL, () => 'has no frontmatter, and no text that says what it is for', BEGIN),
  rule('frontmatter_misspelt', FATAL, () => 'begins with a line that is nearly `---`', BEGIN),
  rule('frontmatter_unclosed', FATAL, () => 'has frontmatter that is never closed', 'end the frontmatter with a line `---`'),
  rule('frontmatter_too_large', FATAL, () => 'has more than 16 KiB of frontmatter', 'move text below the frontmatter'),
  rule('frontmatter_no_map', FATAL, () => 'has frontmatter that is not a list of `key: value`', 'write `name: …` and `description: …`'),
  rule(
    'yaml_invalid',
    FATAL,
    (why) => `has frontmatter that is not YAML: ${why}`,
    'correct that line; quote values that contain `: ` or begin with a special character',
  ),
  rule('yaml_too_large', FATAL, (what) => `has frontmatter with ${what}`, 'write the values out, or leave them out'),
  rule('repaired_bom', ADVICE, () => 'begins with a byte order mark', 'save the file as UTF-8 without BOM'),
  rule('repaired_crlf', ADVICE, () => 'has CRLF line ends', 'save the file with LF line ends'),
  rule('repaired_leading_blank', STRICT, () => 'has blank lines before the frontmatter', 'begin the file with `---`'),
  rule('repaired_directive', STRICT, (line) => `has a YAML directive, which is ignored: ${line}`, 'remove the line'),
  rule('repaired_tab', STRICT, () => 'is indented with a tab', 'indent with spaces'),
  rule('repaired_quote', STRICT, (key) => `has a value of '${key}' that YAML cannot read unless it is quoted`, 'put the value in quotes'),
  rule('control_character', STRICT, (which) => `has a control character in its frontmatter: ${which}`, 'remove it'),
  rule('duplicate_key', ADVICE, (key) => `has '${key}' twice; the last one is used`, 'remove one of them'),
  // names
  rule('name_missing', STRICT, () => 'has no name; the directory name is used', 'add `name:`', missing('name')),
  rule(
    'name_length',
    STRICT,
    (name) => `has a name of ${[...name].length} characters; at most 64 are allowed`,
    'shorten it',
    nameIs((name) => [...name].length > 64),
  ),
  rule(
    'name_case',
    STRICT,
    (name) => `has upper-case letters in its name '${name}'`,
    'write it in lower case',
    nameIs((name) => name !== name.toLowerCase()),
  ),
  rule(
    'name_characters',
    STRICT,
    (name) => `has characters in its name '${name}' that are no letters, digits or hyphens`,
    'use letters, digits and hyphens only',
    nameIs((name) => /[^\p{L}\p{N}-]/u.test(name)),
  ),
  rule(
    'name_hyphens',
    STRICT,
    (name) => `has a leading, trailing or double hyphen in its name '${name}'`,
    'use single hyphens between words',
    nameIs((name) => /^-|-$|--/.test(name)),
  ),
  rule(
    'name_differs',
    STRICT,
    (name) => `has the name '${name}', which is not its directory's`,
    'give directory and name the same text',
    nameIs((name, id) => name !== id.normalize('NFKC')),
  ),
  // fields
  rule(
    'description_taken_from_text',
    { lint: null, load: 'warning' },
    () => 'has no description; its first paragraph is used',
    'add `description:` that says what it does and when to use it',
  ),
  rule(
    'description_missing',
    FATAL,
    () => 'has no description',
    'add `description:` that says what it does and when to use it',
    missing('description'),
  ),
  rule(
    'description_length',
    STRICT,
    (count) => `has a description of ${count} characters; at most 1024 are allowed`,
    'shorten it',
    longerThan('description', 1024),
  ),
  rule(
    'description_long',
    LINT_ONLY,
    (count) => `has a description of ${count} characters; some clients cut it at 500`,
    'shorten it to 500 characters',
    longerThan('description', 500, 1024),
  ),
  rule(
    'brief_long',
    NOTE,
    (count) => `has a brief_description of ${count} characters; the catalog has room for about 80`,
    'shorten it',
    longerThan('brief_description', 80),
  ),
  rule(
    'compatibility_length',
    STRICT,
    (count) => `has a compatibility of ${count} characters; at most 500 are allowed`,
    'shorten it',
    longerThan('compatibility', 500),
  ),
  rule(
    'field_unknown',
    STRICT,
    (keys) => `has fields that the format does not know: ${keys}`,
    'move them under `metadata:`',
    unknownTo(NAMES),
  ),
  rule(
    'field_of_others',
    { lint: 'error', load: null },
    (keys) => `has fields of other systems, which the specification does not know: ${keys}`,
    'keep them for the systems that read them; a strict reader wants them under `metadata:`, where they have no effect',
    among(new Set(FIELDS_OF_OTHERS)),
  ),
  rule('field_misspelt', STRICT, (what) => `has the unknown key ${what}`, 'correct the name', misspelt(NAMES)),
  rule('field_type', STRICT, (what) => `has ${what}`, 'write it in that form', wrongType),
  rule(
    'triggers_unknown',
    STRICT,
    (keys) => `has triggers of a kind that the format does not know: ${keys}`,
    'use keywords, verbs and patterns',
    unknownTriggers,
  ),
  rule(
    'pattern_invalid',
    STRICT,
    (why) => `has a trigger pattern that cannot be used, which is left out: ${why}`,
    'correct it: RE2 has no backreferences and no lookaround; in YAML, single quotes keep backslashes',
  ),
  rule(
    'text_expected',
    ADVICE,
    (key) => `has a '${key}' that YAML does not read as text; it is taken as it is written`,
    'put the value in quotes',
    noText,
  ),
  rule(
    'version_no_semver',
    ADVICE,
    (version) => `has the version '${version}', which is not a semantic one`,
    'write it as 1.0.0',
    noSemver,
  ),
  rule('toolset_invalid', STRICT, (toolset) => `names the toolset '${toolset}'`, 'write it as path:Export', noToolset),
  rule(
    'flow_style',
    LINT_ONLY,
    (key) => `has '${key}' in brackets or braces, which strict readers refuse`,
    'write one item a line',
    flowStyle,
  ),
  rule(
    'body_large',
    ADVICE,
    (tokens) => `has a body of about ${tokens} tokens; at most ${BODY_TOKEN_LIMIT} are advised`,
    'move detail into files under references/',
    bodyAbove(BODY_TOKEN_LIMIT),
  ),
];

/** The rule of a code. */
export const RULE: ReadonlyMap<string, Rule> = new Map(RULES.map((one) => [one.code, one]));

type Row = readonly [code: string, modes: Modes, message: Rule['message'], cure: string, check?: Check];

function rule(...[code, modes, message, cure, check]: Row): Rule {
  return { code, ...modes, message, cure, check };
}
