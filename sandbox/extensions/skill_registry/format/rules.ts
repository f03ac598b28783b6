import { textOf, type Fields, type Finding } from './finding.ts';

export type Severity = 'error' | 'warning' | 'info';

/** What checks look at. */
export interface Facts {
  readonly id: string;
  readonly fileName: string;
  readonly fields: Fields;
  /** Bytes of the whole SKILL.md. */
  readonly size: number;
  /** Estimated from the size. */
  readonly bodyTokens: number;
}

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
  readonly check?: (facts: Facts) => Iterable<Hit>;
}

type Hit = Omit<Finding, 'code'>;

export const SPECIFICATION_FIELDS = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'] as const;
export const OUR_FIELDS = [
  'tags', 'requires', 'examples', 'version', 'brief_description', 'triggers', 'toolsets', 'scripts', 'default_enabled',
] as const;
export const FILE_LIMIT = 256 * 1024;
export const BODY_TOKEN_LIMIT = 8000;

const KNOWN: ReadonlySet<string> = new Set([...SPECIFICATION_FIELDS, ...OUR_FIELDS]);
const LISTS = ['tags', 'requires', 'examples', 'toolsets'];
const SEMVER = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

export const RULES: readonly Rule[] = [
  // reading
  { code: 'file_unreadable', lint: 'error', load: 'error', message: (why) => `cannot be read: ${why}`, cure: 'make the file readable' },
  {
    code: 'file_too_large', lint: 'error', load: 'error', message: (bytes) => `is ${bytes} bytes; at most ${FILE_LIMIT} are allowed`,
    cure: 'move detail into files under references/',
    *check({ size }) {
      if (size > FILE_LIMIT) yield { detail: String(size), line: 1, column: 1 };
    },
  },
  { code: 'encoding_invalid', lint: 'error', load: 'warning', message: () => 'is not valid UTF-8', cure: 'save the file as UTF-8' },
  {
    code: 'file_name_case', lint: 'warning', load: 'warning', message: (name) => `is named ${name}`, cure: 'rename it to SKILL.md',
    *check({ fileName }) {
      if (fileName !== 'SKILL.md') yield { detail: fileName };
    },
  },
  { code: 'frontmatter_missing', lint: 'error', load: 'error', message: () => 'has no frontmatter', cure: 'begin the file with a line `---`, then `name:` and `description:`, then a line `---`' },
  { code: 'frontmatter_unclosed', lint: 'error', load: 'error', message: () => 'has frontmatter that is never closed', cure: 'end the frontmatter with a line `---`' },
  { code: 'frontmatter_too_large', lint: 'error', load: 'error', message: () => 'has more than 16 KiB of frontmatter', cure: 'move text below the frontmatter' },
  { code: 'frontmatter_no_map', lint: 'error', load: 'error', message: () => 'has frontmatter that is not a list of `key: value`', cure: 'write `name: …` and `description: …`' },
  { code: 'yaml_invalid', lint: 'error', load: 'error', message: (why) => `has frontmatter that is not YAML: ${why}`, cure: 'correct that line; quote values that contain `: ` or begin with a special character' },
  { code: 'yaml_too_large', lint: 'error', load: 'error', message: (what) => `has frontmatter with ${what}`, cure: 'write the values out, or leave them out' },
  { code: 'repaired_bom', lint: 'warning', load: 'warning', message: () => 'begins with a byte order mark', cure: 'save the file as UTF-8 without BOM' },
  { code: 'repaired_crlf', lint: 'warning', load: 'warning', message: () => 'has CRLF line ends', cure: 'save the file with LF line ends' },
  { code: 'repaired_leading_blank', lint: 'error', load: 'warning', message: () => 'has blank lines before the frontmatter', cure: 'begin the file with `---`' },
  { code: 'repaired_directive', lint: 'error', load: 'warning', message: (line) => `has a YAML directive, which is ignored: ${line}`, cure: 'remove the line' },
  { code: 'repaired_tab', lint: 'error', load: 'warning', message: () => 'is indented with a tab', cure: 'indent with spaces' },
  { code: 'repaired_quote', lint: 'error', load: 'warning', message: (key) => `has a value of '${key}' that YAML cannot read unless it is quoted`, cure: 'put the value in quotes' },
  { code: 'duplicate_key', lint: 'warning', load: 'warning', message: (key) => `has '${key}' twice; the last one is used`, cure: 'remove one of them' },
  // names
  { code: 'name_missing', lint: 'error', load: 'warning', message: () => 'has no name; the directory name is used', cure: 'add `name:`', check: ({ fields }) => (textOf(fields.get('name'))?.trim() ? [] : [{ detail: '', ...headOf(fields, 'name') }]) },
  nameRule('name_length', (name) => `has a name of ${[...name].length} characters; at most 64 are allowed`, 'shorten it', (name) => [...name].length > 64),
  nameRule('name_case', (name) => `has upper-case letters in its name '${name}'`, 'write it in lower case', (name) => name !== name.toLowerCase()),
  nameRule('name_characters', (name) => `has characters in its name '${name}' that are no letters, digits or hyphens`, 'use letters, digits and hyphens only', (name) => /[^\p{L}\p{N}-]/u.test(name)),
  nameRule('name_hyphens', (name) => `has a leading, trailing or double hyphen in its name '${name}'`, 'use single hyphens between words', (name) => /^-|-$|--/.test(name)),
  nameRule('name_differs', (name) => `has the name '${name}', which is not its directory's`, 'give directory and name the same text', (name, id) => name !== id.normalize('NFKC')),
  // fields
  {
    code: 'description_missing', lint: 'error', load: 'error', message: () => 'has no description', cure: 'add `description:` that says what it does and when to use it',
    check: ({ fields }) => (textOf(fields.get('description'))?.trim() ? [] : [{ detail: '', ...headOf(fields, 'description') }]),
  },
  lengthRule('description_length', 'description', 1024),
  {
    code: 'description_long', lint: 'warning', load: null, message: (count) => `has a description of ${count} characters; some clients cut it at 500`, cure: 'shorten it to 500 characters',
    check: ({ fields }) => longerThan(fields, 'description', 500, 1024),
  },
  {
    code: 'brief_long', lint: 'info', load: null, message: (count) => `has a brief_description of ${count} characters; the catalog has room for about 80`, cure: 'shorten it',
    check: ({ fields }) => longerThan(fields, 'brief_description', 80),
  },
  lengthRule('compatibility_length', 'compatibility', 500),
  {
    code: 'field_unknown', lint: 'error', load: 'warning', message: (keys) => `has fields that the format does not know: ${keys}`, cure: 'move them under `metadata:`',
    *check({ fields }) {
      const unknown = [...fields.keys()].filter((key) => !KNOWN.has(key));
      if (unknown.length > 0) yield { detail: unknown.join(', '), ...headOf(fields, unknown[0] ?? '') };
    },
  },
  {
    code: 'field_type', lint: 'error', load: 'warning', message: (detail) => `has ${detail}`, cure: 'write the field as documented',
    *check({ fields }) {
      for (const key of LISTS) if (has(fields, key) && !isTexts(fields.get(key)?.value)) yield wrongType(fields, key, 'a list of texts');
      for (const key of ['metadata', 'triggers']) if (has(fields, key) && !isMapping(fields.get(key)?.value)) yield wrongType(fields, key, 'a map');
      if (has(fields, 'allowed-tools') && !isTexts(fields.get('allowed-tools')?.value) && textOf(fields.get('allowed-tools')) === null) yield wrongType(fields, 'allowed-tools', 'text or a list of texts');
      if (has(fields, 'default_enabled') && typeof fields.get('default_enabled')?.value !== 'boolean') yield wrongType(fields, 'default_enabled', 'true or false');
      if (has(fields, 'scripts') && !isScripts(fields.get('scripts')?.value)) yield wrongType(fields, 'scripts', 'a list of paths');
    },
  },
  {
    code: 'text_expected', lint: 'warning', load: 'warning', message: (key) => `has a '${key}' that YAML does not read as text; it is taken as it is written`, cure: 'put the value in quotes',
    *check({ fields }) {
      for (const key of ['name', 'description', 'version', 'license', 'compatibility', 'brief_description']) {
        const field = fields.get(key);
        if (field && typeof field.value !== 'string' && field.source !== undefined) yield { detail: key, ...headOf(fields, key) };
      }
    },
  },
  {
    code: 'version_no_semver', lint: 'warning', load: 'warning', message: (version) => `has the version '${version}', which is not a semantic one`, cure: 'write it as 1.0.0',
    *check({ fields }) {
      const version = textOf(fields.get('version'));
      if (version !== null && !SEMVER.test(version)) yield { detail: version, ...headOf(fields, 'version') };
    },
  },
  {
    code: 'toolset_invalid', lint: 'error', load: 'warning', message: (toolset) => `names the toolset '${toolset}'`, cure: 'write it as path:Export',
    *check({ fields }) {
      const toolsets = fields.get('toolsets')?.value;
      for (const toolset of isTexts(toolsets) ? toolsets : []) {
        if (!/^[^:]+:[A-Za-z_$][\w$]*$/.test(toolset)) yield { detail: toolset, ...headOf(fields, 'toolsets') };
      }
    },
  },
  {
    code: 'flow_style', lint: 'warning', load: null, message: (key) => `has '${key}' in brackets or braces, which strict readers refuse`, cure: 'write one item a line',
    *check({ fields }) {
      for (const [key, field] of fields) if (field.flow) yield { detail: key, line: field.line, column: field.column };
    },
  },
  {
    code: 'body_large', lint: 'warning', load: 'warning', message: (tokens) => `has a body of about ${tokens} tokens; at most ${BODY_TOKEN_LIMIT} are advised`, cure: 'move detail into files under references/',
    *check({ bodyTokens }) {
      if (bodyTokens > BODY_TOKEN_LIMIT) yield { detail: String(bodyTokens) };
    },
  },
];

