import { BODY, casesOf, DESCRIPTION, goodSkill, skillFile } from '../case.ts';
import { MARK } from '../mark.ts';

const POLLUTED = 'text-that-no-field-has-83c2';
const HEAD = `name: demo\ndescription: ${DESCRIPTION}`;
/** Ten to the power of nine values, if they are written out. */
const BOMB = Array.from({ length: 9 }, (_, at) => `  l${at + 1}: &l${at + 1} [${Array(10).fill(`*l${at}`).join(', ')}]`).join('\n');

export const HOSTILE = casesOf('security', [
  [
    'hostile-proto',
    'refuses/loads',
    '__proto__ with a description',
    'It is an unknown key. Whoever lays it into an object changes what the object inherits.',
    { skill: skillFile(`${HEAD}\n__proto__:\n  description: ${POLLUTED}\n  polluted: true`), never: [POLLUTED] },
  ],
  [
    'hostile-proto-description',
    'refuses/open',
    'a description in __proto__ only',
    'What an object inherits is no field of the file.',
    { skill: skillFile(`name: demo\n__proto__:\n  description: ${POLLUTED}`), never: [POLLUTED] },
  ],
  [
    'hostile-constructor-key',
    'refuses/loads',
    'constructor.prototype in the frontmatter',
    'It is an unknown key.',
    { skill: skillFile(`${HEAD}\nconstructor:\n  prototype:\n    description: ${POLLUTED}`), never: [POLLUTED] },
  ],
  [
    'hostile-named-constructor',
    'loads/loads',
    'a skill that is named constructor',
    'It is a valid name. Whoever keeps skills in a plain object finds something there already.',
    { skill: goodSkill('constructor'), folder: 'constructor' },
  ],
  [
    'hostile-named-proto',
    'refuses/open',
    'a skill that is named __proto__',
    'Underscores are not allowed. Whoever keeps skills in a plain object loses it, or more.',
    { skill: goodSkill('__proto__'), folder: '__proto__' },
  ],
  [
    'hostile-yaml-function',
    'refuses/open',
    'a description with the tag !!js/function',
    'Frontmatter is data: nothing in it is run.',
    skillFile(`name: demo\ndescription: !!js/function 'function () { require("fs").writeFileSync("{root}/${MARK}", "") }'`),
  ],
  [
    'hostile-yaml-python',
    'refuses/open',
    'metadata with the tag !!python/object/apply',
    'Frontmatter is data: nothing in it is run.',
    skillFile(`${HEAD}\nmetadata:\n  a: !!python/object/apply:os.system ['touch "{root}/${MARK}"']`),
  ],
  ['hostile-yaml-tag', 'open/open', 'a tag of nobody', 'It means nothing.', skillFile(`name: !demo demo\ndescription: ${DESCRIPTION}`)],
  [
    'hostile-js-frontmatter',
    'refuses/refuses',
    'frontmatter that begins with ---js',
    'Some parsers of frontmatter run it. It is not YAML, and nothing of a skill is run when it is listed.',
    `---js\n{ name: 'demo', description: (require('fs').writeFileSync('{root}/${MARK}', ''), 'It ran.') }\n---\n${BODY}`,
  ],
  [
    'hostile-shell',
    'loads/loads',
    'commands in back-quotes and $( )',
    'They are text: nothing of a skill is run when it is listed.',
    skillFile(HEAD, `!\`touch "{root}/${MARK}"\` and $(touch "{root}/${MARK}")\n`),
  ],
  [
    'hostile-alias-bomb',
    'refuses/open',
    'aliases that come to a thousand million values',
    'Written out, they fill the memory. A loader may refuse, or never write them out.',
    skillFile(`${HEAD}\nmetadata:\n  l0: &l0 [x, x]\n${BOMB}`),
  ],
  [
    'hostile-alias-of-itself',
    'refuses/open',
    'a map that contains itself',
    'Whoever copies or prints it never ends.',
    skillFile(`${HEAD}\nmetadata: &all\n  all: *all`),
  ],
  [
    'hostile-deep-brackets',
    'refuses/open',
    '5,000 brackets within each other',
    'Whoever reads them by recursion runs out of stack.',
    skillFile(`${HEAD}\nmetadata: ${'['.repeat(5000)}${']'.repeat(5000)}`),
  ],
  [
    'hostile-blanks',
    'refuses/loads',
    '14,000 blanks within a description',
    'An expression that goes back takes time with the square of them.',
    { skill: goodSkill('demo', `Counts${' '.repeat(14_000)}lines.`), descriptions: [] },
  ],
  [
    'hostile-dashes',
    'refuses/open',
    '50,000 lines that nearly close the frontmatter',
    'An expression that goes back takes time with the square of them.',
    `---\n${'---x\n'.repeat(50_000)}`,
  ],
  [
    'hostile-escape-sequence',
    'open/open',
    'a description that clears a terminal',
    'It is a text. Whoever prints it makes it harmless.',
    skillFile(String.raw`name: demo` + '\n' + String.raw`description: "Counts.\e[2J\e[31m"`),
  ],
]);
