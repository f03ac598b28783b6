import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentFile, bare } from './sandbox-files.ts';
import { HAS_TERMINALS, terminalChat } from './terminal-chat.ts';
import { ownFolder, ownServer } from './until-test-ends.ts';

const SKILL = `---
name: standup
description: Write a short stand-up note. Use when asked for a stand-up.
version: 1.0.0
---

# Stand-up note

Three lines: done, next, in the way.
`;
const DIFF = `--- a/SKILL.md
+++ b/SKILL.md
@@ -9 +9 @@
-Three lines: done, next, in the way.
+Four lines: done, next, in the way, whom I wait for.
`;
const EXTENSIONS = ['cli_channel', 'openai_compatible', 'skill_registry', 'skill_proposals'];

describe.skipIf(!HAS_TERMINALS)('a skill that gets better, on a terminal (needs util-linux script)', () => {
  it('P2 P4 P6 P7 P23 S51 an agent proposes, a person looks and agrees, the next turn uses it, and all of it can be undone', async () => {
    const server = await ownServer();
    const folder = await ownFolder({
      ...bare(EXTENSIONS, { default_agent: 'keeper', skills: { sources: { replace: ['sandbox/skills'] } } }),
      'agents/keeper/manifest.yaml': agentFile('keeper', { uses_tools: ['skill_registry', 'skill_proposals'] }),
      'skills/standup/SKILL.md': SKILL,
    });
    const file = () => readFile(path.join(folder.path, 'sandbox/skills/standup/SKILL.md'), 'utf8');
    const read = { calls: [{ name: 'read_skill', input: { skill_id: 'standup' } }] };
    const justification = 'People say whom they wait for.';
    const propose = { calls: [{ name: 'propose_skill_update', input: { skill_id: 'standup', diff: DIFF, justification } }] };
    const chat = terminalChat(folder.path, server.env);
    const sent = () => JSON.stringify(server.requests.filter(({ method }) => method === 'POST').at(-1)!.body);

    server.script(read, propose, { text: 'I proposed a line.' });
    await chat.sees('/help shows');
    chat.type('write my stand-up\r');
    await chat.sees('I proposed a line.', `The agent keeper proposes a change to the skill standup: ${justification}`);
    expect(await file()).toBe(SKILL);

    chat.type('/skills proposals show standup\r');
    await chat.sees(
      'standup 1.0.0 → 1.0.1 (patch)',
      `why ${justification}`,
      '+Four lines: done, next, in the way, whom I wait for.',
      'Reject it',
    );
    chat.type('/skills proposals approve standup\r');
    await chat.sees("Apply this change to 'standup'?");
    chat.type('y');
    await chat.sees('Applied to standup');
    const changed = SKILL.replace('1.0.0', '1.0.1').replace(
      'Three lines: done, next, in the way.',
      'Four lines: done, next, in the way, whom I wait for.',
    );
    expect(await file()).toBe(changed);

    server.script(read, { text: 'With four lines.' });
    chat.type('once more\r');
    await chat.sees('With four lines.');
    expect(sent()).toContain('Four lines: done, next, in the way, whom I wait for.');

    chat.type('/skills history standup\r');
    await chat.sees(/21\.0\.1\S*proposalkeeper/u, /11\.0\.0\S*foundperson/u);
    chat.type('/skills rollback standup 1\r');
    await chat.sees("Roll 'standup' back to version 1");
    chat.type('y');
    await chat.sees("Rolled 'standup' back");
    expect(await file()).toBe(SKILL);
  }, 60_000);
});
