import { casesOf, DESCRIPTION, goodSkill, skillFile, type Row, type Verdict } from '../case.ts';

const KEEPS = 'The specification forbids it. The text can be used all the same.';

export const NAMES = casesOf('names', [
  [
    'name-missing',
    'refuses/loads',
    'no name',
    'The specification wants one; the folder has one.',
    skillFile(`description: ${DESCRIPTION}`),
  ],
  inFolder('name-64', 'loads/loads', ['a name of 64 characters', 'a'.repeat(64)], 'It is the longest that the specification allows.'),
  inFolder('name-65', 'refuses/loads', ['a name of 65 characters', 'a'.repeat(65)], KEEPS),
  inFolder('name-upper-case', 'refuses/loads', ['upper-case letters', 'Demo'], KEEPS),
  inFolder('name-underscore', 'refuses/loads', ['an underscore', 'my_demo'], KEEPS),
  inFolder('name-dot', 'refuses/loads', ['a full stop', 'demo.v2'], KEEPS),
  inFolder('name-leading-hyphen', 'refuses/loads', ['a hyphen first', '-demo'], KEEPS),
  inFolder('name-trailing-hyphen', 'refuses/loads', ['a hyphen last', 'demo-'], KEEPS),
  inFolder('name-double-hyphen', 'refuses/loads', ['two hyphens', 'my--demo'], KEEPS),
  inFolder('name-digits', 'loads/loads', ['digits first', '3d-demo'], 'Digits are allowed anywhere.'),
  [
    'name-differs',
    'refuses/loads',
    'a name that is not the folder’s',
    'The specification wants them equal; 1,636 of 10,046 skills do not care. Either name may serve as the id.',
    { skill: goodSkill('counter'), names: ['demo', 'counter'] },
  ],
  [
    'name-as-title',
    'refuses/loads',
    'a name that is a title',
    KEEPS,
    { skill: goodSkill('My Demo Skill'), names: ['demo', 'My Demo Skill', 'my-demo-skill'] },
  ],
  ['name-blanks-around', 'open/loads', 'blanks around a quoted name', 'The reference validator trims it.', goodSkill('"  demo "')],
  [
    'name-path',
    'refuses/open',
    'a name that is a path upwards',
    'It must not be taken for a path. A loader may use the folder’s name or refuse.',
    { skill: goodSkill('../../good'), names: ['demo'] },
  ],
]);

export const NAMES_I18N = casesOf('names, i18n', [
  inFolder('i18n-chinese', 'loads/loads', ['Chinese', '技能'], 'They are letters without case.'),
  inFolder('i18n-russian', 'loads/loads', ['Russian', 'мой-навык'], 'They are lower-case letters.'),
  inFolder('i18n-russian-upper-case', 'refuses/loads', ['Russian in upper case', 'НАВЫК'], KEEPS),
  inFolder('i18n-accent', 'loads/loads', ['a letter with an accent', 'café'], 'It is a lower-case letter.'),
  inFolder('i18n-emoji', 'refuses/loads', ['an emoji', 'rocket-🚀'], KEEPS),
  [
    'i18n-decomposed-name',
    'loads/loads',
    'é in two characters in the name, in one in the folder’s',
    'Names are compared in Unicode form NFKC.',
    { skill: goodSkill('café'.normalize('NFD')), folder: 'café' },
  ],
  [
    'i18n-decomposed-folder',
    'loads/loads',
    'é in one character in the name, in two in the folder’s',
    'Names are compared in Unicode form NFKC. Macs write folders so.',
    { files: { [`skills/${'café'.normalize('NFD')}/SKILL.md`]: goodSkill('café') }, folder: 'café'.normalize('NFD') },
  ],
  [
    'i18n-full-width',
    'loads/loads',
    'full-width letters in the name',
    'In Unicode form NFKC they are those of the folder.',
    goodSkill('ｄｅｍｏ'),
  ],
]);

function inFolder(id: string, verdicts: `${Verdict}/${Verdict}`, [title, name]: readonly [string, string], why: string): Row {
  return [id, verdicts, title, why, { skill: goodSkill(name), folder: name }];
}
