import { describe, expect, it } from 'vitest';
import { withCommands } from '../all-commands.ts';
import { recordingIO, skillSandbox, skillText } from '../skill-sandbox.ts';
import { agentOf } from '../skill-values.ts';

const skill = (id: string, more = '') => ({ [`sandbox/skills/${id}/SKILL.md`]: skillText({ name: id, more }) });

describe('skills explain for an agent of the mode triggers', () => {
  it('S82 S62 says which tier a text has, what hits, the rank and why', async () => {
    const box = await skillSandbox({
      ...skill('pdf-forms', 'triggers: { keywords: [pdf, fill in], verbs: [extract], patterns: ["page \\\\d+"] }\n'),
      ...skill('pages', 'triggers: { keywords: [pdf] }\n'),
      ...skill('poems'),
    });
    const agents = [
      agentOf({ id: 'quick', usesTools: [], keys: { skills: { mode: 'triggers', max_skills: 1 } } }),
      agentOf({ id: 'shut', usesTools: [], keys: { skills: { mode: 'triggers', deny: ['pages'] } } }),
      agentOf({ id: 'reader' }),
    ];
    async function explain(id: string, agent: string, text: string, json = false) {
      const io = recordingIO({ json });
      await withCommands(box, { agents }, async (commands) => {
        const command = commands.find(({ path }) => path === 'skills explain')!;
        await command.run({ arguments: { id }, options: { agent, text } }, io, new AbortController().signal);
      });
      return json ? (io.values[0] as { triggers?: unknown }) : io.text();
    }
    const text = 'Extracting page 3 of this PDF';
    expect(await explain('pdf-forms', 'quick', text, true)).toMatchObject({
      triggers: { tier: 3, brought: true, rank: 1, of: 2, maxSkills: 1, hits: ['verb extract', 'keyword pdf', 'pattern page \\d+'] },
    });
    const first = await explain('pdf-forms', 'quick', text);
    expect(first).toContain('is of tier 3, the message matches skills');
    expect(first).toContain('it has verb extract, keyword pdf, pattern page \\d+, and brings its text\ntriggers: rank 1 of 2; at most 1');
    expect(await explain('pages', 'quick', text)).toContain('it has keyword pdf; others come before it\ntriggers: rank 2 of 2');
    expect(await explain('poems', 'quick', 'what can you do?')).toContain('is of tier 2, the message asks what there is');
    expect(await explain('pages', 'shut', text)).toContain('the text has none of this skill');
    expect(await explain('pages', 'reader', text, true)).not.toHaveProperty('triggers');
  });
});
