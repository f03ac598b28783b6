/** What a state is, what lint says with its place, the first cure, and where it differs what a load says. */
export type Defect = readonly [
  folder: string,
  state: 'offered' | 'invalid',
  lint: readonly string[],
  cure: string,
  load?: readonly string[],
];

/** Cures that several have. */
const DESCRIBE = 'write `description: What it does. Use when …`, in the words that people would use';
const CORRECT =
  'correct that line: begin each `key: value` at its margin, and put a value that contains `: ` or begins with a special character in quotes, such as `description: "Use when: …"`';
const UTF_8 = 'save the file as UTF-8 without a byte order mark';
const SHORTEN = 'write two sentences, `What it does. Use when …`, and move the rest below the frontmatter';
const PLAIN = 'write each value as plain text, `key: value`, or move it below the frontmatter';
const quote = (field: string) => `put the value in quotes: \`${field}: "…"\``;
const QUOTE = quote('description');
const rename = (name: string, folder?: string) =>
  folder === undefined
    ? `write \`name: ${name}\` and rename the folder to \`${name}\``
    : `write \`name: ${name}\`, or rename the folder to \`${folder}\``;
const begin = (name: string) =>
  `begin the file with the four lines \`---\`, \`name: ${name}\`, \`description: What it does. Use when …\` and \`---\``;
const head = (name: string) => `write \`name: ${name}\` and below it \`description: What it does. Use when …\``;