/** The rule of a code. */
export const RULE: ReadonlyMap<string, Rule> = new Map(RULES.map((rule) => [rule.code, rule]));

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isScripts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' || (isMapping(item) && typeof item['path'] === 'string'));
}

function has(fields: Fields, key: string): boolean {
  const value = fields.get(key)?.value;
  return value !== undefined && value !== null;
}

function headOf(fields: Fields, key: string): { line: number; column: number } {
  const { line, column } = fields.get(key) ?? { line: 1, column: 1 };
  return { line, column };
}

function wrongType(fields: Fields, key: string, wanted: string): Hit {
  return { detail: `a '${key}' that is not ${wanted}`, ...headOf(fields, key) };
}

function* longerThan(fields: Fields, key: string, limit: number, below = Infinity): Iterable<Hit> {
  const text = textOf(fields.get(key));
  if (text === null || text.length <= limit) return;
  const count = [...text].length;
  if (count > limit && count <= below) yield { detail: String(count), ...headOf(fields, key) };
}

function lengthRule(code: string, key: string, limit: number): Rule {
  return {
    code, lint: 'error', load: 'warning', message: (count) => `has a ${key} of ${count} characters; at most ${limit} are allowed`,
    cure: 'shorten it', check: ({ fields }) => longerThan(fields, key, limit),
  };
}

function nameRule(code: string, message: (name: string) => string, cure: string, broken: (name: string, id: string) => boolean): Rule {
  return {
    code, lint: 'error', load: 'warning', message, cure,
    *check({ fields, id }) {
      const name = textOf(fields.get('name'))?.trim().normalize('NFKC');
      if (name && broken(name, id)) yield { detail: name, ...headOf(fields, 'name') };
    },
  };
}
