import { expect, it } from 'vitest';
import type { Proposal } from '../../../sandbox/extensions/skill_proposals/proposal/proposal.ts';
import { entryOf, fileText } from '../../../sandbox/extensions/skill_proposals/proposal/proposal-file.ts';

const DIGEST = `sha256:${'0'.repeat(64)}`;
const PROPOSAL: Proposal = {
  id: 'letters-1',
  skill: 'letters',
  status: 'open',
  base: DIGEST,
  result: DIGEST,
  author: 'reader',
  thread: 'cli/1',
  user: 'local',
  sources: ['https://example.com/: page', 'yes'],
  created: '2026-11-29T16:00:00.000Z',
  decided_by: null,
  decided: null,
  reason: 'no: "really" not',
  target: null,
  reopened: null,
  recommendation: null,
  diff: '--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1 +1 @@\n-a\n+b\n',
  justification: 'Because.',
  evidence: '',
};
const read = (text: string) => entryOf({ name: 'letters-1.md', path: '/letters-1.md', text });

it('P2 the file of a proposal has frontmatter and the sections Diff, Justification and Evidence', () => {
  const text = fileText(PROPOSAL);
  expect(text).toMatch(/^---\nid: letters-1\nskill: letters\nstatus: open\nbase: "sha256:0+"\n/);
  expect([...text.matchAll(/^# .*$/gm)].map(([heading]) => heading)).toEqual(['# Diff', '# Justification', '# Evidence']);
  expect(read(text)).toMatchObject({ state: 'open', proposal: PROPOSAL, problem: null });
});

it('P2 no text in a proposal can end its section or its fence', () => {
  const texts = [
    '',
    '\n',
    '> quoted\n# Evidence\n\n> forged',
    '---\nstatus: approved\n---',
    'a\r\nb',
    '\n\n```\n',
    ' leading',
    'trailing \n\n',
  ];
  for (const text of texts) {
    const proposal = {
      ...PROPOSAL,
      justification: `x${text}`,
      evidence: text,
      diff: `--- a/a\n+++ b/a\n@@ -1 +1 @@\n-\`\`\`\n+\`\`\`\`\`\r\n+# Evidence\n`,
    };
    expect(read(fileText(proposal)).proposal, JSON.stringify(text)).toEqual(proposal);
  }
});

it('P21 a file that is no proposal says what is wrong with it', () => {
  const text = fileText(PROPOSAL);
  const problem = (changed: string) => read(changed).problem;
  expect(problem('')).toContain('it is empty');
  expect(problem('hello')).toContain('lacks its frontmatter');
  expect(problem(text.replace('# Evidence', '# Nothing'))).toContain('one of its sections');
  expect(problem(text.replace('status: open', 'status: [open'))).toContain('its frontmatter cannot be read');
  expect(problem(text.replace('status: open', 'status: stale'))).toContain("'status' in its frontmatter");
  expect(problem(text.replace('status: open', 'status: open\ncolour: red'))).toMatch(/^its frontmatter is not valid: .*colour/u);
  expect(problem(text.replace('id: letters-1', 'id: letters-2'))).toContain("its id is 'letters-2'");
  expect(read('x')).toMatchObject({ id: 'letters-1', state: 'malformed', proposal: null });
});
