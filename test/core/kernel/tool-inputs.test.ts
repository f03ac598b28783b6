import type { JsonValue, ToolResult } from 'pith';
import { testKernel, type TestKernel } from 'pith/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MAIN = `
import { defineTool, toolError, z } from 'pith';
const input = z.object({
  glob: z.string().optional(),
  timeout: z.number().max(600).optional(),
  edits: z.array(z.object({ old_text: z.string(), new_text: z.string() })).optional(),
  say: z.enum(['text', 'map', 'list', 'error']).default('text'),
});
const said = { text: 'found', map: { found: 1 }, list: ['found'], error: toolError('not_found', 'nothing') };
const tool = (name, input, execute) => defineTool({ name, description: 'A tool.', effect: 'read', input, execute });
export default class {
  getTools() {
    return [
      tool('look', input, async ({ say }) => said[say]),
      tool('strict', z.strictObject({ glob: z.string().optional() }), async () => 'found'),
      tool('open', z.looseObject({}), async (given) => given),
      tool('any', z.record(z.string(), z.unknown()), async (given) => given),
      tool('none', z.object({}), async () => 'found'),
      tool('noted', z.object({}), async () => ({ note: 'own' })),
    ];
  }
}
`;

let pith: TestKernel;
beforeAll(async () => {
  pith = await testKernel({
    only: [],
    files: {
      'pith.yaml': 'default_agent: main\n',
      'agents/main/manifest.yaml': 'id: main\nagent: { uses_tools: [mine] }\n',
      'extensions/mine/manifest.yaml': 'id: mine\nentrypoint: main.ts\nprovides: [tool]\n',
      'extensions/mine/main.ts': MAIN,
    },
  });
});
afterAll(() => pith.stop());
const ask = (name: string, input: JsonValue): Promise<ToolResult> =>
  pith.kernel.agents.callTool({ agentId: 'main', userId: 'local', approve: async () => true }, name, input);

const PATTERN = "unknown argument 'pattern' was ignored (known: glob, timeout, edits, say)";

describe('what a model sends to a tool', () => {
  it.each<[string, string, JsonValue, JsonValue]>([
    ['unknown', 'look', { pattern: '*.js' }, `found\n[${PATTERN}]`],
    ['a slip of a name', 'look', { globb: '*.js' }, "found\n[unknown argument 'globb' was ignored (did you mean 'glob'?)]"],
    [
      'below a list',
      'look',
      { edits: [{ old_text: 'a', new_text: 'b', newText: 'c' }] },
      "found\n[unknown argument 'edits[0].newText' was ignored (did you mean 'new_text'?)]",
    ],
    ['a map', 'look', { pattern: '*', say: 'map' }, { found: 1, note: PATTERN }],
    [
      'one of two',
      'look',
      { globb: '*', timeoutt: 1 },
      "found\n[unknown arguments 'globb', 'timeoutt' were ignored (did you mean 'glob', 'timeout'?)]",
    ],
    [
      'one of several',
      'look',
      { globb: '*', pattern: '*' },
      `found\n[${PATTERN.replace("argument 'pattern' was", "arguments 'globb', 'pattern' were")}]`,
    ],
    ['a map with a note', 'noted', { a: 1 }, { note: "own; unknown argument 'a' was ignored (known: none)" }],
    ['a list', 'look', { pattern: '*', say: 'list' }, `["found"]\n[${PATTERN}]`],
    ['of a tool without any', 'none', { a: 1 }, "found\n[unknown argument 'a' was ignored (known: none)]"],
    ['empty, as strict modes send them', 'look', { pattern: null }, 'found'],
    ['known', 'look', { glob: '*' }, 'found'],
    ['of a tool that takes all', 'open', { a: 1 }, { a: 1 }],
    ['of a tool that takes a map', 'any', { a: 1 }, { a: 1 }],
  ])('T10 an argument that is %s is noted beside the result', async (_what, name, input, output) => {
    expect(await ask(name, input)).toEqual({ ok: true, output });
  });

  it.each<[string, string, JsonValue, string]>([
    ['a failure', 'look', { pattern: '*', say: 'error' }, `nothing; ${PATTERN}`],
    ['a type', 'look', { glob: 7 }, "input of 'look' is not valid: 'glob' must be a string, not 7"],
    [
      'what is missing, and what was meant by it',
      'look',
      { edits: [{ oldText: 'a', new_text: 'b' }] },
      "input of 'look' is not valid: 'edits[0].old_text' is missing; unknown argument 'edits[0].oldText' was ignored (did you mean 'old_text'?)",
    ],
    ['a bound', 'look', { timeout: 601 }, "input of 'look' is not valid: 'timeout' must be at most 600"],
    [
      'a choice',
      'look',
      { say: 'texxt' },
      "input of 'look' is not valid: 'say' must be text, map, list or error, not 'texxt' (did you mean 'text'?)",
    ],
    ['a key of a strict tool', 'strict', { globb: '*' }, "input of 'strict' is not valid: unknown key 'globb' (did you mean 'glob'?)"],
  ])('T26 says in plain words: %s', async (_what, name, input, message) => {
    expect(await ask(name, input)).toMatchObject({ ok: false, error: { message } });
  });
});
