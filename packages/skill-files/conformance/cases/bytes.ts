import { casesOf, DESCRIPTION, goodSkill, skillFile } from '../case.ts';

const BYTE_ORDER_MARK = String.fromCharCode(0xfeff);
const ZERO_WIDTH = String.fromCharCode(0x200b);
const NUL = String.fromCharCode(0);
const HEAD = `name: demo\ndescription: ${DESCRIPTION}`;
const KIB = 1024;

export const BODIES = casesOf('body', [
  ['body-empty', 'loads/loads', 'no body', 'The specification asks for none.', skillFile(HEAD, '')],
  [
    'body-templates',
    'loads/loads',
    '{{ }}, {% %}, ${ } and $& in the body',
    'The text is handed on byte for byte: 280 skills have such signs, which mean something elsewhere.',
    {
      skill: skillFile(HEAD, "Say {{ name }}, {% raw %}, ${HOME}, $&, $1, $' and `$ARGUMENTS`.\n"),
      body: "{{ name }}, {% raw %}, ${HOME}, $&, $1, $'",
    },
  ],
  [
    'body-rulers',
    'loads/loads',
    'lines of --- in the body',
    'The second fence ends the frontmatter; what follows is text.',
    { skill: skillFile(HEAD, 'One.\n\n---\n\nname: other\n\n---\n\nTwo.\n'), body: 'Two.' },
  ],
  [
    'body-frontmatter-example',
    'loads/loads',
    'another SKILL.md in a code block',
    'Only the beginning of the file is frontmatter.',
    skillFile(HEAD, '```markdown\n---\nname: other\ndescription: Another one.\n---\n```\n'),
  ],
  ['body-nul', 'open/open', 'a NUL in the body', 'It is no text, strictly. Nothing may crash.', skillFile(HEAD, `One${NUL}two\n`)],
  [
    'body-200-kib',
    'loads/loads',
    'a body of 200 KiB',
    'The specification advises against it and has no limit.',
    skillFile(HEAD, 'A line of text.\n'.repeat((200 * KIB) / 16)),
  ],
]);

export const ENCODINGS = casesOf('encoding', [
  [
    'encoding-bom',
    'open/loads',
    'a byte order mark',
    'Editors on Windows write it. The reference validator does not look past it.',
    BYTE_ORDER_MARK + goodSkill('demo'),
  ],
  ['encoding-crlf', 'loads/loads', 'CRLF line ends', 'They are line ends.', goodSkill('demo').replaceAll('\n', '\r\n')],
  [
    'encoding-bom-crlf',
    'open/loads',
    'a byte order mark and CRLF',
    'Editors on Windows write both.',
    BYTE_ORDER_MARK + goodSkill('demo').replaceAll('\n', '\r\n'),
  ],
  [
    'encoding-cr',
    'open/open',
    'line ends of CR alone',
    'No system has written them for decades.',
    goodSkill('demo').replaceAll('\n', '\r'),
  ],
  [
    'encoding-utf16',
    'refuses/refuses',
    'UTF-16 with a byte order mark',
    'Text files of skills are UTF-8. Read as that, it is noise, which belongs into no catalog.',
    Buffer.from(BYTE_ORDER_MARK + goodSkill('demo'), 'utf16le'),
  ],
  [
    'encoding-latin1-description',
    'refuses/loads',
    'a byte in the description that is no UTF-8',
    'A validator says so. One wrong letter is no reason to lose a skill.',
    { skill: Buffer.from(goodSkill('demo', 'Counts lines in a café.'), 'latin1'), descriptions: [] },
  ],
  [
    'encoding-latin1-body',
    'open/loads',
    'a byte in the body that is no UTF-8',
    'One wrong letter is no reason to lose a skill.',
    Buffer.from(skillFile(HEAD, 'In a café.\n'), 'latin1'),
  ],
  [
    'encoding-zero-width',
    'open/loads',
    'a character without width in the description',
    'It is a character, if a suspicious one.',
    { skill: goodSkill('demo', `Counts${ZERO_WIDTH}lines.`), descriptions: [] },
  ],
  [
    'encoding-nul',
    'refuses/open',
    'a NUL in the description',
    'YAML forbids it. Nothing may crash.',
    goodSkill('demo', `Counts${NUL}lines.`),
  ],
  [
    'encoding-binary',
    'refuses/refuses',
    'a picture that is named SKILL.md',
    'It is no text.',
    Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
  ],
]);

export const SIZES = casesOf('size', [
  [
    'size-frontmatter-20-kib',
    'open/open',
    'frontmatter of 20 KiB',
    'The longest of 8,902 real ones has 2,326 bytes, so that loaders may have a limit.',
    skillFile(`${HEAD}\nmetadata:\n${Array.from({ length: 600 }, (_, at) => `  key-${at}: ${'v'.repeat(22)}`).join('\n')}`),
  ],
  [
    'size-2-mib',
    'open/open',
    'a SKILL.md of 2 MiB',
    'Loaders may have a limit. The skills beside it are not touched by that.',
    skillFile(HEAD, 'A line of text.\n'.repeat(128 * KIB)),
  ],
  ['size-long-line', 'open/open', 'one line of 1 MiB', 'Loaders may have a limit.', skillFile(HEAD, 'x: '.repeat(350_000))],
  [
    'size-300-skills',
    'loads/loads',
    '300 skills',
    'All of them are listed.',
    { skill: goodSkill('demo'), neighbours: Array.from({ length: 300 }, (_, at) => `skill-${at}`) },
  ],
  [
    'size-many-files',
    'loads/loads',
    '500 files beside SKILL.md',
    'A skill may bring any files.',
    {
      files: {
        'skills/demo/SKILL.md': goodSkill('demo'),
        ...Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`skills/demo/references/${at}.md`, 'Text.\n'])),
      },
    },
  ],
]);
