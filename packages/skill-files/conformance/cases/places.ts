import { casesOf, goodSkill, skillFile } from '../case.ts';

const SECRET = 'token-of-somebody-else-5d1f';

export const SPECIAL_FILES = casesOf('links and special files', [
  [
    'link-file-inside',
    'open/loads',
    'SKILL.md is a link within the folder of skills',
    'It leads to a text of the same source. Of 8,902 real skills 301 are such links.',
    { files: { 'skills/shared/text.md': goodSkill('demo'), 'skills/demo/SKILL.md': { link: 'skills/shared/text.md' } } },
  ],
  [
    'link-file-outside',
    'open/refuses',
    'SKILL.md is a link to a text outside that is no skill',
    'Whoever writes the folder chooses the target, a key for example. It must not reach a model, not even as a description.',
    {
      files: { 'outside/notes.txt': `${SECRET}\n`, 'skills/demo/SKILL.md': { link: 'outside/notes.txt' } },
      never: [SECRET],
    },
  ],
  [
    'link-folder-outside',
    'open/open',
    'a folder that is a link to a skill outside',
    'Installers link skills so; whoever reads folders of strangers may refuse.',
    { files: { 'outside/demo/SKILL.md': goodSkill('demo'), 'skills/demo': { link: 'outside/demo' } } },
  ],
  [
    'link-broken',
    'refuses/refuses',
    'SKILL.md is a link that leads nowhere',
    'There is no text to read.',
    { skill: { link: 'outside/gone.md' } },
  ],
  [
    'link-loop',
    'loads/loads',
    'a link in the folder that leads back to all skills',
    'It is walked at most once: the skill is there, once.',
    { files: { 'skills/demo/SKILL.md': goodSkill('demo'), 'skills/demo/back': { link: 'skills' } }, most: 2 },
  ],
  [
    'link-loop-beside',
    'loads/loads',
    'a folder beside the skill that leads back to all skills',
    'It is walked at most once: the skill is there, once.',
    { files: { 'skills/demo/SKILL.md': goodSkill('demo'), 'skills/group/back': { link: 'skills' } }, most: 2 },
  ],
  ['special-fifo', 'refuses/refuses', 'SKILL.md is a pipe that nobody writes into', 'Whoever opens it waits for ever.', { skill: 'fifo' }],
  [
    'special-unreadable',
    'refuses/refuses',
    'a SKILL.md that may not be read',
    'There is no text to read. The skills beside it are not touched by that.',
    { skill: { unreadable: goodSkill('demo') } },
  ],
]);

export const NESTING = casesOf('duplicates and nesting', [
  [
    'nest-group',
    'open/open',
    'a skill two folders deep',
    'The specification names no depth; many loaders look into one level only.',
    { skill: goodSkill('demo'), folder: 'office/demo', names: ['demo'] },
  ],
  [
    'nest-inner',
    'loads/loads',
    'a skill within a skill',
    'The outer one is loaded; 248 of 8,902 skills lie in another. The inner one may be.',
    { files: { 'skills/demo/SKILL.md': goodSkill('demo'), 'skills/demo/inner/SKILL.md': goodSkill('inner', 'The inner one.') } },
  ],
  [
    'nest-node-modules',
    'open/refuses',
    'a skill in node_modules',
    'What packages bring was not put there to be offered.',
    { skill: goodSkill('demo'), folder: 'node_modules/demo', names: ['demo'] },
  ],
  [
    'nest-git',
    'open/refuses',
    'a skill in .git',
    'It is what git keeps, not what somebody put there.',
    { skill: goodSkill('demo'), folder: '.git/demo', names: ['demo'] },
  ],
  [
    'nest-same-name',
    'open/loads',
    'two folders with one name in their frontmatter',
    'The one whose folder has that name is loaded. The other may be, by its folder.',
    { files: { 'skills/demo/SKILL.md': goodSkill('demo'), 'skills/another/SKILL.md': goodSkill('demo', 'A double of the other.') } },
  ],
  [
    'nest-same-folder',
    'open/open',
    'two folders of one name in two groups',
    'One of them may hide the other.',
    {
      files: { 'skills/a/demo/SKILL.md': goodSkill('demo'), 'skills/b/demo/SKILL.md': goodSkill('demo') },
      folder: 'a/demo',
      names: ['demo'],
    },
  ],
  [
    'nest-stray-files',
    'loads/loads',
    'stray files beside the skills',
    'They are no skills and in nobody’s way.',
    {
      files: {
        'skills/demo/SKILL.md': goodSkill('demo'),
        'skills/README.md': 'Our skills.\n',
        'skills/.DS_Store': 'x',
        'skills/empty/.keep': '',
      },
      most: 2,
    },
  ],
  [
    'nest-bad-beside-good',
    'refuses/refuses',
    'bad skills before and after good ones',
    'A bad file hides no good one.',
    {
      files: { 'skills/demo/SKILL.md': '---\nname: demo\n', 'skills/aaa/SKILL.md': skillFile('- a'), 'skills/zzz/SKILL.md': '' },
      neighbours: ['bbb', 'yyy'],
    },
  ],
]);