/** One folder below `test/fixtures/skills` each, named for its one defect; `none…` and 技能 have none. */
export const DEFECTS: readonly Defect[] = [
  ['-name-leading-hyphen', 'offered', ['error name_hyphens 2:1'], rename('name-leading-hyphen')],
  ['alias-of-nothing', 'offered', ['error repaired_quote 4:10'], quote('license')],
  [
    'all-repairs-at-once',
    'offered',
    [
      'warning repaired_bom 1:1',
      'error repaired_leading_blank 1:1',
      'warning repaired_crlf 2:4',
      'error repaired_directive 3:1',
      'error repaired_tab 7:1',
      'error repaired_quote 5:14',
      'error repaired_quote 7:11',
      'warning text_expected 8:1',
      'warning version_no_semver 8:1',
    ],
    UTF_8,
  ],
  ['allowed-tools-are-a-map', 'offered', ['error field_type 4:1'], 'write `allowed-tools: Read Write`'],
  ['ampersand-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['anchor-of-nothing', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['asterisk-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['at-sign-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['backtick-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['body-not-utf-8', 'offered', ['error encoding_invalid 5:7'], UTF_8, []],
  [
    'brief-over-80',
    'offered',
    ['info brief_long 4:1'],
    'write in at most 80 characters what it does, such as `brief_description: Fills in PDF forms`',
    [],
  ],
  ['byte-order-mark', 'offered', ['warning repaired_bom 1:1'], UTF_8],
  ['colon-not-quoted', 'offered', ['error repaired_quote 3:14'], QUOTE],
  [
    'compatibility-over-500',
    'offered',
    ['error compatibility_length 4:1'],
    'name only what it needs, such as `compatibility: Needs Python 3.11 and git`, and move the rest below the frontmatter',
  ],
  ['cr-alone', 'invalid', ['error line_ends_cr 1:1'], 'save the file with LF line ends'],
  ['crlf', 'offered', ['warning repaired_crlf 1:4'], 'save the file with LF line ends'],
  ['default-enabled-is-text', 'offered', ['error field_type 4:1'], 'write `default_enabled: false`'],
  ['description-blank', 'offered', ['warning description_taken_from_text 3:1'], DESCRIBE],
  ['description-empty', 'offered', ['warning description_taken_from_text 3:1'], DESCRIBE],
  ['description-is-a-list', 'invalid', ['error description_missing 3:1'], DESCRIBE],
  ['description-is-true', 'offered', ['warning text_expected 3:1'], QUOTE],
  ['description-missing', 'offered', ['warning description_taken_from_text 1:1'], DESCRIBE],
  ['description-over-1024', 'offered', ['error description_length 3:1'], SHORTEN],
  ['description-over-500', 'offered', ['warning description_long 3:1'], SHORTEN, []],
  ['exclamation-mark-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['field-in-flow-style', 'offered', ['warning flow_style 4:1'], 'write `metadata:` and below it each item on its own line, indented', []],
  ['field-twice', 'offered', ['warning duplicate_key 5:1'], 'keep one line `license:` and remove the other'],
  [
    'field-of-others',
    'offered',
    ['info field_of_others 4:1'],
    'leave them for those clients; for a strict validator write them under `metadata:`, where no client reads them',
    [],
  ],
  [
    'field-unknown',
    'offered',
    ['error field_unknown 4:1'],
    'write a line `metadata:` and move them below it, each indented: `  drawer: …`',
  ],
  ['file-empty', 'invalid', ['error frontmatter_missing 1:1'], begin('file-empty'), ['frontmatter_and_text_missing 1:1']],
  ['file-name-lower-case', 'offered', ['warning file_name_case 1:1'], 'rename `skill.md` to `SKILL.md`'],
  ['file-name-upper-case', 'offered', ['warning file_name_case 1:1'], 'rename `SKILL.MD` to `SKILL.md`'],
  ['four-dashes', 'invalid', ['error frontmatter_misspelt 1:1'], 'write `---` and nothing else on the first line'],
  ['frontmatter-closed-by-dots', 'invalid', ['error frontmatter_unclosed 1:1'], 'end the frontmatter with a line `---`'],
  [
    'frontmatter-empty',
    'offered',
    ['error frontmatter_missing 1:1'],
    begin('frontmatter-empty'),
    ['frontmatter_missing 1:1', 'description_taken_from_text 1:1', 'name_missing 1:1'],
  ],
  ['frontmatter-is-a-list', 'invalid', ['error frontmatter_no_map 2:1'], head('frontmatter-is-a-list')],
  ['frontmatter-is-a-text', 'invalid', ['error frontmatter_no_map 2:1'], head('frontmatter-is-a-text')],
  ['frontmatter-never-closed', 'invalid', ['error frontmatter_unclosed 1:1'], 'end the frontmatter with a line `---`'],
  [
    'frontmatter-over-16-kib',
    'invalid',
    ['error frontmatter_too_large 1:1'],
    'keep `name:` and `description:` there, and move other text below the second `---`',
  ],
  ['hash-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['leading-blank-line', 'offered', ['error repaired_leading_blank 1:1'], 'remove what is above the first `---`'],
  ['metadata-is-a-list', 'offered', ['error field_type 4:1'], 'write `metadata:` and below it a line such as `  author: …` for each'],
  ['name-double--hyphen', 'offered', ['error name_hyphens 2:1'], rename('name-double-hyphen')],
  [
    'name-for-display',
    'offered',
    ['error name_case 2:1', 'error name_characters 2:1', 'error name_differs 2:1'],
    'write `name: name-for-display`',
  ],
  ['name-is-a-number', 'offered', ['error name_differs 2:1', 'warning text_expected 2:1'], rename('name-is-a-number', '123')],
  ['name-is-not-the-folder', 'offered', ['error name_differs 2:1'], rename('name-is-not-the-folder', 'something-else')],
  ['name-missing', 'offered', ['error name_missing 1:1'], 'write `name: name-missing`'],
  [
    'name-of-more-characters-than-the-sixty-four-that-are-allowed-here',
    'offered',
    ['error name_length 2:1'],
    rename('name-of-more-characters-than-the-sixty-four-that-are-allowed'),
  ],
  ['name-trailing-hyphen-', 'offered', ['error name_hyphens 2:1'], rename('name-trailing-hyphen')],
  ['name-upper-case', 'offered', ['error name_case 2:1', 'error name_differs 2:1'], 'write `name: name-upper-case`'],
  ['name_with_underscores', 'offered', ['error name_characters 2:1'], rename('name-with-underscores')],
  [
    'no-frontmatter',
    'offered',
    ['error frontmatter_missing 1:1'],
    begin('no-frontmatter'),
    ['frontmatter_missing 1:1', 'description_taken_from_text 1:1', 'name_missing 1:1'],
  ],
  ['none', 'offered', [], ''],
  ['none-comments-and-anchors', 'offered', [], ''],
  ['none-dashes-in-value', 'offered', [], ''],
  ['none-prototype-keys', 'offered', [], ''],
  ['none-tags', 'offered', [], ''],
  ['not-utf-8', 'offered', ['error encoding_invalid 3:15'], UTF_8],
  ['nul-byte', 'offered', ['error control_character 3:20'], 'remove U+0000 there, or write a space in its place'],
  ['percent-first', 'offered', ['error repaired_quote 3:14'], QUOTE],
  [
    'scripts-without-path',
    'offered',
    ['error field_type 4:1'],
    'write `scripts:` and below it a line such as `  - path: scripts/count.py` for each',
  ],
  ['tab-in-indentation', 'offered', ['error repaired_tab 5:1'], 'write two spaces in place of each tab'],
  ['tags-are-a-map', 'offered', ['error field_type 4:1'], 'write `tags:` and below it a line `  - …` for each'],
  ['text-after-brackets', 'offered', ['error repaired_quote 4:10'], quote('license')],
  ['text-after-quotes', 'offered', ['error repaired_quote 3:14'], QUOTE],
  [
    'toolset-without-export',
    'offered',
    ['error toolset_invalid 4:1'],
    'write the file and what it exports, such as `- toolsets/forms:FormsToolset`',
  ],
  ['trigger-kind-unknown', 'offered', ['error triggers_unknown 4:1'], 'write `keywords:`, `verbs:` or `patterns:` in place of `words:`'],
  [
    'trigger-pattern-invalid',
    'offered',
    ['error pattern_invalid 6:8'],
    "write it for RE2, without backreferences and lookaround, in single quotes that keep backslashes, such as `- '\\bpdf\\b'`",
  ],
  ['utf-16', 'invalid', ['error encoding_utf16 1:1'], UTF_8],
  ['utf-16-without-mark', 'invalid', ['error encoding_utf16 1:1'], UTF_8],
  ['version-is-a-number', 'offered', ['warning text_expected 4:1', 'warning version_no_semver 4:1'], quote('version')],
  ['version-is-no-version', 'offered', ['warning version_no_semver 4:1'], 'write `version: 1.0.0`'],
  ['yaml-alias-bomb', 'invalid', ['error yaml_too_large 7:36'], PLAIN],
  ['yaml-aliases-over-100', 'invalid', ['error yaml_too_large 107:5'], PLAIN],
  ['yaml-bad-indent', 'invalid', ['error yaml_invalid 2:7'], CORRECT],
  ['yaml-bracket-never-closed', 'invalid', ['error yaml_invalid 3:1'], CORRECT],
  ['yaml-directive', 'offered', ['error repaired_directive 2:1'], 'remove the line `%YAML 1.1`'],
  ['yaml-quote-never-closed', 'offered', ['error repaired_quote 3:14'], QUOTE],
  ['yaml-too-deep', 'invalid', ['error yaml_too_large 4:71'], PLAIN],
  ['НАВЫК', 'offered', ['error name_case 2:1'], rename('навык')],
  ['技能', 'offered', [], ''],
];
