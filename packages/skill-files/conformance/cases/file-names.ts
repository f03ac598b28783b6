import { BODY, casesOf, goodSkill } from '../case.ts';

export const FILE_NAMES = casesOf('file name', [
  ['file-plain', 'loads/loads', 'a skill in order', 'Nothing is odd here.', goodSkill('demo')],
  [
    'file-lower-case',
    'loads/loads',
    'skill.md',
    'The reference validator takes skill.md where there is no SKILL.md.',
    { files: { 'skills/demo/skill.md': goodSkill('demo') } },
  ],
  [
    'file-mixed-case',
    'refuses/loads',
    'Skill.md',
    'The specification names SKILL.md. On a Mac and on Windows nobody sees the difference, so that people write it.',
    { files: { 'skills/demo/Skill.md': goodSkill('demo') } },
  ],
  [
    'file-both-cases',
    'loads/loads',
    'SKILL.md beside skill.md',
    'SKILL.md is the one that counts.',
    { files: { 'skills/demo/SKILL.md': goodSkill('demo'), 'skills/demo/skill.md': goodSkill('demo', 'The wrong file.') }, most: 2 },
  ],
  [
    'file-missing',
    'refuses/refuses',
    'a folder with a README.md only',
    'A folder without SKILL.md is no skill.',
    { files: { 'skills/demo/README.md': BODY } },
  ],
  [
    'file-other-ending',
    'refuses/refuses',
    'SKILL.txt and SKILL.md.bak',
    'Neither is SKILL.md: copies that an editor leaves are no skills.',
    { files: { 'skills/demo/SKILL.txt': goodSkill('demo'), 'skills/demo/SKILL.md.bak': goodSkill('demo') } },
  ],
  [
    'file-is-folder',
    'refuses/refuses',
    'SKILL.md is a folder',
    'There is no text to read. The skills beside it are not touched by that.',
    { files: { 'skills/demo/SKILL.md/notes.md': BODY } },
  ],
  [
    'file-spaces-in-folder',
    'refuses/loads',
    'the folder is named "my demo"',
    'No valid name equals such a folder. The text can be used all the same.',
    { skill: goodSkill('my-demo'), folder: 'my demo', names: ['my demo', 'my-demo'] },
  ],
]);
