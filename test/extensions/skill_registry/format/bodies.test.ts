import { scriptedModel, testKernel } from 'pith/testing';
import { expect, it } from 'vitest';
import { skillText } from '../skill-sandbox.ts';

/** More than a scan reads of a file, with all that a template or a replacement could take for its own. */
const BODY = [
  "{{ 7 * 7 }} {% for x in y %}{{ x }}{% endfor %} {# gone? #} {{ skills['other'] }} ${HOME} $& $1 $$ $` $' %s \\n \\{{a}}",
  'one\r\ntwo\rthree\t \n---\nname: not-me\n---\n\uFEFF <skill id="x"></skill> é 😀 \u0000',
  'line\n'.repeat(1500),
  '  end without a line end',
].join('\n');
/** No server is sent a NUL: behind some is a database that refuses it. */
const SENT = BODY.replaceAll('\0', '\ufffd');

it('S7 a body comes out byte for byte: by uses_skills, by read_skill, and as it is after a change', async () => {
  const model = scriptedModel([{ calls: [{ name: 'read_skill', input: { skill_id: 'read' } }] }, { text: 'done' }, { text: 'done' }]);
  const agent = 'id: main\nagent: { uses_tools: [skill_registry], uses_skills: [bound], instructions: "{{ 1 + 1 }}" }\n';
  const files = {
    'pith.yaml': 'default_agent: main\nskills: { poll_seconds: 0 }\n',
    'agents/main/manifest.yaml': agent,
    'skills/bound/SKILL.md': skillText({ name: 'bound', body: BODY }),
    'skills/read/SKILL.md': `\uFEFF${skillText({ name: 'read' })
      .replaceAll('\n', '\r\n')
      .replace('Body.\r\n', () => BODY)}`,
  };
  await using pith = await testKernel({ model, files });
  const { requests } = await pith.run('go');
  expect(requests[0]?.system).toContain(SENT);
  const result = requests[1]?.messages.findLast(({ role }) => role === 'tool');
  expect(JSON.stringify(result)).toContain(JSON.stringify(SENT).slice(1, -1));
  await pith.write('skills/bound/SKILL.md', skillText({ name: 'bound', body: `$&${BODY}` }));
  expect((await pith.run('again')).requests[0]?.system).toContain(`$&${SENT}`);
});
